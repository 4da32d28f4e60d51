// Which runs of a campaign these are: told by the environment, so that every landing and every hour
// of proof tries other ones, and any of them can be repeated.
//
//   HEXAD_SEED      a number. `./run test` derives it from the commit, `./run prove` draws one for
//                   each round; without it the runs are those that doc/testing.md names.
//   HEXAD_THOROUGH  set and not empty: all runs of a campaign. Without it a campaign that would
//   take
//                   minutes tries one in so many, other ones for each seed.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string>

namespace hexad::testing {

inline std::uint64_t campaign_seed() {
  const char* text = std::getenv("HEXAD_SEED");
  return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

inline bool campaign_is_thorough() {
  const char* thorough = std::getenv("HEXAD_THOROUGH");
  return thorough != nullptr && *thorough != '\0';
}

// Whether run `number` is one of those to try when one in so many is.
inline bool campaign_picks(std::uint64_t number, std::uint64_t one_in) {
  if (campaign_is_thorough()) return true;
  return one_in < 2 || (number + campaign_seed()) % one_in == 0;
}

// The seed of run `number`: the number itself where no campaign seed is given.
inline std::uint64_t campaign_seed_of(std::uint64_t number) {
  return campaign_seed() * 1'000'003 + number;
}

}  // namespace hexad::testing
