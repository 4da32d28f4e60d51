// Which room in the log a record may take.
#pragma once

#include <cstdint>

namespace hexad::core {

// kPacking: the room that the log keeps for packing what is inlined in it (C4), too.
enum class LogRoom : std::uint8_t { kCommon, kPacking };

}  // namespace hexad::core
