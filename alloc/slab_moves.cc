#include "alloc/slab_moves.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace hexad::alloc {

namespace {

constexpr std::size_t kNone = ~std::size_t{0};

bool has_device(const SlabZone& zone, DeviceId device) {
  return std::any_of(zone.slots.begin(), zone.slots.end(),
                     [device](const ZoneSlot& slot) { return slot.device == device; });
}

// Of those that zones may be made on.
std::vector<FreeSlabs> counted(std::span<const SlabDevice> devices) {
  std::vector<FreeSlabs> counts;
  for (const SlabDevice& device : devices) {
    if (device.emptied || !device.takes) continue;
    counts.push_back({device.free_slabs.size(), device.domain});
  }
  return counts;
}

class MovesPlanner {
 public:
  MovesPlanner(std::vector<SlabDevice> devices, std::vector<SlabZone> zones, ZoneNeeds needs,
               std::size_t most)
      : devices_(std::move(devices)), zones_(std::move(zones)), needs_(needs), most_(most) {
    // SM4
    std::stable_sort(zones_.begin(), zones_.end(),
                     [](const SlabZone& a, const SlabZone& b) { return a.units < b.units; });
    for (SlabDevice& device : devices_) {
      domain_of_[device.device] = device.domain;
      if (device.emptied) emptied_.insert(device.device);
      // They count as room that there will be.
      for (const std::uint32_t slab : std::exchange(device.leaving, {})) {
        device.free_slabs.push_back(slab);
        freed_.insert({device.device, slab});
      }
    }
  }

  SlabPlan run() {
    empty_devices();
    even_out();
    return std::move(plan_);
  }

 private:
  // SM1, but for whether it takes slabs in.
  bool may_go(const SlabZone& zone, std::uint32_t slot, const SlabDevice& to) const {
    if (has_device(zone, to.device)) return false;
    if (needs_.domain_slabs == 0 || to.domain.empty()) return true;
    std::uint32_t there = 1;
    for (std::uint32_t other = 0; other < zone.slots.size(); ++other) {
      if (other != slot && domain_of(zone.slots[other].device) == to.domain) ++there;
    }
    return there <= needs_.domain_slabs;
  }

  std::string_view domain_of(DeviceId device) const {
    const auto found = domain_of_.find(device);
    return found == domain_of_.end() ? std::string_view() : std::string_view(found->second);
  }

  // With most free slabs, of those that the slab may go to; kNone.
  std::size_t receiver_for(const SlabZone& zone, std::uint32_t slot) const {
    std::size_t best = kNone;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      const SlabDevice& device = devices_[i];
      if (device.emptied || !device.takes || device.free_slabs.empty()) continue;
      if (!may_go(zone, slot, device)) continue;
      if (best == kNone || device.free_slabs.size() > devices_[best].free_slabs.size()) best = i;
    }
    return best;
  }

  // The move, in the tables; SM5 by `moved_`.
  void move(SlabZone& zone, std::uint32_t slot, std::size_t to) {
    SlabDevice& receiver = devices_[to];
    const SlabMove move{
        zone.zone, slot, zone.slots[slot], {receiver.device, receiver.free_slabs.front()}};
    receiver.free_slabs.erase(receiver.free_slabs.begin());
    for (SlabDevice& device : devices_) {
      if (device.device != move.from.device) continue;
      // For the counts: it is free when the move has ended.
      device.free_slabs.push_back(move.from.slab);
    }
    freed_.insert(move.from);
    const bool now = moved_.insert(zone.zone).second && !freed_.contains(move.to);
    if (now && plan_.moves.size() < most_) plan_.moves.push_back(move);
    ++plan_.left;
    zone.slots[slot] = move.to;
  }

  // SM2
  void empty_devices() {
    for (SlabZone& zone : zones_) {
      for (std::uint32_t slot = 0; slot < zone.slots.size(); ++slot) {
        if (!emptied_.contains(zone.slots[slot].device)) continue;
        std::size_t to = receiver_for(zone, slot);
        if (to == kNone && make_way(zone, slot)) to = receiver_for(zone, slot);
        if (to != kNone) {
          move(zone, slot, to);
        } else {
          ++plan_.left;
          ++plan_.stuck;
        }
      }
    }
  }

  // A slab of another zone goes from a full device, where this slab may go, to one with room.
  bool make_way(const SlabZone& zone, std::uint32_t moved) {
    const bool room = std::any_of(devices_.begin(), devices_.end(), [](const SlabDevice& device) {
      return device.takes && !device.emptied && !device.free_slabs.empty();
    });
    if (!room) return false;
    for (const SlabDevice& full : devices_) {
      if (full.emptied || !full.takes || !full.free_slabs.empty()) continue;
      if (!may_go(zone, moved, full)) continue;
      for (SlabZone& other : zones_) {
        if (other.zone == zone.zone) continue;
        const std::optional<std::uint32_t> slot = slot_on(other, full.device);
        if (!slot.has_value()) continue;
        const std::size_t to = receiver_for(other, *slot);
        if (to == kNone) continue;
        move(other, *slot, to);
        return true;
      }
    }
    return false;
  }

  static std::optional<std::uint32_t> slot_on(const SlabZone& zone, DeviceId device) {
    for (std::uint32_t slot = 0; slot < zone.slots.size(); ++slot) {
      if (zone.slots[slot].device == device) return slot;
    }
    return std::nullopt;
  }

  // SM3
  void even_out() {
    const SlabPlan without = plan_;
    const std::uint64_t zones = zones_to_come();
    while (stranded_slabs(devices_, needs_) >= needs_.slabs && even_once()) {
    }
    if (zones_to_come() <= zones) plan_ = without;
  }

  std::uint64_t zones_to_come() const { return zones_left(counted(devices_), needs_); }

  bool even_once() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      if (!devices_[i].emptied && devices_[i].takes) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
      return devices_[a].free_slabs.size() < devices_[b].free_slabs.size();
    });
    for (const std::size_t from : order) {
      for (auto to = order.rbegin(); to != order.rend(); ++to) {
        if (devices_[*to].free_slabs.size() < devices_[from].free_slabs.size() + 2) break;
        for (SlabZone& zone : zones_) {
          const std::optional<std::uint32_t> slot = slot_on(zone, devices_[from].device);
          if (!slot.has_value() || !may_go(zone, *slot, devices_[*to])) continue;
          move(zone, *slot, *to);
          return true;
        }
      }
    }
    return false;
  }

  std::vector<SlabDevice> devices_;
  std::vector<SlabZone> zones_;
  const ZoneNeeds needs_;
  const std::size_t most_;
  std::map<DeviceId, std::string> domain_of_;
  std::set<DeviceId> emptied_;
  std::set<ZoneId> moved_;    // in this plan
  std::set<ZoneSlot> freed_;  // not free yet: by moves of this plan, and those before it
  SlabPlan plan_;
};

}  // namespace

std::uint64_t stranded_slabs(std::span<const SlabDevice> devices, ZoneNeeds needs) {
  const std::vector<FreeSlabs> counts = counted(devices);
  std::uint64_t all = 0;
  for (const FreeSlabs& device : counts) all += device.slabs;
  return all - needs.slabs * zones_left(counts, needs);
}

SlabPlan plan_slab_moves(std::vector<SlabDevice> devices, std::vector<SlabZone> zones,
                         ZoneNeeds needs, std::size_t most) {
  return MovesPlanner(std::move(devices), std::move(zones), needs, most).run();
}

}  // namespace hexad::alloc
