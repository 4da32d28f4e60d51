// The side that asks, and what is known of users.
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include "io/lines/line_service.h"
#include "io/lines/private_socket.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr Nanos kSecond = 1'000'000'000;

Nanos monotonic_now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

class Asking {
 public:
  Asking(const std::string& directory, const AskLimits& limits)
      : path_(directory + "/" + kSocketName),
        directory_(directory),
        limits_(limits),
        end_(monotonic_now() + limits.to_answer) {}

  Result<AnsweredLine> ask(const std::string& question) {
    HEXAD_TRY(connect());
    HEXAD_TRY_ASSIGN(const Peer peer, peer_of(fd_.get()));
    const bool believed = !limits_.believe || limits_.believe(directory_, peer.user);
    if (!is_believed(peer) || !believed) {  // CS2
      return Error{ErrorCode::kInvalidArgument,
                   path_ + ": it is a process of user " + std::to_string(peer.user), ""};
    }
    HEXAD_TRY(send(question + "\n"));
    AnsweredLine answered;
    answered.process = peer.pid;
    HEXAD_TRY_ASSIGN(answered.line, receive());
    return answered;
  }

 private:
  Status connect() {
    for (;;) {
      Result<OwnFd> fd = connect_in(directory_);
      if (fd.ok()) {
        fd_ = std::move(fd).value();
        return {};
      }
      // So many ask that one more cannot even wait.
      if (fd.error().code != ErrorCode::kBusy) return fd.error();
      HEXAD_TRY(pause(nullptr));
    }
  }

  Status send(const std::string& line) {
    for (std::size_t sent = 0; sent < line.size();) {
      const ssize_t count = ::send(fd_.get(), line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
      if (count >= 0) {
        sent += static_cast<std::size_t>(count);
        continue;
      }
      if (errno == EINTR) continue;
      if (errno == EPIPE || errno == ECONNRESET) return {};  // its answer may say why
      if (errno != EAGAIN) return broken(os_error(errno, "").message);
      pollfd wait = {fd_.get(), POLLOUT, 0};
      HEXAD_TRY(pause(&wait));
    }
    return {};
  }

  Result<std::string> receive() {
    std::string line;
    char piece[16 << 10];
    for (;;) {
      const ssize_t count = ::recv(fd_.get(), piece, sizeof(piece), 0);
      if (count > 0) {
        line.append(piece, static_cast<std::size_t>(count));
        if (line.back() == '\n') {
          line.pop_back();
          return line;
        }
        if (line.size() < limits_.answer) continue;
        return Error{
            ErrorCode::kTooBig,
            path_ + ": the answer has more than " + std::to_string(limits_.answer) + " bytes", ""};
      }
      if (count == 0 || errno == ECONNRESET) {
        Error error = broken("it ended the connection");
        if (line.empty()) error.code = ErrorCode::kBusy;
        return error;
      }
      if (errno == EINTR) continue;
      if (errno != EAGAIN) return broken(os_error(errno, "").message);
      pollfd wait = {fd_.get(), POLLIN, 0};
      HEXAD_TRY(pause(&wait));
    }
  }

  // Until something can be done, or for a moment; an error when it has been long enough.
  Status pause(pollfd* wait) {
    constexpr int kStep = 100;  // ms
    if (limits_.go_on && !limits_.go_on()) {
      return Error{ErrorCode::kClosed, path_ + ": the question was given up", ""};
    }
    const Nanos left = end_ - monotonic_now();
    if (left <= 0) {
      return broken("it has not answered for " + std::to_string(limits_.to_answer / kSecond) +
                    " s");
    }
    const int step = static_cast<int>(std::min<Nanos>(kStep, left / 1'000'000 + 1));
    ::poll(wait, wait == nullptr ? 0 : 1, step);
    return {};
  }

  Error broken(const std::string& why) const {
    return Error{ErrorCode::kUnavailable, path_ + ": " + why, "Ask again."};
  }

  const std::string path_;
  const std::string directory_;
  const AskLimits& limits_;
  const Nanos end_;
  OwnFd fd_;
};

bool is_directory(const std::string& path) {
  struct stat found = {};
  return ::stat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode);
}

}  // namespace

Result<AnsweredLine> ask_line(const std::vector<std::string>& directories,
                              const std::string& question, const AskLimits& limits) {
  std::string obstacles;
  std::string hint;  // of the first
  for (const std::string& directory : directories) {
    Result<AnsweredLine> answered = Asking(directory, limits).ask(question);
    if (answered.ok()) return answered;
    const Error& error = answered.error();
    const bool nobody = error.code == ErrorCode::kNotFound;
    if (!nobody && error.code != ErrorCode::kInvalidArgument) return error;
    if (nobody) continue;
    obstacles += (obstacles.empty() ? "" : "; ") + error.message;
    if (hint.empty()) hint = error.hint;
  }
  return Error{ErrorCode::kNotFound, obstacles.empty() ? "nobody answers" : obstacles, hint};
}

std::vector<std::string> runtime_directories(unsigned user) {
  std::vector<std::string> found;
  const char* const given = ::getenv("XDG_RUNTIME_DIR");
  if (user == ::geteuid() && given != nullptr && given[0] == '/') found.emplace_back(given);
  if (const std::string usual = "/run/user/" + std::to_string(user);
      is_directory(usual) && std::find(found.begin(), found.end(), usual) == found.end()) {
    found.push_back(usual);
  }
  found.emplace_back("/tmp");
  return found;
}

unsigned own_user() { return ::geteuid(); }

std::optional<unsigned> owner_of(const std::string& path) {
  struct stat found = {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return found.st_uid;
}

}  // namespace hexad::io
