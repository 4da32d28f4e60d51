#include "core/space/space.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "base/units.h"
#include "ec/stripe_layout.h"
#include "io/os_error.h"
#include "io/refused.h"

namespace hexad::core {

Space::Space(io::Executor& executor, const StoreShape& shape, Members& members, Counters& counters,
             LogBlobs& log_blobs)
    : executor_(executor),
      shape_(shape),
      members_(members),
      stats_(counters),
      log_blobs_(log_blobs),
      mutex_(executor),
      zones_(shape.cells()) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    slab_taken_.emplace_back(members_.at(i).layout.slab_count, false);
    slab_units_ = std::max(slab_units_, members_.at(i).layout.slab_units);
  }
}

// What a zone from the index or the log says, before any offset is computed from it: slabs that the
// devices have and no other zone does, all of the one length. A device that is not in the table is
// let pass: its cells are missing.
Status Space::check_zone(alloc::ZoneId zone, const std::vector<alloc::ZoneSlot>& slots,
                         std::uint32_t units) const {
  if (units != slab_units_) {
    return Error{ErrorCode::kCorruption,
                 "zone " + std::to_string(zone) + ": slabs of " + std::to_string(units) +
                     " units, those of the devices have " + std::to_string(slab_units_),
                 "Run hexad fsck."};
  }
  for (const alloc::ZoneSlot& slot : slots) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_.at(i).id != slot.device) continue;
      if (slot.slab >= slab_taken_[i].size() || slab_taken_[i][slot.slab]) {
        return Error{ErrorCode::kCorruption,
                     "zone " + std::to_string(zone) + ": " + alloc::to_string(slot) +
                         " does not exist or belongs to another zone",
                     "Run hexad fsck."};
      }
    }
  }
  return {};
}

Status Space::load_zone(const alloc::ZoneImage& image) {
  const io::Lock lock(mutex_);
  const bool known = known_.contains(image.zone);
  if (known) {
    if (*zones_.slots(image.zone) != image.slots || zones_.zone_units(image.zone) != image.units) {
      return Error{ErrorCode::kCorruption,
                   "zone " + std::to_string(image.zone) +
                       ": its image and the manifest name different slabs",
                   "Run hexad fsck."};
    }
    HEXAD_TRY(zones_.remove_zone(image.zone));
    set_taken(image.slots, false);
    known_.erase(image.zone);
  }
  HEXAD_TRY(check_zone(image.zone, image.slots, image.units));
  HEXAD_TRY(zones_.load_zone(image));
  if (known) known_.insert(image.zone);
  set_taken(image.slots, true);
  next_zone_ = std::max(next_zone_, image.zone + 1);
  return {};
}

Status Space::know_zone(alloc::ZoneId zone, const std::vector<alloc::ZoneSlot>& slots,
                        std::uint32_t units) {
  const io::Lock lock(mutex_);
  if (known_.contains(zone) && *zones_.slots(zone) == slots && zones_.zone_units(zone) == units) {
    return {};
  }
  HEXAD_TRY(check_zone(zone, slots, units));
  const Status added = add_checked({zone, units, slots});
  if (!added.ok()) {
    return Error{ErrorCode::kCorruption, "the manifest: " + added.error().message,
                 "Run hexad fsck."};
  }
  known_.insert(zone);
  return {};
}

Status Space::mark_used(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  HEXAD_TRY(zones_.mark_used(extent));
  note_missing(extent);
  internal_units_ += extent.units;
  return {};
}

Status Space::add_zone(const ZoneCreation& creation) {
  const io::Lock lock(mutex_);
  return add_checked(creation);
}

Status Space::add_checked(const ZoneCreation& creation) {
  HEXAD_TRY(zones_.add_zone(creation.zone, creation.slots, creation.units));
  set_taken(creation.slots, true);
  under_way_.erase(creation.zone);
  next_zone_ = std::max(next_zone_, creation.zone + 1);
  return {};
}

Status Space::replay_zones(const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const ZoneCreation& creation : record.zones) {
    if (zones_.slots(creation.zone) != nullptr) continue;
    HEXAD_TRY(check_zone(creation.zone, creation.slots, creation.units));
    HEXAD_TRY(add_checked(creation));
  }
  return {};
}

Status Space::drop_zones(const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const ZoneCreation& creation : record.zones) {
    if (zones_.slots(creation.zone) == nullptr || known_.contains(creation.zone)) continue;
    HEXAD_TRY(zones_.remove_zone(creation.zone));
    set_taken(creation.slots, false);
  }
  return {};
}

Status Space::replay_missing(const LogRecord& record, DeviceId device) {
  const io::Lock lock(mutex_);
  for (const auto* stripes : {&record.group.allocated, &record.allocated}) {
    for (const StripeProof& stripe : *stripes) {
      const std::vector<alloc::ZoneSlot>* slots = zones_.slots(stripe.where.zone);
      for (std::uint32_t slot = 0; slots != nullptr && slot < slots->size(); ++slot) {
        if ((*slots)[slot].device != device || !zones_.is_live(stripe.where)) continue;
        HEXAD_TRY(zones_.mark_missing(stripe.where, slot));
      }
    }
  }
  return {};
}

std::uint64_t Space::unusable_slots(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(extent.zone);
  std::uint64_t unusable = 0;
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (!members_.usable(slots[slot].device)) unusable |= std::uint64_t{1} << slot;
  }
  return static_cast<std::uint32_t>(std::popcount(unusable)) <= shape_.m() ? unusable : 0;
}

Status Space::replay(Lsn lsn, const LogRecord& record) {
  HEXAD_TRY(replay_zones(record));
  for (const YoungPayload& payload : record.group.payloads) {
    YoungBlob blob;
    blob.place = payload.place;
    blob.owner = payload.owner;
    blob.offset = payload.offset;
    blob.stored = SharedBytes::copy_of(as_bytes(payload.bytes));
    blob.units = static_cast<std::uint32_t>(
        divide_up(ec::cell_bytes(payload.bytes.size(), shape_.k(), shape_.block), shape_.unit));
    const std::uint32_t units = blob.units;
    if (!log_blobs_.add_payload(std::move(blob))) reserve(PromisedUnits(units));
  }
  const io::Lock lock(mutex_);
  for (const auto* stripes : {&record.group.allocated, &record.allocated}) {
    for (const StripeProof& stripe : *stripes) {
      HEXAD_TRY(stripe.live > 0 ? zones_.replay_pack(stripe.where, lsn, stripe.live, stripe.footer)
                                : zones_.replay_alloc(stripe.where, lsn));
      note_born(stripe, lsn);
      // R13. What an image has, it has with the marks that were left.
      if (stripe.unwritten == 0 || lsn <= zones_.image_lsn(stripe.where.zone)) continue;
      for (std::uint32_t slot = 0; slot < shape_.cells(); ++slot) {
        if ((stripe.unwritten >> slot & 1) == 0) continue;
        HEXAD_TRY(zones_.mark_missing(stripe.where, slot));
      }
    }
  }
  promised_ -= log_blobs_.set_places(record.group.placed);
  for (const alloc::Extent& extent : record.freed) HEXAD_TRY(zones_.replay_free(extent, lsn));
  for (const PackedDeath& death : record.packed_deaths) {
    HEXAD_TRY(zones_.replay_drop_live(death.zone, death.unit, death.bytes, lsn));
  }
  for (const LogPlace& death : record.young_deaths) {
    promised_ -= log_blobs_.kill(death);
    HEXAD_TRY(free_young(death, lsn, true));
  }
  return {};
}

// A young blob dies whose transaction did not know its place; by now that is known, or the blob is
// still a payload and there is nothing to free.
Status Space::free_young(const LogPlace& death, Lsn lsn, bool replay) {
  const std::optional<LogBlobs::Found> found = log_blobs_.find(death);
  if (!found.has_value()) {
    return Error{ErrorCode::kCorruption,
                 "LSN " + std::to_string(lsn) + " frees blob " + std::to_string(death.index) +
                     " of LSN " + std::to_string(death.lsn) + ", which nobody wrote",
                 "Run hexad fsck."};
  }
  if (!found->place.has_value()) return {};
  const YoungPlace& place = *found->place;
  if (place.placement == Placement::kPacked) {
    packed_deaths_.fetch_add(place.stored, std::memory_order_acq_rel);
    const auto drop = replay ? &alloc::ZoneSet::replay_drop_live : &alloc::ZoneSet::drop_live;
    return (zones_.*drop)(place.where.zone, place.where.unit, place.stored, lsn);
  }
  return replay ? zones_.replay_free(place.where, lsn) : zones_.publish_free(place.where, lsn);
}

std::string Space::bytes_of(std::uint64_t units) const {
  return format_size(units * shape_.unit * shape_.k());
}

Result<alloc::Extent> Space::allocate_in_zones(std::uint32_t units, alloc::Purpose purpose,
                                               alloc::Fit fit) {
  Result<alloc::Extent> extent = zones_.allocate(units, purpose, fit);
  if (extent.ok() || extent.error().code != ErrorCode::kNoSpace) return extent;
  const alloc::SpaceCounters& counters = zones_.counters();
  return Error{ErrorCode::kNoSpace,
               "no room for " + bytes_of(units) + " in a row: " + bytes_of(counters.free) + " of " +
                   bytes_of(counters.total) + " are free, up to " +
                   bytes_of(zones_.largest_free_run()) + " in a row, " +
                   bytes_of(zones_.reserve_units()) + " of them for checkpoints; " +
                   bytes_of(counters.deferred) + " are waiting to become free",
               "Delete objects, or add or replace devices."};
}

Result<alloc::Extent> Space::allocate(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const std::uint64_t free = zones_.counters().free;
  const std::uint64_t kept = promised_.units + zones_.reserve_units();
  if (free < kept || free - kept < units) {
    const std::string reserve = zones_.reserve_units() == 0
                                    ? ""
                                    : ", " + bytes_of(zones_.reserve_units()) + " for checkpoints";
    return Error{ErrorCode::kNoSpace,
                 "no room for " + bytes_of(units) + ": " + bytes_of(free) + " are free, " +
                     bytes_of(promised_.units) + " of them for what is being written" + reserve,
                 "Delete objects, or add or replace devices."};
  }
  const std::uint32_t before = zones_.largest_free_run();
  for (const alloc::Fit fit : {alloc::Fit::kNext, alloc::Fit::kShortest}) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kUser, fit));
    if (!spoils_runs(before, promised_, reserve_run_)) return extent;
    zones_.abandon(extent);
  }
  return Error{
      ErrorCode::kNoSpace,
      "no room for " + bytes_of(units) + " in a row besides the " + bytes_of(promised_.units) +
          " that belong to what is being written" +
          (reserve_run_ == 0 ? "" : " and " + bytes_of(reserve_run_) + " in a row for checkpoints"),
      "Delete objects, or add or replace devices."};
}

std::vector<std::uint32_t> Space::spare_runs() {
  const io::Lock lock(mutex_);
  const std::uint64_t free = zones_.counters().free;
  const std::uint64_t kept = promised_.units + zones_.reserve_units();
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
  Result<alloc::Extent> extent = allocate_in_zones(units, alloc::Purpose::kInternal);
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
    return Error{ErrorCode::kNoSpace, "nothing free for the footer of a pack stripe", ""};
  }
  const std::uint32_t before = zones_.largest_free_run();
  // That much of the longest run is left at least when each of the blobs takes what it was
  // promised.
  const std::uint64_t apart =
      std::min<std::uint64_t>(before, free - std::min(free, promised.units));
  for (const alloc::Fit fit : {alloc::Fit::kNext, alloc::Fit::kShortest}) {
    HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                     allocate_in_zones(units, alloc::Purpose::kInternal, fit));
    if (zones_.largest_free_run() >= apart || !spoils_runs(before, others, reserve_run_)) {
      promised_ = others;
      return extent;
    }
    zones_.abandon(extent);
  }
  return Error{ErrorCode::kNoSpace,
               "no room for " + bytes_of(units) + " in a row besides what others were promised",
               ""};
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
  return counters.free + counters.deferred + move_units_ >=
         promised_.units + zones_.reserve_units();
}

Result<alloc::Extent> Space::allocate_internal(std::uint32_t units, Internal use) {
  const io::Lock lock(mutex_);
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  const std::uint32_t run = use == Internal::kFile ? reserve_run_ : 0;
  if (free >= promised_.units && free - promised_.units >= units) {
    for (const alloc::Fit fit : {alloc::Fit::kNext, alloc::Fit::kShortest}) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, run)) {
        internal_units_ += units;
        return extent;
      }
      zones_.abandon(extent);
    }
  }
  return Error{ErrorCode::kNoSpace,
               "no room for " + bytes_of(units) + " of metadata: " + bytes_of(free) +
                   " are free, up to " + bytes_of(before) + " in a row, " +
                   bytes_of(promised_.units) + " of them for what is being written",
               "Delete objects, or add or replace devices."};
}

std::uint64_t Space::kept_from_moves() const {
  const std::uint64_t reserve = zones_.reserve_units();
  return promised_.units + reserve - std::min<std::uint64_t>(reserve, move_units_);
}

std::uint32_t Space::longest_move() {
  const io::Lock lock(mutex_);
  const std::uint64_t kept = kept_from_moves();
  const std::uint64_t free = zones_.counters().free;
  if (free <= kept) return 0;
  std::vector<std::uint32_t> runs = zones_.free_run_lengths();
  std::sort(runs.rbegin(), runs.rend());
  if (runs.empty()) return 0;
  const std::uint64_t whole = promised_.in_runs + reserve_run_;  // V2
  const std::uint64_t first = runs[0] > whole ? runs[0] - whole : 0;
  const std::uint64_t longest = std::max<std::uint64_t>(first, runs.size() > 1 ? runs[1] : 0);
  return static_cast<std::uint32_t>(std::min(longest, free - kept));
}

Result<alloc::Extent> Space::allocate_move(std::uint32_t units) {
  const io::Lock lock(mutex_);
  const std::uint64_t kept = kept_from_moves();
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t before = zones_.largest_free_run();
  if (free >= kept && free - kept >= units) {
    for (const alloc::Fit fit : {alloc::Fit::kNext, alloc::Fit::kShortest}) {
      HEXAD_TRY_ASSIGN(const alloc::Extent extent,
                       allocate_in_zones(units, alloc::Purpose::kInternal, fit));
      if (!spoils_runs(before, promised_, reserve_run_)) return extent;
      zones_.abandon(extent);
    }
  }
  return Error{ErrorCode::kNoSpace,
               "no room to move " + bytes_of(units) + " to: " + bytes_of(free) +
                   " are free, up to " + bytes_of(before) + " in a row, " + bytes_of(kept) +
                   " of them for checkpoints and what is being written",
               "Delete objects, or add or replace devices."};
}

void Space::publish_internal(std::span<const alloc::Extent> extents, Lsn lsn) {
  const io::Lock lock(mutex_);
  for (const alloc::Extent& extent : extents) {
    zones_.publish_alloc(extent, lsn);
    note_missing(extent);
  }
}

Status Space::free_internal(std::span<const alloc::Extent> extents, Lsn lsn) {
  const io::Lock lock(mutex_);
  std::vector<alloc::Extent> sorted(extents.begin(), extents.end());
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const bool twice =
        i > 0 && sorted[i - 1].zone == sorted[i].zone && sorted[i - 1].end() > sorted[i].unit;
    if (twice || !zones_.is_live(sorted[i])) {
      return Error{ErrorCode::kCorruption,
                   alloc::to_string(sorted[i]) + ": given up by the checkpoint at LSN " +
                       std::to_string(lsn) + ", but not live",
                   "Run hexad fsck."};
    }
  }
  for (const alloc::Extent& extent : sorted) {
    HEXAD_TRY(zones_.publish_free(extent, lsn));
    internal_units_ -= extent.units;
  }
  return {};
}

// Cells that were not written, because their devices are not used, or were not when it was written.
void Space::note_missing(const alloc::Extent& extent, std::uint64_t unwritten) {
  const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(extent.zone);
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (members_.usable(slots[slot].device) && (unwritten >> slot & 1) == 0) continue;
    HEXAD_ASSERT(zones_.mark_missing(extent, slot).ok());
  }
}

void Space::abandon_internal(const alloc::Extent& extent) {
  abandon(extent);
  const io::Lock lock(mutex_);
  internal_units_ -= extent.units;
}

void Space::abandon(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  if (keeps_back()) {
    kept_back_.push_back(extent);
  } else {
    zones_.abandon(extent);
  }
}

void Space::suspect(const std::set<DeviceId>& failed) {
  const io::Lock lock(mutex_);
  suspects_.insert(failed.begin(), failed.end());
}

std::set<DeviceId> Space::suspects() {
  const io::Lock lock(mutex_);
  std::set<DeviceId> in_use;
  for (const DeviceId id : suspects_) {
    if (members_.usable(id)) in_use.insert(id);
  }
  return in_use;
}

bool Space::has_suspects() const {
  return std::any_of(suspects_.begin(), suspects_.end(),
                     [this](DeviceId id) { return members_.usable(id); });
}

void Space::free_kept_back() {
  const io::Lock lock(mutex_);
  if (has_suspects()) return;
  suspects_.clear();
  give_kept_back();
}

// Under the lock.
void Space::give_kept_back() {
  if (keeps_back()) return;
  for (const alloc::Extent& extent : std::exchange(kept_back_, {})) zones_.abandon(extent);
  for (const ZoneCreation& creation : std::exchange(zones_kept_back_, {})) {
    set_taken(creation.slots, false);
  }
}

void Space::publish(Lsn lsn, const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const auto* stripes : {&record.group.allocated, &record.allocated}) {
    for (const StripeProof& stripe : *stripes) {
      if (stripe.live > 0) {
        zones_.publish_pack(stripe.where, lsn, stripe.live, stripe.footer);
        note_born(stripe, lsn);
      } else {
        zones_.publish_alloc(stripe.where, lsn);
      }
      note_missing(stripe.where, stripe.unwritten);
    }
    stats_.add(CounterId::kStripes, stripes->size());
  }
  for (const YoungPlace& place : record.group.placed) {
    zones_.born_before(place.where, place.from.lsn);  // PN5 of core/cache/read_pins.h
  }
  for (const alloc::Extent& extent : record.freed) {
    HEXAD_ASSERT(zones_.publish_free(extent, lsn).ok());
  }
  for (const PackedDeath& death : record.packed_deaths) {
    HEXAD_ASSERT(zones_.drop_live(death.zone, death.unit, death.bytes, lsn).ok());
    packed_deaths_.fetch_add(death.bytes, std::memory_order_acq_rel);
  }
  for (const LogPlace& death : record.young_deaths) {
    HEXAD_ASSERT(free_young(death, lsn, false).ok());
  }
}

// What has been answered is over.
void Space::settle_late_heals() {
  io::IoQueue* queue = nullptr;
  {
    const io::Lock lock(mutex_);
    if (late_heals_.empty()) return;
    queue = late_queue_;
  }
  queue->has_abandoned();
  const io::Lock lock(mutex_);
  std::erase_if(late_heals_, [](const LateHeal& heal) { return heal.begun.expired(); });
  give_kept_back();
}

std::uint64_t Space::reclaim(Lsn limit, std::span<const alloc::ReadRange> readers, Lsn oldest) {
  settle_late_heals();
  const io::Lock lock(mutex_);
  std::vector<alloc::ReadRange> held_for(readers.begin(), readers.end());
  if (!late_heals_.empty()) {
    // V4: what was held when such a cell was sent is, as if its reader were still there.
    held_for.insert(held_for.end(), readers_.begin(), readers_.end());
    std::sort(held_for.begin(), held_for.end());
    held_for.erase(std::unique(held_for.begin(), held_for.end()), held_for.end());
  }
  readers_ = std::move(held_for);
  for (const LateHeal& heal : late_heals_) {
    if (const auto begun = heal.begun.lock()) limit = std::min(limit, *begun);  // V4
  }
  reclaimed_ = std::max(reclaimed_, limit);
  return zones_.reclaim(limit, readers_, std::min(oldest, limit));
}

std::uint64_t Space::held_units() {
  const io::Lock lock(mutex_);
  return held_locked();
}

std::uint64_t Space::held_locked() const {
  std::uint64_t units = 0;
  for (const alloc::ReadRange& reader : readers_) units += zones_.held_for(reader);
  return units;
}

bool Space::has_deferred() {
  const io::Lock lock(mutex_);
  return zones_.counters().deferred > 0;
}

// Usable devices; only where they are too few also those that have left, whose cells then count as
// missing: a degraded store goes on taking data.
std::vector<alloc::DeviceSpace> Space::free_slabs() const {
  std::vector<alloc::DeviceSpace> live;
  std::vector<alloc::DeviceSpace> left;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    alloc::DeviceSpace space;
    space.device = members_.at(i).id;
    for (std::uint32_t slab = 0; slab < slab_taken_[i].size(); ++slab) {
      if (!slab_taken_[i][slab]) space.free_slabs.push_back(slab);
    }
    if (space.free_slabs.empty()) continue;
    (members_.usable(space.device) ? live : left).push_back(std::move(space));
  }
  for (alloc::DeviceSpace& space : left) {
    if (live.size() >= shape_.cells()) break;
    live.push_back(std::move(space));
  }
  return live;
}

void Space::set_taken(const std::vector<alloc::ZoneSlot>& slots, bool taken) {
  if (!taken) slabs_exhausted_ = false;
  for (const alloc::ZoneSlot& slot : slots) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_.at(i).id == slot.device && slot.slab < slab_taken_[i].size()) {
        slab_taken_[i][slot.slab] = taken;
      }
    }
  }
}

Result<ZoneCreation> Space::prepare_zone(Zeroing zeroing, std::set<DeviceId>* failed) {
  ZoneCreation creation;
  creation.units = slab_units_;
  {
    const io::Lock lock(mutex_);
    creation.zone = next_zone_;
    Result<std::vector<alloc::ZoneSlot>> slots =
        alloc::plan_zone(free_slabs(), shape_.cells(), next_zone_);
    slabs_exhausted_ = !slots.ok();
    if (!slots.ok()) return slots.error();
    creation.slots = std::move(slots).value();
    set_taken(creation.slots, true);
    under_way_.insert(next_zone_++);
  }
  std::set<DeviceId> late;
  Status status = reserve_slabs(creation);
  if (status.ok() && zeroing == Zeroing::kAhead) status = zero_slabs(creation, late);
  if (status.ok()) status = write_headers(creation, late);
  suspect(late);
  if (failed != nullptr) failed->insert(late.begin(), late.end());
  if (!status.ok()) {
    release_zone(creation);
    return status.error();
  }
  return creation;
}

void Space::release_zone(const ZoneCreation& creation) {
  const io::Lock lock(mutex_);
  under_way_.erase(creation.zone);
  if (keeps_back()) {
    zones_kept_back_.push_back(creation);
  } else {
    set_taken(creation.slots, false);
  }
}

bool Space::zone_under_way() {
  const io::Lock lock(mutex_);
  return !under_way_.empty();
}

// A device that fails here fails again where it matters.
Status Space::reserve_slabs(const ZoneCreation& creation) {
  for (const alloc::ZoneSlot& place : creation.slots) {
    io::Device* device = members_.device(place.device);
    if (device == nullptr) continue;
    const Result<io::Device::Room> room = device->reserve_room(
        members_.find(place.device)->layout.slab_offset(place.slab), creation.units * shape_.unit);
    if (!room.ok() && !io::is_medium(room.error())) {
      return room.error().with_context("zone " + std::to_string(creation.zone));
    }
  }
  return {};
}

// In large pieces, all slabs side by side. Only a help for later writes, but zeros that still come
// after they have failed would come over what is there by then.
Status Space::zero_slabs(const ZoneCreation& creation, std::set<DeviceId>& failed) {
  constexpr std::uint64_t kPiece = 1 << 20;
  const std::uint64_t size = creation.units * shape_.unit;
  const AlignedBuffer zeros = AlignedBuffer::zeroed(std::min(kPiece, size));
  std::vector<std::pair<io::Device*, std::uint64_t>> slabs;
  for (const alloc::ZoneSlot& place : creation.slots) {
    io::Device* device = members_.device(place.device);
    if (device == nullptr || !device->geometry().slow_first_write) continue;
    slabs.emplace_back(device, members_.find(place.device)->layout.slab_offset(place.slab));
  }
  if (slabs.empty()) return {};
  io::IoQueue& queue = slabs.front().first->queue();
  for (std::uint64_t at = 0; at < size; at += zeros.size()) {
    io::IoBatch batch;
    const std::uint64_t length = std::min<std::uint64_t>(zeros.size(), size - at);
    for (const auto& [device, offset] : slabs) {
      batch.requests.push_back(io::IoRequest::write(*device, offset + at,
                                                    zeros.bytes().first(length),
                                                    io::WriteMode::kCached, io::IoCause::kZero));
      stats_.add(CounterId::kDeviceBytesZeroed, length);
    }
    queue.run(batch);
    for (const io::IoRequest& request : batch.requests) {
      if (request.status.ok() || io::is_refused(request)) continue;
      failed.insert(members_.owner(request.device)->id);
    }
  }
  io::IoBatch flushes;
  for (const auto& [device, offset] : slabs) {
    flushes.requests.push_back(io::IoRequest::flush(*device));
  }
  queue.run(flushes);
  return {};
}

Status Space::write_headers(const ZoneCreation& creation, std::set<DeviceId>& failed) {
  alloc::SlabHeader header;
  header.store = shape_.uuid;
  header.zone = creation.zone;
  header.k = static_cast<std::uint8_t>(shape_.k());
  header.m = static_cast<std::uint8_t>(shape_.m());
  header.units = creation.units;
  header.slots = creation.slots;
  std::vector<AlignedBuffer> buffers;
  io::IoBatch batch;
  for (std::uint32_t slot = 0; slot < creation.slots.size(); ++slot) {
    const alloc::ZoneSlot& place = creation.slots[slot];
    io::Device* device = members_.device(place.device);
    if (device == nullptr) continue;
    header.slot = static_cast<std::uint8_t>(slot);
    const std::string bytes = alloc::encode_slab_header(header);
    buffers.push_back(AlignedBuffer::zeroed(round_up(bytes.size(), shape_.block)));
    copy_bytes(buffers.back().bytes(), as_bytes(bytes));
    batch.requests.push_back(
        io::IoRequest::write(*device, members_.find(place.device)->layout.slab_offset(place.slab),
                             buffers.back(), io::WriteMode::kDurable, io::IoCause::kSuper));
    stats_.add(CounterId::kDeviceBytesSuper, buffers.back().size());
  }
  if (batch.requests.empty()) {
    return Error{ErrorCode::kUnavailable, "no device is left to make a zone on", ""};
  }
  io::IoQueue& queue = batch.requests.front().device->queue();
  queue.run(batch);
  Status refused = io::send_again_briefly(batch, executor_);
  // A header is needed only to find zones without the index, k copies of n would do.
  std::uint32_t written = 0;
  for (const io::IoRequest& request : batch.requests) {
    if (request.status.ok()) {
      ++written;
    } else if (!io::is_refused(request)) {
      failed.insert(members_.owner(request.device)->id);
    }
  }
  if (!refused.ok()) return refused;
  if (written >= shape_.k()) return {};
  const std::string subject = "zone " + std::to_string(creation.zone) + ": " +
                              std::to_string(written) + " of " + std::to_string(shape_.cells()) +
                              " slab headers could be written, " + std::to_string(shape_.k()) +
                              " are needed";
  const Status first = batch.first_error();
  if (!first.ok()) return first.error().with_context(subject);
  return Error{ErrorCode::kUnavailable, subject, "Attach the missing devices."};
}

bool Space::wants_zone() {
  const io::Lock lock(mutex_);
  return !slabs_exhausted_ && zones_.counters().free < zones_.reserve_units() + slab_units_ / 2;
}

bool Space::slabs_left() {
  const io::Lock lock(mutex_);
  return alloc::plan_zone(free_slabs(), shape_.cells(), next_zone_).ok();
}

Result<std::vector<alloc::ZoneImage>> Space::dirty_images(Lsn lsn,
                                                          std::span<const alloc::Extent> replaced) {
  const io::Lock lock(mutex_);
  std::vector<alloc::ZoneImage> images;
  for (const alloc::Extent& extent : replaced) {
    if (!zones_.is_live(extent)) {
      return Error{ErrorCode::kCorruption,
                   alloc::to_string(extent) + ": given up by the checkpoint at LSN " +
                       std::to_string(lsn) + ", but not live",
                   "Run hexad fsck."};
    }
    unsaved_.insert(extent.zone);
  }
  for (const alloc::ZoneId zone : zones_.dirty_zones()) {
    // Cleared now, so that what changes while the image is being written counts as dirty again;
    // kept in unsaved_, so that a failed checkpoint does not forget it.
    zones_.clear_dirty(zone);
    unsaved_.insert(zone);
  }
  for (const alloc::ZoneId zone : unsaved_) {
    HEXAD_TRY_ASSIGN(alloc::ZoneImage image, zones_.image(zone, lsn, replaced));
    images.push_back(std::move(image));
  }
  return images;
}

void Space::images_written() {
  const io::Lock lock(mutex_);
  unsaved_.clear();
}

Space::Room Space::room() {
  const io::Lock lock(mutex_);
  return {zones_.counters(), under_way_.size() + alloc::zones_left(free_slabs(), shape_.cells()),
          promised_.units,   zones_.reserve_units(),
          internal_units_,   held_locked()};
}

alloc::SpaceCounters Space::counters() {
  const io::Lock lock(mutex_);
  return zones_.counters();
}

std::uint64_t Space::zones_to_come() { return room().zones_to_come; }

std::uint64_t Space::used_bytes(DeviceId device) {
  const io::Lock lock(mutex_);
  std::uint64_t units = 0;
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const auto& slots = *zones_.slots(zone);
    const bool here = std::any_of(slots.begin(), slots.end(), [&](const alloc::ZoneSlot& slot) {
      return slot.device == device;
    });
    if (!here) continue;
    units += 1;  // the slab header
    for (const alloc::UnitRun& run : zones_.live_runs(zone)) units += run.units;
  }
  return units * shape_.unit;
}

std::vector<alloc::ZoneId> Space::zone_ids() {
  const io::Lock lock(mutex_);
  return zones_.zone_ids();
}

ZoneCreation Space::describe_zone(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  return {zone, zones_.zone_units(zone), *zones_.slots(zone)};
}

std::vector<alloc::ZoneSlot> Space::slots(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  const std::vector<alloc::ZoneSlot>* slots = zones_.slots(zone);
  HEXAD_ASSERT(slots != nullptr);
  return *slots;
}

std::vector<alloc::UnitRun> Space::live_runs(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  return zones_.live_runs(zone);
}

std::vector<alloc::PackStripe> Space::packs(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  return zones_.packs(zone);
}

bool Space::is_live(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  return zones_.is_live(extent);
}

std::uint32_t Space::largest_free_run() {
  const io::Lock lock(mutex_);
  return zones_.largest_free_run();
}

std::vector<std::uint32_t> Space::free_runs() {
  const io::Lock lock(mutex_);
  return zones_.free_run_lengths();
}

double Space::fragmentation() {
  const io::Lock lock(mutex_);
  return zones_.fragmentation();
}

Status Space::check_invariants() {
  const io::Lock lock(mutex_);
  return zones_.check_invariants();
}

}  // namespace hexad::core
