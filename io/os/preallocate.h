// Room for a file, taken all at once or not at all. For devices and the index in files.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace hexad::io {

// Raises the size of the regular file `fd` from `from` bytes, its size so far, to `to`, with all
// blocks between reserved; file systems that cannot reserve get the size alone. `name` begins the
// message. On failure the size is `from` again. Not synced.
//
// What can be seen beforehand not to fit is refused without trying: ext4, for one, hands out all it
// has before it finds out that this is not enough, and for that moment every other program on the
// file system has no room, nor has a loop device in one of its sparse files. What the file system
// keeps back for root counts as taken.
// Errors: kNoSpace, kIo.
Status preallocate(int fd, const std::string& name, std::uint64_t from, std::uint64_t to);

enum class Reserved : std::uint8_t {
  kAll,
  // The file system cannot reserve, or gives every write new blocks (copy on write: btrfs, ZFS,
  // bcachefs, F2FS, NILFS), so that what is reserved now does not help a later one.
  kNotPromised,
};
// Reserves the blocks of [from, to) that are missing: holes of a file that is that long already.
// What is there stays as it is. Without trying, when it can be seen not to fit. Not synced.
// Errors: kNoSpace, kIo, kExhausted.
Result<Reserved> reserve_range(int fd, const std::string& name, std::uint64_t from,
                               std::uint64_t to);

}  // namespace hexad::io
