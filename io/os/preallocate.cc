#include "io/os/preallocate.h"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

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

// See Reserved::kNotPromised; the magic numbers of <linux/magic.h>, and of what is not in there.
bool gives_new_blocks(int fd) {
  constexpr std::array<std::uint64_t, 5> kCopyOnWrite = {0x9123683e, 0x2fc12fc1, 0xca451a4e,
                                                         0xf2f52010, 0x3434};
  struct statfs status {};
  if (errno_of([&] { return fstatfs(fd, &status); }) != 0) return false;
  const auto type = static_cast<std::uint64_t>(status.f_type) & 0xffffffff;
  return std::find(kCopyOnWrite.begin(), kCopyOnWrite.end(), type) != kCopyOnWrite.end();
}

// Bytes of the range that have no blocks; nothing where the file system does not tell.
std::optional<std::uint64_t> missing_in(int fd, std::uint64_t from, std::uint64_t to) {
  constexpr std::uint32_t kAtOnce = 64;
  alignas(fiemap) std::byte memory[sizeof(fiemap) + kAtOnce * sizeof(fiemap_extent)];
  auto* map = reinterpret_cast<fiemap*>(memory);
  std::uint64_t missing = 0;
  std::uint64_t at = from;
  for (bool last = false; !last && at < to;) {
    *map = fiemap{};
    map->fm_start = at;
    map->fm_length = to - at;
    map->fm_extent_count = kAtOnce;
    if (errno_of([&] { return ioctl(fd, FS_IOC_FIEMAP, map); }) != 0) return std::nullopt;
    if (map->fm_mapped_extents == 0) break;
    for (std::uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      const std::uint64_t begin = std::clamp<std::uint64_t>(extent.fe_logical, at, to);
      missing += begin - at;
      at = std::clamp<std::uint64_t>(extent.fe_logical + extent.fe_length, begin, to);
      last = (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
  }
  return missing + (to - at);
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

Result<Reserved> reserve_range(int fd, const std::string& name, std::uint64_t from,
                               std::uint64_t to) {
  HEXAD_ASSERT(from <= to);
  if (from == to) return Reserved::kAll;
  if (gives_new_blocks(fd)) return Reserved::kNotPromised;
  const std::optional<std::uint64_t> missing = missing_in(fd, from, to);
  if (missing == 0) return Reserved::kAll;
  const std::string subject = name + ": no room for " + format_size(to - from) + " at byte " +
                              std::to_string(from) + " of a sparse file";
  if (missing.has_value()) {
    if (const std::uint64_t room = room_of(fd); *missing > room) {
      return Error{ErrorCode::kNoSpace,
                   subject + ": " + format_size(*missing) + " are missing and " +
                       format_size(room) + " are free",
                   "Free space on the file system."};
    }
  }
  const int number = errno_of(
      [&] { return fallocate(fd, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)); });
  if (number == EOPNOTSUPP || number == ENOSYS) return Reserved::kNotPromised;
  if (number != 0) return os_error(number, subject);
  return Reserved::kAll;
}

}  // namespace hexad::io
