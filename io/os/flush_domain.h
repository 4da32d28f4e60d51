// Which devices share a volatile cache, so that a flush of one covers writes to the others.
// Whatever is not known to be safe gets a domain of its own. For io/os/file_device.cc.
//
// Files share one when they lie on one mounted file system that is known to flush the whole disk
// for fdatasync() of any of its files (ext4, xfs; barriers on), are written with direct I/O, and
// the file system says which of their ranges are unwritten (io/os/unwritten_ranges.h). Whole block
// devices share one when they are partitions of one disk, or that disk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/os/unwritten_ranges.h"

namespace hexad::io {

// Geometry::flush_domain of files on the file system with this st_dev; 0 when they may not share.
std::uint64_t file_flush_domain(dev_t file_system);
// Of a block device, by its st_rdev.
std::uint64_t block_device_flush_domain(dev_t device);

// The same from the text of /proc/self/mountinfo.
bool may_share_flushes(std::string_view mountinfo, dev_t file_system);

// The ranges of [0, size) without a written extent of their own: preallocated, delayed, shared with
// another file, holes. Nothing where the file system cannot say. What is marked as written is
// durably so: the file is flushed first. Errors: kIo (that flush).
Result<std::optional<std::vector<FileRange>>> find_unwritten(int fd, std::uint64_t size,
                                                             const std::string& name);

}  // namespace hexad::io
