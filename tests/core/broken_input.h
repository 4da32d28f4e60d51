// Feeds a decoder everything that may become of a good input on a device.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/rng.h"

namespace hexad {

// Every truncation, every byte with one bit or all bits changed, every byte deleted or doubled, one
// byte too many, and noise of the same length. `decode` is handed each of them.
inline void for_each_broken(const std::string& good, io::Rng& rng,
                            const std::function<void(std::string_view)>& decode) {
  for (std::size_t size = 0; size < good.size(); ++size) {
    // A copy, so that a read behind the end is one behind an allocation.
    const std::string cut(good, 0, size);
    decode(cut);
  }
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (unsigned change : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 255u}) {
      std::string flipped = good;
      flipped[at] = static_cast<char>(static_cast<unsigned char>(flipped[at]) ^ change);
      decode(flipped);
    }
    std::string shorter = good;
    shorter.erase(at, 1);
    decode(shorter);
    std::string longer = good;
    longer.insert(at, 1, good[at]);
    decode(longer);
  }
  decode(good + '\0');
  std::string noise = good;
  for (std::size_t at = noise.empty() ? 0 : 1; at < noise.size(); ++at) {
    noise[at] = static_cast<char>(rng.next());
  }
  decode(noise);
}

}  // namespace hexad
