#include "core/space/space.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "alloc/failure_domains.h"
#include "base/units.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

Space::Space(io::Executor& executor, const StoreShape& shape, Members& members, Counters& counters,
             LogBlobs& log_blobs)
    : executor_(executor),
      shape_(shape),
      members_(members),
      stats_(counters),
      log_blobs_(log_blobs),
      mutex_(executor),
      cell_written_(executor),
      zones_(shape.cells()),
      allotment_(shape, zones_),
      kept_back_(members),
      slabs_(shape, members),
      unwritten_(zones_) {
  learn_devices();
}

void Space::learn_devices() {
  const io::Lock lock(mutex_);
  slabs_.learn();
}

Status Space::mark_used(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  HEXAD_TRY(zones_.mark_used(extent));
  note_missing(extent);
  allotment_.note_internal(extent.units);
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
  for (const UnplacedPayload& payload : record.group.payloads) {
    UnplacedBlob blob;
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
      if (stripe.live > 0) packs_.note_born(stripe.where, lsn);
      // R13. What an image has, it has with the marks that were left.
      if (stripe.unwritten == 0 || lsn <= zones_.image_lsn(stripe.where.zone)) continue;
      for (std::uint32_t slot = 0; slot < shape_.cells(); ++slot) {
        if ((stripe.unwritten >> slot & 1) == 0) continue;
        HEXAD_TRY(zones_.mark_missing(stripe.where, slot));
      }
    }
  }
  allotment_.take_back(log_blobs_.set_places(record.group.placed));
  for (const alloc::Extent& extent : record.freed) HEXAD_TRY(zones_.replay_free(extent, lsn));
  for (const PackedRelease& release : record.packed_releases) {
    HEXAD_TRY(zones_.replay_drop_live(release.zone, release.unit, release.bytes, lsn));
  }
  for (const LogPlace& release : record.unplaced_releases) {
    allotment_.take_back(log_blobs_.release(release));
    HEXAD_TRY(free_unplaced(release, lsn, In::kReplay));
  }
  return {};
}

// An unplaced blob dies whose transaction did not know its place; by now that is known, or the blob
// is still a payload and there is nothing to free.
Status Space::free_unplaced(const LogPlace& release, Lsn lsn, In what) {
  const bool replay = what == In::kReplay;
  const std::optional<LogBlobs::Found> found = log_blobs_.find(release);
  if (!found.has_value()) {
    return Error{ErrorCode::kCorruption,
                 "LSN " + std::to_string(lsn) + " frees blob " + std::to_string(release.index) +
                     " of LSN " + std::to_string(release.lsn) + ", which nobody wrote",
                 "Run hexad fsck POOL."};
  }
  if (!found->place.has_value()) return {};
  const UnplacedPlace& place = *found->place;
  if (place.placement == Placement::kPacked) {
    packs_.add_dead(place.stored);
    const auto drop = replay ? &alloc::ZoneSet::replay_drop_live : &alloc::ZoneSet::drop_live;
    return (zones_.*drop)(place.where.zone, place.where.unit, place.stored, lsn);
  }
  return replay ? zones_.replay_free(place.where, lsn) : zones_.publish_free(place.where, lsn);
}

void Space::publish_internal(std::span<const alloc::Extent> extents, Lsn lsn) {
  const io::Lock lock(mutex_);
  for (const alloc::Extent& extent : extents) {
    zones_.publish_alloc(extent, lsn);
    unwritten_.settle(extent);
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
                   "Run hexad fsck POOL."};
    }
  }
  for (const alloc::Extent& extent : sorted) {
    HEXAD_TRY(zones_.publish_free(extent, lsn));
    allotment_.drop_internal(extent.units);
  }
  return {};
}

// Cells that were not written, because their devices are not used, or were not when it was written.
void Space::note_missing(const alloc::Extent& extent, std::uint64_t unwritten) {
  const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(extent.zone);
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    const DeviceId id = slots[slot].device;
    const bool counts = members_.usable(id) && !unwritten_.is_in_place(id);  // RP3
    if (counts && (unwritten >> slot & 1) == 0) continue;
    HEXAD_ASSERT(zones_.mark_missing(extent, slot).ok());
  }
}

void Space::discard_internal(const alloc::Extent& extent) {
  discard(extent);
  const io::Lock lock(mutex_);
  allotment_.drop_internal(extent.units);
}

void Space::discard(const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  if (kept_back_.keeps()) {
    kept_back_.keep(extent);
  } else {
    discard_settled(extent);
  }
}

void Space::discard_settled(const alloc::Extent& extent) {
  unwritten_.settle(extent);
  zones_.discard(extent);
}

void Space::suspect(const std::set<DeviceId>& failed) {
  const io::Lock lock(mutex_);
  kept_back_.suspect(failed);
}

void Space::forget_suspects(const std::set<DeviceId>& gone) {
  const io::Lock lock(mutex_);
  kept_back_.forget(gone);
}

std::set<DeviceId> Space::suspects() {
  const io::Lock lock(mutex_);
  return kept_back_.suspects();
}

void Space::free_kept_back() {
  const io::Lock lock(mutex_);
  kept_back_.end_suspects();
  give_kept_back();
}

void Space::give_kept_back() {
  const KeptBack::Kept kept = kept_back_.take();
  for (const alloc::Extent& extent : kept.units) discard_settled(extent);
  slabs_.give(kept.slabs);
}

void Space::publish(Lsn lsn, const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const auto* stripes : {&record.group.allocated, &record.allocated}) {
    for (const StripeProof& stripe : *stripes) {
      if (stripe.live > 0) {
        zones_.publish_pack(stripe.where, lsn, stripe.live, stripe.footer);
        packs_.note_born(stripe.where, lsn);
      } else {
        zones_.publish_alloc(stripe.where, lsn);
      }
      unwritten_.settle(stripe.where);
      note_missing(stripe.where, stripe.unwritten);
    }
    stats_.add(CounterId::kStripes, stripes->size());
  }
  for (const UnplacedPlace& place : record.group.placed) {
    zones_.born_before(place.where, place.from.lsn);  // PN5 of core/cache/read_pins.h
  }
  for (const alloc::Extent& extent : record.freed) {
    HEXAD_ASSERT(zones_.publish_free(extent, lsn).ok());
  }
  for (const PackedRelease& release : record.packed_releases) {
    HEXAD_ASSERT(zones_.drop_live(release.zone, release.unit, release.bytes, lsn).ok());
    packs_.add_dead(release.bytes);
  }
  for (const LogPlace& release : record.unplaced_releases) {
    HEXAD_ASSERT(free_unplaced(release, lsn, In::kPublish).ok());
  }
}

// What has been answered is over.
void Space::settle_late_heals() {
  io::IoQueue* queue = nullptr;
  {
    const io::Lock lock(mutex_);
    if (!kept_back_.any_late()) return;
    queue = &kept_back_.late_queue();
  }
  queue->has_abandoned();
  const io::Lock lock(mutex_);
  kept_back_.drop_answered();
  give_kept_back();
}

std::uint64_t Space::reclaim(Lsn limit, std::span<const alloc::ReadRange> readers, Lsn oldest) {
  settle_late_heals();
  const io::Lock lock(mutex_);
  limit = kept_back_.bound(limit, readers);
  oldest = std::min(oldest, limit);
  if (moves_.any_retired()) {
    slabs_.give(moves_.take_free(oldest, executor_.clock().now(),
                                 [this](DeviceId id)
                                     HEXAD_REQUIRES(mutex_) { return kept_back_.is_late(id); }));
  }
  return zones_.reclaim(limit, kept_back_.readers(), oldest);
}

std::uint64_t Space::held_units() {
  const io::Lock lock(mutex_);
  return held_locked();
}

Space::HeldSpace Space::held_space() {
  const io::Lock lock(mutex_);
  HeldSpace held;
  for (const alloc::ReadRange& reader : kept_back_.readers()) {
    const std::uint64_t units = zones_.held_for(reader);
    held.units += units;
    held.by_reader[reader] += units;
  }
  held.others = counters_locked().deferred - held.units;
  return held;
}

std::uint64_t Space::held_locked() const {
  std::uint64_t units = 0;
  for (const alloc::ReadRange& reader : kept_back_.readers()) units += zones_.held_for(reader);
  return units;
}

bool Space::has_deferred() {
  const io::Lock lock(mutex_);
  return zones_.counters().deferred > 0;
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
                   "Run hexad fsck POOL."};
    }
    images_.want(extent.zone);
  }
  for (const alloc::ZoneId zone : zones_.dirty_zones()) {
    // Cleared now, so that what changes while the image is being written counts as dirty again;
    // wanted still, so that a failed checkpoint does not forget it.
    zones_.clear_dirty(zone);
    images_.want(zone);
  }
  images_.begin();
  for (const alloc::ZoneId zone : images_.wanted()) {
    HEXAD_TRY_ASSIGN(alloc::ZoneImage image, zones_.image(zone, lsn, replaced));
    images_.hand_out(zone, lacking_in(image));
    images.push_back(std::move(image));
  }
  moves_.note_images(lsn);
  return images;
}

void Space::images_written() {
  const io::Lock lock(mutex_);
  images_.written();
  for (const alloc::ZoneId zone : moves_.retire_moved(executor_.clock().now())) {
    HEXAD_ASSERT(zones_.open_zone(zone).ok());
  }
}

Space::Room Space::room() {
  const io::Lock lock(mutex_);
  return {counters_locked(),      slabs_.zones_to_come(),      allotment_.promised().units,
          zones_.reserve_units(), allotment_.internal_units(), held_locked()};
}

alloc::SpaceCounters Space::counters() {
  const io::Lock lock(mutex_);
  return counters_locked();
}

// Of the zones that are open: one that is not counts as one to come.
alloc::SpaceCounters Space::counters_locked() const {
  alloc::SpaceCounters counters = zones_.counters();
  counters.total -= std::exchange(counters.closed_free, 0);
  return counters;
}

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
  std::vector<std::uint32_t> runs;
  for (const alloc::ZoneId zone : zone_ids()) {
    const io::Lock lock(mutex_);
    const std::vector<std::uint32_t> its = zones_.free_run_lengths(zone);
    runs.insert(runs.end(), its.begin(), its.end());
  }
  return runs;
}

double Space::fragmentation() {
  const io::Lock lock(mutex_);
  return zones_.fragmentation();
}

Status Space::check_invariants() {
  const io::Lock lock(mutex_);
  for (const alloc::ZoneId zone : zones_.zone_ids()) {  // FD1
    alloc::MostCells cells(members_.domain_cells());
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (const alloc::ZoneSlot& slot : slots) {
      const Member* const member = members_.find(slot.device);
      cells.add(member == nullptr ? std::string_view() : std::string_view(member->domain));
    }
    if (cells.count() == slots.size()) continue;
    return Error{ErrorCode::kCorruption,
                 "zone " + std::to_string(zone) + " has more than " +
                     std::to_string(members_.domain_cells()) +
                     " slabs in one failure domain, whose loss would be too much for it",
                 ""};
  }
  return zones_.check_invariants();
}

}  // namespace hexad::core
