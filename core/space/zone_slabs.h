// The slabs of the devices: which of them belong to a zone or are kept for one, and the zones that
// are being made of them. What is said of a zone is checked against it before any offset is
// computed from that.
//
// Lock: none; Space has it under its own, but for units().
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "alloc/failure_domains.h"
#include "alloc/zone.h"
#include "alloc/zone_plan.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "core/space/members.h"

namespace hexad::core {

class ZoneSlabs {
 public:
  // Both outlive it.
  ZoneSlabs(const StoreShape& shape, const Members& members) : shape_(shape), members_(members) {}

  // --- slabs ---
  // Those of members that have been added since the last call.
  void learn();
  // Of each; changes in learn(). Any thread.
  std::uint32_t units() const { return units_.load(std::memory_order_relaxed); }
  // What a zone from the index or the log says, before any offset is computed from it: slabs that
  // the devices have and no other zone does, all of the one length. A device that is not in the
  // table is let pass: its cells are missing. Errors: kCorruption.
  Status check(const ZoneCreation& zone) const;
  // It is a device of the store that learn() has met.
  bool has_device(DeviceId device) const { return index_of(device).has_value(); }
  // The device has the slab, and it is free.
  bool is_free(const alloc::ZoneSlot& slab) const;
  void take(const std::vector<alloc::ZoneSlot>& slabs);
  void give(const std::vector<alloc::ZoneSlot>& slabs);
  // Of a device of the store; no others have any.
  std::uint32_t total(DeviceId device) const;
  std::uint32_t taken(DeviceId device) const;
  std::uint32_t needed(DeviceId device) const;  // up to the last one that is taken
  // Errors: kNoSpace (one that is taken would be left out).
  Status resize(DeviceId device, std::uint32_t count);
  // Members that learn() has met, and what is free on each.
  std::size_t members() const { return taken_.size(); }
  std::vector<std::uint32_t> free_on(std::size_t member) const;

  // --- zones that are made of them ---
  // What the next one can be made of: usable devices that are not to go; only where they are too
  // few also those that have left, whose cells then count as missing: a degraded store goes on
  // taking data.
  std::vector<alloc::DeviceSpace> free_slabs() const;
  alloc::ZoneNeeds needs() const { return {shape_.cells(), members_.domain_cells()}; }
  // Its slabs are taken, and it is under way. Errors: kNoSpace.
  Result<ZoneCreation> prepare();
  // Whether that could succeed.
  bool could_prepare() const;
  // The last prepare() found none, and none came back since.
  bool exhausted() const { return exhausted_; }
  // It is open, or released.
  void end_preparing(alloc::ZoneId zone) { under_way_.erase(zone); }
  bool is_under_way(alloc::ZoneId zone) const { return under_way_.contains(zone); }
  bool any_under_way() const { return !under_way_.empty(); }
  // Those under way included: capacity to come.
  std::uint64_t zones_to_come() const;

  // --- zones that are there ---
  // It has its slabs, and its number is not given again.
  void add(const ZoneCreation& zone);
  // Named by the manifest that was opened.
  void know(alloc::ZoneId zone) { known_.insert(zone); }
  void forget(alloc::ZoneId zone) { known_.erase(zone); }
  bool is_known(alloc::ZoneId zone) const { return known_.contains(zone); }

 private:
  // Of those that has_device() has.
  std::optional<std::size_t> index_of(DeviceId device) const;
  enum class Slab : std::uint8_t { kFree, kTaken };
  void mark(const alloc::ZoneSlot& slab, Slab as);

  const StoreShape& shape_;
  const Members& members_;
  std::vector<std::vector<bool>> taken_;  // by member index
  std::atomic<std::uint32_t> units_{0};
  bool exhausted_ = false;
  std::set<alloc::ZoneId> under_way_;  // prepared, neither open nor released
  std::set<alloc::ZoneId> known_;
  alloc::ZoneId next_zone_ = 1;
};

}  // namespace hexad::core
