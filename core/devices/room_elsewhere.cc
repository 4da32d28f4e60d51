#include "core/devices/room_elsewhere.h"

#include <set>

#include "base/units.h"
#include "core/devices/device_facts.h"

namespace hexad::core {

namespace {

std::string count_of(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

Status RoomElsewhere::check_spread(DeviceId without, const std::vector<const Member*>& left,
                                   const std::string& have, const std::string& these) const {
  std::set<DeviceId> ids;
  for (const Member* const member : left) ids.insert(member->id);
  const std::uint32_t cells = members_.cells_on(ids);
  if (cells >= shape_.cells()) return {};
  const bool too_few = left.size() < shape_.cells();
  return Error{
      ErrorCode::kNoSpace,
      "without " + describe_device(members_, without) + " " + have + " " +
          count_of(left.size(), "data device") + these + ", " +
          (too_few ? std::to_string(shape_.cells()) + " are needed"
                   : "in failure domains where a stripe can have " + std::to_string(cells) +
                         " cells on them (" + std::to_string(members_.domain_cells()) +
                         " in each); it has " + std::to_string(shape_.cells())),
      add_first("its own domain or a new one")};
}

Status RoomElsewhere::may_drain(DeviceId id) const {
  const std::vector<const Member*> left =
      other_data_devices(members_, id, [&](const Member& member) {
        return members_.usable(member.id) && !members_.is_draining(member.id);
      });
  HEXAD_TRY(check_spread(id, left, "there are", " that can be used"));
  const SlabsFor room = slabs_for(id, left, 0);
  std::uint64_t others_need = 0;  // what is to be moved off them still
  const std::string& domain = members_.find(id)->domain;
  for (const Member* member : other_data_devices(members_, id, [&](const Member& member) {
         const bool same_room = !room.in_domain_alone || member.domain == domain;
         return same_room && members_.is_draining(member.id);
       })) {
    others_need += space_.slots_on(member->id);
  }
  const std::uint64_t needed = space_.slots_on(id);
  if (room.free >= needed + others_need) return {};
  const std::uint64_t slab = std::uint64_t{space_.slab_units()} * shape_.unit;
  return Error{ErrorCode::kNoSpace,
               "zones use " + count_of(needed, "slab") + " (" + format_size(needed * slab) +
                   ") of " + describe_device(members_, id) + ", and the other devices" +
                   (room.in_domain_alone ? " of its failure domain have " : " have ") +
                   std::to_string(room.free) + " left (" + format_size(room.free * slab) + ")" +
                   (others_need > 0 ? ", of which devices that are drained already need " +
                                          std::to_string(others_need)
                                    : ""),
               add_first(room.in_domain_alone ? "its own domain" : "")};
}

// Where zones have as many slabs as may be in every domain, those of one stay there.
RoomElsewhere::SlabsFor RoomElsewhere::slabs_for(DeviceId id,
                                                 const std::vector<const Member*>& others,
                                                 std::uint64_t more) const {
  const std::string& domain = members_.find(id)->domain;
  std::set<DeviceId> all = {id};
  for (const Member* const member : others) all.insert(member->id);
  const bool tight = members_.cells_on(all) == shape_.cells();
  SlabsFor room{more, tight && !domain.empty()};
  for (const Member* const member : others) {
    if (tight && (domain.empty() || member->domain != domain)) continue;
    const Space::Slabs slabs = space_.slabs(member->id);
    room.free += slabs.total - slabs.used;
  }
  return room;
}

// `where`: in which failure domain it is of use, if not in any.
std::string RoomElsewhere::add_first(const std::string& where) const {
  if (members_.domain_cells() == 0) {
    return "Add a device first: hexad device add POOL PATH.";
  }
  return "Add a device first" + (where.empty() ? "" : ", in " + where) +
         ": hexad device add POOL PATH --failure-domain NAME.";
}

}  // namespace hexad::core
