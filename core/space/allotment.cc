#include "core/space/allotment.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/units.h"

namespace hexad::core {

namespace {

// Beside what is kept less than such a part of all units is free: then little is left.
constexpr std::uint64_t kLowPart = 32;

// Less than such a part of all units is little for users to have left.
constexpr std::uint64_t kLittlePart = 16;

}  // namespace

std::string Allotment::bytes_of(std::uint64_t units) const {
  return format_size(units * shape_.unit * shape_.k());
}

Error Allotment::refusal(std::string message, const char* hint) {
  refusals_.fetch_add(1, std::memory_order_acq_rel);
  return {ErrorCode::kNoSpace, std::move(message), hint};
}

std::array<alloc::Fit, 2> Allotment::fits() const {
  const alloc::SpaceCounters& counters = zones_.counters();
  const bool low = counters.free < kept_units() + counters.total / kLowPart;
  if (low) return {alloc::Fit::kShortest, alloc::Fit::kNext};
  return {alloc::Fit::kNext, alloc::Fit::kShortest};
}

Result<alloc::Extent> Allotment::allocate_in_zones(std::uint32_t units, alloc::Purpose purpose,
                                                   alloc::Fit fit) {
  Result<alloc::Extent> extent = zones_.allocate(units, purpose, fit);
  if (extent.ok() || extent.error().code != ErrorCode::kNoSpace) return extent;
  const alloc::SpaceCounters& counters = zones_.counters();
  return refusal("no room for " + bytes_of(units) + " in a row: " + bytes_of(counters.free) +
                     " of " + bytes_of(counters.total) + " are free, up to " +
                     bytes_of(zones_.largest_free_run()) + " in a row, " +
                     bytes_of(zones_.reserve_units()) + " of them for checkpoints; " +
                     bytes_of(counters.deferred) + " are waiting to become free",
                 alloc::kMakeRoom);
}

Result<alloc::Extent> Allotment::allocate(std::uint32_t units) {
  const std::uint64_t free = zones_.counters().free;
  if (free < kept_units() || free - kept_units() < units) {
    const std::string reserve = zones_.reserve_units() == 0
                                    ? ""
                                    : ", " + bytes_of(zones_.reserve_units()) + " for checkpoints";
    return refusal("no room for " + bytes_of(units) + ": " + bytes_of(free) + " are free, " +
                       bytes_of(promised_.units) + " of them for what is being written" + reserve,
                   alloc::kMakeRoom);
  }
  const std::uint32_t before = zones_.largest_free_run();
  for (const alloc::Fit fit : fits()) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kUser, fit));
    if (!spoils_runs(before, promised_, reserve_run_)) return extent;
    zones_.discard(extent);
  }
  return refusal(
      "no room for " + bytes_of(units) + " in a row besides the " + bytes_of(promised_.units) +
          " that belong to what is being written" +
          (reserve_run_ == 0 ? "" : " and " + bytes_of(reserve_run_) + " in a row for checkpoints"),
      alloc::kMakeRoom);
}

std::vector<std::uint32_t> Allotment::runs_beside(std::uint64_t kept) const {
  const std::uint64_t free = zones_.counters().free;
  if (free <= kept) return {};
  std::vector<std::uint32_t> runs = zones_.free_run_lengths();
  const auto longest = std::max_element(runs.begin(), runs.end());
  if (longest == runs.end()) return {};
  const std::uint64_t whole = promised_.in_runs + reserve_run_;  // V2
  *longest = *longest > whole ? static_cast<std::uint32_t>(*longest - whole) : 0;
  // V1: of the last ones as many units as may be taken, so that the sum is the truth.
  std::sort(runs.rbegin(), runs.rend());
  std::uint64_t left = free - kept;
  for (std::uint32_t& run : runs) {
    run = static_cast<std::uint32_t>(std::min<std::uint64_t>(run, left));
    left -= run;
  }
  while (!runs.empty() && runs.back() == 0) runs.pop_back();
  return runs;
}

bool Allotment::try_promise(std::uint32_t units) {
  const PromisedUnits after = promised_ + PromisedUnits(units);
  if (zones_.counters().free < after.units + zones_.reserve_units()) return false;
  if (units > 1 && zones_.largest_free_run() < after.in_runs + reserve_run_) return false;  // V2
  promised_ = after;
  return true;
}

Result<alloc::Extent> Allotment::allocate_promised(std::uint32_t units) {
  const PromisedUnits promised(units);
  HEXAD_ASSERT(promised_.includes(promised));
  const PromisedUnits others = promised_ - promised;
  const std::uint32_t before = zones_.largest_free_run();
  Result<alloc::Extent> extent =
      allocate_in_zones(units, alloc::Purpose::kInternal, fits().front());
  if (extent.ok() && spoils_runs(before, others, reserve_run_)) {
    zones_.discard(*extent);
    extent = allocate_in_zones(units, alloc::Purpose::kInternal, alloc::Fit::kShortest);
  }
  if (extent.ok()) promised_ = others;
  return extent;
}

Result<alloc::Extent> Allotment::allocate_shared(std::uint32_t units,
                                                 const PromisedUnits& promised) {
  HEXAD_ASSERT(promised_.includes(promised));
  const PromisedUnits others = promised_ - promised;
  const std::uint64_t free = zones_.counters().free;
  // Rounded up together, blobs and footer may need a unit more than they were promised.
  if (units > promised.units && free < units + others.units + zones_.reserve_units()) {
    return refusal("nothing free for the footer of a pack stripe", "");
  }
  const std::uint32_t before = zones_.largest_free_run();
  // That much of the longest run is left at least when each of the blobs takes what it was
  // promised.
  const std::uint64_t apart =
      std::min<std::uint64_t>(before, free - std::min(free, promised.units));
  for (const alloc::Fit fit : fits()) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kInternal, fit));
    if (zones_.largest_free_run() >= apart || !spoils_runs(before, others, reserve_run_)) {
      promised_ = others;
      return extent;
    }
    zones_.discard(extent);
  }
  return refusal("no room for " + bytes_of(units) + " in a row besides what others were promised",
                 "");
}

bool Allotment::spoils_runs(std::uint32_t before, const PromisedUnits& others,
                            std::uint32_t run) const {
  const std::uint32_t longest = zones_.largest_free_run();
  return longest < before && longest < others.in_runs + run;
}

void Allotment::set_reserve(std::uint64_t units, std::uint32_t longest_run,
                            std::uint32_t move_units) {
  zones_.set_reserve(units);
  reserve_run_ = longest_run;
  move_units_ = move_units;
}

bool Allotment::reserve_whole(std::uint64_t closed) const {
  const alloc::SpaceCounters& counters = zones_.counters();
  return counters.free + closed + counters.deferred + move_units_ >= kept_units();
}

Result<alloc::Extent> Allotment::allocate_internal(std::uint32_t units, std::uint32_t run) {
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  if (free >= promised_.units && free - promised_.units >= units) {
    for (const alloc::Fit fit : fits()) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, run)) {
        internal_units_ += units;
        return extent;
      }
      zones_.discard(extent);
    }
  }
  return refusal("no room for " + bytes_of(units) + " of metadata: " + bytes_of(free) +
                     " are free, up to " + bytes_of(before) + " in a row, " +
                     bytes_of(promised_.units) + " of them for what is being written",
                 alloc::kMakeRoom);
}

std::uint64_t Allotment::kept_from_moves() const {
  const std::uint64_t reserve = zones_.reserve_units();
  return promised_.units + reserve - std::min<std::uint64_t>(reserve, move_units_);
}

Result<alloc::Extent> Allotment::allocate_move(std::uint32_t units) {
  const std::uint64_t kept = kept_from_moves();
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  if (free >= kept && free - kept >= units) {
    for (const alloc::Fit fit : fits()) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, reserve_run_)) return extent;
      zones_.discard(extent);
    }
  }
  return refusal("no room to move " + bytes_of(units) + " to: " + bytes_of(free) +
                     " are free, up to " + bytes_of(before) + " in a row, " + bytes_of(kept) +
                     " of them for checkpoints and what is being written",
                 alloc::kMakeRoom);
}

bool Allotment::can_spare_zone(std::uint64_t free, std::uint32_t longest) const {
  const alloc::SpaceCounters& counters = zones_.counters();
  const std::uint64_t left = counters.free;
  const std::uint64_t before = free - std::min(free, kept_units());
  const std::uint64_t after = left - std::min(left, kept_units());
  // Half of the reserve has room for a checkpoint, which is what a round needs.
  const bool little =
      before < counters.total / kLittlePart && left >= promised_.units + zones_.reserve_units() / 2;
  const bool enough = left == free || little || (left >= kept_units() && after >= before - after);
  return enough && !spoils_runs(longest, promised_, reserve_run_);
}

}  // namespace hexad::core
