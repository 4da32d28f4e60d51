#include "io/os/flush_domain.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr std::uint64_t kFileSystem = std::uint64_t{1} << 62;
constexpr std::uint64_t kDisk = std::uint64_t{2} << 62;
constexpr std::uint32_t kExtentsAtOnce = 128;
// A file in more pieces than this is not worth the memory.
constexpr std::size_t kMostExtents = 1 << 20;

bool has_word(const std::string& options, std::string_view word) {
  std::istringstream list(options);
  for (std::string one; std::getline(list, one, ',');) {
    if (one == word) return true;
  }
  return false;
}

std::string device_numbers(dev_t device) {
  return std::to_string(major(device)) + ":" + std::to_string(minor(device));
}

}  // namespace

// "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard": the third word, and behind the
// lone dash the type, the source and the file system's own options.
bool may_share_flushes(std::string_view mountinfo, dev_t file_system) {
  const std::string wanted = device_numbers(file_system);
  bool found = false;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, word, type, source, options;
    words >> id >> parent >> device;
    if (device != wanted) continue;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    if (!words || (type != "ext4" && type != "xfs")) return false;
    if (has_word(options, "nobarrier") || has_word(options, "barrier=0")) return false;
    found = true;
  }
  return found;
}

std::uint64_t file_flush_domain(dev_t file_system) {
  std::ifstream file("/proc/self/mountinfo");
  std::ostringstream text;
  text << file.rdbuf();
  if (!may_share_flushes(text.str(), file_system)) return 0;
  return kFileSystem | static_cast<std::uint64_t>(file_system);
}

std::uint64_t block_device_flush_domain(dev_t device) {
  const std::string folder = "/sys/dev/block/" + device_numbers(device);
  std::error_code error;
  if (!std::filesystem::exists(folder, error)) return 0;
  if (!std::filesystem::exists(folder + "/partition", error)) {
    return error ? 0 : kDisk | static_cast<std::uint64_t>(device);
  }
  // A partition's folder lies in that of its disk.
  std::ifstream file(folder + "/../dev");
  unsigned disk_major = 0;
  unsigned disk_minor = 0;
  char colon = 0;
  if (!(file >> disk_major >> colon >> disk_minor)) return 0;
  return kDisk | static_cast<std::uint64_t>(makedev(disk_major, disk_minor));
}

Result<std::optional<std::vector<FileRange>>> find_unwritten(int fd, std::uint64_t size,
                                                             const std::string& name) {
  // A process that was killed may have left conversions that only the running system knows.
  while (fsync(fd) != 0) {
    if (errno != EINTR) return os_error(errno, name + ": sync");
  }
  constexpr std::uint32_t kFirstWriteNeeded =
      FIEMAP_EXTENT_UNWRITTEN | FIEMAP_EXTENT_DELALLOC | FIEMAP_EXTENT_SHARED;
  // Bytes that are not simply at their place: nothing can be said about writes to them.
  constexpr std::uint32_t kStrange = FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_NOT_ALIGNED |
                                     FIEMAP_EXTENT_DATA_INLINE | FIEMAP_EXTENT_DATA_TAIL;
  alignas(fiemap) std::byte memory[sizeof(fiemap) + kExtentsAtOnce * sizeof(fiemap_extent)];
  auto* map = reinterpret_cast<fiemap*>(memory);
  std::vector<FileRange> unwritten;
  const auto add = [&](std::uint64_t from, std::uint64_t to) {
    to = std::min(to, size);
    if (from >= to) return;
    if (!unwritten.empty() && unwritten.back().end() == from) {
      unwritten.back().length += to - from;
    } else {
      unwritten.push_back({from, to - from});
    }
  };
  std::uint64_t at = 0;
  for (bool last = false; !last && at < size;) {
    *map = fiemap{};
    map->fm_start = at;
    map->fm_length = size - at;
    map->fm_flags = FIEMAP_FLAG_SYNC;
    map->fm_extent_count = kExtentsAtOnce;
    if (ioctl(fd, FS_IOC_FIEMAP, map) != 0) {
      if (errno == EINTR) continue;
      return std::optional<std::vector<FileRange>>();
    }
    if (map->fm_mapped_extents == 0) break;
    for (std::uint32_t i = 0; i < map->fm_mapped_extents; ++i) {
      const fiemap_extent& extent = map->fm_extents[i];
      if ((extent.fe_flags & kStrange) != 0) return std::optional<std::vector<FileRange>>();
      const std::uint64_t begin = std::max<std::uint64_t>(at, extent.fe_logical);
      const std::uint64_t end = extent.fe_logical + extent.fe_length;
      add(at, begin);  // a hole
      if ((extent.fe_flags & kFirstWriteNeeded) != 0) add(begin, end);
      at = std::max(at, end);
      last = (extent.fe_flags & FIEMAP_EXTENT_LAST) != 0;
    }
    if (unwritten.size() > kMostExtents) return std::optional<std::vector<FileRange>>();
  }
  add(at, size);
  return std::optional<std::vector<FileRange>>(std::move(unwritten));
}

}  // namespace hexad::io
