// What cursors over keys have in common when they hand out many entries at a time.
#pragma once

#include <cstdint>
#include <string_view>

namespace hexad::kv {

enum class Direction : std::uint8_t { kForward, kBackward };  // ascending keys, descending ones

struct KeyValue {
  std::string_view key;
  std::string_view value;
};

}  // namespace hexad::kv
