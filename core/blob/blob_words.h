// What BlobReader says of stripes and cells that it cannot have. For its files alone.
#pragma once

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
// What to do where too few cells are good. Cells that are damaged come back with no device.
std::string advice(bool devices_may_help, bool parity);

}  // namespace hexad::core
