// Zones: what the index and the log say of them, and making new ones, ahead of need or for it.
#include <algorithm>
#include <utility>

#include "alloc/slab_header.h"
#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/space/space.h"
#include "io/os_error.h"
#include "io/refused.h"

namespace hexad::core {

Status Space::load_zone(const alloc::ZoneImage& image) {
  const io::Lock lock(mutex_);
  const bool known = slabs_.is_known(image.zone);
  if (known) {
    if (*zones_.slots(image.zone) != image.slots || zones_.zone_units(image.zone) != image.units) {
      return Error{ErrorCode::kCorruption,
                   "zone " + std::to_string(image.zone) +
                       ": its image and the manifest name different slabs",
                   "Run hexad fsck POOL."};
    }
    HEXAD_TRY(zones_.remove_zone(image.zone));
    slabs_.give(image.slots);
    slabs_.forget(image.zone);
  }
  const ZoneCreation creation{image.zone, image.units, image.slots};
  HEXAD_TRY(slabs_.check(creation));
  HEXAD_TRY(zones_.load_zone(image));
  images_.load(image.zone, lacking_in(image));
  if (known) slabs_.know(image.zone);
  slabs_.add(creation);
  return {};
}

Status Space::register_zone(alloc::ZoneId zone, const std::vector<alloc::ZoneSlot>& slots,
                            std::uint32_t units) {
  const io::Lock lock(mutex_);
  if (slabs_.is_known(zone) && *zones_.slots(zone) == slots && zones_.zone_units(zone) == units) {
    return {};
  }
  const ZoneCreation creation{zone, units, slots};
  HEXAD_TRY(slabs_.check(creation));
  const Status added = add_checked(creation);
  if (!added.ok()) {
    return Error{ErrorCode::kCorruption, "the manifest: " + added.error().message,
                 "Run hexad fsck POOL."};
  }
  slabs_.know(zone);
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
  slabs_.end_preparing(zone);
}

Status Space::add_checked(const ZoneCreation& creation) {
  HEXAD_TRY(zones_.add_zone(creation.zone, creation.slots, creation.units));
  slabs_.add(creation);
  return {};
}

Status Space::replay_zones(const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const ZoneCreation& creation : record.zones) {
    if (zones_.slots(creation.zone) != nullptr) continue;
    HEXAD_TRY(slabs_.check(creation));
    HEXAD_TRY(add_checked(creation));
  }
  return {};
}

Status Space::drop_zones(const LogRecord& record) {
  const io::Lock lock(mutex_);
  for (const ZoneCreation& creation : record.zones) {
    if (zones_.slots(creation.zone) == nullptr || slabs_.is_known(creation.zone)) continue;
    HEXAD_TRY(zones_.remove_zone(creation.zone));
    slabs_.give(creation.slots);
  }
  return {};
}

Result<ZoneCreation> Space::prepare_zone(Zeroing zeroing, std::set<DeviceId>* failed) {
  ZoneCreation creation;
  {
    const io::Lock lock(mutex_);
    HEXAD_TRY_ASSIGN(creation, slabs_.prepare());
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
  slabs_.end_preparing(creation.zone);
  release_slabs(creation.slots);
}

void Space::release_slabs(const std::vector<alloc::ZoneSlot>& slabs) {
  if (kept_back_.keeps()) {
    kept_back_.keep(slabs);
  } else {
    slabs_.give(slabs);
  }
}

bool Space::zone_under_way() {
  const io::Lock lock(mutex_);
  return slabs_.any_under_way();
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
    if (slabs_.exhausted() || enough) return false;
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
  return slabs_.needed(device);
}

Status Space::set_slabs(DeviceId device, std::uint32_t count) {
  const io::Lock lock(mutex_);
  return slabs_.resize(device, count);
}

bool Space::slabs_left() {
  const io::Lock lock(mutex_);
  return slabs_.could_prepare();
}

Space::Slabs Space::slabs(DeviceId device) const {
  const io::Lock lock(mutex_);
  Slabs slabs{slabs_.total(device), slabs_.taken(device)};
  slabs.used -= std::min(slabs.used, moves_.retired_on(device));
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
