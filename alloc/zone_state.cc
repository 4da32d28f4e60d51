#include "alloc/zone_state.h"

#include <algorithm>
#include <string>

#include "alloc/run_map.h"
#include "base/assert.h"

namespace hexad::alloc {

namespace {

Error corrupt(std::string message) { return Error{ErrorCode::kCorruption, std::move(message), ""}; }

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), ""};
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
    zone.deferred_.add(deferred.run, deferred.freed, deferred.born);
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
  counters.deferred = deferred_.units();
  counters.live = taken_.used_count() - 1 - in_flight_units_ - deferred_.units();
  for (const UnitSet& slot : missing_) counters.missing += slot.units();
  return counters;
}

bool ZoneState::has(UnitRun run) const {
  return run.unit > 0 && run.units > 0 && run.end() <= taken_.size();
}

bool ZoneState::may_die(UnitRun run) const {
  return has(run) && taken_.all_used(run) && !deferred_.overlap(run);
}

bool ZoneState::is_live(UnitRun run) const {
  return has(run) && taken_.all_used(run) && !overlaps(in_flight_, run) && !deferred_.overlap(run);
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
  births_.set(run, lsn);
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
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
  deferred_.add(run, lsn, births_.take(run));
  // The bytes are dead; which cells are missing still matters to those who may read until reclaim.
  forget_packs(run);
  last_lsn_ = std::max(last_lsn_, lsn);
  dirty_ = true;
  return {};
}

void ZoneState::free(UnitRun run) {
  taken_.force_clear(run);
  forget_missing(run);
  dirty_ = true;
}

void ZoneState::reclaim(Lsn limit, std::span<const ReadRange> readers) {
  deferred_.reclaim(limit, readers, [this](UnitRun run) { free(run); });
}

void ZoneState::review_held(std::span<const ReadRange> readers) {
  deferred_.review_held(readers, [this](UnitRun run) { free(run); });
}

Status ZoneState::replay_alloc(UnitRun run, Lsn lsn) {
  if (lsn <= image_lsn_) return {};
  // What is taken has to be deferred: then the writer had reclaimed it before.
  if (taken_.used_in(run) != deferred_.units_in(run)) {
    return corrupt(name(run) + ": allocated by LSN " + std::to_string(lsn) +
                   " although some of it is in use");
  }
  deferred_.drop(run);
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
  deferred_.drop(run);
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
  for (const auto& [unit, deferred] : deferred_.by_unit()) {
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
  for (const auto& [unit, deferred] : deferred_.by_unit()) live.force_clear({unit, deferred.units});
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
  for (const auto& [unit, entry] : deferred_.by_unit()) {
    if (!rest.clear({unit, entry.units}).ok()) return corrupt(subject + "Z1: deferred twice");
  }
  if (const char* const fault = deferred_.find_fault(); fault != nullptr) {
    return corrupt(subject + fault);
  }
  if (!births_.is_whole()) return corrupt(subject + "Z6: births in one index only");
  std::uint64_t born = 0;
  for (const auto& [unit, birth] : births_.by_unit()) {
    if (unit < born || !is_live({unit, birth.units})) {
      return corrupt(subject + "Z6: a birth of units that are not live");
    }
    born = std::uint64_t{unit} + birth.units;
  }
  if (in_flight != in_flight_units_) return corrupt(subject + "Z4: a counter is wrong");
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
