// What the kernel says that this process has done.
#pragma once

#include <cstdint>

namespace hexad::bench {

// Bytes that this process has made the kernel write to disks, through whatever file.
std::uint64_t process_bytes_written();

}  // namespace hexad::bench
