// Which pack stripes are worth cleaning: a pure function of what is alive in them.
//
// A stripe's worth is what cleaning gains for what it costs, (1 - u) / (1 + u) with the share u
// that is alive, times its age: what is young dies by itself soon, and what has been alive for long
// stays.
//
// Holds for every plan
//   CP1 no victim has more alive than rules.most_live allows, nor was one written behind
//       rules.moved_up_to (what has no place in the index yet would die by its old name)
//   CP2 what is alive in all of them fits into one stripe of rules.most_units
//   CP3 the stripe that takes their place is shorter than all of them: a plan is empty, or gains
//       units, so cleaning comes to an end by itself
//   CP4 of two that may be victims, the one that is worth more comes first
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "alloc/zone.h"
#include "base/ids.h"
#include "core/space/space.h"

namespace hexad::core {

// Of 1024 parts of a stripe, alive at most where a commit would fail without moving it.
inline constexpr std::uint32_t kLiveForCommit = 960;

struct CleanCandidate {
  alloc::Extent stripe;
  std::uint64_t live = 0;    // bytes
  std::uint32_t footer = 0;  // crc of its footer
  Lsn born = 0;              // when it was published; 0: before this opening
  Lsn written = 0;           // when what is in it was written, about
};

inline CleanCandidate candidate_of(const Space::PackUse& pack) {
  return {pack.stripe, pack.live, pack.footer, pack.born, pack.written};
}

struct CleanRules {
  std::uint64_t stripe_bytes = 0;  // user bytes of one unit of a stripe
  std::uint32_t most_units = 1;    // of the stripe that takes the victims' place
  std::uint32_t most_live = 0;     // of 1024 parts of a stripe, for a victim
  Lsn moved_up_to = 0;             // the last finished checkpoint
  Lsn now = 0;
};

struct CleanPlan {
  std::vector<CleanCandidate> victims;  // the best first
  std::uint64_t gain = 0;               // units, when all that is alive is moved
  bool empty() const { return victims.empty(); }
};

// Whether no more of a stripe's `all` bytes is alive than `most_live` of 1024 parts: CP1.
bool may_be_victim(std::uint64_t live, std::uint64_t all, std::uint32_t most_live);

// Units that `live` bytes take in a pack stripe, with its footer and what is left between blobs:
// an estimate.
std::uint64_t units_for(std::uint64_t live, const CleanRules& rules);

// Cost: O(n log n) of those that may be victims.
CleanPlan plan_cleaning(std::span<const CleanCandidate> candidates, const CleanRules& rules);

// Units that would come back if everything that may be a victim were cleaned, CP2 aside.
std::uint64_t units_to_gain(std::span<const CleanCandidate> candidates, const CleanRules& rules);

}  // namespace hexad::core
