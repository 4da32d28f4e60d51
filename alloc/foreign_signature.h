// Recognises what somebody else keeps on a device, so that formatting can refuse and a wrong path
// gets a helpful message. Looks only at the well-known places of the well-known formats; finding
// nothing does not prove that the device is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/device.h"

namespace hexad::alloc {

// `head`: the first bytes of the device, up to 256 KiB. `tail`: its last bytes, up to 192 KiB,
// which end at `device_size`; both shorter on a small device. Any content. Returns the name of what
// was found, for example "ext4 file system" (doc/format.md, "Foreign signatures"), the first in
// order of the list there.
std::optional<std::string> detect_foreign_signature(ByteView head, ByteView tail,
                                                    std::uint64_t device_size);

// Reads the two ends of the device and looks. Errors: those of the reads.
Result<std::optional<std::string>> detect_foreign_signature(io::Device& device);

}  // namespace hexad::alloc
