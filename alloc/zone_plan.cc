#include "alloc/zone_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace hexad::alloc {

namespace {

std::uint64_t most_of_domain(ZoneNeeds needs) {
  return std::max<std::uint64_t>(needs.domain_slabs, 1);
}

// The devices of each failure domain, in the order in which they are given.
template <typename Device, typename DomainOf>
std::vector<std::vector<Device>> by_domain(const std::vector<Device>& devices, ZoneNeeds needs,
                                           const DomainOf& domain_of) {
  std::vector<std::vector<Device>> domains;
  std::map<std::string_view, std::size_t> index;
  for (const Device& device : devices) {
    const std::string_view name = domain_of(device);
    const bool alone = name.empty() || needs.domain_slabs == 0;
    const std::size_t at =
        alone ? domains.size() : index.emplace(name, domains.size()).first->second;
    if (at == domains.size()) domains.emplace_back();
    domains[at].push_back(device);
  }
  return domains;
}

// What zones can take of one domain whose devices have so many free slabs.
std::uint64_t taken_by(std::uint64_t zones, const std::vector<FreeSlabs>& domain, ZoneNeeds needs) {
  std::uint64_t taken = 0;
  for (const FreeSlabs& device : domain) taken += std::min(device.slabs, zones);
  return std::min(taken, most_of_domain(needs) * zones);
}

// A device of which zones may have more than they take, and how many they take.
struct Share {
  std::uint64_t slabs = 0;
  std::string_view domain = {};
  std::size_t index = 0;

  // Where so many are left on each device of the domain.
  std::uint64_t above(std::uint64_t level, std::uint64_t zones) const {
    return std::min(zones, slabs - std::min(slabs, level));
  }
};

// The least level at which the zones take all that is above it.
std::uint64_t level_of(const std::vector<Share>& domain, std::uint64_t zones, std::uint64_t limit) {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const Share& share : domain) high = std::max(high, share.slabs);
  while (low < high) {
    const std::uint64_t level = low + (high - low) / 2;
    std::uint64_t taken = 0;
    for (const Share& share : domain) taken += share.above(level, zones);
    if (taken <= limit) {
      high = level;
    } else {
      low = level + 1;
    }
  }
  return low;
}

bool has_more(const DeviceSpace* a, const DeviceSpace* b) {
  return a->free_slabs.size() > b->free_slabs.size();
}

// The devices of one domain that a zone may take, those with the most free slabs first.
struct Offer {
  std::vector<const DeviceSpace*> devices;
  std::size_t needed =
      0;  // of them, the first ones: what the zones after this one have too much of

  // With `zones` zones to be made, this one included. What the others can take of the domain does
  // not become less by a device that has a slab for each of them and this one, nor by any while
  // there is more than they can take together.
  Offer(std::vector<const DeviceSpace*> domain, ZoneNeeds needs, std::uint64_t zones)
      : devices(std::move(domain)) {
    std::stable_sort(devices.begin(), devices.end(), has_more);
    std::uint64_t all = 0;
    std::uint64_t full = 0;
    for (const DeviceSpace* const device : devices) {
      const std::uint64_t slabs = device->free_slabs.size();
      all += std::min(slabs, zones);
      full += slabs >= zones ? 1 : 0;
    }
    const std::uint64_t later = most_of_domain(needs) * (zones - 1);
    const std::uint64_t beyond = all > later ? all - later : 0;
    devices.resize(std::min<std::uint64_t>(devices.size(), most_of_domain(needs)));
    needed = std::min<std::uint64_t>(devices.size(), std::max(full, beyond));
  }
};

}  // namespace

Result<std::vector<ZoneSlot>> plan_zone(std::span<const DeviceSpace> devices, ZoneNeeds needs,
                                        ZoneId zone) {
  const std::uint32_t n = needs.slabs;
  if (n == 0 || n > kMaxZoneSlots) {
    return Error{ErrorCode::kInvalidArgument,
                 "a zone of " + std::to_string(n) + " slabs is not possible",
                 "k + m has to be from 1 to " + std::to_string(kMaxZoneSlots) + "."};
  }
  std::vector<const DeviceSpace*> usable;
  for (const DeviceSpace& device : devices) {
    if (!device.free_slabs.empty()) usable.push_back(&device);
  }
  const auto by_id = [](const DeviceSpace* a, const DeviceSpace* b) {
    return a->device < b->device;
  };
  std::sort(usable.begin(), usable.end(), by_id);
  for (std::size_t i = 1; i < usable.size(); ++i) {
    if (usable[i - 1]->device == usable[i]->device) {
      return Error{ErrorCode::kInvalidArgument,
                   "device " + std::to_string(usable[i]->device) + " is given twice", ""};
    }
  }
  const std::uint64_t zones = std::max<std::uint64_t>(zones_left(devices, needs), 1);
  std::vector<const DeviceSpace*> first;
  std::vector<const DeviceSpace*> then;
  const auto domain_of = [](const DeviceSpace* device) { return std::string_view(device->domain); };
  for (std::vector<const DeviceSpace*>& domain : by_domain(usable, needs, domain_of)) {
    const Offer offer(std::move(domain), needs, zones);
    const auto middle = offer.devices.begin() + static_cast<std::ptrdiff_t>(offer.needed);
    first.insert(first.end(), offer.devices.begin(), middle);
    then.insert(then.end(), middle, offer.devices.end());
  }
  for (std::vector<const DeviceSpace*>* const chosen : {&first, &then}) {
    std::sort(chosen->begin(), chosen->end(), by_id);
    std::stable_sort(chosen->begin(), chosen->end(), has_more);
  }
  first.insert(first.end(), then.begin(), then.end());
  if (first.size() < n) {
    std::string few = "a zone needs a free slab on " + std::to_string(n) + " devices; " +
                      std::to_string(usable.size()) + " of " + std::to_string(devices.size()) +
                      " have one";
    if (first.size() < usable.size()) {
      few += ", and by their failure domains a zone can have " + std::to_string(first.size()) +
             " of those (" + std::to_string(needs.domain_slabs) + " in each)";
    }
    return Error{ErrorCode::kNoSpace, std::move(few), kMakeRoom};
  }
  first.resize(n);
  std::sort(first.begin(), first.end(), by_id);
  std::rotate(first.begin(), first.begin() + zone % n, first.end());
  std::vector<ZoneSlot> slots;
  for (const DeviceSpace* device : first) {
    slots.push_back({device->device, device->free_slabs.front()});
  }
  return slots;
}

std::uint64_t zones_left(std::span<const DeviceSpace> devices, ZoneNeeds needs) {
  std::vector<FreeSlabs> counts;
  counts.reserve(devices.size());
  for (const DeviceSpace& device : devices) {
    counts.push_back({device.free_slabs.size(), device.domain});
  }
  return zones_left(counts, needs);
}

std::uint64_t zones_left(const std::vector<FreeSlabs>& devices, ZoneNeeds needs) {
  if (needs.slabs == 0) return 0;
  const std::vector<std::vector<FreeSlabs>> domains =
      by_domain(devices, needs, [](const FreeSlabs& device) { return device.domain; });
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  for (const FreeSlabs& device : devices) high += device.slabs;
  high /= needs.slabs;
  // The condition holds up to some z and never beyond: its left side is concave in z, and 0 for 0.
  while (low < high) {
    const std::uint64_t z = low + (high - low + 1) / 2;
    std::uint64_t taken = 0;
    for (const std::vector<FreeSlabs>& domain : domains) taken += taken_by(z, domain, needs);
    if (taken >= needs.slabs * z) {
      low = z;
    } else {
      high = z - 1;
    }
  }
  return low;
}

std::vector<std::uint64_t> slabs_of_use(const std::vector<FreeSlabs>& devices, ZoneNeeds needs,
                                        std::uint64_t zones) {
  std::vector<Share> shares;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    shares.push_back({devices[i].slabs, devices[i].domain, i});
  }
  std::vector<std::uint64_t> taken(devices.size());
  const auto domain_of = [](const Share& share) { return share.domain; };
  for (const std::vector<Share>& domain : by_domain(shares, needs, domain_of)) {
    const std::uint64_t limit = most_of_domain(needs) * zones;
    const std::uint64_t level = level_of(domain, zones, limit);
    std::uint64_t all = 0;
    for (const Share& share : domain) all += taken[share.index] = share.above(level, zones);
    for (const Share& share : domain) {  // what the last level has for some of them
      std::uint64_t& of_device = taken[share.index];
      if (all == limit || of_device == std::min(share.slabs, zones)) continue;
      ++of_device;
      ++all;
    }
  }
  return taken;
}

}  // namespace hexad::alloc
