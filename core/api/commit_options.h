// Options of a commit: what it promises when it is answered.
#pragma once

#include <cstdint>

namespace hexad {

// When a commit is answered.
enum class Durability : std::uint8_t {
  // When it is durable: no crash loses it (see LogDurability).
  kDurable,
  // When it has its LSN: all threads read it, and later commits depend on it.
  //
  // It becomes durable with the next durable commit or Store::sync(), or by itself within 10 ms and
  // one round of writes. A crash before that loses it and every later commit: what is left is a
  // prefix in the order of LSNs.
  kBuffered,
};

// Options of one commit.
struct CommitOptions {
  Durability durability = Durability::kDurable;  // when the commit is answered
};

}  // namespace hexad
