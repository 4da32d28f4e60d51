// What crc32c_joined() is made of: the two ways to do it.
#pragma once

#include <cstdint>

namespace hexad {

// Returns what the crc32c of some bytes adds to that of them and `size` more.
std::uint32_t crc32c_moved(std::uint32_t sum, std::uint64_t size);
// The same, by the processor's instruction.
//
// Precondition: it has PCLMULQDQ.
std::uint32_t crc32c_moved_by_clmul(std::uint32_t sum, std::uint64_t size);

}  // namespace hexad
