// What a commit promises when it is answered.
#pragma once

#include <cstdint>

namespace hexad {

enum class Durability : std::uint8_t {
  // Answered when no crash can take it back.
  kDurable,
  // Answered when it has its LSN: everybody reads it, and later commits rest on it. Durable with
  // the next durable commit or Store::sync(), or by itself within kBufferedDelay and the time of a
  // write. A crash before that loses it and everything behind it in the order of LSNs: what is left
  // is a prefix.
  kBuffered,
};

struct CommitOptions {
  Durability durability = Durability::kDurable;
};

}  // namespace hexad
