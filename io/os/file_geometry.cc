#include "io/os/file_geometry.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/units.h"
#include "io/os_error.h"

namespace hexad::io {

namespace {

constexpr std::uint32_t kPhysicalBlock = 4096;

// What statx(2) says about direct I/O since Linux 6.1, in bytes; an offset of 0 means that the file
// system has none.
struct DirectAlignment {
  std::uint32_t memory = 0;
  std::uint32_t offset = 0;
};

std::optional<DirectAlignment> direct_alignment(int fd) {
  struct statx status {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &status) != 0) return std::nullopt;
  if ((status.stx_mask & STATX_DIOALIGN) == 0) return std::nullopt;
  return DirectAlignment{status.stx_dio_mem_align, status.stx_dio_offset_align};
}

// Older kernels: does a direct read of 512 bytes work? An empty file cannot tell.
bool reads_512(int fd) {
  AlignedBuffer buffer(kPhysicalBlock);
  return pread(fd, buffer.data(), 512, 0) == 512;
}

// One number or word from /sys, empty when it is not there. A partition's own folder has no queue;
// its disk's, one up, does.
std::string queue_attribute(dev_t device, const std::string& attribute) {
  const std::string base =
      "/sys/dev/block/" + std::to_string(major(device)) + ":" + std::to_string(minor(device));
  for (const char* queue : {"/queue/", "/../queue/"}) {
    std::ifstream file(base + queue + attribute);
    std::string line;
    if (std::getline(file, line)) return line;
  }
  return "";
}

}  // namespace

Result<Geometry> regular_file_geometry(int fd, const std::string& name, bool& direct) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return os_error(errno, name);
  Geometry geometry;
  geometry.logical_block = 512;
  if (direct) {
    const std::optional<DirectAlignment> alignment = direct_alignment(fd);
    if (alignment.has_value()) {
      direct = alignment->offset != 0 && alignment->offset <= kPhysicalBlock &&
               alignment->memory <= AlignedBuffer::kAlignment;
      if (direct && alignment->offset > 512) geometry.logical_block = kPhysicalBlock;
    } else if (!reads_512(fd)) {
      geometry.logical_block = kPhysicalBlock;
    }
  }
  geometry.physical_block = kPhysicalBlock;
  geometry.size = round_down(static_cast<std::uint64_t>(status.st_size), geometry.logical_block);
  geometry.volatile_cache = true;
  geometry.rotational = queue_attribute(status.st_dev, "rotational") == "1";
  return geometry;
}

Result<Geometry> block_device_geometry(int fd, const std::string& name) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return os_error(errno, name);
  std::uint64_t size = 0;
  int logical = 0;
  unsigned physical = 0;
  if (ioctl(fd, BLKGETSIZE64, &size) != 0 || ioctl(fd, BLKSSZGET, &logical) != 0 ||
      ioctl(fd, BLKPBSZGET, &physical) != 0) {
    return os_error(errno, name + ": asking for size and blocks");
  }
  Geometry geometry;
  geometry.logical_block = static_cast<std::uint32_t>(logical);
  geometry.physical_block = std::max<std::uint32_t>(physical, geometry.logical_block);
  geometry.size = round_down(size, geometry.logical_block);
  geometry.volatile_cache = queue_attribute(status.st_rdev, "write_cache") != "write through";
  geometry.rotational = queue_attribute(status.st_rdev, "rotational") == "1";
  return geometry;
}

bool is_in_memory(int fd) {
  struct statfs system {};
  if (fstatfs(fd, &system) != 0) return false;
  const auto type = static_cast<std::uint64_t>(system.f_type);
  return type == TMPFS_MAGIC || type == RAMFS_MAGIC;
}

std::optional<int> lock_holder(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) return std::nullopt;
  char place[64];
  std::snprintf(place, sizeof place, "%02x:%02x:%llu", major(status.st_dev), minor(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  // "1: FLOCK  ADVISORY  WRITE 4711 08:01:1234 0 EOF"
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, where;
    int process = 0;
    words >> number >> kind >> advisory >> access >> process >> where;
    if (words && kind == "FLOCK" && where == place && process > 0) return process;
  }
  return std::nullopt;
}

std::string locked_by(std::optional<int> holder) {
  constexpr std::size_t kMostShown = 80;  // bytes of a command
  if (!holder.has_value()) return " is locked by another program";
  if (*holder == static_cast<int>(getpid())) return " is open already, in this process";
  std::string text = " is locked by process " + std::to_string(*holder);
  // Its words, a zero byte behind each.
  std::ifstream file("/proc/" + std::to_string(*holder) + "/cmdline");
  std::string command;
  for (std::string word; std::getline(file, word, '\0');) {
    // Of the program its name alone.
    command += command.empty() ? word.substr(word.rfind('/') + 1) : " " + word;
  }
  if (command.empty()) return text;
  return text + " (" + printable(command, kMostShown) + ")";
}

}  // namespace hexad::io
