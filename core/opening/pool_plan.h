// What a store of given devices will be like, before any of them is touched: how much it holds,
// what of which device no stripe can use, and what the rebuild of one costs. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.h"
#include "core/api/options.h"

namespace hexad::core {

// The log that a store gets whose options name none: raw capacity / 64 within [16 MiB, 1 GiB].
// `raw`: bytes of all data devices.
std::uint64_t default_log_size(std::uint64_t raw);

// Units of one cell of a pack stripe at most, with stripes short enough that small zones have room
// for several, and that little is lost when most of one is dead.
std::uint32_t pack_units(std::uint64_t unit, std::uint32_t k, std::uint32_t slab_units);

struct PlannedDevice {
  std::uint64_t size = 0;  // bytes, as given
  // Bytes of it that stripes can have, parity and the store's own among them.
  std::uint64_t used = 0;
  // Bytes that they never can, since too few of the others are as large.
  std::uint64_t unused = 0;
  // Of a rebuild when the store is full: bytes written to the new device, and bytes read from all
  // the others together. At most; of a store that is half full half of it. 0 without parity.
  std::uint64_t rebuild_written = 0;
  std::uint64_t rebuild_read = 0;
};

struct PoolPlan {
  std::uint64_t raw = 0;        // bytes of all data devices
  std::uint64_t min_alloc = 0;  // the unit of allocation, bytes
  std::uint64_t log_size = 0;   // bytes of each copy of the log
  std::uint64_t slab_size = 0;  // bytes that a zone has on each of its devices
  std::uint64_t zones = 0;      // how many there can be
  std::uint64_t capacity = 0;   // user bytes, as SpaceUsage::capacity
  // User bytes of these that a full store keeps for checkpoints and merges; of an empty one it is
  // less (SpaceUsage::internally_reserved). More than there are: then nothing fits.
  std::uint64_t kept_back = 0;
  // User bytes that fit: what is left of `capacity`, of large objects that do not compress. Of
  // small ones less fits, since metadata takes space, and since they do not fill their stripes.
  std::uint64_t usable = 0;
  std::uint32_t faults_tolerated = 0;  // devices that may be lost at once, whichever they are
  // At most so many cells of a stripe are on the devices of one failure domain; 0: there are none.
  std::uint32_t domain_cells = 0;
  // Whole failure domains that may be lost at once, whichever they are.
  std::uint32_t domains_tolerated = 0;
  std::vector<PlannedDevice> devices;  // in the order given
};

// Of a store that Store::format() would make with `options` on data devices of these sizes, whose
// physical block is 4 KiB at most. `options.devices` and `device_size` do not count;
// `failure_domains` are of these.
// Errors: kInvalidArgument (too few devices, or options that exclude each other, all of them in the
// message), kNoSpace (a device is too small; says which, and for what).
Result<PoolPlan> plan_pool(const FormatOptions& options, const std::vector<std::uint64_t>& sizes);

}  // namespace hexad::core
