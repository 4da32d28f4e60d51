#include "core/opening/pool_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>

#include "alloc/device_layout.h"
#include "alloc/failure_domains.h"
#include "alloc/zone_plan.h"
#include "base/units.h"
#include "core/record/shape.h"
#include "core/space/reserve.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kMinLog = 16 << 20;
constexpr std::uint64_t kMaxLog = 1 << 30;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 50;  // of a device
constexpr std::uint32_t kPhysicalBlock = 4096;

Status check(FormatOptions options, const std::vector<std::uint64_t>& sizes) {
  const std::uint32_t needed = options.profile.shards();
  if (sizes.size() < needed) {
    return Error{ErrorCode::kInvalidArgument,
                 ec::to_string(options.profile) + " needs " + std::to_string(needed) +
                     " devices at least, and the sizes are those of " +
                     std::to_string(sizes.size()),
                 "Give a size for each device, as in 6x4TiB, or another --profile."};
  }
  options.devices.clear();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    options.devices.push_back("device " + std::to_string(i));
  }
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] <= kMaxSize) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "device " + std::to_string(i) + " of " + format_size(sizes[i]) +
                     " is larger than " + format_size(kMaxSize),
                 "No device can be."};
  }
  options.device_size = std::max(FormatOptions().device_size, options.slab_size);
  return options.validate();
}

// The block that a data device may have at most, with this unit and these checksum blocks.
std::uint32_t physical_block(const FormatOptions& options) {
  return is_multiple(options.min_alloc, kPhysicalBlock) ? kPhysicalBlock : alloc::kMinPhysicalBlock;
}

Result<std::vector<alloc::DeviceLayout>> lay_out(const FormatOptions& options,
                                                 std::uint64_t log_size,
                                                 const std::vector<std::uint64_t>& sizes) {
  alloc::LayoutRequest request;
  request.physical_block = request.log_block = physical_block(options);
  request.unit = options.min_alloc;
  request.log_size = log_size;
  std::uint64_t smallest = ~std::uint64_t{0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < alloc::kEndsSize) {
      return Error{ErrorCode::kNoSpace,
                   "device " + std::to_string(i) + " of " + format_size(sizes[i]) +
                       " has no room for the headers at its ends, which take " +
                       format_size(alloc::kEndsSize),
                   "Use a larger device."};
    }
    smallest = std::min(smallest, alloc::room_of(sizes[i]));
  }
  request.slab_units = options.slab_size == 0
                           ? alloc::default_slab_units(smallest, options.min_alloc)
                           : options.slab_size / options.min_alloc;
  std::vector<alloc::DeviceLayout> layouts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    request.device_size = sizes[i];
    Result<alloc::DeviceLayout> layout = alloc::plan_layout(request);
    if (!layout.ok()) return layout.error().with_context("device " + std::to_string(i));
    layouts.push_back(*layout);
  }
  return layouts;
}

// User bytes, when all zones are there and full, with the shortest run: how long they really are
// depends on how many objects there are.
std::uint64_t kept_back(const FormatOptions& options, const PoolPlan& plan,
                        std::uint32_t slab_units) {
  StoreShape shape;
  shape.profile = options.profile;
  shape.record = {options.profile.k, options.profile.m, options.checksum,
                  static_cast<std::uint32_t>(options.checksum_block)};
  shape.unit = options.min_alloc;
  shape.max_pack_units = pack_units(shape.unit, shape.k(), slab_units);
  ReserveInput in;
  in.log_bytes = plan.log_size;
  in.runs = 1;
  in.run_bytes = stripe_bytes(shape);
  in.zones = plan.zones + 1;
  in.zone_units = slab_units;
  return reserve_units(in, shape) * stripe_bytes(shape);
}

// Those with the most cells first: so many of any are survived.
std::uint32_t domains_tolerated(const FormatOptions& options, std::uint32_t domain_cells) {
  std::map<std::string, alloc::MostCells> domains;
  for (const std::string& name : options.failure_domains) {
    domains.emplace(name, domain_cells).first->second.add(name);
  }
  std::vector<std::uint32_t> cells;
  for (const auto& [name, most] : domains) cells.push_back(most.count());
  std::sort(cells.rbegin(), cells.rend());
  std::uint32_t tolerated = 0;
  std::uint32_t lost = 0;
  for (const std::uint32_t more : cells) {
    lost += more;
    if (lost > options.profile.m) break;
    ++tolerated;
  }
  return tolerated;
}

}  // namespace

std::uint64_t default_log_size(std::uint64_t raw) { return std::clamp(raw / 64, kMinLog, kMaxLog); }

std::uint32_t pack_units(std::uint64_t unit, std::uint32_t k, std::uint32_t slab_units) {
  constexpr std::uint64_t kMaxPackBytes = 2 << 20;  // of blobs; the footer comes on top
  constexpr std::uint32_t kPacksPerSlab = 8;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      kMaxPackBytes / (unit * k) + 1, 1, std::max<std::uint32_t>(1, slab_units / kPacksPerSlab)));
}

Result<PoolPlan> plan_pool(const FormatOptions& given, const std::vector<std::uint64_t>& sizes) {
  HEXAD_TRY(check(given, sizes));
  FormatOptions options = given;
  if (options.min_alloc == 0) options.min_alloc = kDefaultMinAlloc;
  const ec::Profile& profile = options.profile;
  PoolPlan plan;
  plan.min_alloc = options.min_alloc;
  plan.faults_tolerated = profile.m;
  for (const std::uint64_t size : sizes) plan.raw += size;
  plan.log_size = options.log_size == 0 ? default_log_size(plan.raw) : options.log_size;
  HEXAD_TRY_ASSIGN(const std::vector<alloc::DeviceLayout> layouts,
                   lay_out(options, plan.log_size, sizes));
  plan.log_size = layouts.front().log_size;
  plan.slab_size = layouts.front().slab_size();
  plan.domain_cells = alloc::least_domain_cells(options.failure_domains, profile.shards());
  plan.domains_tolerated = domains_tolerated(options, plan.domain_cells);
  std::vector<alloc::FreeSlabs> slabs;
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    const bool named = i < options.failure_domains.size();
    slabs.push_back({layouts[i].slab_count,
                     named ? std::string_view(options.failure_domains[i]) : std::string_view()});
  }
  const alloc::ZoneNeeds needs{profile.shards(), plan.domain_cells};
  plan.zones = alloc::zones_left(slabs, needs);
  const std::vector<std::uint64_t> taken = alloc::slabs_of_use(slabs, needs, plan.zones);
  // A zone has the header of its slab in the first unit of each.
  const std::uint32_t slab_units = layouts.front().slab_units;
  plan.capacity = plan.zones * (slab_units - 1) * options.min_alloc * profile.k;
  plan.kept_back = kept_back(options, plan, slab_units);
  plan.usable = plan.capacity - std::min(plan.capacity, plan.kept_back);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    PlannedDevice device;
    device.size = sizes[i];
    device.used = taken[i] * plan.slab_size;
    device.unused = (slabs[i].slabs - taken[i]) * plan.slab_size;
    if (profile.m > 0) {  // else there is none
      device.rebuild_written = device.used;
      device.rebuild_read = device.used * profile.k;
    }
    plan.devices.push_back(device);
  }
  return plan;
}

}  // namespace hexad::core
