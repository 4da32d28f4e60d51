// Zones: what the index and the log say of them, and making new ones, ahead of need or for it.
#include <algorithm>
#include <utility>

#include "alloc/failure_domains.h"
#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/space/space.h"
#include "io/os_error.h"
#include "io/refused.h"

namespace hexad::core {

// What a zone from the index or the log says, before any offset is computed from it: slabs that the
// devices have and no other zone does, all of the one length. A device that is not in the table is
// let pass: its cells are missing.
Status Space::check_zone(alloc::ZoneId zone, const std::vector<alloc::ZoneSlot>& slots,
                         std::uint32_t units) const {
  if (units != slab_units()) {
    return Error{ErrorCode::kCorruption,
                 "zone " + std::to_string(zone) + ": slabs of " + std::to_string(units) +
                     " units, those of the devices have " + std::to_string(slab_units()),
                 "Run hexad fsck POOL."};
  }
  for (const alloc::ZoneSlot& slot : slots) {
    for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
      if (members_.at(i).id != slot.device || members_.is_removed(i)) continue;
      if (slot.slab >= slab_taken_[i].size() || slab_taken_[i][slot.slab]) {
        return Error{ErrorCode::kCorruption,
                     "zone " + std::to_string(zone) + ": " + alloc::to_string(slot) +
                         " does not exist or belongs to another zone",
                     "Run hexad fsck POOL."};
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
                   "Run hexad fsck POOL."};
    }
    HEXAD_TRY(zones_.remove_zone(image.zone));
    give_back_slabs(image.slots);
    known_.erase(image.zone);
  }
  HEXAD_TRY(check_zone(image.zone, image.slots, image.units));
  HEXAD_TRY(zones_.load_zone(image));
  if (LackingSlots lacking = lacking_in(image); !lacking.empty()) {
    lacking_[image.zone] = std::move(lacking);
  }
  if (known) known_.insert(image.zone);
  take_slabs(image.slots);
  next_zone_ = std::max<alloc::ZoneId>(next_zone_, image.zone + 1);
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
                 "Run hexad fsck POOL."};
  }
  known_.insert(zone);
  return {};
}

Status Space::add_zone(const ZoneCreation& creation) {
  const io::Lock lock(mutex_);
  HEXAD_TRY(add_checked(creation));
  return zones_.close_zone(creation.zone);
}

void Space::open_zone(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  const Status opened = zones_.open_zone(zone);
  HEXAD_ASSERT(opened.ok());
  under_way_.erase(zone);
}

Status Space::add_checked(const ZoneCreation& creation) {
  HEXAD_TRY(zones_.add_zone(creation.zone, creation.slots, creation.units));
  take_slabs(creation.slots);
  next_zone_ = std::max<alloc::ZoneId>(next_zone_, creation.zone + 1);
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
    give_back_slabs(creation.slots);
  }
  return {};
}

// Usable devices that are not to go; only where they are too few also those that have left, whose
// cells then count as missing: a degraded store goes on taking data.
std::vector<alloc::DeviceSpace> Space::free_slabs() const {
  std::vector<alloc::DeviceSpace> live;
  std::vector<alloc::DeviceSpace> left;
  for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
    alloc::DeviceSpace space;
    space.device = members_.at(i).id;
    space.domain = members_.at(i).domain;
    if (members_.is_removed(i) || members_.is_draining(space.device)) continue;
    for (std::uint32_t slab = 0; slab < slab_taken_[i].size(); ++slab) {
      if (!slab_taken_[i][slab]) space.free_slabs.push_back(slab);
    }
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

void Space::take_slabs(const std::vector<alloc::ZoneSlot>& slots) {
  mark_slabs(slots, Slab::kTaken);
}

void Space::give_back_slabs(const std::vector<alloc::ZoneSlot>& slots) {
  slabs_exhausted_ = false;
  mark_slabs(slots, Slab::kFree);
}

void Space::mark_slabs(const std::vector<alloc::ZoneSlot>& slots, Slab as) {
  for (const alloc::ZoneSlot& slot : slots) {
    for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
      if (members_.at(i).id == slot.device && !members_.is_removed(i) &&
          slot.slab < slab_taken_[i].size()) {
        slab_taken_[i][slot.slab] = as == Slab::kTaken;
      }
    }
  }
}

Result<ZoneCreation> Space::prepare_zone(Zeroing zeroing, std::set<DeviceId>* failed) {
  ZoneCreation creation;
  creation.units = slab_units();
  {
    const io::Lock lock(mutex_);
    creation.zone = next_zone_;
    Result<std::vector<alloc::ZoneSlot>> slots =
        alloc::plan_zone(free_slabs(), zone_needs(), next_zone_);
    slabs_exhausted_ = !slots.ok();
    if (!slots.ok()) return slots.error();
    creation.slots = std::move(slots).value();
    take_slabs(creation.slots);
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
    give_back_slabs(creation.slots);
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
  // Not by run(), which would execute a single one on this thread.
  queue.submit(flushes);
  queue.wait(flushes);
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
  {
    const io::Lock lock(mutex_);
    const bool enough = zones_.counters().free >= zones_.reserve_units() + slab_units() / 2;
    if (slabs_exhausted_ || enough) return false;
  }
  // Ahead of need, none is made of slabs that a device is to be emptied onto.
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool goes = !members_.is_removed(i) && members_.is_draining(members_.at(i).id);
    if (goes) return may_spare_zone(0);
  }
  return true;
}

std::uint32_t Space::slabs_needed(DeviceId device) const {
  const io::Lock lock(mutex_);
  std::uint32_t needed = 0;
  for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
    if (members_.at(i).id != device || members_.is_removed(i)) continue;
    for (std::uint32_t slab = 0; slab < slab_taken_[i].size(); ++slab) {
      if (slab_taken_[i][slab]) needed = slab + 1;
    }
  }
  return needed;
}

Status Space::set_slabs(DeviceId device, std::uint32_t count) {
  const io::Lock lock(mutex_);
  for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
    if (members_.at(i).id != device || members_.is_removed(i)) continue;
    std::vector<bool>& taken = slab_taken_[i];
    for (std::uint32_t slab = count; slab < taken.size(); ++slab) {
      if (!taken[slab]) continue;
      return Error{ErrorCode::kNoSpace,
                   "slab " + std::to_string(slab) + " of device " + std::to_string(device) +
                       " is in use, and there are to be " + std::to_string(count),
                   ""};
    }
    taken.resize(count, false);
  }
  slabs_exhausted_ = false;
  return {};
}

bool Space::slabs_left() {
  const io::Lock lock(mutex_);
  return alloc::plan_zone(free_slabs(), zone_needs(), next_zone_).ok();
}

Space::Slabs Space::slabs(DeviceId device) const {
  const io::Lock lock(mutex_);
  Slabs slabs;
  for (std::size_t i = 0; i < slab_taken_.size(); ++i) {
    if (members_.at(i).id != device || members_.is_removed(i)) continue;
    const std::vector<bool>& taken = slab_taken_[i];
    slabs.total = static_cast<std::uint32_t>(taken.size());
    slabs.used = static_cast<std::uint32_t>(std::count(taken.begin(), taken.end(), true));
  }
  for (const RetiredSlab& slab : retired_) {
    if (slabs.used > 0 && slab.place.device == device) --slabs.used;
  }
  return slabs;
}

std::uint32_t Space::slots_on(DeviceId device) const {
  const io::Lock lock(mutex_);
  std::uint32_t count = 0;
  for (const alloc::ZoneId zone : zones_.zone_ids()) {
    for (const alloc::ZoneSlot& slot : *zones_.slots(zone)) count += slot.device == device ? 1 : 0;
  }
  return count;
}

std::uint64_t Space::zones_to_come() { return room().zones_to_come; }

ZoneCreation Space::describe_zone(alloc::ZoneId zone) {
  const io::Lock lock(mutex_);
  return {zone, zones_.zone_units(zone), *zones_.slots(zone)};
}

}  // namespace hexad::core
