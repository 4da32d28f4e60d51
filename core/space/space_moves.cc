// Slabs that move to another device: doc/invariants.md#slabs-that-move.
#include <algorithm>
#include <utility>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/space/space.h"
#include "io/bounded_reads.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

Error postponed(const alloc::SlabMove& move, const std::string& why) {
  return Error{ErrorCode::kUnavailable,
               "zone " + std::to_string(move.zone) + ", from " + alloc::to_string(move.from) +
                   " to " + alloc::to_string(move.to) + ": " + why,
               ""};
}

}  // namespace

alloc::SlabPlan Space::plan_moves(std::size_t most) {
  std::vector<alloc::SlabDevice> devices;
  std::vector<alloc::SlabZone> zones;
  alloc::ZoneNeeds needs;
  {
    const io::Lock lock(mutex_);
    needs = slabs_.needs();
    for (std::size_t i = 0; i < slabs_.members(); ++i) {
      const Member& member = members_.at(i);
      if (member.role != alloc::DeviceRole::kData || members_.is_removed(i)) continue;
      alloc::SlabDevice device;
      device.device = member.id;
      device.domain = member.domain;
      device.emptied = members_.is_draining(member.id);
      device.takes = !members_.counts_as_lost(member.id);
      device.free_slabs = slabs_.free_on(i);
      device.leaving = moves_.leaving(member.id);
      devices.push_back(std::move(device));
    }
    for (const alloc::ZoneId id : zones_.zone_ids()) {
      if (slabs_.is_under_way(id) || moves_.contains(id)) continue;
      zones.push_back({id, *zones_.slots(id), zones_.used_units(id)});
    }
  }
  return alloc::plan_slab_moves(std::move(devices), std::move(zones), needs, most);
}

// Why a move cannot be begun or ended now.
Status Space::check_move(const alloc::SlabMove& move) const {
  const std::vector<alloc::ZoneSlot>* const slots = zones_.slots(move.zone);
  if (slots == nullptr || move.slot >= slots->size() || (*slots)[move.slot] != move.from) {
    return postponed(move, "the slab is not there any more");
  }
  if (members_.counts_as_lost(move.to.device)) {
    return postponed(move,
                     "device " + std::to_string(move.to.device) + " is not in use, or lacks cells");
  }
  if (members_.is_draining(move.to.device)) {
    return postponed(move, "device " + std::to_string(move.to.device) + " is drained itself");
  }
  if (kept_back_.has_suspects() && kept_back_.is_suspect(move.to.device)) {
    return postponed(move, "device " + std::to_string(move.to.device) + " did not take a write");
  }
  if (!members_.usable(move.from.device)) {
    return members_.is_draining(move.from.device)
               ? Status()
               : postponed(move, "device " + std::to_string(move.from.device) + " is not in use");
  }
  if (members_.counts_as_lost(move.from.device)) {
    return postponed(move, "device " + std::to_string(move.from.device) + " lacks cells");
  }
  if (!zones_.missing_runs(move.zone, move.slot).empty()) {
    return postponed(move, "some of its cells are missing");
  }
  return {};
}

Status Space::check_slab_free(const alloc::SlabMove& move) const {
  if (slabs_.is_free(move.to)) return {};
  const bool there = slabs_.has_device(move.to.device);
  return postponed(move, there ? "the new slab is taken" : "there is no such device");
}

Status Space::begin_move(const alloc::SlabMove& move) {
  const io::Lock lock(mutex_);
  HEXAD_TRY(check_move(move));
  HEXAD_TRY(check_slab_free(move));
  if (moves_.contains(move.zone) || slabs_.is_under_way(move.zone)) {
    return postponed(move, "the zone is being made or moved");
  }
  const std::uint64_t free = zones_.counters().free;
  const std::uint32_t longest = zones_.largest_free_run();
  HEXAD_TRY(zones_.close_zone(move.zone));
  const std::uint64_t left = zones_.counters().free;
  if (!allotment_.can_spare_zone(free, longest)) {
    HEXAD_TRY(zones_.open_zone(move.zone));
    return Error{ErrorCode::kNoSpace,
                 "zone " + std::to_string(move.zone) +
                     " cannot be closed while it moves: without it " + allotment_.bytes_of(left) +
                     " are free, " + allotment_.bytes_of(allotment_.kept_units()) +
                     " of them for checkpoints and what is being written",
                 alloc::kMakeRoom};
  }
  slabs_.take({move.to});
  moves_.begin({move, free - left, !members_.usable(move.from.device)});
  return {};
}

std::optional<std::vector<alloc::UnitRun>> Space::settled_runs(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(moves_.contains(zone));
  if (!zones_.in_flight_runs(zone).empty()) return std::nullopt;
  return zones_.used_runs(zone);
}

bool Space::moves_from_lost(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  const SlabMoving* const moving = moves_.find(zone);
  HEXAD_ASSERT(moving != nullptr);
  return moving->from_lost;
}

Status Space::write_moved_header(const alloc::SlabMove& move) {
  ZoneCreation creation = describe_zone(move.zone);
  creation.slots[move.slot] = move.to;
  alloc::SlabHeader header;
  header.store = shape_.uuid;
  header.zone = move.zone;
  header.k = static_cast<std::uint8_t>(shape_.k());
  header.m = static_cast<std::uint8_t>(shape_.m());
  header.units = creation.units;
  header.slots = creation.slots;
  header.slot = static_cast<std::uint8_t>(move.slot);
  const std::string bytes = alloc::encode_slab_header(header);
  AlignedBuffer padded = AlignedBuffer::zeroed(round_up(bytes.size(), shape_.block));
  copy_bytes(padded.bytes(), as_bytes(bytes));
  stats_.add(CounterId::kDeviceBytesSuper, padded.size());
  return write_moved(move, 0, std::move(padded));
}

Status Space::reserve_moved(const alloc::SlabMove& move) {
  io::Device* const device = members_.device(move.to.device);
  if (device == nullptr) return postponed(move, "the device has left");
  const alloc::DeviceLayout& layout = members_.find(move.to.device)->layout;
  return device->reserve_room(layout.slab_offset(move.to.slab), slab_units() * shape_.unit)
      .status();
}

Status Space::write_moved(const alloc::SlabMove& move, std::uint64_t offset, AlignedBuffer bytes) {
  io::Device* const device = members_.device(move.to.device);
  if (device == nullptr) return postponed(move, "the device has left");
  if (heals_late(move.to.device)) return late_answer(*device);
  const alloc::DeviceLayout& layout = members_.find(move.to.device)->layout;
  Status written = write_for(move.to.device, *device, layout.slab_offset(move.to.slab) + offset,
                             std::move(bytes), io::IoCause::kClean);
  // What it did not take may still come (V3).
  if (!written.ok() && io::is_medium(written.error())) suspect({move.to.device});
  return written;
}

Status Space::finish_move(const alloc::SlabMove& move, const alloc::UnitSet& copied) {
  const io::Lock lock(mutex_);
  HEXAD_ASSERT(moves_.contains(move.zone));
  SlabMoving& moving = *moves_.find(move.zone);
  HEXAD_TRY(check_move(move));
  if (moving.from_lost == members_.usable(move.from.device)) {
    return postponed(move, "device " + std::to_string(move.from.device) +
                               (moving.from_lost ? " has come back" : " has left"));
  }
  if (!zones_.in_flight_runs(move.zone).empty()) return postponed(move, "it is written to");
  if (moves_.is_written(move.from)) {
    return postponed(move, "a cell of it is being repaired");
  }
  if (moving.void_copy) {
    return postponed(move, "another device has taken the place of that of the new slab");
  }
  const std::vector<alloc::UnitRun> used = zones_.used_runs(move.zone);
  for (const alloc::UnitRun& run : used) {
    if (moving.from_lost) break;
    const std::vector<alloc::UnitRun> there = copied.overlap(run);
    if (there.size() != 1 || there.front() != run) return postponed(move, "it has changed");
  }
  moving.missing_before = zones_.missing_runs(move.zone, move.slot);
  HEXAD_TRY(zones_.replace_slot(move.zone, move.slot, move.to));
  moving.switched = true;
  if (!moving.from_lost || used.empty()) return {};
  for (const alloc::UnitRun& run : used) {
    HEXAD_ASSERT(zones_.mark_missing({move.zone, run.unit, run.units}, move.slot).ok());
  }
  members_.fill(move.to.device);
  return {};
}

// The old slab has all that the zone has; the new one may be read and repaired just now (SL4).
bool Space::undo_move(const alloc::SlabMove& move, Lsn newest) {
  const io::Lock lock(mutex_);
  const SlabMoving* const moving = moves_.find(move.zone);
  if (moving == nullptr) return false;  // a root has it
  HEXAD_ASSERT(moving->switched);
  HEXAD_ASSERT(zones_.replace_slot(move.zone, move.slot, move.from).ok());
  note_missing_again(*moving);
  HEXAD_ASSERT(zones_.open_zone(move.zone).ok());
  moves_.end(move.zone);
  moves_.retire(move.to, newest, executor_.clock().now());
  return true;
}

// As it was on the old slab, of what is still there. Since the zone was closed
// nothing has come into it. Other marks are of the new slab, or of a device that has taken the
// place of its own.
void Space::note_missing_again(const SlabMoving& moving) {
  const alloc::SlabMove& move = moving.move;
  for (const alloc::UnitRun& run : zones_.missing_runs(move.zone, move.slot)) {
    HEXAD_ASSERT(zones_.clear_missing({move.zone, run.unit, run.units}, move.slot).ok());
  }
  alloc::UnitSet used;
  for (const alloc::UnitRun& run : zones_.used_runs(move.zone)) used.insert(run);
  for (const alloc::UnitRun& before : moving.missing_before) {
    for (const alloc::UnitRun& run : used.overlap(before)) {
      HEXAD_ASSERT(zones_.mark_missing({move.zone, run.unit, run.units}, move.slot).ok());
    }
  }
}

bool Space::room_is_closed() {
  const io::Lock lock(mutex_);
  const std::uint64_t closed = moves_.closed_units();
  return closed > 0 && zones_.counters().free + closed > allotment_.kept_units();
}

bool Space::may_spare_zone(std::uint64_t slabs) {
  const io::Lock lock(mutex_);
  std::uint64_t free = 0;
  for (const alloc::DeviceSpace& device : slabs_.free_slabs()) free += device.free_slabs.size();
  // Those of devices that are to go all need another place.
  std::uint64_t leaving = 0;
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    for (const alloc::ZoneSlot& slot : *zones_.slots(zone)) {
      leaving += members_.is_draining(slot.device) ? 1 : 0;
    }
  }
  return free >= std::max(slabs, leaving) + shape_.cells();
}

void Space::cancel_move(const alloc::SlabMove& move) {
  const io::Lock lock(mutex_);
  const SlabMoving* const moving = moves_.find(move.zone);
  HEXAD_ASSERT(moving != nullptr && !moving->switched);
  HEXAD_ASSERT(zones_.open_zone(move.zone).ok());
  moves_.end(move.zone);
  release_slabs({move.to});
}

bool Space::has_retired() {
  const io::Lock lock(mutex_);
  return moves_.any_retired();
}

bool Space::slabs_in_a_moment() {
  const io::Lock lock(mutex_);
  return moves_.any_in_a_moment(executor_.clock().now(), [this](DeviceId id) {
    return members_.usable(id) && !members_.is_draining(id);
  });
}

std::uint32_t Space::moving_zones() {
  const io::Lock lock(mutex_);
  return static_cast<std::uint32_t>(moves_.size());
}

}  // namespace hexad::core
