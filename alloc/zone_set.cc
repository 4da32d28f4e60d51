#include "alloc/zone_set.h"

#include <string>
#include <utility>

#include "alloc/device_layout.h"
#include "base/assert.h"

namespace hexad::alloc {

namespace {

// Units that go to one zone before the next has its turn: with units of 4 KiB, 1 MiB per device.
constexpr std::uint64_t kStretchUnits = 256;

Error corrupt(std::string message) { return Error{ErrorCode::kCorruption, std::move(message), ""}; }

Error no_zone(ZoneId zone) {
  return Error{ErrorCode::kNotFound, "no zone " + std::to_string(zone), ""};
}

}  // namespace

struct ZoneSet::Zone {
  explicit Zone(ZoneState zone) : state(std::move(zone)) {}

  ZoneState state;
  std::size_t index = 0;  // in zones_
  // What the sums and indexes of the set contain of this zone: see refresh().
  SpaceCounters counted;
  std::optional<Lsn> oldest;
};

ZoneSet::ZoneSet(std::uint32_t slots, std::uint64_t reserve_units)
    : slots_(slots), reserve_(reserve_units), stretch_left_(kStretchUnits) {}

ZoneSet::~ZoneSet() = default;

// --- zones ---

ZoneSet::Zone* ZoneSet::find(ZoneId zone) {
  const auto at = by_id_.find(zone);
  return at == by_id_.end() ? nullptr : zones_[at->second].get();
}

const ZoneSet::Zone* ZoneSet::find(ZoneId zone) const {
  const auto at = by_id_.find(zone);
  return at == by_id_.end() ? nullptr : zones_[at->second].get();
}

Result<ZoneSet::Zone*> ZoneSet::find_for(const Extent& extent) {
  Zone* zone = find(extent.zone);
  if (zone == nullptr) return corrupt(to_string(extent) + ": there is no such zone");
  if (!zone->state.has(extent.run())) {
    return corrupt(to_string(extent) + ": outside the " + std::to_string(zone->state.units()) +
                   " units of the zone, or its header");
  }
  return zone;
}

// Brings sums and indexes up to date after any change of a zone.
void ZoneSet::refresh(Zone& zone) {
  counters_ -= zone.counted;
  zone.counted = zone.state.counters();
  counters_ += zone.counted;
  longest_.set(zone.index, zone.state.longest());
  if (zone.state.has_births()) with_births_.insert(zone.index);
  const std::optional<Lsn> oldest = zone.state.oldest_deferred();
  if (oldest == zone.oldest) return;
  if (zone.oldest) oldest_deferred_.erase({*zone.oldest, zone.index});
  if (oldest) oldest_deferred_.emplace(*oldest, zone.index);
  zone.oldest = oldest;
}

template <typename Change>
Status ZoneSet::update(Result<Zone*> found, const Change& change) {
  HEXAD_TRY_ASSIGN(Zone * zone, std::move(found));
  HEXAD_TRY(change(zone->state));
  refresh(*zone);
  return {};
}

Status ZoneSet::check_new(ZoneId zone, const std::vector<ZoneSlot>& slots,
                          std::uint32_t units) const {
  if (find(zone) != nullptr) {
    return Error{ErrorCode::kAlreadyExists, "zone " + std::to_string(zone) + " exists", ""};
  }
  std::set<DeviceId> devices;
  for (const ZoneSlot& slot : slots) devices.insert(slot.device);
  if (slots.size() == slots_ && devices.size() == slots_ && units >= kMinSlabUnits &&
      units <= kMaxSlabUnits) {
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               "zone " + std::to_string(zone) + ": " + std::to_string(slots.size()) + " slots on " +
                   std::to_string(devices.size()) + " devices, " + std::to_string(units) +
                   " units; the profile has " + std::to_string(slots_) + " slots",
               ""};
}

void ZoneSet::insert(ZoneState state) {
  auto zone = std::make_unique<Zone>(std::move(state));
  zone->index = zones_.size();
  by_id_.emplace(zone->state.id(), zone->index);
  longest_.push_back(0);
  zones_.push_back(std::move(zone));
  refresh(*zones_.back());
}

Status ZoneSet::add_zone(ZoneId zone, std::vector<ZoneSlot> slots, std::uint32_t units) {
  HEXAD_TRY(check_new(zone, slots, units));
  insert(ZoneState(zone, std::move(slots), units));
  return {};
}

Status ZoneSet::load_zone(const ZoneImage& image) {
  HEXAD_TRY(check_new(image.zone, image.slots, image.units));
  HEXAD_TRY_ASSIGN(ZoneState state, ZoneState::from_image(image));
  insert(std::move(state));
  return {};
}

Status ZoneSet::remove_zone(ZoneId id) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  if (!zone->state.is_empty()) {
    const SpaceCounters& in = zone->counted;
    return Error{ErrorCode::kNotEmpty,
                 "zone " + std::to_string(id) + " has units in use: " + std::to_string(in.live) +
                     " live, " + std::to_string(in.deferred) + " deferred, " +
                     std::to_string(in.in_flight) + " in flight",
                 ""};
  }
  counters_ -= zone->counted;
  longest_.set(zone->index, 0);
  with_births_.erase(zone->index);
  zones_[zone->index].reset();
  by_id_.erase(id);
  return {};
}

Result<ZoneSet::Zone*> ZoneSet::find_named(ZoneId id) {
  Zone* const zone = find(id);
  if (zone == nullptr) return no_zone(id);
  return zone;
}

Status ZoneSet::close_zone(ZoneId id) {
  return update(find_named(id), [](ZoneState& zone) {
    zone.close();
    return Status();
  });
}

Status ZoneSet::open_zone(ZoneId id) {
  return update(find_named(id), [](ZoneState& zone) {
    zone.open();
    return Status();
  });
}

Status ZoneSet::replace_slot(ZoneId id, std::uint32_t slot, ZoneSlot with) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  for (std::uint32_t i = 0; i < slots_; ++i) {
    if (slot >= slots_ || (i != slot && zone->state.slots()[i].device == with.device)) {
      return Error{ErrorCode::kInvalidArgument,
                   "zone " + std::to_string(id) + " slot " + std::to_string(slot) + ": " +
                       to_string(with) + " cannot be put there",
                   "A zone has its slabs on distinct devices."};
    }
  }
  zone->state.replace_slot(slot, with);
  return {};
}

std::size_t ZoneSet::zone_count() const { return by_id_.size(); }

std::vector<ZoneId> ZoneSet::zone_ids() const {
  std::vector<ZoneId> ids;
  for (const auto& [id, index] : by_id_) ids.push_back(id);
  return ids;
}

const std::vector<ZoneSlot>* ZoneSet::slots(ZoneId zone) const {
  const Zone* found = find(zone);
  return found == nullptr ? nullptr : &found->state.slots();
}

std::uint32_t ZoneSet::zone_units(ZoneId zone) const {
  const Zone* found = find(zone);
  return found == nullptr ? 0 : found->state.units();
}

Lsn ZoneSet::image_lsn(ZoneId zone) const {
  const Zone* found = find(zone);
  return found == nullptr ? Lsn{0} : found->state.image_lsn();
}

// --- life of an extent ---

Error ZoneSet::no_space(std::uint32_t units, std::uint64_t reserved) const {
  return Error{ErrorCode::kNoSpace,
               "no run of " + std::to_string(units) + " units: " + std::to_string(counters_.free) +
                   " of " + std::to_string(counters_.total) + " are free in runs of up to " +
                   std::to_string(longest_.max()) + ", " + std::to_string(reserved) +
                   " of them reserved, " + std::to_string(counters_.deferred) +
                   " are waiting to become free",
               kMakeRoom};
}

// The zone whose turn it is, and has room.
std::optional<std::size_t> ZoneSet::next_fit(std::uint32_t units) {
  const std::size_t from = stretch_left_ == 0 ? cursor_ + 1 : cursor_;
  std::optional<std::size_t> index = longest_.find(from, units);
  if (!index) index = longest_.find(0, units);
  if (!index) return index;
  if (*index != cursor_ || stretch_left_ == 0) stretch_left_ = kStretchUnits;
  stretch_left_ -= stretch_left_ < units ? stretch_left_ : units;
  cursor_ = *index;
  return index;
}

std::optional<std::size_t> ZoneSet::shortest_fit(std::uint32_t units) const {
  std::optional<std::size_t> best;
  for (const auto& [id, index] : by_id_) {
    const std::uint32_t longest = longest_.at(index);
    if (longest >= units && (!best || longest < longest_.at(*best))) best = index;
  }
  return best;
}

Result<Extent> ZoneSet::allocate(std::uint32_t units, Purpose purpose, Fit fit) {
  if (units == 0) {
    return Error{ErrorCode::kInvalidArgument, "an allocation of 0 units", ""};
  }
  const std::uint64_t reserved = purpose == Purpose::kUser ? reserve_ : 0;
  if (counters_.free < reserved || counters_.free - reserved < units) {
    return no_space(units, reserved);
  }
  const std::optional<std::size_t> index =
      fit == Fit::kNext ? next_fit(units) : shortest_fit(units);
  if (!index) return no_space(units, reserved);
  Zone& zone = *zones_[*index];
  const UnitRun run = fit == Fit::kNext ? zone.state.take(units) : zone.state.take_shortest(units);
  refresh(zone);
  return Extent{zone.state.id(), run.unit, run.units};
}

void ZoneSet::discard(const Extent& extent) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  zone->state.discard(extent.run());
  refresh(*zone);
}

void ZoneSet::publish_alloc(const Extent& extent, Lsn lsn) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  zone->state.publish_alloc(extent.run(), lsn);
  refresh(*zone);
}

Status ZoneSet::publish_free(const Extent& extent, Lsn lsn) {
  return update(find_for(extent),
                [&](ZoneState& zone) { return zone.publish_free(extent.run(), lsn); });
}

std::uint64_t ZoneSet::reclaim(Lsn limit, std::span<const ReadRange> readers, Lsn oldest) {
  const std::uint64_t before = counters_.deferred;
  for (const std::size_t index : std::set<std::size_t>(holding_)) {
    Zone& zone = *zones_[index];
    zone.state.review_held(readers);
    if (!zone.state.holds_any()) holding_.erase(index);
    refresh(zone);
  }
  while (!oldest_deferred_.empty() && oldest_deferred_.begin()->first <= limit) {
    Zone& zone = *zones_[oldest_deferred_.begin()->second];
    zone.state.reclaim(limit, readers);
    if (zone.state.holds_any()) holding_.insert(zone.index);
    refresh(zone);
  }
  for (auto at = with_births_.begin(); at != with_births_.end();) {
    ZoneState& state = zones_[*at]->state;
    state.forget_births(oldest);
    at = state.has_births() ? std::next(at) : with_births_.erase(at);
  }
  return before - counters_.deferred;
}

void ZoneSet::born_before(const Extent& extent, Lsn born) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  zone->state.born_before(extent.unit, born);
}

std::uint64_t ZoneSet::held_for(const ReadRange& reader) const {
  std::uint64_t units = 0;
  for (const std::size_t index : holding_) units += zones_[index]->state.held_for(reader);
  return units;
}

// --- replay ---

Status ZoneSet::replay_alloc(const Extent& extent, Lsn lsn) {
  return update(find_for(extent),
                [&](ZoneState& zone) { return zone.replay_alloc(extent.run(), lsn); });
}

Status ZoneSet::replay_free(const Extent& extent, Lsn lsn) {
  return update(find_for(extent),
                [&](ZoneState& zone) { return zone.replay_free(extent.run(), lsn); });
}

Status ZoneSet::mark_used(const Extent& extent) {
  return update(find_for(extent), [&](ZoneState& zone) { return zone.mark_used(extent.run()); });
}

// --- cells that are not there, live bytes ---

Result<ZoneSet::Zone*> ZoneSet::find_slot(const Extent& extent, std::uint32_t slot) {
  Zone* zone = find(extent.zone);
  if (zone == nullptr || slot >= slots_ || !zone->state.has(extent.run())) {
    return Error{ErrorCode::kInvalidArgument,
                 to_string(extent) + " slot " + std::to_string(slot) + ": no such units", ""};
  }
  return zone;
}

Status ZoneSet::mark_missing(const Extent& extent, std::uint32_t slot) {
  return update(find_slot(extent, slot),
                [&](ZoneState& zone) { return zone.mark_missing(extent.run(), slot); });
}

Status ZoneSet::clear_missing(const Extent& extent, std::uint32_t slot) {
  HEXAD_TRY_ASSIGN(Zone * zone, find_slot(extent, slot));
  zone->state.clear_missing(extent.run(), slot);
  refresh(*zone);
  return {};
}

bool ZoneSet::is_missing(const Extent& extent, std::uint32_t slot) const {
  const Zone* zone = find(extent.zone);
  return zone != nullptr && slot < slots_ && zone->state.is_missing(extent.run(), slot);
}

std::vector<UnitRun> ZoneSet::missing_runs(ZoneId id, std::uint32_t slot) const {
  const Zone* zone = find(id);
  if (zone == nullptr || slot >= slots_) return {};
  return zone->state.missing_runs(slot);
}

void ZoneSet::publish_pack(const Extent& extent, Lsn lsn, std::uint64_t live,
                           std::uint32_t footer) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  zone->state.publish_pack(extent.run(), lsn, live, footer);
  refresh(*zone);
}

Status ZoneSet::replay_pack(const Extent& extent, Lsn lsn, std::uint64_t live,
                            std::uint32_t footer) {
  return update(find_for(extent),
                [&](ZoneState& zone) { return zone.replay_pack(extent.run(), lsn, live, footer); });
}

Result<ZoneSet::Zone*> ZoneSet::find_dying(ZoneId id) {
  Zone* zone = find(id);
  if (zone == nullptr) return corrupt("bytes die in zone " + std::to_string(id) + ", unknown");
  return zone;
}

Status ZoneSet::drop_live(ZoneId id, std::uint32_t unit, std::uint64_t bytes, Lsn lsn) {
  return update(find_dying(id), [&](ZoneState& zone) { return zone.drop_live(unit, bytes, lsn); });
}

Status ZoneSet::replay_drop_live(ZoneId id, std::uint32_t unit, std::uint64_t bytes, Lsn lsn) {
  return update(find_dying(id),
                [&](ZoneState& zone) { return zone.replay_drop_live(unit, bytes, lsn); });
}

std::optional<PackStripe> ZoneSet::pack_at(ZoneId id, std::uint32_t unit) const {
  const Zone* zone = find(id);
  return zone == nullptr ? std::nullopt : zone->state.pack_at(unit);
}

std::vector<PackStripe> ZoneSet::packs(ZoneId id) const {
  const Zone* zone = find(id);
  return zone == nullptr ? std::vector<PackStripe>{} : zone->state.packs();
}

// --- persistence ---

Result<ZoneImage> ZoneSet::image(ZoneId id, Lsn lsn, std::span<const Extent> replaced) const {
  const Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  return zone->state.image(lsn, replaced);
}

std::vector<ZoneId> ZoneSet::dirty_zones() const {
  std::vector<ZoneId> ids;
  for (const auto& [id, index] : by_id_) {
    if (zones_[index]->state.is_dirty()) ids.push_back(id);
  }
  return ids;
}

void ZoneSet::clear_dirty(ZoneId id) {
  if (Zone* zone = find(id); zone != nullptr) zone->state.clear_dirty();
}

// --- looking ---

double ZoneSet::fragmentation() const {
  std::uint64_t cuts = 0;
  std::uint64_t most = 0;
  for (const auto& [id, index] : by_id_) {
    const ZoneState& zone = zones_[index]->state;
    const SpaceCounters counters = zone.counters();
    const std::uint64_t free = counters.free + counters.closed_free;
    if (free == 0) continue;
    cuts += zone.free_run_count() - 1;
    most += free - 1;
  }
  return most == 0 ? 0 : static_cast<double>(cuts) / static_cast<double>(most);
}

std::vector<std::uint32_t> ZoneSet::free_run_lengths() const {
  std::vector<std::uint32_t> lengths;
  for (const auto& [id, index] : by_id_) {
    for (const UnitRun& run : zones_[index]->state.free_runs()) lengths.push_back(run.units);
  }
  return lengths;
}

std::vector<std::uint32_t> ZoneSet::free_run_lengths(ZoneId zone) const {
  std::vector<std::uint32_t> lengths;
  const auto found = by_id_.find(zone);
  if (found == by_id_.end()) return lengths;
  for (const UnitRun& run : zones_[found->second]->state.free_runs()) lengths.push_back(run.units);
  return lengths;
}

bool ZoneSet::may_die(const Extent& extent) const {
  const Zone* zone = find(extent.zone);
  return zone != nullptr && zone->state.may_die(extent.run());
}

bool ZoneSet::is_live(const Extent& extent) const {
  const Zone* zone = find(extent.zone);
  return zone != nullptr && zone->state.is_live(extent.run());
}

std::vector<UnitRun> ZoneSet::live_runs(ZoneId id) const {
  const Zone* zone = find(id);
  return zone == nullptr ? std::vector<UnitRun>{} : zone->state.live_runs();
}

std::uint32_t ZoneSet::used_units(ZoneId id) const {
  const Zone* zone = find(id);
  return zone == nullptr ? 0 : zone->state.used_units();
}

std::vector<UnitRun> ZoneSet::used_runs(ZoneId id) const {
  const Zone* zone = find(id);
  return zone == nullptr ? std::vector<UnitRun>{} : zone->state.used_runs();
}

std::vector<UnitRun> ZoneSet::in_flight_runs(ZoneId id) const {
  const Zone* zone = find(id);
  return zone == nullptr ? std::vector<UnitRun>{} : zone->state.in_flight_runs();
}

Status ZoneSet::check_invariants() const {
  SpaceCounters sum;
  std::size_t with_deferred = 0;
  for (const auto& [id, index] : by_id_) {
    const Zone& zone = *zones_[index];
    HEXAD_TRY(zone.state.check_invariants());
    sum += zone.state.counters();
    if (longest_.at(index) != zone.state.longest()) {
      return corrupt("zone " + std::to_string(id) + ": the index of longest runs is out of date");
    }
    const std::optional<Lsn> oldest = zone.state.oldest_deferred();
    if (oldest && !oldest_deferred_.contains({*oldest, index})) {
      return corrupt("zone " + std::to_string(id) + ": Z5: not in the index of deferred runs");
    }
    if (oldest) ++with_deferred;
  }
  if (with_deferred != oldest_deferred_.size()) return corrupt("Z5: the index has too many zones");
  if (!(sum == counters_)) return corrupt("Z4: a counter differs from the sum of the zones");
  return {};
}

}  // namespace hexad::alloc
