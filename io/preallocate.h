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

}  // namespace hexad::io
