// The parameters of an open store that the data path computes with; constant while it is open.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ids.h"
#include "core/record/record.h"
#include "ec/profile.h"

namespace hexad::core {

struct StoreShape {
  Uuid uuid;
  ec::Profile profile;
  RecordShape record;
  std::uint32_t block = 4096;      // physical block of the data devices: cells are multiples
  std::uint32_t log_block = 4096;  // of the log's blocks: the largest of all devices
  std::uint64_t unit = 4096;       // min_alloc, bytes
  std::uint32_t data_devices = 6;
  // Blobs of fewer stored bytes share pack stripes; 0: none does. own_stripe_from(). From there to
  // kAlwaysOwnStripe on those do that would leave more of a stripe of their own empty than is given
  // up (is_lone()).
  std::uint64_t private_threshold = 64 << 10;
  std::uint32_t max_pack_units = 1;  // of one cell of a pack stripe

  std::uint32_t k() const { return profile.k; }
  std::uint32_t m() const { return profile.m; }
  std::uint32_t cells() const { return profile.k + profile.m; }
};

// Stored bytes from which on every blob has a stripe of its own, whatever it leaves empty of it.
inline constexpr std::uint64_t kAlwaysOwnStripe = 256 << 10;
// ... and from which on one does that fills it: four stripes of one unit. What has one is not moved
// when others are overwritten.
constexpr std::uint64_t own_stripe_from(std::uint64_t unit, std::uint32_t k) {
  return std::clamp<std::uint64_t>(4 * unit * k, 64 << 10, kAlwaysOwnStripe);
}

// Which slot of its zone holds data cell 0 of the stripe that starts at `unit`; role r is on slot
// (r + rotation) mod cells. A function of the address alone, so that nothing has to be stored.
// Neighbouring stripes of any one size rotate, whatever their size has in common with `cells`.
constexpr std::uint32_t stripe_rotation(std::uint32_t unit, std::uint32_t cells) {
  return static_cast<std::uint32_t>((unit * std::uint64_t{0x9E3779B97F4A7C15} >> 33) % cells);
}

}  // namespace hexad::core
