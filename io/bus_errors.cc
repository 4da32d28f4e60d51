#include "io/bus_errors.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "base/os_mutex.h"

namespace hexad::io {

namespace {

// What the handler reads.
struct Watched {
  std::string path;  // as the kernel says it
  // What is said, whole: several threads may meet a cut file at once, and one write of a line is
  // not torn by another.
  std::string line;

  bool operator==(const Watched&) const = default;
};

constexpr std::size_t kMostWatched = 256;
constexpr std::size_t kLongestLine = 8192;  // of /proc/self/maps: a path of 4096 bytes, escaped

// The handler of a process is a property of the process, so there is one table.
std::array<std::atomic<const Watched*>, kMostWatched> watched{};
OsMutex installing;  // below, and changes of the table
// All that there ever were, each once. Never freed: a handler may be reading, on any thread.
std::vector<std::unique_ptr<const Watched>>* all_watched HEXAD_GUARDED_BY(installing) = nullptr;
std::size_t watches HEXAD_GUARDED_BY(installing) = 0;  // places in use
// Our handler was, and nobody is known to have taken it away.
bool installed HEXAD_GUARDED_BY(installing) = false;
struct sigaction before_us = {};  // written before the handler is there, and only then

void write_all(const char* text, std::size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(STDERR_FILENO, text, size);
    if (done <= 0) return;
    text += done;
    size -= static_cast<std::size_t>(done);
  }
}

// Takes hexadecimal digits off the front.
std::uintptr_t take_hex(const char*& at) {
  std::uintptr_t value = 0;
  for (;; ++at) {
    const char c = *at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<std::uintptr_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<std::uintptr_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

// A line is "begin-end perms offset device inode   path". The path of what is mapped at the
// address; null: that is somewhere else.
const char* path_in_line(const char* line, std::uintptr_t address) {
  const char* at = line;
  const std::uintptr_t begin = take_hex(at);
  if (*at != '-') return nullptr;
  ++at;
  const std::uintptr_t end = take_hex(at);
  if (address < begin || address >= end) return nullptr;
  return std::strchr(at, '/');
}

const Watched* find_watched(const char* path) {
  for (const std::atomic<const Watched*>& place : watched) {
    const Watched* one = place.load(std::memory_order_acquire);
    if (one == nullptr) continue;
    const std::size_t size = one->path.size();
    if (std::strncmp(path, one->path.c_str(), size) != 0) continue;
    if (path[size] == '\0' || std::strcmp(path + size, " (deleted)") == 0) return one;
  }
  return nullptr;
}

// The watched file that is mapped at the address, or null.
const Watched* find_at(std::uintptr_t address) {
  const int fd = ::open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return nullptr;
  const Watched* found = nullptr;
  char text[kLongestLine + 1];
  std::size_t filled = 0;
  for (bool more = true; more && found == nullptr;) {
    const ssize_t got = ::read(fd, text + filled, kLongestLine - filled);
    if (got < 0 && errno == EINTR) continue;
    more = got > 0;
    if (more) filled += static_cast<std::size_t>(got);
    std::size_t line = 0;
    for (std::size_t i = 0; i < filled && found == nullptr; ++i) {
      if (text[i] != '\n') continue;
      text[i] = '\0';
      const char* path = path_in_line(text + line, address);
      if (path != nullptr) found = find_watched(path);
      line = i + 1;
    }
    std::memmove(text, text + line, filled - line);
    filled -= line;
  }
  ::close(fd);
  return found;
}

void on_bus_error(int number, siginfo_t* info, void* context) {
  const int errno_before = errno;
  if (const Watched* one = find_at(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    write_all(one->line.c_str(), one->line.size());
  }
  errno = errno_before;
  if ((before_us.sa_flags & SA_SIGINFO) != 0) {
    before_us.sa_sigaction(number, info, context);
  } else if (before_us.sa_handler != SIG_DFL && before_us.sa_handler != SIG_IGN) {
    before_us.sa_handler(number);
  } else {
    // The instruction runs again, and the kernel does what it would have done.
    ::sigaction(SIGBUS, &before_us, nullptr);
  }
}

bool is_ours(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_bus_error;
}

Status install() HEXAD_REQUIRES(installing) {
  if (installed) return {};
  struct sigaction ours = {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&ours.sa_mask);
  if (::sigaction(SIGBUS, nullptr, &before_us) != 0 || ::sigaction(SIGBUS, &ours, nullptr) != 0) {
    return Error{ErrorCode::kUnsupported,
                 std::string("cannot handle SIGBUS: ") + std::strerror(errno),
                 "Leave bus errors as they are."};
  }
  installed = true;
  return {};
}

// Who has a handler over ours may ask ours, so then it stays.
void uninstall() HEXAD_REQUIRES(installing) {
  struct sigaction now = {};
  if (!installed || ::sigaction(SIGBUS, nullptr, &now) != 0 || !is_ours(now)) return;
  if (::sigaction(SIGBUS, &before_us, nullptr) == 0) installed = false;
}

const Watched* keep(Watched wanted) HEXAD_REQUIRES(installing) {
  if (all_watched == nullptr) all_watched = new std::vector<std::unique_ptr<const Watched>>;
  for (const auto& one : *all_watched) {
    if (*one == wanted) return one.get();
  }
  all_watched->push_back(std::make_unique<const Watched>(std::move(wanted)));
  return all_watched->back().get();
}

}  // namespace

Result<BusErrorWatch> BusErrorWatch::start(const std::string& path, const std::string& meaning) {
  std::error_code none;
  const std::filesystem::path real = std::filesystem::weakly_canonical(path, none);
  const OsLock lock(installing);
  const std::string there = none ? path : real.string();
  const Watched* one =
      keep({there, "hexad: bus error (SIGBUS) in a map of " + there + ": " + meaning + "\n"});
  const auto place = std::find_if(watched.begin(), watched.end(), [](const auto& each) {
    return each.load(std::memory_order_relaxed) == nullptr;
  });
  Status status;
  if (place == watched.end()) {
    status = Error{ErrorCode::kExhausted,
                   "bus errors are explained for at most " + std::to_string(kMostWatched) +
                       " files of a process",
                   "Leave those of some stores as they are."};
  } else {
    status = install();
  }
  HEXAD_TRY(status);
  place->store(one, std::memory_order_release);
  ++watches;
  return BusErrorWatch(static_cast<int>(place - watched.begin()));
}

BusErrorWatch::BusErrorWatch(BusErrorWatch&& other) noexcept
    : place_(std::exchange(other.place_, -1)) {}

BusErrorWatch& BusErrorWatch::operator=(BusErrorWatch&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

BusErrorWatch::~BusErrorWatch() {
  if (place_ < 0) return;
  const OsLock lock(installing);
  watched[static_cast<std::size_t>(place_)].store(nullptr, std::memory_order_release);
  if (--watches == 0) uninstall();
}

}  // namespace hexad::io
