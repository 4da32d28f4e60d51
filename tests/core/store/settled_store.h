// A store of which the cleaner has moved what it moves.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>

#include "core/store.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {

// Bytes allocated when nothing more is freed. Whoever asks for space waits for the cleaner, so this
// asks again and again how much there is.
inline std::uint64_t allocated_when_settled(Store& store) {
  std::uint64_t before = ~std::uint64_t{0};
  for (;;) {
    const std::uint64_t cleaned = counter(store, "cleaned_stripes");
    REQUIRE(message_of(store.checkpoint()) == "");
    const std::uint64_t now = store.space()->allocated;
    if (now == before && counter(store, "cleaned_stripes") == cleaned) return now;
    before = now;
  }
}

// The same when it is `most` or less; where it stays above, what is left after many questions
// without anything cleaned between them.
inline std::uint64_t allocated_below(Store& store, std::uint64_t most) {
  std::uint64_t left = allocated_when_settled(store);
  std::uint64_t before = counter(store, "cleaned_stripes");
  for (int quiet = 0; quiet < 2000 && left > most; ++quiet) {
    left = allocated_when_settled(store);
    const std::uint64_t cleaned = counter(store, "cleaned_stripes");
    if (cleaned != before) quiet = 0;
    before = cleaned;
  }
  return left;
}

}  // namespace hexad::testing
