// Units for stripes: what is reserved for whom, and what each may take.
#include <algorithm>
#include <array>
#include <utility>

#include "base/units.h"
#include "core/space/space.h"

namespace hexad::core {

namespace {

// Beside what is kept less than such a part of all units is free: then little is left.
constexpr std::uint64_t kLowPart = 32;

// What is tried first. Where little is left each takes the shortest run that will do: else single
// units would cut up the long ones, which moves need to write stripes that are full.
std::array<alloc::Fit, 2> fits_for(const alloc::SpaceCounters& counters, std::uint64_t kept) {
  const bool low = counters.free < kept + counters.total / kLowPart;
  if (low) return {alloc::Fit::kShortest, alloc::Fit::kNext};
  return {alloc::Fit::kNext, alloc::Fit::kShortest};
}

}  // namespace

std::string Space::bytes_of(std::uint64_t units) const {
  return format_size(units * shape_.unit * shape_.k());
}

Error Space::refusal(std::string message, const char* hint) {
  refusals_.fetch_add(1, std::memory_order_acq_rel);
  return {ErrorCode::kNoSpace, std::move(message), hint};
}

Result<alloc::Extent> Space::allocate_in_zones(std::uint32_t units, alloc::Purpose purpose,
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

Result<alloc::Extent> Space::allocate(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const std::uint64_t free = zones_.counters().free;
  const std::uint64_t kept = promised_.units + zones_.reserve_units();
  if (free < kept || free - kept < units) {
    const std::string reserve = zones_.reserve_units() == 0
                                    ? ""
                                    : ", " + bytes_of(zones_.reserve_units()) + " for checkpoints";
    return refusal("no room for " + bytes_of(units) + ": " + bytes_of(free) + " are free, " +
                       bytes_of(promised_.units) + " of them for what is being written" + reserve,
                   alloc::kMakeRoom);
  }
  const std::uint32_t before = zones_.largest_free_run();
  for (const alloc::Fit fit :
       fits_for(zones_.counters(), promised_.units + zones_.reserve_units())) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kUser, fit));
    if (!spoils_runs(before, promised_, reserve_run_)) return extent;
    zones_.abandon(extent);
  }
  return refusal(
      "no room for " + bytes_of(units) + " in a row besides the " + bytes_of(promised_.units) +
          " that belong to what is being written" +
          (reserve_run_ == 0 ? "" : " and " + bytes_of(reserve_run_) + " in a row for checkpoints"),
      alloc::kMakeRoom);
}

std::vector<std::uint32_t> Space::spare_runs(std::uint32_t longest) {
  constexpr std::uint64_t kMostZones = 4096;  // more than a transaction fills
  const io::Lock lock(mutex_);
  std::vector<std::uint32_t> runs = runs_beside(promised_.units + zones_.reserve_units());
  if (longest < slab_units()) return runs;
  const std::uint64_t zones = under_way_.size() + alloc::zones_left(free_slabs(), zone_needs());
  runs.insert(runs.end(), std::min(zones, kMostZones), slab_units() - 1);
  return runs;
}

std::vector<std::uint32_t> Space::runs_beside(std::uint64_t kept) const {
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

bool Space::try_reserve(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const PromisedUnits after = promised_ + PromisedUnits(units);
  if (zones_.counters().free < after.units + zones_.reserve_units()) return false;
  if (units > 1 && zones_.largest_free_run() < after.in_runs + reserve_run_) return false;  // V2
  promised_ = after;
  return true;
}

void Space::reserve(const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
  promised_ += promised;
}

void Space::give_back(const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(promised_.includes(promised));
  promised_ -= promised;
}

std::uint64_t Space::reserved() {
  const io::Lock lock(mutex_);
  return promised_.units;
}

Result<alloc::Extent> Space::allocate_reserved(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const PromisedUnits promised(units);
  HEXAD_ASSERT(promised_.includes(promised));
  const PromisedUnits others = promised_ - promised;
  const std::uint32_t before = zones_.largest_free_run();
  const auto fits = fits_for(zones_.counters(), promised_.units + zones_.reserve_units());
  Result<alloc::Extent> extent = allocate_in_zones(units, alloc::Purpose::kInternal, fits[0]);
  if (extent.ok() && spoils_runs(before, others, reserve_run_)) {
    zones_.abandon(*extent);
    extent = allocate_in_zones(units, alloc::Purpose::kInternal, alloc::Fit::kShortest);
  }
  if (extent.ok()) promised_ = others;
  return extent;
}

Result<alloc::Extent> Space::allocate_shared(std::uint32_t units, const PromisedUnits& promised) {
  const io::Lock lock(mutex_);
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
  for (const alloc::Fit fit :
       fits_for(zones_.counters(), promised_.units + zones_.reserve_units())) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kInternal, fit));
    if (zones_.largest_free_run() >= apart || !spoils_runs(before, others, reserve_run_)) {
      promised_ = others;
      return extent;
    }
    zones_.abandon(extent);
  }
  return refusal("no room for " + bytes_of(units) + " in a row besides what others were promised",
                 "");
}

bool Space::spoils_runs(std::uint32_t before, const PromisedUnits& others,
                        std::uint32_t run) const {
  const std::uint32_t longest = zones_.largest_free_run();
  return longest < before && longest < others.in_runs + run;
}

void Space::set_reserve(std::uint64_t units, std::uint32_t longest_run, std::uint32_t move_units) {
  const io::Lock lock(mutex_);
  zones_.set_reserve(units);
  reserve_run_ = longest_run;
  move_units_ = move_units;
}

std::uint64_t Space::reserve_units() {
  const io::Lock lock(mutex_);
  return zones_.reserve_units();
}

std::uint32_t Space::reserve_run() {
  const io::Lock lock(mutex_);
  return reserve_run_;
}

bool Space::reserve_whole() {
  const io::Lock lock(mutex_);
  const alloc::SpaceCounters& counters = zones_.counters();
  std::uint64_t closed = 0;  // which are opened for whoever needs them (SL6)
  for (const auto& [zone, moving] : moving_) closed += moving.closed;
  return counters.free + closed + counters.deferred + move_units_ >=
         promised_.units + zones_.reserve_units();
}

Result<alloc::Extent> Space::allocate_internal(std::uint32_t units, Internal use) {
  const io::Lock lock(mutex_);
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  const std::uint32_t run = use == Internal::kFile ? reserve_run_ : 0;
  if (free >= promised_.units && free - promised_.units >= units) {
    for (const alloc::Fit fit :
         fits_for(zones_.counters(), promised_.units + zones_.reserve_units())) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, run)) {
        internal_units_ += units;
        return extent;
      }
      zones_.abandon(extent);
    }
  }
  return refusal("no room for " + bytes_of(units) + " of metadata: " + bytes_of(free) +
                     " are free, up to " + bytes_of(before) + " in a row, " +
                     bytes_of(promised_.units) + " of them for what is being written",
                 alloc::kMakeRoom);
}

std::uint64_t Space::kept_from_moves() const {
  const std::uint64_t reserve = zones_.reserve_units();
  return promised_.units + reserve - std::min<std::uint64_t>(reserve, move_units_);
}

std::vector<std::uint32_t> Space::move_runs() {
  const io::Lock lock(mutex_);
  return runs_beside(kept_from_moves());
}

Result<alloc::Extent> Space::allocate_move(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const std::uint64_t kept = kept_from_moves();
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  if (free >= kept && free - kept >= units) {
    for (const alloc::Fit fit :
         fits_for(zones_.counters(), promised_.units + zones_.reserve_units())) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, reserve_run_)) return extent;
      zones_.abandon(extent);
    }
  }
  return refusal("no room to move " + bytes_of(units) + " to: " + bytes_of(free) +
                     " are free, up to " + bytes_of(before) + " in a row, " + bytes_of(kept) +
                     " of them for checkpoints and what is being written",
                 alloc::kMakeRoom);
}

}  // namespace hexad::core
