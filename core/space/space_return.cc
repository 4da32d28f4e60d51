// Space and devices that come back: what they lack, and how they get it.
#include <algorithm>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "base/units.h"
#include "core/space/space.h"

namespace hexad::core {

namespace {

std::uint64_t common_units(const alloc::UnitRun& a, const alloc::UnitRun& b) {
  const std::uint64_t first = std::max(a.unit, b.unit);
  const std::uint64_t end = std::min<std::uint64_t>(a.end(), b.end());
  return end > first ? end - first : 0;
}

}  // namespace

std::uint64_t Space::lacking_units(DeviceId device, std::span<const alloc::Extent> replaced) {
  const io::Lock lock(mutex_);
  std::uint64_t lacking = 0;
  if (members_.is_behind(device)) {
    for (const auto& [at, units] : may_lack_) {
      const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(at.first);
      const bool there = std::any_of(slots.begin(), slots.end(),
                                     [device](const auto& slot) { return slot.device == device; });
      if (there) lacking += units;
    }
  }
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      const std::vector<alloc::UnitRun> missing = zones_.missing_runs(zone, slot);
      if (missing.empty()) continue;
      for (const alloc::UnitRun& live : zones_.live_runs(zone)) {
        for (const alloc::UnitRun& run : missing) lacking += common_units(live, run);
      }
      for (const alloc::Extent& extent : replaced) {
        if (extent.zone != zone) continue;
        for (const alloc::UnitRun& run : missing) lacking -= common_units(extent.run(), run);
      }
    }
  }
  return lacking;
}

std::uint32_t Space::lost_cells(const std::set<DeviceId>& also) const {
  std::set<DeviceId> lost = members_.lost();
  for (const DeviceId id : also) {
    const Member* const member = members_.find(id);
    const bool counts = members_.has(id) && member->role == alloc::DeviceRole::kData;
    if (counts) lost.insert(id);
  }
  const std::uint32_t cells = members_.cells_on(lost);
  return members_.any_filling() ? std::max(cells, lost_in_zone(lost)) : cells;
}

std::uint32_t Space::lost_in_zone(const std::set<DeviceId>& lost, LackingBy by) const {
  const io::Lock lock(mutex_);
  std::size_t most = 0;
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    most = std::max(most, lost_slots(zone, lost, by).size());
  }
  return static_cast<std::uint32_t>(most);
}

std::set<std::uint32_t> Space::lost_slots(alloc::ZoneId zone, const std::set<DeviceId>& lost,
                                          LackingBy by) const {
  std::set<std::uint32_t> gone;
  const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    const DeviceId id = slots[slot].device;
    const bool lacks = by == LackingBy::kWhateverIsFound && members_.is_filling(id) &&
                       !zones_.missing_runs(zone, slot).empty();
    if (lost.contains(id) || lacks) gone.insert(slot);
  }
  const auto add = [&](const LackingSlots& lacking) {
    for (const auto& [slot, id] : lacking) {
      if (lost.contains(id) || members_.is_filling(id)) gone.insert(slot);
    }
  };
  const auto next = lacking_next_.find(zone);
  if (next != lacking_next_.end()) add(next->second);
  const bool newest = by == LackingBy::kNewestImages && next != lacking_next_.end();
  if (const auto last = lacking_.find(zone); last != lacking_.end() && !newest) add(last->second);
  // Until a root says where it is now, a crash finds its slab where it was.
  if (const auto found = moving_.find(zone); found != moving_.end()) {
    const SlabMoving& moving = found->second;
    if (moving.switched && !newest && lost.contains(moving.move.from.device)) {
      gone.insert(moving.move.slot);
    }
  }
  return gone;
}

LackingSlots Space::lacking_in(const alloc::ZoneImage& image) const {
  LackingSlots lacking;
  for (const alloc::MissingRun& missing : image.missing) {
    const DeviceId id = image.slots[missing.slot].device;
    if (members_.is_filling(id)) lacking[missing.slot] = id;
  }
  return lacking;
}

// What is in flight from an earlier return on still is, so nothing is forgotten.
void Space::expect_unwritten() {
  const io::Lock lock(mutex_);
  may_lack_.clear();
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) {
      may_lack_.emplace(std::pair(zone, run.unit), run.units);
    }
  }
}

void Space::settle(const alloc::Extent& extent) {
  may_lack_.erase({extent.zone, extent.unit});
  written_elsewhere_.erase({extent.zone, extent.unit});
}

// All that is not free and not in flight: readers of older states look at what is not live any
// more.
void Space::begin_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(!members_.usable(device));
  in_place_.insert(device);
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      alloc::RunSet settled;
      for (const alloc::UnitRun& run : zones_.used_runs(zone)) settled.insert(run);
      for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) settled.erase(run);
      for (const alloc::UnitRun& run : settled.runs()) {
        HEXAD_ASSERT(zones_.mark_missing({zone, run.unit, run.units}, slot).ok());
      }
    }
  }
  note_written_elsewhere(device);
  for (auto& [zone, moving] : moving_) {
    if (moving.move.to.device == device && !moving.switched) moving.void_copy = true;
    // Should the zone go back to its slab there.
    if (moving.move.from.device == device) moving.missing_before = zones_.used_runs(zone);
  }
}

void Space::note_written_elsewhere(DeviceId device) {
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) {
        written_elsewhere_[{zone, run.unit}] |= std::uint64_t{1} << slot;
      }
    }
  }
}

bool Space::is_in_place(DeviceId device) const {
  const io::Lock lock(mutex_);
  return in_place_.contains(device);
}

void Space::finish_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  in_place_.erase(device);
}

void Space::abandon_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  if (in_place_.erase(device) > 0) note_written_elsewhere(device);
}

void Space::note_in_place(LogRecord& record) const {
  const io::Lock lock(mutex_);
  if (written_elsewhere_.empty()) return;
  for (StripeProof& stripe : record.allocated) {
    const auto found = written_elsewhere_.find({stripe.where.zone, stripe.where.unit});
    if (found != written_elsewhere_.end()) stripe.unwritten |= found->second;
  }
}

void Space::abandon_settled(const alloc::Extent& extent) {
  settle(extent);
  zones_.abandon(extent);
}

void Space::lack_everything(DeviceId device) {
  const io::Lock lock(mutex_);
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      for (const alloc::UnitRun& live : zones_.live_runs(zone)) {
        HEXAD_ASSERT(zones_.mark_missing({zone, live.unit, live.units}, slot).ok());
      }
    }
  }
}

void Space::lack(DeviceId device, const alloc::Extent& extent) {
  const io::Lock lock(mutex_);
  const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(extent.zone);
  for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
    if (slots[slot].device != device) continue;
    HEXAD_ASSERT(zones_.mark_missing(extent, slot).ok());
  }
}

bool Space::lacks_cells(const alloc::Extent& stripe) {
  const io::Lock lock(mutex_);
  const std::vector<alloc::ZoneSlot>* slots = zones_.slots(stripe.zone);
  for (std::uint32_t slot = 0; slots != nullptr && slot < slots->size(); ++slot) {
    if (members_.usable((*slots)[slot].device) && zones_.is_missing(stripe, slot)) return true;
  }
  return false;
}

Status Space::complete_headers(DeviceId device) {
  alloc::SlabHeader header;
  header.store = shape_.uuid;
  header.k = static_cast<std::uint8_t>(shape_.k());
  header.m = static_cast<std::uint8_t>(shape_.m());
  const Member& member = *members_.find(device);
  for (const alloc::ZoneId zone : zone_ids()) {
    const ZoneCreation described = describe_zone(zone);
    header.zone = zone;
    header.units = described.units;
    header.slots = described.slots;
    for (std::uint32_t slot = 0; slot < header.slots.size(); ++slot) {
      if (header.slots[slot].device != device) continue;
      header.slot = static_cast<std::uint8_t>(slot);
      const std::string bytes = alloc::encode_slab_header(header);
      AlignedBuffer wanted = AlignedBuffer::zeroed(round_up(bytes.size(), shape_.block));
      copy_bytes(wanted.bytes(), as_bytes(bytes));
      AlignedBuffer there(wanted.size());
      const std::uint64_t offset = member.layout.slab_offset(header.slots[slot].slab);
      const Status read = member.device->read(offset, there.bytes());
      if (read.ok() && std::ranges::equal(there.bytes(), wanted.bytes())) continue;
      HEXAD_TRY(member.device->write(offset, wanted.bytes(), io::WriteMode::kDurable,
                                     io::IoCause::kSuper));
      stats_.add(CounterId::kDeviceBytesSuper, wanted.size());
    }
  }
  return {};
}

Space::Filled Space::filled(DeviceId device) const {
  const io::Lock lock(mutex_);
  const auto found = filled_.find(device);
  return found == filled_.end() ? Filled() : found->second;
}

}  // namespace hexad::core
