// What of the free units is whose: what unplaced blobs were promised, what checkpoints and moves
// keep, and what each may take.
//   V1  free >= promised: what unplaced blobs were promised is free. All but those who take what
//       they were promised leave it; what users are given leaves the reserve, too
//   V2  the longest free run is as long as all that was promised in runs and the longest run of the
//       reserve together. Nothing is promised where that would not be so. Where the next fit would
//       make it shorter than that, the shortest one is taken, and where that would, only
//       allocate_promised() takes it, which was promised it. (A reserve that has grown may want a
//       longer run than there is: then nobody else makes it shorter.)
// Whoever takes what it was promised keeps V2 for the others, in any order:
//   - single units are cut from the longest run only when it is all that is free (Fit::kShortest).
//     Then it is as long as all that was promised, by V1. So any number of them may be promised, in
//     as many zones as there are, whatever the longest run is
//   - a run of the length promised is cut from the start of the longest one at worst, and leaves
//     the rest of it in one piece
//   - a run for several blobs (a pack stripe) is refused where stripes of their own would leave
//     more
//
// Units are of k times the unit of user bytes each. Lock: none; Space has it under its own, but for
// refusals().
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "alloc/zone.h"
#include "alloc/zone_set.h"
#include "base/error.h"
#include "core/record/shape.h"
#include "core/space/promised_units.h"

namespace hexad::core {

class Allotment {
 public:
  // Both outlive it.
  Allotment(const StoreShape& shape, alloc::ZoneSet& zones) : shape_(shape), zones_(zones) {}

  // --- promises to unplaced blobs ---
  // False: too little is free for that.
  bool try_promise(std::uint32_t units);
  // Whether it can be kept or not.
  void promise(const PromisedUnits& units) { promised_ += units; }
  // Is not needed any more. Precondition: it was promised.
  void take_back(const PromisedUnits& units) { promised_ -= units; }
  const PromisedUnits& promised() const { return promised_; }

  // --- the reserve: core/space/reserve.h ---
  void set_reserve(std::uint64_t units, std::uint32_t longest_run, std::uint32_t move_units);
  std::uint32_t reserve_run() const { return reserve_run_; }
  // All of it but what is for moves is there, or about to be free again; `closed`: units of zones
  // that are opened for whoever needs them.
  bool reserve_whole(std::uint64_t closed) const;
  // Units that users leave: what is promised, and the reserve.
  std::uint64_t kept_units() const { return promised_.units + zones_.reserve_units(); }
  std::uint64_t kept_from_moves() const;

  // --- what each may take ---
  // All errors: kNoSpace, and then nothing has changed.
  Result<alloc::Extent> allocate(std::uint32_t units);
  // What one blob was promised. Precondition: it was.
  Result<alloc::Extent> allocate_promised(std::uint32_t units);
  // `units` in a row for several blobs, instead of what was promised to each. Precondition: it was.
  Result<alloc::Extent> allocate_shared(std::uint32_t units, const PromisedUnits& promised);
  // For runs and manifests, which leave the reserve a run of `run` units.
  Result<alloc::Extent> allocate_internal(std::uint32_t units, std::uint32_t run);
  void note_internal(std::uint64_t units) { internal_units_ += units; }
  void drop_internal(std::uint64_t units) { internal_units_ -= units; }
  std::uint64_t internal_units() const { return internal_units_; }
  Result<alloc::Extent> allocate_move(std::uint32_t units);
  // The free runs, the longest first, that leave `kept` units and V2.
  std::vector<std::uint32_t> runs_beside(std::uint64_t kept) const;
  // Before a zone was closed so many units were free, and so many in a row. Without it V1 and V2
  // hold, and users keep half of the room they have, unless that is little: then it takes the
  // reserve as well, and whoever needs that has the zone opened (SL6).
  bool can_spare_zone(std::uint64_t free, std::uint32_t longest) const;

  // How often no units were found for somebody. Any thread.
  std::uint64_t refusals() const { return refusals_.load(std::memory_order_acquire); }
  // For messages: people have bytes, of their data.
  std::string bytes_of(std::uint64_t units) const;

 private:
  Error refusal(std::string message, const char* hint);
  Result<alloc::Extent> allocate_in_zones(std::uint32_t units, alloc::Purpose purpose,
                                          alloc::Fit fit = alloc::Fit::kNext);
  // What is tried first. Where little is left each takes the shortest run that will do: else single
  // units would cut up the long ones, which moves need to write stripes that are full.
  std::array<alloc::Fit, 2> fits() const;
  // V2: the longest free run is shorter than `before` now, and than what was promised to `others`
  // in runs and `run` of the reserve together.
  bool spoils_runs(std::uint32_t before, const PromisedUnits& others, std::uint32_t run) const;

  const StoreShape& shape_;
  alloc::ZoneSet& zones_;
  PromisedUnits promised_;            // to unplaced blobs
  std::uint32_t reserve_run_ = 0;     // of the reserve, in one piece
  std::uint32_t move_units_ = 0;      // of the reserve, for moves
  std::uint64_t internal_units_ = 0;  // of runs and manifests, those being written included
  std::atomic<std::uint64_t> refusals_{0};
};

}  // namespace hexad::core
