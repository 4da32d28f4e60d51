// The side that answers: one thread, which waits for nothing but poll(2), and the handler.
#include "io/lines/line_service.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <list>
#include <utility>

#include "base/os_mutex.h"
#include "io/lines/private_socket.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr Nanos kMilli = 1'000'000;

// Ends a poll(2). Answers may outlive the service, so it is shared.
class Wake {
 public:
  explicit Wake(OwnFd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  void ring() {
    const std::uint64_t one = 1;
    // Full means that it has been rung.
    static_cast<void>(!::write(fd_.get(), &one, sizeof(one)));
  }
  void hush() {
    std::uint64_t count = 0;
    static_cast<void>(!::read(fd_.get(), &count, sizeof(count)));
  }

 private:
  OwnFd fd_;
};

// What a connection and whoever answers it share.
struct Exchange {
  explicit Exchange(std::shared_ptr<Wake> bell) : wake(std::move(bell)) {}
  const std::shared_ptr<Wake> wake;
  std::atomic<bool> gone{false};  // nobody waits any more
  OsMutex mutex;
  bool over HEXAD_GUARDED_BY(mutex) = false;  // there will be no other answer
  std::optional<std::string> line HEXAD_GUARDED_BY(mutex);
};

class SocketAnswer final : public LineAnswer {
 public:
  explicit SocketAnswer(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}
  SocketAnswer(const SocketAnswer&) = delete;
  SocketAnswer& operator=(const SocketAnswer&) = delete;
  ~SocketAnswer() override { settle(std::nullopt); }

  void send(std::string line) override { settle(std::move(line)); }
  bool wanted() const override { return !exchange_->gone.load(); }

 private:
  void settle(std::optional<std::string> line) {
    {
      const OsLock lock(exchange_->mutex);
      if (exchange_->over) return;
      exchange_->over = true;
      exchange_->line = std::move(line);
    }
    exchange_->wake->ring();
  }

  const std::shared_ptr<Exchange> exchange_;
};

struct Connection {
  OwnFd fd;
  enum class Phase : std::uint8_t { kAsking, kAnswering, kTaking, kOver } phase = Phase::kAsking;
  Nanos deadline = 0;  // of kAsking and kTaking
  std::string in;
  std::string out;
  std::size_t sent = 0;
  std::shared_ptr<Exchange> exchange;  // of kAnswering
};
using Phase = Connection::Phase;

class SocketService final : public LineService {
 public:
  SocketService(PrivateSocket socket, std::shared_ptr<Wake> wake, Clock& clock, LineHandler handler,
                LineRefusals refusals, LineLimits limits)
      : socket_(std::move(socket)),
        path_(socket_.path()),
        wake_(std::move(wake)),
        clock_(clock),
        handler_(std::move(handler)),
        refusals_(std::move(refusals)),
        limits_(limits) {}
  SocketService(const SocketService&) = delete;
  SocketService& operator=(const SocketService&) = delete;
  ~SocketService() override { stop(); }

  Status start(Executor& executor) {
    const OsLock lock(stopping_mutex_);
    HEXAD_TRY_ASSIGN(thread_, executor.try_start("hexad-control", [this] { serve(); }));
    return {};
  }

  const std::string& path() const override { return path_; }

  void stop() override {
    const OsLock lock(stopping_mutex_);
    if (std::exchange(over_, true)) return;
    if (thread_ != nullptr) {  // else the system refused it
      stopping_ = true;
      wake_->ring();
      thread_->join();
      thread_.reset();
    }
    // A child that was forked before it could know of the descriptor has the socket, too.
    ::shutdown(socket_.listener.get(), SHUT_RDWR);
    remove_socket(socket_.directory_path);
    socket_.listener = OwnFd();
  }

 private:
  void serve() {
    while (!stopping_) {
      const Nanos now = clock_.now();
      const bool accepting = connections_.size() < limits_.connections && now >= accept_from_;
      std::vector<pollfd> waits = {{wake_->fd(), POLLIN, 0},
                                   {accepting ? socket_.listener.get() : -1, POLLIN, 0}};
      Nanos next = accept_from_ > now ? accept_from_ : -1;
      for (const Connection& one : connections_) {
        waits.push_back({one.fd.get(), events_of(one), 0});
        if (one.phase == Phase::kAnswering) continue;
        next = next < 0 ? one.deadline : std::min(next, one.deadline);
      }
      const Nanos left = next < 0 ? -1 : std::max<Nanos>(0, next - now);
      const int timeout = left < 0 ? -1 : static_cast<int>(left / kMilli + 1);
      ::poll(waits.data(), waits.size(), timeout);
      if (waits[0].revents != 0) wake_->hush();
      std::size_t at = 2;
      for (Connection& one : connections_) step(one, waits[at++].revents);
      connections_.remove_if([](const Connection& one) { return one.phase == Phase::kOver; });
      if (waits[1].revents != 0) accept_one();
    }
    for (Connection& one : connections_) end(one);
    connections_.clear();
  }

  static short events_of(const Connection& one) {
    if (one.phase == Phase::kAsking) return POLLIN;
    return one.phase == Phase::kTaking ? POLLOUT : 0;  // an end is told without being asked for
  }

  void accept_one() {
    constexpr Nanos kPause = 100 * kMilli;
    OwnFd fd(::accept4(socket_.listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd.valid()) {
      // No descriptor is left, say: what waits goes on waiting.
      if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR) {
        accept_from_ = clock_.now() + kPause;
      }
      return;
    }
    Connection& made = connections_.emplace_back();
    made.fd = std::move(fd);
    made.deadline = clock_.now() + limits_.to_ask;
    const Result<Peer> peer = peer_of(made.fd.get());
    if (!peer.ok() || !is_heard(*peer)) answer(made, refusals_.other_user);  // CS2
  }

  void step(Connection& one, short events) {
    if (one.phase == Phase::kAsking) {
      if (events != 0) hear(one);
    } else if (one.phase == Phase::kAnswering) {
      if ((events & (POLLHUP | POLLERR)) != 0) return end(one);
      take_answer(one);
    }
    if (one.phase == Phase::kTaking) write_some(one);
    const bool timed = one.phase == Phase::kAsking || one.phase == Phase::kTaking;
    if (timed && clock_.now() >= one.deadline) end(one);  // CS3
  }

  void hear(Connection& one) {
    char piece[4096];
    for (;;) {
      const ssize_t count = ::recv(one.fd.get(), piece, sizeof(piece), 0);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return end(one);
      const std::size_t before = one.in.size();
      one.in.append(piece, static_cast<std::size_t>(count));
      const std::size_t newline = one.in.find('\n', before);
      if (newline == std::string::npos && one.in.size() < limits_.question) continue;
      if (newline == std::string::npos || newline >= limits_.question) {
        return answer(one, refusals_.too_long);  // CS3
      }
      one.in.resize(newline);
      one.phase = Phase::kAnswering;
      one.exchange = std::make_shared<Exchange>(wake_);
      handler_(std::move(one.in), std::make_shared<SocketAnswer>(one.exchange));
      return take_answer(one);
    }
  }

  void take_answer(Connection& one) {
    std::optional<std::string> line;
    {
      const OsLock lock(one.exchange->mutex);
      if (!one.exchange->over) return;
      line = std::move(one.exchange->line);
    }
    if (!line.has_value()) return end(one);
    answer(one, *std::move(line));
  }

  void answer(Connection& one, std::string line) {
    if (line.empty() || line.size() >= limits_.answer) return end(one);
    one.out = std::move(line);
    one.out += '\n';
    one.phase = Phase::kTaking;
    one.deadline = clock_.now() + limits_.to_take;
  }

  void write_some(Connection& one) {
    while (one.sent < one.out.size()) {
      const ssize_t count =
          ::send(one.fd.get(), one.out.data() + one.sent, one.out.size() - one.sent, MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) return;
      if (count <= 0) return end(one);
      one.sent += static_cast<std::size_t>(count);
      one.deadline = clock_.now() + limits_.to_take;
    }
    end(one);
  }

  static void end(Connection& one) {
    if (one.exchange != nullptr) one.exchange->gone = true;
    ::shutdown(one.fd.get(), SHUT_RDWR);
    one.phase = Phase::kOver;
  }

  PrivateSocket socket_;
  const std::string path_;
  const std::shared_ptr<Wake> wake_;
  Clock& clock_;
  const LineHandler handler_;
  const LineRefusals refusals_;
  const LineLimits limits_;
  std::atomic<bool> stopping_{false};
  OsMutex stopping_mutex_;
  bool over_ HEXAD_GUARDED_BY(stopping_mutex_) = false;
  std::unique_ptr<Thread> thread_ HEXAD_GUARDED_BY(stopping_mutex_);
  // Of the thread alone.
  std::list<Connection> connections_;
  Nanos accept_from_ = 0;
};

}  // namespace

Result<std::unique_ptr<LineService>> serve_lines(const std::vector<std::string>& directories,
                                                 Executor& executor, LineHandler handler,
                                                 LineRefusals refusals, LineLimits limits) {
  OwnFd bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell.valid()) return os_error(errno, "an event descriptor");
  auto wake = std::make_shared<Wake>(std::move(bell));
  for (const std::string& directory : directories) remove_socket(directory);
  std::string why;
  for (const std::string& directory : directories) {
    Result<PrivateSocket> socket = listen_in(directory, static_cast<int>(limits.connections));
    if (!socket.ok()) {
      remove_socket(directory);
      why += (why.empty() ? "" : "; ") + socket.error().message;
      continue;
    }
    auto service = std::make_unique<SocketService>(std::move(socket).value(), std::move(wake),
                                                   executor.clock(), std::move(handler),
                                                   std::move(refusals), limits);
    HEXAD_TRY(service->start(executor));
    return std::unique_ptr<LineService>(std::move(service));
  }
  return Error{ErrorCode::kUnsupported, "no directory takes a socket: " + why,
               "Make one of them writable."};
}

}  // namespace hexad::io
