#include "io/preallocate.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/assert.h"
#include "base/units.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

// errno of the call, 0 when it succeeded.
template <typename Call>
int errno_of(Call call) {
  for (;;) {
    if (call() == 0) return 0;
    if (errno != EINTR) return errno;
  }
}

// Bytes; without a limit where the file system does not tell.
std::uint64_t room_of(int fd) {
  struct statvfs status {};
  if (errno_of([&] { return fstatvfs(fd, &status); }) != 0 || status.f_blocks == 0) {
    return ~std::uint64_t{0};
  }
  return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
}

}  // namespace

Status preallocate(int fd, const std::string& name, std::uint64_t from, std::uint64_t to) {
  HEXAD_ASSERT(from <= to);
  if (from == to) return {};
  const std::string subject = name + ": no room to grow to " + format_size(to);
  if (const std::uint64_t room = room_of(fd); to - from > room) {
    return Error{ErrorCode::kNoSpace,
                 subject + ": " + format_size(to - from) + " more are needed and " +
                     format_size(room) + " are free",
                 "Free space on the file system or use another one."};
  }
  int number = errno_of(
      [&] { return fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)); });
  if (number == EOPNOTSUPP || number == ENOSYS) {
    number = errno_of([&] { return ftruncate(fd, static_cast<off_t>(to)); });
  }
  if (number == 0) return {};
  // Some file systems leave the part that did fit.
  if (errno_of([&] { return ftruncate(fd, static_cast<off_t>(from)); }) != 0) {
    return os_error(number, subject + ", nor a way back to " + format_size(from));
  }
  return os_error(number, subject);
}

}  // namespace hexad::io
