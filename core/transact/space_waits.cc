#include "core/transact/space_waits.h"

#include <algorithm>

#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kNap = 10'000'000;
constexpr io::Nanos kSecond = 1'000'000'000;
constexpr io::Nanos kLook = 1'000'000;

}  // namespace

// Each of those reads is short, or narrows its pin; but one may wait for a device that is silent,
// or count all that there is. New ones pin newer states, and are in nobody's way: what was freed is
// recorded by now.
bool SpaceWaits::outlast_reads(const Attempt& attempt) {
  const Lsn recorded = parts_.pipeline.recorded();
  const io::Nanos began = parts_.executor.clock().now();
  for (;;) {
    const Lsn looked_at = parts_.reclaimer.reclaim();
    const bool more = parts_.space.counters().free > attempt.free_units;
    const io::Nanos waited = parts_.executor.clock().now() - began;
    if (more || looked_at >= recorded || waited >= *attempt.patience) {
      *attempt.patience -= std::min(waited, *attempt.patience);
      return more;
    }
    parts_.executor.sleep_for(kLook);
  }
}

bool SpaceWaits::outlast_moves(const Attempt& attempt) {
  const io::Nanos began = parts_.executor.clock().now();
  while (parts_.space.slabs_in_a_moment() && !parts_.gate.is_closed()) {
    if (parts_.executor.clock().now() - began > io::kSilence + kSecond) break;
    parts_.executor.sleep_for(kNap);
    if (!parts_.release_left().ok()) break;
    if (parts_.space.slabs_left()) return true;
    if (parts_.space.counters().free > attempt.free_units) return true;
  }
  return false;
}

}  // namespace hexad::core
