// How much smaller a sweep is under a sanitizer, which makes it five times slower: runs that differ
// in a number only take the same paths, so few of them find what a sanitizer looks for.
#pragma once

#include <cstdint>

namespace hexad::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kThinned = 5;
#else
constexpr std::uint64_t kThinned = 1;
#endif

}  // namespace hexad::testing
