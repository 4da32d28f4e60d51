// What BlobReader says of stripes and cells that it cannot have. For its files alone.
#pragma once

#include <cstdint>
#include <string>

#include "alloc/zone.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::core {

// "stripe at zone 3 unit 7".
std::string describe(const alloc::Extent& where);
// "/dev/sdb has not answered for 12 s".
std::string not_answered(io::Device& device);
Error mismatch();
// Why too few cells are good. Cells that are damaged come back with no device.
enum class TooFew : std::uint8_t { kAway, kDamaged, kDamagedWithoutParity };
// What to do about it.
std::string advice(TooFew why);

}  // namespace hexad::core
