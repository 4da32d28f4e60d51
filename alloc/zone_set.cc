#include "alloc/zone_set.h"

#include <algorithm>
#include <string>
#include <utility>

#include "alloc/device_layout.h"
#include "base/assert.h"

namespace hexad::alloc {

namespace {

// Units that go to one zone before the next has its turn: with units of 4 KiB, 1 MiB of each
// device.
constexpr std::uint64_t kStretchUnits = 256;

Error corrupt(std::string message) { return Error{ErrorCode::kCorruption, std::move(message), ""}; }

Error no_zone(ZoneId zone) {
  return Error{ErrorCode::kNotFound, "no zone " + std::to_string(zone), ""};
}

struct Deferred {
  std::uint32_t units = 0;
  Lsn freed = 0;
};

std::uint32_t units_of(std::uint32_t units) { return units; }
std::uint32_t units_of(const Deferred& deferred) { return deferred.units; }

// The first entry of a map from first unit to length that overlaps `run`, or end().
template <typename Map>
auto first_overlap(Map& map, UnitRun run) {
  auto at = map.upper_bound(run.unit);
  if (at != map.begin()) {
    const auto before = std::prev(at);
    if (std::uint64_t{before->first} + units_of(before->second) > run.unit) return before;
  }
  return at != map.end() && at->first < run.end() ? at : map.end();
}

template <typename Map>
bool overlaps(const Map& map, UnitRun run) {
  return first_overlap(map, run) != map.end();
}

}  // namespace

struct ZoneSet::Zone {
  Zone(ZoneId zone, std::vector<ZoneSlot> places, UnitBitmap bits)
      : id(zone), slots(std::move(places)), taken(std::move(bits)), missing(slots.size()) {}

  bool has(UnitRun run) const { return run.unit > 0 && run.units > 0 && run.end() <= taken.size(); }
  bool is_live(UnitRun run) const {
    return has(run) && taken.all_used(run) && !overlaps(in_flight, run) && !overlaps(deferred, run);
  }
  std::uint64_t deferred_units(UnitRun run) const {
    std::uint64_t units = 0;
    for (auto at = first_overlap(deferred, run); at != deferred.end() && at->first < run.end();
         ++at) {
      const std::uint64_t first = std::max(at->first, run.unit);
      units += std::min(std::uint64_t{at->first} + at->second.units, run.end()) - first;
    }
    return units;
  }
  void forget_live_bytes(UnitRun run) {
    auto at = live_bytes.lower_bound(run.unit);
    while (at != live_bytes.end() && at->first < run.end()) at = live_bytes.erase(at);
  }
  std::uint64_t missing_units() const {
    std::uint64_t units = 0;
    for (const RunSet& slot : missing) units += slot.units();
    return units;
  }

  ZoneId id;
  std::vector<ZoneSlot> slots;
  UnitBitmap taken;                                  // all but free, Z2
  std::map<std::uint32_t, std::uint32_t> in_flight;  // first unit -> units
  std::map<std::uint32_t, Deferred> deferred;
  std::vector<RunSet> missing;  // per slot
  std::map<std::uint32_t, std::uint64_t> live_bytes;
  Lsn image_lsn = 0;
  std::size_t index = 0;     // in zones_
  std::uint32_t cursor = 1;  // where the last allocation ended
  bool open = true;
  bool dirty = true;
};

ZoneSet::ZoneSet(std::uint32_t slots, std::uint64_t reserve_units)
    : slots_(slots), reserve_(reserve_units) {}

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
  if (!zone->has(extent.run())) {
    return corrupt(to_string(extent) + ": outside the " + std::to_string(zone->taken.size()) +
                   " units of the zone, or its header");
  }
  return zone;
}

void ZoneSet::refresh(Zone& zone) {
  longest_.set(zone.index, zone.open ? zone.taken.largest_free_run() : 0);
}

void ZoneSet::insert(std::unique_ptr<Zone> zone) {
  zone->index = zones_.size();
  by_id_.emplace(zone->id, zone->index);
  longest_.push_back(0);
  refresh(*zone);
  zones_.push_back(std::move(zone));
}

Status ZoneSet::add_zone(ZoneId zone, std::vector<ZoneSlot> slots, std::uint32_t units) {
  if (find(zone) != nullptr) {
    return Error{ErrorCode::kAlreadyExists, "zone " + std::to_string(zone) + " exists", ""};
  }
  std::set<DeviceId> devices;
  for (const ZoneSlot& slot : slots) devices.insert(slot.device);
  if (slots.size() != slots_ || devices.size() != slots_ || units < kMinSlabUnits ||
      units > kMaxSlabUnits) {
    return Error{ErrorCode::kInvalidArgument,
                 "zone " + std::to_string(zone) + ": " + std::to_string(slots.size()) +
                     " slots on " + std::to_string(devices.size()) + " devices, " +
                     std::to_string(units) + " units; the profile has " + std::to_string(slots_) +
                     " slots",
                 ""};
  }
  UnitBitmap taken(units);
  taken.force_set({0, 1});
  counters_.total += units - 1;
  counters_.free += units - 1;
  insert(std::make_unique<Zone>(zone, std::move(slots), std::move(taken)));
  return {};
}

Status ZoneSet::load_zone(const ZoneImage& image) {
  HEXAD_TRY(add_zone(image.zone, image.slots, image.units));
  Zone& zone = *find(image.zone);
  const auto refuse = [&](const std::string& what) {
    const std::string name = "zone image " + std::to_string(image.zone) + ": ";
    // As if it had never been there.
    counters_.total -= image.units - 1;
    counters_.free -= image.units - 1;
    zones_.pop_back();
    longest_.set(zones_.size(), 0);
    zones_.push_back(nullptr);
    by_id_.erase(image.zone);
    return corrupt(name + what);
  };
  if (image.bitmap.size() != UnitBitmap::word_count(image.units) || (image.bitmap[0] & 1) == 0) {
    return refuse("its bitmap lacks the header unit or has a wrong length");
  }
  const UnitBitmap taken(image.units, image.bitmap);
  std::uint64_t last = 0;
  for (const DeferredFree& deferred : image.deferred) {
    const UnitRun run = deferred.run;
    if (run.unit < last || !zone.has(run) || !taken.all_used(run) || deferred.freed > image.lsn) {
      return refuse("deferred units " + std::to_string(run.unit) + " + " +
                    std::to_string(run.units) + " are not taken");
    }
    last = run.end();
  }
  for (const MissingRun& missing : image.missing) {
    if (missing.slot >= slots_ || !zone.has(missing.run) || !taken.all_used(missing.run)) {
      return refuse("missing units that are not taken");
    }
  }
  for (const LiveCount& live : image.live) {
    if (!zone.has({live.unit, 1}) || !taken.is_used(live.unit)) {
      return refuse("a live count at a free unit");
    }
  }
  zone.taken = taken;
  zone.image_lsn = image.lsn;
  zone.dirty = false;
  const std::uint64_t used = taken.used_count() - 1;
  counters_.free -= used;
  counters_.live += used;
  for (const DeferredFree& deferred : image.deferred) {
    add_deferred(zone, deferred.run, deferred.freed);
  }
  for (const MissingRun& missing : image.missing) zone.missing[missing.slot].insert(missing.run);
  counters_.missing += zone.missing_units();
  for (const LiveCount& live : image.live) zone.live_bytes[live.unit] = live.bytes;
  refresh(zone);
  return {};
}

Status ZoneSet::remove_zone(ZoneId id) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  if (zone->taken.used_count() != 1) {
    return Error{ErrorCode::kNotEmpty,
                 "zone " + std::to_string(id) + " has " +
                     std::to_string(zone->taken.used_count() - 1) + " units in use",
                 ""};
  }
  counters_.total -= zone->taken.size() - 1;
  (zone->open ? counters_.free : counters_.closed_free) -= zone->taken.free_count();
  longest_.set(zone->index, 0);
  by_id_.erase(id);
  zones_[zone->index].reset();
  return {};
}

Status ZoneSet::close_zone(ZoneId id) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  if (!zone->open) return {};
  zone->open = false;
  counters_.free -= zone->taken.free_count();
  counters_.closed_free += zone->taken.free_count();
  refresh(*zone);
  return {};
}

Status ZoneSet::open_zone(ZoneId id) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  if (zone->open) return {};
  zone->open = true;
  counters_.closed_free -= zone->taken.free_count();
  counters_.free += zone->taken.free_count();
  refresh(*zone);
  return {};
}

Status ZoneSet::replace_slot(ZoneId id, std::uint32_t slot, ZoneSlot with) {
  Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  for (std::uint32_t i = 0; i < slots_; ++i) {
    if (slot >= slots_ || (i != slot && zone->slots[i].device == with.device)) {
      return Error{ErrorCode::kInvalidArgument,
                   "zone " + std::to_string(id) + " slot " + std::to_string(slot) + ": " +
                       to_string(with) + " cannot be put there",
                   "A zone has its slabs on distinct devices."};
    }
  }
  zone->slots[slot] = with;
  zone->dirty = true;
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
  return found == nullptr ? nullptr : &found->slots;
}

std::uint32_t ZoneSet::zone_units(ZoneId zone) const {
  const Zone* found = find(zone);
  return found == nullptr ? 0 : found->taken.size();
}

Lsn ZoneSet::image_lsn(ZoneId zone) const {
  const Zone* found = find(zone);
  return found == nullptr ? 0 : found->image_lsn;
}

// --- life of an extent ---

Result<Extent> ZoneSet::allocate(std::uint32_t units, Purpose purpose) {
  if (units == 0) {
    return Error{ErrorCode::kInvalidArgument, "an allocation of 0 units", ""};
  }
  const std::uint64_t untouchable = purpose == Purpose::kUser ? reserve_ : 0;
  const bool enough = counters_.free >= untouchable && counters_.free - untouchable >= units;
  if (stretch_left_ == 0) {
    ++cursor_;
    stretch_left_ = kStretchUnits;
  }
  std::optional<std::size_t> index;
  if (enough) index = longest_.find(cursor_, units);
  if (enough && !index) index = longest_.find(0, units);
  if (!index) {
    return Error{ErrorCode::kNoSpace,
                 "no run of " + std::to_string(units) + " units: " +
                     std::to_string(counters_.free) + " of " + std::to_string(counters_.total) +
                     " are free in runs of up to " + std::to_string(longest_.max()) + ", " +
                     std::to_string(untouchable) + " of them reserved, " +
                     std::to_string(counters_.deferred) + " are waiting to become free",
                 "Delete objects, or add or replace devices."};
  }
  if (*index != cursor_) stretch_left_ = kStretchUnits;
  cursor_ = *index;
  stretch_left_ -= std::min<std::uint64_t>(stretch_left_, units);

  Zone& zone = *zones_[cursor_];
  const std::optional<std::uint32_t> unit = zone.taken.find_free(units, zone.cursor);
  HEXAD_ASSERT(unit.has_value());  // longest_ said so
  const UnitRun run{*unit, units};
  zone.taken.force_set(run);
  zone.in_flight.emplace(run.unit, run.units);
  zone.cursor = static_cast<std::uint32_t>(run.end());
  counters_.free -= units;
  counters_.in_flight += units;
  refresh(zone);
  return Extent{zone.id, run.unit, run.units};
}

void ZoneSet::abandon(const Extent& extent) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  const auto at = zone->in_flight.find(extent.unit);
  HEXAD_ASSERT(at != zone->in_flight.end() && at->second == extent.units);
  zone->in_flight.erase(at);
  zone->taken.force_clear(extent.run());
  counters_.in_flight -= extent.units;
  (zone->open ? counters_.free : counters_.closed_free) += extent.units;
  refresh(*zone);
}

void ZoneSet::publish_alloc(const Extent& extent, Lsn lsn) {
  Zone* zone = find(extent.zone);
  HEXAD_ASSERT(zone != nullptr);
  HEXAD_ASSERT(lsn > zone->image_lsn || zone->image_lsn == 0);
  const auto at = zone->in_flight.find(extent.unit);
  HEXAD_ASSERT(at != zone->in_flight.end() && at->second == extent.units);
  zone->in_flight.erase(at);
  zone->dirty = true;
  counters_.in_flight -= extent.units;
  counters_.live += extent.units;
}

void ZoneSet::add_deferred(Zone& zone, UnitRun run, Lsn lsn) {
  zone.deferred[run.unit] = {run.units, lsn};
  deferred_order_.emplace(lsn, zone.id, run.unit);
  counters_.live -= run.units;
  counters_.deferred += run.units;
}

// Deferred -> live, for any part of `run` that is deferred; what lies outside stays as it is.
void ZoneSet::drop_deferred(Zone& zone, UnitRun run) {
  for (auto at = first_overlap(zone.deferred, run); at != zone.deferred.end();
       at = first_overlap(zone.deferred, run)) {
    const UnitRun whole{at->first, at->second.units};
    const Lsn freed = at->second.freed;
    zone.deferred.erase(at);
    deferred_order_.erase({freed, zone.id, whole.unit});
    counters_.deferred -= whole.units;
    counters_.live += whole.units;
    if (whole.unit < run.unit) add_deferred(zone, {whole.unit, run.unit - whole.unit}, freed);
    if (whole.end() > run.end()) {
      add_deferred(zone,
                   {static_cast<std::uint32_t>(run.end()),
                    static_cast<std::uint32_t>(whole.end() - run.end())},
                   freed);
    }
  }
}

void ZoneSet::forget_marks(Zone& zone, UnitRun run) {
  for (RunSet& slot : zone.missing) {
    const std::uint64_t before = slot.units();
    slot.erase(run);
    counters_.missing -= before - slot.units();
  }
  zone.forget_live_bytes(run);
}

Status ZoneSet::publish_free(const Extent& extent, Lsn lsn) {
  Zone* zone = find(extent.zone);
  if (zone == nullptr || !zone->has(extent.run())) {
    return Error{ErrorCode::kInvalidArgument, to_string(extent) + ": no such units", ""};
  }
  if (!zone->is_live(extent.run())) {
    return corrupt(to_string(extent) + ": freed by LSN " + std::to_string(lsn) +
                   " although not all of it is live");
  }
  add_deferred(*zone, extent.run(), lsn);
  zone->forget_live_bytes(extent.run());
  zone->dirty = true;
  return {};
}

std::uint64_t ZoneSet::reclaim(Lsn limit) {
  std::uint64_t reclaimed = 0;
  while (!deferred_order_.empty()) {
    const auto [freed, id, unit] = *deferred_order_.begin();
    if (freed > limit) break;
    deferred_order_.erase(deferred_order_.begin());
    Zone& zone = *find(id);
    const auto at = zone.deferred.find(unit);
    const UnitRun run{unit, at->second.units};
    zone.deferred.erase(at);
    zone.taken.force_clear(run);
    forget_marks(zone, run);
    zone.dirty = true;
    counters_.deferred -= run.units;
    (zone.open ? counters_.free : counters_.closed_free) += run.units;
    refresh(zone);
    reclaimed += run.units;
  }
  return reclaimed;
}

// --- replay ---

Status ZoneSet::replay_alloc(const Extent& extent, Lsn lsn) {
  HEXAD_TRY_ASSIGN(Zone * zone, find_for(extent));
  if (lsn <= zone->image_lsn) return {};
  const UnitRun run = extent.run();
  // What is taken has to be deferred: then the writer had reclaimed it before.
  const std::uint64_t deferred = zone->deferred_units(run);
  if (zone->taken.used_in(run) != deferred) {
    return corrupt(to_string(extent) + ": allocated by LSN " + std::to_string(lsn) +
                   " although some of it is in use");
  }
  drop_deferred(*zone, run);
  forget_marks(*zone, run);
  const std::uint64_t fresh = zone->taken.force_set(run);
  (zone->open ? counters_.free : counters_.closed_free) -= fresh;
  counters_.live += fresh;
  zone->dirty = true;
  refresh(*zone);
  return {};
}

Status ZoneSet::replay_free(const Extent& extent, Lsn lsn) {
  HEXAD_TRY_ASSIGN(Zone * zone, find_for(extent));
  if (lsn <= zone->image_lsn) return {};
  return publish_free(extent, lsn);
}

Status ZoneSet::mark_used(const Extent& extent) {
  HEXAD_TRY_ASSIGN(Zone * zone, find_for(extent));
  const UnitRun run = extent.run();
  if (overlaps(zone->in_flight, run)) {
    return corrupt(to_string(extent) + ": named as used, but just allocated");
  }
  drop_deferred(*zone, run);
  const std::uint64_t fresh = zone->taken.force_set(run);
  (zone->open ? counters_.free : counters_.closed_free) -= fresh;
  counters_.live += fresh;
  zone->dirty = true;
  refresh(*zone);
  return {};
}

// --- cells that are not there ---

Status ZoneSet::mark_missing(const Extent& extent, std::uint32_t slot) {
  Zone* zone = find(extent.zone);
  const UnitRun run = extent.run();
  if (zone == nullptr || slot >= slots_ || !zone->has(run) || !zone->taken.all_used(run) ||
      overlaps(zone->in_flight, run)) {
    return Error{ErrorCode::kInvalidArgument,
                 to_string(extent) + " slot " + std::to_string(slot) +
                     ": only live units of a slot can be missing",
                 ""};
  }
  const std::uint64_t before = zone->missing[slot].units();
  zone->missing[slot].insert(run);
  counters_.missing += zone->missing[slot].units() - before;
  zone->dirty = true;
  return {};
}

Status ZoneSet::clear_missing(const Extent& extent, std::uint32_t slot) {
  Zone* zone = find(extent.zone);
  if (zone == nullptr || slot >= slots_ || !zone->has(extent.run())) {
    return Error{ErrorCode::kInvalidArgument,
                 to_string(extent) + " slot " + std::to_string(slot) + ": no such units", ""};
  }
  const std::uint64_t before = zone->missing[slot].units();
  zone->missing[slot].erase(extent.run());
  counters_.missing -= before - zone->missing[slot].units();
  zone->dirty = true;
  return {};
}

bool ZoneSet::is_missing(const Extent& extent, std::uint32_t slot) const {
  const Zone* zone = find(extent.zone);
  return zone != nullptr && slot < slots_ && zone->missing[slot].intersects(extent.run());
}

std::vector<UnitRun> ZoneSet::missing_runs(ZoneId id, std::uint32_t slot) const {
  const Zone* zone = find(id);
  return zone != nullptr && slot < slots_ ? zone->missing[slot].runs() : std::vector<UnitRun>{};
}

// --- live bytes ---

Status ZoneSet::set_live_bytes(ZoneId id, std::uint32_t unit, std::uint64_t bytes) {
  Zone* zone = find(id);
  if (zone == nullptr || !zone->is_live({unit, 1})) {
    return Error{ErrorCode::kInvalidArgument,
                 "zone " + std::to_string(id) + " unit " + std::to_string(unit) +
                     ": a live count needs a live unit",
                 ""};
  }
  if (bytes == 0) {
    zone->live_bytes.erase(unit);
  } else {
    zone->live_bytes[unit] = bytes;
  }
  zone->dirty = true;
  return {};
}

std::optional<std::uint64_t> ZoneSet::live_bytes(ZoneId id, std::uint32_t unit) const {
  const Zone* zone = find(id);
  if (zone == nullptr) return std::nullopt;
  const auto at = zone->live_bytes.find(unit);
  return at == zone->live_bytes.end() ? std::nullopt : std::optional(at->second);
}

// --- persistence ---

Result<ZoneImage> ZoneSet::image(ZoneId id, Lsn lsn, std::span<const Extent> replaced) const {
  const Zone* zone = find(id);
  if (zone == nullptr) return no_zone(id);
  ZoneImage image;
  image.zone = id;
  image.slots = zone->slots;
  image.lsn = lsn;
  image.units = zone->taken.size();
  UnitBitmap lasting = zone->taken;
  for (const auto& [unit, units] : zone->in_flight) lasting.force_clear({unit, units});
  image.bitmap = lasting.words();

  RunSet given_up;
  for (const Extent& extent : replaced) {
    if (extent.zone != id) continue;
    if (!zone->is_live(extent.run()) || given_up.intersects(extent.run())) {
      return corrupt(to_string(extent) + ": given up by a checkpoint, but not live");
    }
    given_up.insert(extent.run());
    image.deferred.push_back({extent.run(), lsn});
  }
  for (const auto& [unit, deferred] : zone->deferred) {
    HEXAD_ASSERT(deferred.freed <= lsn);
    image.deferred.push_back({{unit, deferred.units}, deferred.freed});
  }
  std::sort(image.deferred.begin(), image.deferred.end(),
            [](const DeferredFree& a, const DeferredFree& b) { return a.run < b.run; });
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    for (const UnitRun& run : zone->missing[slot].runs()) image.missing.push_back({slot, run});
  }
  for (const auto& [unit, bytes] : zone->live_bytes) {
    if (!given_up.intersects({unit, 1})) image.live.push_back({unit, bytes});
  }
  return image;
}

std::vector<ZoneId> ZoneSet::dirty_zones() const {
  std::vector<ZoneId> ids;
  for (const auto& [id, index] : by_id_) {
    if (zones_[index]->dirty) ids.push_back(id);
  }
  return ids;
}

void ZoneSet::clear_dirty(ZoneId id) {
  if (Zone* zone = find(id); zone != nullptr) zone->dirty = false;
}

// --- looking ---

double ZoneSet::fragmentation() const {
  std::uint64_t cuts = 0;
  std::uint64_t most = 0;
  for (const auto& zone : zones_) {
    if (zone == nullptr || zone->taken.free_count() == 0) continue;
    cuts += zone->taken.free_run_count() - 1;
    most += zone->taken.free_count() - 1;
  }
  return most == 0 ? 0 : static_cast<double>(cuts) / static_cast<double>(most);
}

bool ZoneSet::is_live(const Extent& extent) const {
  const Zone* zone = find(extent.zone);
  return zone != nullptr && zone->is_live(extent.run());
}

std::vector<UnitRun> ZoneSet::live_runs(ZoneId id) const {
  const Zone* zone = find(id);
  if (zone == nullptr) return {};
  UnitBitmap live = zone->taken;
  live.force_clear({0, 1});
  for (const auto& [unit, units] : zone->in_flight) live.force_clear({unit, units});
  for (const auto& [unit, deferred] : zone->deferred) live.force_clear({unit, deferred.units});
  return live.used_runs();
}

Status ZoneSet::check_zone(const Zone& zone, SpaceCounters& sum) const {
  const std::string name = "zone " + std::to_string(zone.id) + ": ";
  HEXAD_TRY(zone.taken.check_invariants());
  UnitBitmap rest = zone.taken;
  if (!rest.clear({0, 1}).ok()) return corrupt(name + "Z1: the header unit is free");
  for (const auto& [unit, units] : zone.in_flight) {
    if (!rest.clear({unit, units}).ok()) return corrupt(name + "Z1: in flight twice or free");
    sum.in_flight += units;
  }
  for (const auto& [unit, deferred] : zone.deferred) {
    if (!rest.clear({unit, deferred.units}).ok()) return corrupt(name + "Z1: deferred twice");
    if (!deferred_order_.contains({deferred.freed, zone.id, unit})) {
      return corrupt(name + "Z5: a deferred run is not in the order index");
    }
    sum.deferred += deferred.units;
  }
  for (const RunSet& slot : zone.missing) {
    for (const UnitRun& run : slot.runs()) {
      if (!zone.has(run) || !zone.taken.all_used(run) || overlaps(zone.in_flight, run)) {
        return corrupt(name + "Z3: missing units that are neither live nor deferred");
      }
    }
  }
  for (const auto& [unit, bytes] : zone.live_bytes) {
    if (!zone.is_live({unit, 1})) return corrupt(name + "Z3: a live count at a unit not live");
  }
  if (longest_.at(zone.index) != (zone.open ? zone.taken.largest_free_run() : 0)) {
    return corrupt(name + "the index of longest runs is out of date");
  }
  sum.live += rest.used_count();
  sum.total += zone.taken.size() - 1;
  sum.missing += zone.missing_units();
  (zone.open ? sum.free : sum.closed_free) += zone.taken.free_count();
  return {};
}

Status ZoneSet::check_invariants() const {
  SpaceCounters sum;
  std::size_t deferred_runs = 0;
  for (const auto& [id, index] : by_id_) {
    const Zone& zone = *zones_[index];
    HEXAD_TRY(check_zone(zone, sum));
    deferred_runs += zone.deferred.size();
  }
  if (deferred_runs != deferred_order_.size()) return corrupt("Z5: the order index has too many");
  if (!(sum == counters_)) return corrupt("Z4: a counter differs from the sum of the zones");
  return {};
}

}  // namespace hexad::alloc
