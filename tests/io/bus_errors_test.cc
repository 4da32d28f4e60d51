#include "io/bus_errors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/io/temporary.h"

using namespace hexad;
using io::BusErrorWatch;

namespace {

constexpr std::size_t kPage = 4096;

// What a child says on standard error before it ends, and the signal that ends it.
struct Ending {
  std::string errors;
  int writes = 0;  // of these
  int signal = 0;
};

Ending end_of(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe2(ends, O_DIRECT) == 0);  // a read gets what one write has brought
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);  // whatever the test framework or a sanitizer has there
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char part[kPage];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
    ++ending.writes;
    ending.errors.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  ending.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return ending;
}

// Two pages of a file that is one page long: the second one cannot be read.
class CutFile {
 public:
  explicit CutFile(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(::ftruncate(fd, kPage) == 0);
    map_ = static_cast<volatile char*>(::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~CutFile() { ::munmap(const_cast<char*>(map_), 2 * kPage); }
  CutFile(const CutFile&) = delete;
  CutFile& operator=(const CutFile&) = delete;
  char read_behind() const { return map_[kPage]; }

 private:
  volatile char* map_;
};

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::char_traits<char>::length(text)) < 0) ::_exit(3);
}

}  // namespace

TEST_CASE("bus errors: one in a watched file is explained, and ends the process as before") {
  const io::testing::TemporaryDirectory directory;
  const CutFile cut(directory.path("index file"));
  const Ending ending = end_of([&] {
    const auto watch =
        BusErrorWatch::start(directory.path("index file"), "it was cut. Do this.").value();
    cut.read_behind();
  });
  REQUIRE(ending.signal == SIGBUS);
  REQUIRE(ending.errors == "hexad: bus error (SIGBUS) in a map of " + directory.path("index file") +
                               ": it was cut. Do this.\n");
  // Lines of threads that meet it at once are not written into one another.
  REQUIRE(ending.writes == 1);
}

TEST_CASE("bus errors: one elsewhere is not ours to explain") {
  const io::testing::TemporaryDirectory directory;
  const CutFile cut(directory.path("other"));
  const CutFile watched(directory.path("watched"));
  const Ending ending = end_of([&] {
    const auto watch = BusErrorWatch::start(directory.path("watched"), "it was cut").value();
    cut.read_behind();
  });
  REQUIRE(ending.signal == SIGBUS);
  REQUIRE(ending.errors.empty());
}

TEST_CASE("bus errors: the handler before is asked, of either kind, whose error it may be") {
  const io::testing::TemporaryDirectory directory;
  for (const char* name : {"watched", "other"}) {
    const CutFile cut(directory.path(name));
    const std::string line = std::string(name) == "watched"
                                 ? "hexad: bus error (SIGBUS) in a map of " +
                                       directory.path("watched") + ": it was cut\n"
                                 : "";
    for (const bool with_info : {false, true}) {
      const Ending ending = end_of([&] {
        struct sigaction theirs = {};
        if (with_info) {
          theirs.sa_flags = SA_SIGINFO;
          theirs.sa_sigaction = [](int, siginfo_t* info, void*) {
            say(info->si_addr != nullptr ? "theirs" : "none");
            ::_exit(0);
          };
        } else {
          theirs.sa_handler = [](int) {
            say("theirs");
            ::_exit(0);
          };
        }
        ::sigaction(SIGBUS, &theirs, nullptr);
        const auto watch = BusErrorWatch::start(directory.path("watched"), "it was cut").value();
        cut.read_behind();
      });
      REQUIRE(ending.signal == 0);
      REQUIRE(ending.errors == line + "theirs");
    }
  }
}

TEST_CASE("bus errors: of many files, each as long as it is watched") {
  const io::testing::TemporaryDirectory directory;
  const CutFile first(directory.path("first"));
  const CutFile second(directory.path("second"));
  const auto watch_both = [&](std::vector<BusErrorWatch>& watches) {
    for (const char* name : {"first", "second"}) {
      watches.push_back(BusErrorWatch::start(directory.path(name), name).value());
    }
  };
  REQUIRE(end_of([&] {
            std::vector<BusErrorWatch> watches;
            watch_both(watches);
            watches.erase(watches.begin());
            second.read_behind();
          }).errors.find(": second\n") != std::string::npos);
  REQUIRE(end_of([&] {
            std::vector<BusErrorWatch> watches;
            watch_both(watches);
            watches.erase(watches.begin());
            first.read_behind();
          }).errors.empty());
}

TEST_CASE("bus errors: the last one that goes puts back what was there") {
  const io::testing::TemporaryDirectory directory;
  struct sigaction before = {};
  REQUIRE(::sigaction(SIGBUS, nullptr, &before) == 0);
  const auto is_back = [&] {
    struct sigaction now = {};
    REQUIRE(::sigaction(SIGBUS, nullptr, &now) == 0);
    return now.sa_sigaction == before.sa_sigaction;
  };
  for (int i = 0; i < 3; ++i) {
    std::optional<BusErrorWatch> one = BusErrorWatch::start(directory.path("a"), "cut").value();
    std::optional<BusErrorWatch> two = BusErrorWatch::start(directory.path("b"), "cut").value();
    one.reset();
    REQUIRE_FALSE(is_back());
    two.reset();
    REQUIRE(is_back());
  }
}

TEST_CASE("bus errors: a handler that was put over ours stays, and may ask ours") {
  const io::testing::TemporaryDirectory directory;
  const CutFile cut(directory.path("watched"));
  static struct sigaction below = {};
  const Ending ending = end_of([&] {
    {
      const auto gone = BusErrorWatch::start(directory.path("watched"), "it was cut").value();
      struct sigaction theirs = {};
      theirs.sa_flags = SA_SIGINFO;
      theirs.sa_sigaction = [](int number, siginfo_t* info, void* context) {
        say("over ");
        below.sa_sigaction(number, info, context);
      };
      ::sigaction(SIGBUS, &theirs, &below);
    }
    const auto again = BusErrorWatch::start(directory.path("watched"), "it was cut").value();
    cut.read_behind();
  });
  REQUIRE(ending.signal == SIGBUS);
  REQUIRE(ending.errors.find("over hexad: bus error (SIGBUS)") == 0);
}
