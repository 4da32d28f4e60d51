// Keys around the places where long keys are cut.
#pragma once

#include <string>

#include "io/rng.h"

namespace hexad::kv::testing {

// Few different heads, so that segments are shared; lengths around one, two and three cuts; the
// lowest and highest bytes right at the cut.
inline std::string adversarial_key(io::Rng& rng) {
  static constexpr std::size_t kLengths[] = {1,   8,   100, 470, 479, 480,  481,  482,  490,
                                             500, 950, 959, 960, 961, 1000, 1100, 1440, 1441};
  std::string key(kLengths[rng.below(std::size(kLengths))], rng.chance(1, 2) ? 'a' : '\xff');
  if (rng.chance(1, 8)) key.assign(key.size(), '\0');
  for (const std::size_t cut : {479u, 480u, 481u, 959u, 960u, 961u, 1440u}) {
    if (cut < key.size() && rng.chance(1, 3)) key[cut] = "\x00\x01\x7f\xff"[rng.below(4)];
  }
  if (rng.chance(1, 2)) key.back() = static_cast<char>(rng.next());
  return key;
}

}  // namespace hexad::kv::testing
