// What the kernel tells about the blocks and caches below a descriptor. For io/os/file_device.cc.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "io/device.h"

namespace hexad::io {

// Geometry of a regular file: 512 or 4096 as direct I/O on it requires, physical 4096. A file's
// cache counts as volatile whatever the disk below: its metadata needs the flush.
// `direct` is in and out: set to false when the file system cannot do direct I/O.
// Errors: kIo.
Result<Geometry> regular_file_geometry(int fd, const std::string& name, bool& direct);

// Geometry of a block device, by ioctl and sysfs. Errors: kIo.
Result<Geometry> block_device_geometry(int fd, const std::string& name);

// Whether what a regular file holds is in memory, and nowhere else (or in swap, as all memory).
bool is_in_memory(int fd);

// The process that holds a flock(2) on this file, from /proc/locks; nothing where not knowable.
std::optional<int> lock_holder(int fd);

// For people, behind the name of a locked file: " is locked by process 4711 (hexad scrub pool)",
// with as much of that as can be known.
std::string locked_by(std::optional<int> holder);

}  // namespace hexad::io
