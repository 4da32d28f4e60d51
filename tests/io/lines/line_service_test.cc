#include "io/lines/line_service.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "io/lines/private_socket.h"
#include "tests/io/temporary.h"

namespace hexad::io {
namespace {

using testing::TemporaryDirectory;

constexpr Nanos kMilli = 1'000'000;

std::string echo(const std::string& question) { return "you said " + question; }

// A service that answers at once, unless a test brings a handler of its own.
struct Served {
  explicit Served(std::vector<std::string> given = {}, LineLimits limits = {},
                  LineHandler handler = {}) {
    directories = given.empty() ? std::vector<std::string>{temporary.path("control")} : given;
    if (!handler) {
      handler = [](const std::string& question, const std::shared_ptr<LineAnswer>& answer) {
        answer->send(echo(question));
      };
    }
    Result<std::unique_ptr<LineService>> made =
        serve_lines(directories, *executor, handler, {"too long", "a stranger"}, limits);
    if (!made.ok()) FAIL(made.error().to_string());
    service = std::move(made).value();
  }
  std::string ask(const std::string& question) const {
    const Result<AnsweredLine> answered = ask_line(directories, question);
    return answered.ok() ? answered->line : "error: " + answered.error().to_string();
  }

  TemporaryDirectory temporary;
  std::unique_ptr<Executor> executor = make_thread_executor(1);
  std::vector<std::string> directories;
  std::unique_ptr<LineService> service;
};

// What a client of no good intentions has.
class RawClient {
 public:
  explicit RawClient(const std::string& directory) {
    for (;;) {
      Result<OwnFd> fd = connect_in(directory);
      if (fd.ok()) {
        fd_ = std::move(fd).value();
        break;
      }
      REQUIRE(fd.error().code == ErrorCode::kBusy);  // so many wait to be accepted
    }
    ::fcntl(fd_.get(), F_SETFL, 0);  // waits
  }
  void send(const std::string& bytes) {
    REQUIRE(::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
            static_cast<ssize_t>(bytes.size()));
  }
  // All that comes until the other side ends it.
  std::string receive() {
    std::string all;
    char piece[4096];
    for (;;) {
      const ssize_t count = ::recv(fd_.get(), piece, sizeof(piece), 0);
      if (count <= 0) return all;
      all.append(piece, static_cast<std::size_t>(count));
    }
  }

 private:
  OwnFd fd_;
};

mode_t mode_of(const std::string& path) {
  struct stat found = {};
  REQUIRE(::lstat(path.c_str(), &found) == 0);
  return found.st_mode & 07777;
}

std::size_t open_sockets() {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:") || target.find("eventfd") != std::string::npos) ++count;
  }
  return count;
}

TEST_CASE("line_service: a line is answered by a line, and by whom is known") {
  const Served served;
  CHECK(served.ask("hello") == "you said hello");
  CHECK(served.ask("") == "you said ");
  const AnsweredLine answered = ask_line(served.directories, "x").value();
  CHECK(answered.process == ::getpid());
  CHECK(served.service->path() == served.directories[0] + "/socket");
}

// What is empty is made anew: this one is not.
TEST_CASE("line_service: a directory that others may enter is theirs no more") {
  TemporaryDirectory top;
  const std::string directory = top.path("control");
  REQUIRE(std::filesystem::create_directories(directory + "/kept"));
  REQUIRE(::chmod(directory.c_str(), 0777) == 0);
  const Served served({directory});
  CHECK(mode_of(directory) == 0700);
  CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: the directory is private before there is a socket, and goes with it") {
  TemporaryDirectory top;
  const std::string directory = top.path("control");
  REQUIRE(::mkdir(directory.c_str(), 0755) == 0);
  REQUIRE(::chmod(directory.c_str(), 0777) == 0);
  const Served served({directory});
  CHECK(mode_of(directory) == 0700);
  served.service->stop();
  CHECK_FALSE(std::filesystem::exists(directory));
  CHECK(ask_line(served.directories, "x").error().code == ErrorCode::kNotFound);
  served.service->stop();
}

TEST_CASE("line_service: a link in the place of the directory is not followed") {
  TemporaryDirectory top;
  REQUIRE(::mkdir(top.path("elsewhere").c_str(), 0700) == 0);
  REQUIRE(::symlink(top.path("elsewhere").c_str(), top.path("control").c_str()) == 0);
  const Served served({top.path("control"), top.path("second")});
  CHECK(served.service->path() == top.path("second/socket"));
  CHECK(std::filesystem::is_empty(top.path("elsewhere")));
}

TEST_CASE("line_service: what a process has left behind is replaced, wherever it was") {
  TemporaryDirectory top;
  const std::vector<std::string> directories = {top.path("first"), top.path("second")};
  for (const std::string& directory : directories) {
    // Its end takes the descriptors and leaves the name.
    PrivateSocket left = listen_in(directory, 1).value();
    left.listener = OwnFd();
    REQUIRE(std::filesystem::exists(left.path()));
    CHECK(connect_in(directory).error().code == ErrorCode::kNotFound);
  }
  const Served served(directories);
  CHECK(served.ask("x") == "you said x");
  CHECK_FALSE(std::filesystem::exists(top.path("second")));
}

TEST_CASE("line_service: a path may be longer than an address") {
  TemporaryDirectory top;
  std::string directory = top.path();
  for (int i = 0; i < 5; ++i) {
    directory += "/" + std::string(60, static_cast<char>('a' + i));
    REQUIRE(::mkdir(directory.c_str(), 0700) == 0);
  }
  const Served served({directory + "/control"});
  CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: where the first directory will not do, the next one is taken") {
  TemporaryDirectory top;
  std::ofstream(top.path("file")) << "in the way";
  const Served served({top.path("none/control"), top.path("file"), top.path("third")});
  CHECK(served.service->path() == top.path("third/socket"));
  CHECK(served.ask("x") == "you said x");
  const Result<std::unique_ptr<LineService>> none =
      serve_lines({top.path("none/control"), top.path("file")}, *served.executor, {});
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().code == ErrorCode::kUnsupported);
  CHECK(none.error().message.find("none/control") != std::string::npos);
}

TEST_CASE("line_service: what is refused a thread leaves neither socket nor directory") {
  class NoThreads final : public Executor {
   public:
    explicit NoThreads(Executor& inner) : inner_(inner) {}
    Result<std::unique_ptr<Thread>> try_start(const std::string& name, Task) override {
      return Error{ErrorCode::kExhausted, "no thread " + name, ""};
    }
    Status start_pool() override { return inner_.start_pool(); }
    void post(Task task) override { inner_.post(std::move(task)); }
    void sleep_for(Nanos duration) override { inner_.sleep_for(duration); }
    Clock& clock() override { return inner_.clock(); }

   private:
    Executor& inner_;
  };
  TemporaryDirectory top;
  const std::unique_ptr<Executor> threads = make_thread_executor(1);
  NoThreads executor(*threads);
  CHECK(serve_lines({top.path("control")}, executor, {}).error().code == ErrorCode::kExhausted);
  CHECK_FALSE(std::filesystem::exists(top.path("control")));
}

TEST_CASE("line_service: who has no descriptor to ask with is told so") {
  const Served served;
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none = {3, 3};
    if (::setrlimit(RLIMIT_NOFILE, &none) != 0) ::_exit(2);
    AskLimits limits;
    limits.to_answer = 1000 * kMilli;
    const Result<AnsweredLine> answered = ask_line(served.directories, "x", limits);
    ::_exit(answered.error().code == ErrorCode::kExhausted ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("line_service: who may not look into the directory is told who may") {
  if (::geteuid() != 0) return;
  const Served served;
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setuid(kNobody) != 0) ::_exit(2);
    const Error error = ask_line(served.directories, "x").error();
    const bool told = error.hint.find("as root") != std::string::npos;
    ::_exit(error.code == ErrorCode::kNotFound && told ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("line_service: a question over its bound is refused, and one up to it is not") {
  LineLimits limits;
  limits.question = 1000;
  const Served served({}, limits);
  CHECK(served.ask(std::string(999, 'x')) == "you said " + std::string(999, 'x'));
  CHECK(served.ask(std::string(1000, 'x')) == "too long");
  CHECK(served.ask(std::string(100'000, 'x')) == "too long");
}

TEST_CASE("line_service: who asks half a line or nothing is let go of when its time is over") {
  LineLimits limits;
  limits.to_ask = 50 * kMilli;
  const Served served({}, limits);
  RawClient half(served.directories[0]);
  half.send("half a li");
  RawClient silent(served.directories[0]);
  CHECK(half.receive().empty());
  CHECK(silent.receive().empty());
  CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: who does not take the answer is let go of when its time is over") {
  LineLimits limits;
  limits.connections = 1;
  limits.to_take = 50 * kMilli;
  const Served served({}, limits,
                      [](const std::string& question, const std::shared_ptr<LineAnswer>& answer) {
                        answer->send(question == "much" ? std::string(4 << 20, 'x') : "little");
                      });
  RawClient unwilling(served.directories[0]);
  unwilling.send("much\n");
  CHECK(served.ask("x") == "little");  // there is one connection for all
  CHECK(unwilling.receive().size() < (4 << 20));
}

TEST_CASE("line_service: many that are silent cost others no more than their time") {
  LineLimits limits;
  limits.connections = 2;
  limits.to_ask = 20 * kMilli;
  const Served served({}, limits);
  std::vector<std::unique_ptr<RawClient>> silent;
  for (int i = 0; i < 4; ++i) silent.push_back(std::make_unique<RawClient>(served.directories[0]));
  for (int i = 0; i < 5; ++i) CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: bytes that are no text, and more than one line, do no harm") {
  const Served served;
  RawClient client(served.directories[0]);
  client.send(std::string("\0\xff\n second\n", 11));
  CHECK(client.receive() == "you said " + std::string("\0\xff\n", 3));
  CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: an answer may come later, from any thread, or not at all") {
  std::mutex mutex;
  std::vector<std::shared_ptr<LineAnswer>> kept;
  {
    const Served served(
        {}, {}, [&](const std::string& question, const std::shared_ptr<LineAnswer>& answer) {
          if (question == "never") return;
          const std::lock_guard<std::mutex> lock(mutex);
          kept.push_back(answer);
          if (kept.size() < 2) return;
          for (const auto& one : kept) one->send("both");
        });
    CHECK(served.ask("never").find("ended the connection") != std::string::npos);
    CHECK(ask_line(served.directories, "never").error().code == ErrorCode::kBusy);
    std::string heard;
    auto other = served.executor->start("other", [&] { heard = served.ask("a"); });
    CHECK(served.ask("b") == "both");
    other->join();
    CHECK(heard == "both");
    {
      const std::lock_guard<std::mutex> lock(mutex);
      kept.clear();
    }

    // Somebody who has gone is not wanted any more; nor is anybody when the service ends.
    RawClient waiting(served.directories[0]);
    waiting.send("c\n");
    for (bool there = false; !there;) {
      const std::lock_guard<std::mutex> lock(mutex);
      there = !kept.empty();
    }
    CHECK(kept[0]->wanted());
    { const RawClient gone = std::move(waiting); }
    while (kept[0]->wanted()) served.executor->sleep_for(kMilli);
  }
  kept[0]->send("nobody hears it");
}

TEST_CASE("line_service: a question can be given up, and does not wait for ever") {
  std::shared_ptr<LineAnswer> kept;
  const Served served({}, {}, [&](const std::string&, const std::shared_ptr<LineAnswer>& answer) {
    kept = answer;
  });
  AskLimits limits;
  limits.to_answer = 50 * kMilli;
  CHECK(ask_line(served.directories, "x", limits).error().code == ErrorCode::kUnavailable);
  limits = {};
  limits.go_on = [] { return false; };
  CHECK(ask_line(served.directories, "x", limits).error().code == ErrorCode::kClosed);
}

TEST_CASE("line_service: a forked child has nothing of it") {
  const std::size_t before = open_sockets();
  const Served served;
  RawClient connected(served.directories[0]);
  REQUIRE(open_sockets() > before);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(open_sockets() == before ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(served.ask("x") == "you said x");
}

TEST_CASE("line_service: another user is not heard, even where the directory lets it in") {
  if (::geteuid() != 0) return;
  const Served served;
  REQUIRE(::chmod(served.directories[0].c_str(), 0755) == 0);
  REQUIRE(::chmod(served.service->path().c_str(), 0777) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::chdir(served.directories[0].c_str()) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, "socket");
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      ::_exit(3);
    }
    char answer[64] = {};
    const ssize_t count = ::recv(fd, answer, sizeof(answer), MSG_WAITALL);
    ::_exit(count == 11 && std::strcmp(answer, "a stranger\n") == 0 ? 0 : 4);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("line_service: who asks may believe fewer") {
  const Served served;
  std::string directory;
  unsigned user = ~0U;
  AskLimits limits;
  limits.believe = [&](const std::string& where, unsigned who) {
    directory = where;
    user = who;
    return false;
  };
  const Error error = ask_line(served.directories, "x", limits).error();
  CHECK(error.code == ErrorCode::kNotFound);
  CHECK(error.message.find("a process of user") != std::string::npos);
  CHECK(directory == served.directories[0]);
  CHECK(user == own_user());
}

TEST_CASE("line_service: runtime directories are the user's, and the last one is there always") {
  const std::vector<std::string> found = runtime_directories(own_user());
  REQUIRE_FALSE(found.empty());
  CHECK(found.back() == "/tmp");
  CHECK(std::set<std::string>(found.begin(), found.end()).size() == found.size());
  CHECK(owner_of("/").value() == 0);
  CHECK_FALSE(owner_of("/nothing/here").has_value());
}

}  // namespace
}  // namespace hexad::io
