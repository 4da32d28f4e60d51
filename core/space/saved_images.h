// Which images of zones a checkpoint brings, and what they and those before say that devices lack.
// What a crash would find counts (SL8): until a root is committed that names the next images it
// finds the last ones.
//
// Lock: none; Space has it under its own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "alloc/zone.h"
#include "base/ids.h"

namespace hexad::core {

// Of a zone's image: slots on devices that are filling, and lack cells by it; with the device.
using LackingSlots = std::map<std::uint32_t, DeviceId>;

class SavedImages {
 public:
  // The zone's image was read at the opening.
  void load(alloc::ZoneId zone, LackingSlots lacking);
  // An image is to be written. Until written() it stays so: a failed checkpoint forgets none.
  void want(alloc::ZoneId zone) { unsaved_.insert(zone); }
  const std::set<alloc::ZoneId>& wanted() const { return unsaved_; }
  // The next ones are made; and one of them.
  void begin() { next_.clear(); }
  void hand_out(alloc::ZoneId zone, LackingSlots lacking) { next_[zone] = std::move(lacking); }
  // A root leads to them.
  void written();

  bool is_next(alloc::ZoneId zone) const { return next_.contains(zone); }
  // By the image that is handed out, and by that which the last root leads to.
  const LackingSlots& next(alloc::ZoneId zone) const { return of(next_, zone); }
  const LackingSlots& last(alloc::ZoneId zone) const { return of(last_, zone); }

 private:
  using Lacking = std::map<alloc::ZoneId, LackingSlots>;
  static const LackingSlots& of(const Lacking& images, alloc::ZoneId zone);

  std::set<alloc::ZoneId> unsaved_;
  Lacking last_;  // but for those without any
  Lacking next_;  // of each
};

}  // namespace hexad::core
