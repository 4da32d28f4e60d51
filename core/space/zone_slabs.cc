#include "core/space/zone_slabs.h"

#include <algorithm>
#include <string>
#include <utility>

namespace hexad::core {

void ZoneSlabs::learn() {
  for (std::size_t i = taken_.size(); i < members_.size(); ++i) {
    const Member& member = members_.at(i);
    // Those of the device before, as long as a root may name that.
    const std::uint32_t slabs =
        member.slabs_before > 0 ? member.slabs_before : member.layout.slab_count;
    taken_.emplace_back(slabs, false);
    if (member.layout.slab_units > units()) {
      units_.store(member.layout.slab_units, std::memory_order_relaxed);
    }
  }
  exhausted_ = false;
}

std::optional<std::size_t> ZoneSlabs::index_of(DeviceId device) const {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    if (members_.at(i).id == device && !members_.is_removed(i)) return i;
  }
  return std::nullopt;
}

Status ZoneSlabs::check(const ZoneCreation& zone) const {
  if (zone.units != units()) {
    return Error{ErrorCode::kCorruption,
                 "zone " + std::to_string(zone.zone) + ": slabs of " + std::to_string(zone.units) +
                     " units, those of the devices have " + std::to_string(units()),
                 "Run hexad fsck POOL."};
  }
  for (const alloc::ZoneSlot& slot : zone.slots) {
    if (!has_device(slot.device) || is_free(slot)) continue;
    return Error{ErrorCode::kCorruption,
                 "zone " + std::to_string(zone.zone) + ": " + alloc::to_string(slot) +
                     " does not exist or belongs to another zone",
                 "Run hexad fsck POOL."};
  }
  return {};
}

bool ZoneSlabs::is_free(const alloc::ZoneSlot& slab) const {
  const std::optional<std::size_t> at = index_of(slab.device);
  return at.has_value() && slab.slab < taken_[*at].size() && !taken_[*at][slab.slab];
}

void ZoneSlabs::take(const std::vector<alloc::ZoneSlot>& slabs) {
  for (const alloc::ZoneSlot& slab : slabs) mark(slab, Slab::kTaken);
}

void ZoneSlabs::give(const std::vector<alloc::ZoneSlot>& slabs) {
  if (slabs.empty()) return;
  exhausted_ = false;
  for (const alloc::ZoneSlot& slab : slabs) mark(slab, Slab::kFree);
}

void ZoneSlabs::mark(const alloc::ZoneSlot& slab, Slab as) {
  const std::optional<std::size_t> at = index_of(slab.device);
  if (at.has_value() && slab.slab < taken_[*at].size()) taken_[*at][slab.slab] = as == Slab::kTaken;
}

std::uint32_t ZoneSlabs::total(DeviceId device) const {
  const std::optional<std::size_t> at = index_of(device);
  return at.has_value() ? static_cast<std::uint32_t>(taken_[*at].size()) : 0;
}

std::uint32_t ZoneSlabs::taken(DeviceId device) const {
  const std::optional<std::size_t> at = index_of(device);
  if (!at.has_value()) return 0;
  return static_cast<std::uint32_t>(std::count(taken_[*at].begin(), taken_[*at].end(), true));
}

std::uint32_t ZoneSlabs::needed(DeviceId device) const {
  const std::optional<std::size_t> at = index_of(device);
  std::uint32_t needed = 0;
  for (std::uint32_t slab = 0; at.has_value() && slab < taken_[*at].size(); ++slab) {
    if (taken_[*at][slab]) needed = slab + 1;
  }
  return needed;
}

Status ZoneSlabs::resize(DeviceId device, std::uint32_t count) {
  const std::optional<std::size_t> at = index_of(device);
  if (at.has_value()) {
    std::vector<bool>& taken = taken_[*at];
    for (std::uint32_t slab = count; slab < taken.size(); ++slab) {
      if (!taken[slab]) continue;
      return Error{ErrorCode::kNoSpace,
                   "slab " + std::to_string(slab) + " of device " + std::to_string(device) +
                       " is in use, and there are to be " + std::to_string(count),
                   ""};
    }
    taken.resize(count, false);
  }
  exhausted_ = false;
  return {};
}

std::vector<std::uint32_t> ZoneSlabs::free_on(std::size_t member) const {
  std::vector<std::uint32_t> free;
  const std::vector<bool>& taken = taken_[member];
  for (std::uint32_t slab = 0; slab < taken.size(); ++slab) {
    if (!taken[slab]) free.push_back(slab);
  }
  return free;
}

std::vector<alloc::DeviceSpace> ZoneSlabs::free_slabs() const {
  std::vector<alloc::DeviceSpace> live;
  std::vector<alloc::DeviceSpace> left;
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    alloc::DeviceSpace space;
    space.device = members_.at(i).id;
    space.domain = members_.at(i).domain;
    if (members_.is_removed(i) || members_.is_draining(space.device)) continue;
    space.free_slabs = free_on(i);
    if (space.free_slabs.empty()) continue;
    (members_.usable(space.device) ? live : left).push_back(std::move(space));
  }
  alloc::MostCells cells(members_.domain_cells());
  for (const alloc::DeviceSpace& space : live) cells.add(space.domain);
  for (alloc::DeviceSpace& space : left) {
    const std::uint32_t before = cells.count();
    if (before >= shape_.cells()) break;
    cells.add(space.domain);
    // Where its domain has enough that are in use a zone has no need of it.
    if (cells.count() > before) live.push_back(std::move(space));
  }
  return live;
}

Result<ZoneCreation> ZoneSlabs::prepare() {
  ZoneCreation creation;
  creation.units = units();
  creation.zone = next_zone_;
  Result<std::vector<alloc::ZoneSlot>> slots = alloc::plan_zone(free_slabs(), needs(), next_zone_);
  exhausted_ = !slots.ok();
  if (!slots.ok()) return slots.error();
  creation.slots = std::move(slots).value();
  take(creation.slots);
  under_way_.insert(next_zone_++);
  return creation;
}

bool ZoneSlabs::could_prepare() const {
  return alloc::plan_zone(free_slabs(), needs(), next_zone_).ok();
}

std::uint64_t ZoneSlabs::zones_to_come() const {
  return under_way_.size() + alloc::zones_left(free_slabs(), needs());
}

void ZoneSlabs::add(const ZoneCreation& zone) {
  take(zone.slots);
  next_zone_ = std::max<alloc::ZoneId>(next_zone_, zone.zone + 1);
}

}  // namespace hexad::core
