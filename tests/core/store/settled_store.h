// A store of which the cleaner has moved what it moves.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <thread>

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

// Until it is `most` or less, for as long as the cleaner's thread takes to get there: some of what
// it does waits until the store has been at rest for a second.
inline void wait_until_allocated(Store& store, std::uint64_t most) {
  while (allocated_when_settled(store) > most) std::this_thread::yield();
}

}  // namespace hexad::testing
