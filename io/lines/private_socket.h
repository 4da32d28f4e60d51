// The files and descriptors of io/lines/line_service.h: where a socket is, and that nobody else has
// it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace hexad::io {

// A descriptor that a forked child does not keep (CS4). A fork between the call that made it and
// this may; so may the children of a process that has more than 512 of them.
class OwnFd {
 public:
  OwnFd() = default;
  explicit OwnFd(int fd);
  OwnFd(OwnFd&& other) noexcept;
  OwnFd& operator=(OwnFd&& other) noexcept;
  ~OwnFd();

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
  bool listed_ = false;
};

inline constexpr const char* kSocketName = "socket";

// A socket that listens, and the directory that it is in.
struct PrivateSocket {
  OwnFd listener;
  OwnFd directory;
  std::string directory_path;

  std::string path() const { return directory_path + "/" + kSocketName; }
};

// CS1. Errors: those of the operating system, and kInvalidArgument (another user's directory).
Result<PrivateSocket> listen_in(const std::string& directory, int backlog);
// Removes the socket, and the directory, if they are there and the user's own.
void remove_socket(const std::string& directory);
// Connected, and not blocking. Errors: kNotFound (nobody listens there), kInvalidArgument (another
// user's), kBusy (so many ask that one more cannot even wait), kExhausted (this process has no
// descriptor left, say), kIo.
Result<OwnFd> connect_in(const std::string& directory);

// Who is on the other side, by the kernel's word. Errors: kIo.
struct Peer {
  int pid = 0;
  unsigned user = 0;
};
Result<Peer> peer_of(int fd);
// CS2, of who asks, and of who answers: root asks anybody.
bool is_heard(const Peer& peer);
bool is_believed(const Peer& peer);

}  // namespace hexad::io
