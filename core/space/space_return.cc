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
  std::uint64_t lacking = members_.is_behind(device) ? unwritten_.units_on(device) : 0;
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
  const bool newest = by == LackingBy::kNewestImages && images_.is_next(zone);
  add(images_.next(zone));
  if (!newest) add(images_.last(zone));
  // Until a root says where it is now, a crash finds its slab where it was.
  const SlabMoving* const moving = moves_.find(zone);
  const bool was_there = moving != nullptr && moving->switched && !newest;
  if (was_there && lost.contains(moving->move.from.device)) gone.insert(moving->move.slot);
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

void Space::expect_unwritten() {
  const io::Lock lock(mutex_);
  unwritten_.expect();
}

// All that is not free and not in flight: readers of older states look at what is not live any
// more.
void Space::begin_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(!members_.usable(device));
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    const std::vector<alloc::ZoneSlot>& slots = *zones_.slots(zone);
    for (std::uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].device != device) continue;
      alloc::UnitSet settled;
      for (const alloc::UnitRun& run : zones_.used_runs(zone)) settled.insert(run);
      for (const alloc::UnitRun& run : zones_.in_flight_runs(zone)) settled.erase(run);
      for (const alloc::UnitRun& run : settled.runs()) {
        HEXAD_ASSERT(zones_.mark_missing({zone, run.unit, run.units}, slot).ok());
      }
    }
  }
  unwritten_.begin_in_place(device);
  moves_.begin_in_place(device, zones_);
}

bool Space::is_in_place(DeviceId device) const {
  const io::Lock lock(mutex_);
  return unwritten_.is_in_place(device);
}

void Space::finish_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  unwritten_.end_in_place(device);
}

void Space::abandon_in_place(DeviceId device) {
  const io::Lock lock(mutex_);
  if (unwritten_.end_in_place(device)) unwritten_.note_elsewhere(device);
}

void Space::note_in_place(LogRecord& record) const {
  const io::Lock lock(mutex_);
  for (StripeProof& stripe : record.allocated) {
    stripe.unwritten |= unwritten_.slots_elsewhere(stripe.where);
  }
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
  return unwritten_.filled(device);
}

}  // namespace hexad::core
