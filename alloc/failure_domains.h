// Devices that fail together, because they share an enclosure, a controller or a machine: they have
// one name, and no zone has many cells on them. A device without a name is a domain of its own.
//
//   FD1 a zone has at most Root::domain_cells slabs on the devices of one domain; where that is 0,
//       no device has a name, and a zone has one slab on each device
//   FD2 what counts of a set of devices is the most cells that a zone can have on them (MostCells).
//       A store that survives the loss of m devices survives that of any set with at most m such
//       cells: a whole domain of many devices, where domain_cells <= m
//   FD3 a device keeps its domain as long as it is one of the store; one that takes its place has
//       the same. So FD1 holds of every zone that was made, or moved, by it
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad::alloc {

inline constexpr std::size_t kMaxDomainName = 63;  // bytes

// The most cells of one zone that can lie on a set of devices: one on each, and on those of one
// domain at most `domain_cells` together (FD1). The sum of two sets is at least that of both at
// once, so two sets with at most m cells each have at most 2 m.
class MostCells {
 public:
  explicit MostCells(std::uint32_t domain_cells) : domain_cells_(domain_cells) {}

  // One device more, of the domain of this name; empty: of its own.
  void add(std::string_view domain);
  std::uint32_t count() const { return count_; }

 private:
  const std::uint32_t domain_cells_;
  std::uint32_t count_ = 0;
  std::map<std::string, std::uint32_t, std::less<>> in_;  // cells counted in each domain
};

// The least Root::domain_cells with which zones of `cells` cells can be made on devices in these
// domains, one per device: the cells are spread as evenly as the domains allow. 0: none of them has
// a name, or there are too few devices.
std::uint32_t least_domain_cells(std::span<const std::string> domains, std::uint32_t cells);

// Whether a domain may be called that. Errors: kInvalidArgument (empty, longer than kMaxDomainName,
// or other characters than letters, digits and . _ - :).
Status check_domain_name(const std::string& name);

}  // namespace hexad::alloc
