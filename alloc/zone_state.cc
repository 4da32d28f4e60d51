#include "alloc/zone_state.h"

#include <algorithm>
#include <string>

#include "base/assert.h"

namespace hexad::alloc {

namespace {

Error corrupt(std::string message) { return Error{ErrorCode::kCorruption, std::move(message), ""}; }

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), ""};
}

std::uint32_t length_of(std::uint32_t units) { return units; }
template <typename Entry>
std::uint32_t length_of(const Entry& entry) {
  return entry.units;
}

}  // namespace

SpaceCounters& SpaceCounters::operator+=(const SpaceCounters& other) {
  total += other.total;
  free += other.free;
  closed_free += other.closed_free;
  in_flight += other.in_flight;
  live += other.live;
  deferred += other.deferred;
  missing += other.missing;
  return *this;
}

SpaceCounters& SpaceCounters::operator-=(const SpaceCounters& other) {
  total -= other.total;
  free -= other.free;
  closed_free -= other.closed_free;
  in_flight -= other.in_flight;
  live -= other.live;
  deferred -= other.deferred;
  missing -= other.missing;
  return *this;
}

// The first entry, in a map from first unit to length, that overlaps `run`; or end().
template <typename Map>
auto ZoneState::first_overlap(Map& map, UnitRun run) {
  auto at = map.upper_bound(run.unit);
  if (at != map.begin()) {
    const auto before = std::prev(at);
    if (std::uint64_t{before->first} + length_of(before->second) > run.unit) return before;
  }
  return at != map.end() && at->first < run.end() ? at : map.end();
}

template <typename Map>
bool ZoneState::overlaps(const Map& map, UnitRun run) {
  return first_overlap(map, run) != map.end();
}

ZoneState::ZoneState(ZoneId id, std::vector<ZoneSlot> slots, std::uint32_t units)
    : id_(id), slots_(std::move(slots)), taken_(units), missing_(slots_.size()) {
  taken_.force_set({0, 1});
}

Result<ZoneState> ZoneState::from_image(const ZoneImage& image) {
  ZoneState zone(image.zone, image.slots, image.units);
  const std::string subject = "zone image " + std::to_string(image.zone) + ": ";
  if (image.bitmap.size() != UnitBitmap::word_count(image.units) || (image.bitmap[0] & 1) == 0) {
    return corrupt(subject + "its bitmap lacks the header unit or has a wrong length");
  }
  zone.taken_ = UnitBitmap(image.units, image.bitmap);
  for (const DeferredFree& deferred : image.deferred) {
    if (!zone.is_live(deferred.run) || deferred.freed > image.lsn) {
      return corrupt(subject + "deferred units that are not taken, or twice");
    }
    zone.add_deferred(deferred.run, deferred.freed, deferred.born);
  }
  for (const MissingRun& missing : image.missing) {
    if (missing.slot >= zone.slots_.size() || !zone.has(missing.run) ||
        !zone.taken_.all_used(missing.run)) {
      return corrupt(subject + "missing units that are not taken");
    }
    zone.missing_[missing.slot].insert(missing.run);
  }
  for (const PackStripe& pack : image.packs) {
    if (!zone.is_live(pack.run) || overlaps(zone.packs_, pack.run)) {
      return corrupt(subject + "a pack stripe in units that are not live, or in another");
    }
    zone.packs_[pack.run.unit] = {pack.run.units, pack.footer, pack.live, pack.born};
  }
  zone.image_lsn_ = image.lsn;
  zone.last_lsn_ = image.lsn;
  zone.dirty_ = false;
  return zone;
}

std::string ZoneState::name(UnitRun run) const {
  return to_string(Extent{id_, run.unit, run.units});
}

void ZoneState::replace_slot(std::uint32_t slot, ZoneSlot with) {
  slots_[slot] = with;
  dirty_ = true;
}

SpaceCounters ZoneState::counters() const {
  SpaceCounters counters;
  counters.total = taken_.size() - 1;
  (open_ ? counters.free : counters.closed_free) = taken_.free_count();
  counters.in_flight = in_flight_units_;
  counters.deferred = deferred_units_;
  counters.live = taken_.used_count() - 1 - in_flight_units_ - deferred_units_;
  for (const UnitSet& slot : missing_) counters.missing += slot.units();
  return counters;
}

std::optional<Lsn> ZoneState::oldest_deferred() const {
  return by_lsn_.empty() ? std::nullopt : std::optional(by_lsn_.begin()->first);
}

bool ZoneState::has(UnitRun run) const {
  return run.unit > 0 && run.units > 0 && run.end() <= taken_.size();
}

bool ZoneState::may_die(UnitRun run) const {
  return has(run) && taken_.all_used(run) && !overlaps(deferred_, run);
}

bool ZoneState::is_live(UnitRun run) const {
  return has(run) && taken_.all_used(run) && !overlaps(in_flight_, run) &&
         !overlaps(deferred_, run);
}

std::optional<UnitRun> ZoneState::shortest_free(std::uint32_t units) const {
  std::optional<UnitRun> shortest;
  std::uint32_t from = 0;
  const auto consider = [&](std::uint32_t end) {
    const std::uint32_t length = end - from;
    if (length >= units && (!shortest || length < shortest->units)) shortest = {from, length};
  };
  for (const UnitRun& used : taken_.used_runs()) {
    consider(used.unit);
    from = static_cast<std::uint32_t>(used.end());
  }
  consider(taken_.size());
  return shortest;
}

UnitRun ZoneState::take_run(UnitRun run) {
  taken_.force_set(run);
  in_flight_.emplace(run.unit, run.units);
  in_flight_units_ += run.units;
  return run;
}

UnitRun ZoneState::take(std::uint32_t units) {
  const std::optional<std::uint32_t> unit = taken_.find_free(units, cursor_);
  HEXAD_ASSERT(unit.has_value());
  const UnitRun run = take_run({*unit, units});
  cursor_ = static_cast<std::uint32_t>(run.end());
  return run;
}

UnitRun ZoneState::take_shortest(std::uint32_t units) {
  const std::optional<UnitRun> free = shortest_free(units);
  HEXAD_ASSERT(units > 0 && free.has_value());
  return take_run({free->unit, units});
}

void ZoneState::discard(UnitRun run) {
  const auto at = in_flight_.find(run.unit);
  HEXAD_ASSERT(at != in_flight_.end() && at->second == run.units);
  in_flight_.erase(at);
  in_flight_units_ -= run.units;
  taken_.force_clear(run);
}

void ZoneState::publish_alloc(UnitRun run, Lsn lsn) {
  const auto at = in_flight_.find(run.unit);
  HEXAD_ASSERT(at != in_flight_.end() && at->second == run.units);
  in_flight_.erase(at);
  in_flight_units_ -= run.units;
  set_birth(run, lsn);
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
}

void ZoneState::set_birth(UnitRun run, Lsn lsn) {
  births_[run.unit] = {run.units, lsn};
  by_birth_.emplace(lsn, run.unit);
}

void ZoneState::born_before(std::uint32_t unit, Lsn born) {
  const auto at = births_.find(unit);
  if (at == births_.end() || at->second.lsn <= born) return;
  by_birth_.erase({at->second.lsn, unit});
  at->second.lsn = born;
  by_birth_.emplace(born, unit);
}

Lsn ZoneState::take_births(UnitRun run) {
  Lsn first = kMaxLsn;
  std::uint64_t known = 0;
  for (auto at = first_overlap(births_, run); at != births_.end();
       at = first_overlap(births_, run)) {
    const UnitRun whole{at->first, at->second.units};
    const Lsn lsn = at->second.lsn;
    births_.erase(at);
    by_birth_.erase({lsn, whole.unit});
    first = std::min(first, lsn);
    known += std::min(whole.end(), run.end()) - std::max(whole.unit, run.unit);
    if (whole.unit < run.unit) set_birth({whole.unit, run.unit - whole.unit}, lsn);
    if (whole.end() > run.end()) {
      set_birth({static_cast<std::uint32_t>(run.end()),
                 static_cast<std::uint32_t>(whole.end() - run.end())},
                lsn);
    }
  }
  return known == run.units ? first : Lsn{0};
}

void ZoneState::forget_births(Lsn lsn) {
  while (!by_birth_.empty() && by_birth_.begin()->first <= lsn) {
    births_.erase(by_birth_.begin()->second);
    by_birth_.erase(by_birth_.begin());
  }
}

void ZoneState::add_deferred(UnitRun run, Lsn lsn, Lsn born) {
  deferred_[run.unit] = {run.units, lsn, born};
  by_lsn_.emplace(lsn, run.unit);
  deferred_units_ += run.units;
}

void ZoneState::drop_deferred(UnitRun run) {
  HEXAD_ASSERT(held_.empty());  // an opening replays before anybody reads
  for (auto at = first_overlap(deferred_, run); at != deferred_.end();
       at = first_overlap(deferred_, run)) {
    const UnitRun whole{at->first, at->second.units};
    const Lsn freed = at->second.freed;
    const Lsn born = at->second.born;
    deferred_.erase(at);
    by_lsn_.erase({freed, whole.unit});
    deferred_units_ -= whole.units;
    if (whole.unit < run.unit) add_deferred({whole.unit, run.unit - whole.unit}, freed, born);
    if (whole.end() > run.end()) {
      add_deferred({static_cast<std::uint32_t>(run.end()),
                    static_cast<std::uint32_t>(whole.end() - run.end())},
                   freed, born);
    }
  }
}

std::uint64_t ZoneState::deferred_in(UnitRun run) const {
  std::uint64_t units = 0;
  auto at = first_overlap(deferred_, run);
  for (; at != deferred_.end() && at->first < run.end(); ++at) {
    const std::uint64_t first = std::max(at->first, run.unit);
    units += std::min(std::uint64_t{at->first} + at->second.units, run.end()) - first;
  }
  return units;
}

void ZoneState::forget_missing(UnitRun run) {
  for (UnitSet& slot : missing_) slot.erase(run);
}

void ZoneState::forget_packs(UnitRun run) {
  for (auto at = first_overlap(packs_, run); at != packs_.end(); at = first_overlap(packs_, run)) {
    packs_.erase(at);
  }
}

Status ZoneState::publish_free(UnitRun run, Lsn lsn) {
  if (!is_live(run)) {
    return corrupt(name(run) + ": freed by LSN " + std::to_string(lsn) +
                   " although not all of it is live");
  }
  add_deferred(run, lsn, take_births(run));
  // The bytes are dead; which cells are missing still matters to those who may read until reclaim.
  forget_packs(run);
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
  return {};
}

void ZoneState::reclaim(Lsn limit, std::span<const ReadRange> readers) {
  while (!by_lsn_.empty() && by_lsn_.begin()->first <= limit) {
    const std::uint32_t unit = by_lsn_.begin()->second;
    by_lsn_.erase(by_lsn_.begin());
    settle(unit, readers);
  }
}

// Held for the first reader that needs it, else free.
void ZoneState::settle(std::uint32_t unit, std::span<const ReadRange> readers) {
  const auto at = deferred_.find(unit);
  for (const ReadRange& reader : readers) {
    if (!reader.needs(at->second.born, at->second.freed)) continue;
    held_[reader].insert(unit);
    return;
  }
  const UnitRun run{unit, at->second.units};
  deferred_.erase(at);
  deferred_units_ -= run.units;
  taken_.force_clear(run);
  forget_missing(run);
  dirty_ = true;
}

void ZoneState::review_held(std::span<const ReadRange> readers) {
  std::vector<std::uint32_t> units;
  for (auto at = held_.begin(); at != held_.end();) {
    if (std::binary_search(readers.begin(), readers.end(), at->first)) {
      ++at;
      continue;
    }
    units.insert(units.end(), at->second.begin(), at->second.end());
    at = held_.erase(at);
  }
  for (const std::uint32_t unit : units) settle(unit, readers);
}

std::uint64_t ZoneState::held_for(const ReadRange& reader) const {
  const auto at = held_.find(reader);
  std::uint64_t units = 0;
  if (at == held_.end()) return units;
  for (const std::uint32_t unit : at->second) units += deferred_.at(unit).units;
  return units;
}

Status ZoneState::replay_alloc(UnitRun run, Lsn lsn) {
  if (lsn <= image_lsn_) return {};
  // What is taken has to be deferred: then the writer had reclaimed it before.
  if (taken_.used_in(run) != deferred_in(run)) {
    return corrupt(name(run) + ": allocated by LSN " + std::to_string(lsn) +
                   " although some of it is in use");
  }
  drop_deferred(run);
  forget_missing(run);
  taken_.force_set(run);
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
  return {};
}

Status ZoneState::replay_free(UnitRun run, Lsn lsn) {
  return lsn <= image_lsn_ ? Status() : publish_free(run, lsn);
}

Status ZoneState::mark_used(UnitRun run) {
  if (overlaps(in_flight_, run)) {
    return corrupt(name(run) + ": named as used, but just allocated");
  }
  if (overlaps(packs_, run)) {
    return corrupt(name(run) + ": named as used, but a pack stripe is there");
  }
  if (is_live(run)) return {};
  // Those marks were of an earlier owner.
  forget_missing(run);
  drop_deferred(run);
  taken_.force_set(run);
  dirty_ = true;
  return {};
}

Status ZoneState::mark_missing(UnitRun run, std::uint32_t slot) {
  if (!has(run) || !taken_.all_used(run) || overlaps(in_flight_, run)) {
    return invalid(name(run) + " slot " + std::to_string(slot) +
                   ": only live units can be missing");
  }
  missing_[slot].insert(run);
  dirty_ = true;
  return {};
}

void ZoneState::clear_missing(UnitRun run, std::uint32_t slot) {
  missing_[slot].erase(run);
  dirty_ = true;
}

bool ZoneState::is_missing(UnitRun run, std::uint32_t slot) const {
  return missing_[slot].intersects(run);
}

std::vector<UnitRun> ZoneState::missing_runs(std::uint32_t slot) const {
  return missing_[slot].runs();
}

void ZoneState::publish_pack(UnitRun run, Lsn lsn, std::uint64_t live, std::uint32_t footer) {
  HEXAD_ASSERT(live > 0);
  publish_alloc(run, lsn);
  packs_[run.unit] = {run.units, footer, live, lsn};
}

Status ZoneState::replay_pack(UnitRun run, Lsn lsn, std::uint64_t live, std::uint32_t footer) {
  if (lsn <= image_lsn_) return {};
  if (live == 0) return corrupt(name(run) + ": a pack stripe with nothing in it");
  HEXAD_TRY(replay_alloc(run, lsn));
  packs_[run.unit] = {run.units, footer, live, lsn};
  return {};
}

Status ZoneState::drop_live(std::uint32_t unit, std::uint64_t bytes, Lsn lsn) {
  const auto at = packs_.find(unit);
  if (at == packs_.end() || at->second.live < bytes) {
    return corrupt("zone " + std::to_string(id_) + " unit " + std::to_string(unit) + ": LSN " +
                   std::to_string(lsn) + " takes " + std::to_string(bytes) +
                   " bytes from a pack stripe that has " +
                   std::to_string(at == packs_.end() ? 0 : at->second.live));
  }
  at->second.live -= bytes;
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
  return at->second.live > 0 ? Status() : publish_free({unit, at->second.units}, lsn);
}

Status ZoneState::replay_drop_live(std::uint32_t unit, std::uint64_t bytes, Lsn lsn) {
  return lsn <= image_lsn_ ? Status() : drop_live(unit, bytes, lsn);
}

std::optional<PackStripe> ZoneState::pack_at(std::uint32_t unit) const {
  const auto at = packs_.find(unit);
  if (at == packs_.end()) return std::nullopt;
  const Pack& pack = at->second;
  return PackStripe{{unit, pack.units}, pack.live, pack.born, pack.footer};
}

std::vector<PackStripe> ZoneState::packs() const {
  std::vector<PackStripe> packs;
  for (const auto& [unit, pack] : packs_) {
    packs.push_back({{unit, pack.units}, pack.live, pack.born, pack.footer});
  }
  return packs;
}

Result<ZoneImage> ZoneState::image(Lsn lsn, std::span<const Extent> replaced) const {
  if (lsn < last_lsn_) {
    return corrupt("zone " + std::to_string(id_) + ": an image as of LSN " + std::to_string(lsn) +
                   ", but it holds effects of LSN " + std::to_string(last_lsn_));
  }
  ZoneImage image;
  image.zone = id_;
  image.slots = slots_;
  image.lsn = lsn;
  image.units = taken_.size();
  UnitBitmap lasting = taken_;
  for (const auto& [unit, units] : in_flight_) lasting.force_clear({unit, units});
  image.bitmap = lasting.words();

  UnitSet given_up;
  for (const Extent& extent : replaced) {
    if (extent.zone != id_) continue;
    if (!is_live(extent.run()) || given_up.intersects(extent.run())) {
      return corrupt(to_string(extent) + ": given up by a checkpoint, but not live");
    }
    given_up.insert(extent.run());
    image.deferred.push_back({extent.run(), lsn, 0});
  }
  const Lsn oldest = lsn > kMaxImageAge ? lsn - kMaxImageAge : 0;
  for (const auto& [unit, deferred] : deferred_) {
    const Lsn freed = std::max(deferred.freed, oldest);
    image.deferred.push_back(
        {{unit, deferred.units}, freed, deferred.born < oldest ? Lsn{0} : deferred.born});
  }
  std::sort(image.deferred.begin(), image.deferred.end(),
            [](const DeferredFree& a, const DeferredFree& b) { return a.run < b.run; });
  for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
    for (const UnitRun& run : missing_[slot].runs()) image.missing.push_back({slot, run});
  }
  for (const auto& [unit, pack] : packs_) {
    const UnitRun run{unit, pack.units};
    if (given_up.intersects(run)) continue;
    image.packs.push_back({run, pack.live, std::max(pack.born, oldest), pack.footer});
  }
  return image;
}

std::vector<UnitRun> ZoneState::live_runs() const {
  UnitBitmap live = taken_;
  live.force_clear({0, 1});
  for (const auto& [unit, units] : in_flight_) live.force_clear({unit, units});
  for (const auto& [unit, deferred] : deferred_) live.force_clear({unit, deferred.units});
  return live.used_runs();
}

std::vector<UnitRun> ZoneState::used_runs() const {
  UnitBitmap used = taken_;
  used.force_clear({0, 1});
  return used.used_runs();
}

std::vector<UnitRun> ZoneState::in_flight_runs() const {
  std::vector<UnitRun> runs;
  for (const auto& [unit, units] : in_flight_) runs.push_back({unit, units});
  return runs;
}

Status ZoneState::check_invariants() const {
  const std::string subject = "zone " + std::to_string(id_) + ": ";
  HEXAD_TRY(taken_.check_invariants());
  UnitBitmap rest = taken_;
  if (!rest.clear({0, 1}).ok()) return corrupt(subject + "Z1: the header unit is free");
  std::uint64_t in_flight = 0;
  for (const auto& [unit, units] : in_flight_) {
    if (!rest.clear({unit, units}).ok()) return corrupt(subject + "Z1: in flight twice or free");
    in_flight += units;
  }
  std::uint64_t deferred = 0;
  for (const auto& [unit, entry] : deferred_) {
    if (!rest.clear({unit, entry.units}).ok()) return corrupt(subject + "Z1: deferred twice");
    std::size_t places = by_lsn_.contains({entry.freed, unit}) ? 1 : 0;
    for (const auto& [reader, units] : held_) {
      if (!units.contains(unit)) continue;
      ++places;
      if (!reader.needs(entry.born, entry.freed)) return corrupt(subject + "Z5: held for nothing");
    }
    if (places != 1) return corrupt(subject + "Z5: a deferred run is not in one index");
    deferred += entry.units;
  }
  std::size_t indexed = by_lsn_.size();
  for (const auto& [reader, units] : held_) indexed += units.size();
  if (indexed != deferred_.size()) return corrupt(subject + "Z5: the indexes have too many");
  if (births_.size() != by_birth_.size()) return corrupt(subject + "Z6: births in one index only");
  std::uint64_t born = 0;
  for (const auto& [unit, birth] : births_) {
    if (unit < born || !is_live({unit, birth.units}) || !by_birth_.contains({birth.lsn, unit})) {
      return corrupt(subject + "Z6: a birth of units that are not live");
    }
    born = std::uint64_t{unit} + birth.units;
  }
  if (in_flight != in_flight_units_ || deferred != deferred_units_) {
    return corrupt(subject + "Z4: a counter is wrong");
  }
  for (const UnitSet& slot : missing_) {
    for (const UnitRun& run : slot.runs()) {
      if (!has(run) || !taken_.all_used(run) || overlaps(in_flight_, run)) {
        return corrupt(subject + "Z3: missing units that are neither live nor deferred");
      }
    }
  }
  std::uint64_t end = 0;
  for (const auto& [unit, pack] : packs_) {
    if (!is_live({unit, pack.units}) || unit < end || pack.live == 0) {
      return corrupt(subject + "Z3: a pack stripe that is empty or not in live units of its own");
    }
    end = std::uint64_t{unit} + pack.units;
  }
  return {};
}

}  // namespace hexad::alloc
