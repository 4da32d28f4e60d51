// Space as a map: from the address of a stripe to its cells on devices, and back onto them.
#include "core/space.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

Result<std::vector<CellPlace>> Space::locate(const alloc::Extent& where) const {
  const io::Lock lock(mutex_);
  const std::vector<alloc::ZoneSlot>* slots = zones_.slots(where.zone);
  if (slots == nullptr || where.end() > zones_.zone_units(where.zone)) {
    return Error{ErrorCode::kCorruption, alloc::to_string(where) + ": no such place",
                 "Run hexad fsck."};
  }
  // A packed blob names where its stripe begins, and cells are missing whole.
  const alloc::Extent begin{where.zone, where.unit, 1};
  const ec::StripeGeometry geometry{shape_.k(), shape_.m(),
                                    stripe_rotation(where.unit, shape_.cells())};
  std::vector<CellPlace> places(shape_.cells());
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    const std::uint32_t slot = ec::slot_of_role(geometry, role);
    const alloc::ZoneSlot& place = (*slots)[slot];
    const Member* member = members_.find(place.device);
    places[role].id = place.device;
    if (member == nullptr) continue;
    places[role].device = member->device.get();
    places[role].offset = member->layout.unit_offset(place.slab, where.unit);
    places[role].readable = members_.usable(place.device) && !zones_.is_missing(begin, slot);
  }
  return places;
}

std::optional<alloc::Extent> Space::pack_stripe(const alloc::Extent& where) const {
  const io::Lock lock(mutex_);
  const std::optional<alloc::PackStripe> pack = zones_.pack_at(where.zone, where.unit);
  if (!pack.has_value()) return std::nullopt;
  return alloc::Extent{where.zone, pack->run.unit, pack->run.units};
}

void Space::heal(const CellPlace& place, ByteView cell) {
  if (!may_heal()) return;
  // The same bytes that were there before: whoever reads meanwhile sees them or is rebuilt like
  // us.
  const Status written =
      place.device->write(place.offset, cell, io::WriteMode::kDurable, io::IoCause::kHeal);
  if (written.ok()) {
    stats_.add(CounterId::kCellsHealed);
    return;
  }
  // Nobody's commit rests on this cell, so the device stays: the next commit finds out whether it
  // takes writes at all. Until then people see why the cell is still bad.
  stats_.add(CounterId::kHealFailures);
  members_.note(place.id, "a cell could not be written back: " + written.error().message);
}

}  // namespace hexad::core
