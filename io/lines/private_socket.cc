#include "io/lines/private_socket.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/os_error.h"

namespace hexad::io {

namespace {

// Descriptors that a child closes: free places hold -1. Written by any thread, and read by the one
// that there is in a child; no lock, which another thread could have held at the fork.
std::array<std::atomic<int>, 512>& own_fds() {
  static std::array<std::atomic<int>, 512>* const fds = [] {
    auto* made = new std::array<std::atomic<int>, 512>;
    for (std::atomic<int>& one : *made) one.store(-1);
    return made;
  }();
  return *fds;
}

void close_in_child() {
  for (std::atomic<int>& one : own_fds()) {
    if (const int fd = one.exchange(-1); fd >= 0) ::close(fd);
  }
}

// False: there is none of the kind.
bool replace_once(int from, int to) {
  for (std::atomic<int>& one : own_fds()) {
    int expected = from;
    if (one.compare_exchange_strong(expected, to)) return true;
  }
  return false;
}

// Of an address that names the directory by its descriptor, so that neither its length counts nor
// what its path leads to meanwhile.
sockaddr_un address_by_descriptor(int directory) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(directory) + "/" + kSocketName;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Where there is no /proc. False: too long.
bool address_by_path(const std::string& path, sockaddr_un& address) {
  if (path.size() >= sizeof(address.sun_path)) return false;
  address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return true;
}

template <typename Call>
int with_address(const Call& call, int directory, const std::string& path) {
  const sockaddr_un by_descriptor = address_by_descriptor(directory);
  const int outcome = call(reinterpret_cast<const sockaddr*>(&by_descriptor), sizeof(sockaddr_un));
  if (outcome == 0 || (errno != ENOENT && errno != ENOTDIR && errno != EACCES)) return outcome;
  const int reason = errno;
  if (::access("/proc/self/fd", F_OK) == 0) {
    errno = reason;
    return outcome;
  }
  sockaddr_un by_path;
  if (!address_by_path(path, by_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  return call(reinterpret_cast<const sockaddr*>(&by_path), sizeof(sockaddr_un));
}

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error of_another_user(const std::string& directory, unsigned user) {
  return Error{ErrorCode::kInvalidArgument, directory + " belongs to user " + std::to_string(user),
               "Run as that user."};
}

// CS1.
Status make_private(const OwnFd& directory, const std::string& path) {
  struct stat found = {};
  if (::fstat(directory.get(), &found) != 0) return os_error(errno, path);
  if (found.st_uid != ::geteuid()) {
    if (::geteuid() != 0) return of_another_user(path, found.st_uid);
    if (::fchown(directory.get(), 0, static_cast<gid_t>(-1)) != 0) return os_error(errno, path);
  }
  if ((found.st_mode & 07777) != 0700 && ::fchmod(directory.get(), 0700) != 0) {
    return os_error(errno, path);
  }
  return {};
}

}  // namespace

OwnFd::OwnFd(int fd) : fd_(fd) {
  if (fd < 0) return;
  static const int registered = pthread_atfork(nullptr, nullptr, &close_in_child);
  static_cast<void>(registered);  // fails for lack of memory only: then children keep them
  listed_ = replace_once(-1, fd);
}

OwnFd::OwnFd(OwnFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)), listed_(other.listed_) {}

OwnFd& OwnFd::operator=(OwnFd&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(listed_, other.listed_);
  return *this;
}

OwnFd::~OwnFd() {
  if (fd_ < 0) return;
  // Before it is closed, since a number that is free may become another file's; and in a child it
  // has been closed.
  if (listed_ && !replace_once(fd_, -1)) return;
  ::close(fd_);
}

Result<PrivateSocket> listen_in(const std::string& directory, int backlog) {
  PrivateSocket made;
  made.directory_path = directory;
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) return os_error(errno, directory);
  made.directory = OwnFd(::open(directory.c_str(), kDirectoryFlags));
  if (!made.directory.valid()) return os_error(errno, directory);
  HEXAD_TRY(make_private(made.directory, directory));
  if (::unlinkat(made.directory.get(), kSocketName, 0) != 0 && errno != ENOENT) {
    return os_error(errno, made.path());
  }
  made.listener = OwnFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!made.listener.valid()) return os_error(errno, "a socket");
  const auto bind_to = [&](const sockaddr* address, socklen_t size) {
    return ::bind(made.listener.get(), address, size);
  };
  if (with_address(bind_to, made.directory.get(), made.path()) != 0) {
    return os_error(errno, made.path());
  }
  if (::listen(made.listener.get(), backlog) != 0) return os_error(errno, made.path());
  return made;
}

void remove_socket(const std::string& directory) {
  const OwnFd opened(::open(directory.c_str(), kDirectoryFlags));
  if (!opened.valid()) return;
  struct stat found = {};
  const bool own = ::fstat(opened.get(), &found) == 0 && found.st_uid == ::geteuid();
  if (!own) return;
  ::unlinkat(opened.get(), kSocketName, 0);
  ::rmdir(directory.c_str());
}

Result<OwnFd> connect_in(const std::string& directory) {
  const OwnFd opened(::open(directory.c_str(), kDirectoryFlags));
  if (!opened.valid()) {
    Error error = os_error(errno, directory);
    if (errno == EACCES) error.hint = "Run as the user who has the pool open, or as root.";
    return error;
  }
  OwnFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return os_error(errno, "a socket");
  const auto connect_to = [&](const sockaddr* address, socklen_t size) {
    return ::connect(fd.get(), address, size);
  };
  const std::string path = directory + "/" + kSocketName;
  if (with_address(connect_to, opened.get(), path) == 0) return fd;
  // What was left by a process that has ended.
  if (errno == ECONNREFUSED) return Error{ErrorCode::kNotFound, path + ": nobody listens", ""};
  if (errno == EAGAIN) return Error{ErrorCode::kBusy, path + ": too many ask at once", ""};
  return os_error(errno, path);
}

Result<Peer> peer_of(int fd) {
  ucred credentials = {};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
    return os_error(errno, "who is on the other side of a socket");
  }
  return Peer{credentials.pid, credentials.uid};
}

bool is_heard(const Peer& peer) { return peer.user == ::geteuid() || peer.user == 0; }

bool is_believed(const Peer& peer) { return is_heard(peer) || ::geteuid() == 0; }

}  // namespace hexad::io
