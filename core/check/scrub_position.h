// How far a scrub has come, as text: whoever stops one keeps it and goes on there later, maybe in
// another process.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "alloc/zone.h"
#include "base/error.h"

namespace hexad::core {

struct ScrubPosition {
  enum class Part : std::uint8_t { kPacks, kObjects, kRuns, kOver };  // in this order
  Part part = Part::kPacks;
  // Of kPacks: the first place that has not been looked at.
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;
  // Of kObjects: the first key of the metadata, and the first page of its object.
  std::string key = {};
  std::uint32_t page = 0;

  bool operator==(const ScrubPosition&) const = default;
};

// Printable; empty when it is over.
std::string encode_position(const ScrubPosition& position);
// Empty: the beginning. Errors: kInvalidArgument; survives any input.
Result<ScrubPosition> decode_position(std::string_view text);

}  // namespace hexad::core
