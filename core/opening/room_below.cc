#include "core/opening/room_below.h"

#include <set>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

struct Slab {
  const Member* member;
  std::uint64_t offset;  // bytes
  std::uint64_t length;
};

// Of the zones, on devices that can be used.
std::vector<Slab> slabs_in_use(const Members& members, Space& space, std::uint64_t unit) {
  std::vector<Slab> slabs;
  for (const alloc::ZoneId zone : space.zone_ids()) {
    for (const alloc::ZoneSlot& slot : space.slots(zone)) {
      if (!members.usable(slot.device)) continue;
      const Member* member = members.find(slot.device);
      slabs.push_back({member, member->layout.slab_offset(slot.slab),
                       std::uint64_t{member->layout.slab_units} * unit});
    }
  }
  return slabs;
}

}  // namespace

std::string unreserved_note(const std::vector<std::string>& paths, const std::string& and_so) {
  std::string text = paths.front();
  if (paths.size() > 1) {
    text += " and " + std::to_string(paths.size() - 1) + " other device" +
            (paths.size() == 2 ? "" : "s");
  }
  return text + ": what " + (paths.size() == 1 ? "it lies" : "they lie") +
         " on cannot reserve space, or gives every write a new place; " + and_so;
}

Result<std::vector<std::string>> reserve_room_below(const Members& members, Space& space,
                                                    std::uint64_t unit) {
  std::set<DeviceId> unsure;
  // A device that fails here fails again where it matters.
  const auto reserve = [&](const Member& member, std::uint64_t offset,
                           std::uint64_t length) -> Status {
    const Result<io::Device::Room> room = member.device->reserve_room(offset, length);
    if (!room.ok()) return io::is_medium(room.error()) ? Status() : room.status();
    if (*room == io::Device::Room::kNotPromised) unsure.insert(member.id);
    return {};
  };
  for (const DeviceId id : members.usable_ids()) {
    const Member& member = *members.find(id);
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      HEXAD_TRY(reserve(member, alloc::header_offset(end, member.layout.device_size),
                        alloc::kHeaderSize));
    }
    if (member.layout.log_size > 0) {
      HEXAD_TRY(reserve(member, member.layout.log_offset, member.layout.log_size));
    }
  }
  const std::vector<Slab> slabs = slabs_in_use(members, space, unit);
  for (const Slab& slab : slabs) HEXAD_TRY(reserve(*slab.member, slab.offset, unit));
  std::vector<std::string> notes;
  std::vector<std::string> paths;
  for (const DeviceId id : unsure) paths.push_back(members.find(id)->path);
  if (!paths.empty()) {
    notes.push_back(unreserved_note(
        paths, "when it is full, commits wait and may end with an unknown outcome"));
  }
  std::set<DeviceId> full;
  for (const Slab& slab : slabs) {
    if (full.contains(slab.member->id)) continue;
    const Status whole = reserve(*slab.member, slab.offset, slab.length);
    if (whole.ok()) continue;
    full.insert(slab.member->id);
    notes.push_back("zones on a sparse file: " + whole.error().message +
                    "; commits may have to wait for space there");
  }
  return notes;
}

Status reserve_room_below(const Members& members, Space& space, DeviceId device,
                          std::uint64_t unit) {
  const Member& member = *members.find(device);
  const auto reserve = [&](std::uint64_t offset, std::uint64_t length) {
    return member.device->reserve_room(offset, length).status();
  };
  for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
    HEXAD_TRY(reserve(alloc::header_offset(end, member.layout.device_size), alloc::kHeaderSize));
  }
  if (member.layout.log_size > 0) {
    HEXAD_TRY(reserve(member.layout.log_offset, member.layout.log_size));
  }
  for (const alloc::ZoneId zone : space.zone_ids()) {
    for (const alloc::ZoneSlot& slot : space.slots(zone)) {
      if (slot.device != device) continue;
      HEXAD_TRY(reserve(member.layout.slab_offset(slot.slab),
                        std::uint64_t{member.layout.slab_units} * unit));
    }
  }
  return {};
}

}  // namespace hexad::core
