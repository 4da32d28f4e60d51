#include "core/report/object_room.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/pack_stripe.h"
#include "core/blob/placement_plan.h"
#include "core/record/keys.h"
#include "core/record/record.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

namespace {

// Of names, bytes: they stand in keys and in footers.
constexpr std::size_t kNameBytes = 16;
// Large numbers, so that what is encoded is as long as in a store that has been used for long.
constexpr std::uint64_t kLargeLsn = std::uint64_t{1} << 40;
constexpr std::int64_t kSomeTime = 1'800'000'000'000'000'000;
constexpr std::uint64_t kSum = 1;  // of whatever width
// Blocks of runs, their filters and fences.
constexpr double kRunOverhead = 1.125;
// More objects than these are counted in no pool.
constexpr std::uint64_t kMostObjects = std::uint64_t{1} << 50;

std::string sample_key() { return object_key(1, std::string(kNameBytes, 'n')); }

struct BlobCost {
  double units = 0;
  Blob blob;
};

Blob private_blob(std::uint64_t bytes, const StoreShape& shape) {
  Blob blob;
  blob.placement = Placement::kPrivate;
  blob.cell_bytes = static_cast<std::uint32_t>(ec::cell_bytes(bytes, shape.k(), shape.block));
  blob.cell_sums.assign(shape.cells(), kSum);
  blob.block_sums.assign(shape.record.private_block_sums(blob.cell_bytes), kSum);
  return blob;
}

Blob packed_blob(std::uint64_t bytes, const StoreShape& shape) {
  Blob blob;
  blob.placement = Placement::kPacked;
  blob.cell = shape.k() - 1;
  blob.cell_offset = 1 << 16;
  blob.cell_sums.assign(1, kSum);
  blob.block_sums.assign(shape.record.packed_block_sums(static_cast<std::uint32_t>(bytes)), kSum);
  return blob;
}

// Of a blob of so many bytes among others of its size: as a transaction with 1 MiB of them places
// it.
BlobCost cost_of_blob(std::uint64_t bytes, const StoreShape& shape) {
  BlobCost cost;
  const auto own =
      static_cast<double>(divide_up(ec::cell_bytes(bytes, shape.k(), shape.block), shape.unit));
  cost.units = own;
  cost.blob = private_blob(bytes, shape);
  if (!takes_own_stripe(bytes, shape) && shape.max_pack_units > 0) {
    UnplacedBlob unplaced;
    unplaced.owner = sample_key();
    const PlacementItem item{static_cast<std::uint32_t>(bytes), pack_footer_entry(unplaced), false};
    const std::vector<PlacementItem> items(std::max<std::uint64_t>(1, kPageSpan / bytes), item);
    const PlacementPlan plan = plan_placement(items, pack_rules(shape, shape.max_pack_units));
    double units = own * static_cast<double>(plan.own_stripe.size());
    for (const PackPlan& pack : plan.packs) units += pack.units;
    if (plan.own_stripe.size() < items.size()) {
      cost.units = units / static_cast<double>(items.size());
      cost.blob = packed_blob(bytes, shape);
    }
  }
  cost.blob.where = {
      1 << 10, 1 << 20,
      cost.blob.placement == Placement::kPrivate ? static_cast<std::uint32_t>(own) : 0};
  cost.blob.raw = cost.blob.stored = static_cast<std::uint32_t>(bytes);
  return cost;
}

Extent extent_of(const Blob& blob, std::uint64_t bytes) {
  Extent extent;
  extent.length = bytes;
  extent.blob = blob;
  return extent;
}

Extent inline_extent(std::uint64_t bytes) {
  Extent extent;
  extent.length = bytes;
  extent.bytes.assign(bytes, 'b');
  return extent;
}

}  // namespace

ObjectCost cost_of_object(std::uint64_t size, const StoreShape& shape) {
  ObjectCost cost;
  const std::uint64_t pages = size / kPageSpan;
  const std::uint64_t rest = size % kPageSpan;
  ExtentList whole;  // a page that is full
  ExtentList last;
  if (pages > 0) {
    const BlobCost one = cost_of_blob(kPageSpan, shape);
    cost.units += one.units * static_cast<double>(pages);
    whole = {extent_of(one.blob, kPageSpan)};
  }
  if (rest > kInlineLimit) {
    const BlobCost one = cost_of_blob(rest, shape);
    cost.units += one.units;
    last = {extent_of(one.blob, rest)};
  } else if (rest > 0) {
    last = {inline_extent(rest)};
  }
  ObjectRecord record;
  record.version = kLargeLsn;
  record.size = size;
  record.mtime = kSomeTime;
  const std::uint64_t all = pages + (rest > 0 ? 1 : 0);
  double bytes = 0;
  if (all > 1) {
    record.body = kLargeLsn;
    const auto page = [&](const ExtentList& extents) {
      return static_cast<double>(page_key(record.body, 1).size() +
                                 encode_page(extents, shape.record).size());
    };
    bytes += page(whole) * static_cast<double>(pages);
    if (rest > 0) bytes += page(last);
  } else {
    record.extents = pages > 0 ? whole : last;
  }
  bytes += static_cast<double>(sample_key().size() + encode_object(record, shape.record).size());
  cost.record_bytes = bytes * kRunOverhead;
  return cost;
}

ObjectRoom room_for_objects(std::uint64_t size, const PoolRoom& pool, const StoreShape& shape) {
  const ObjectCost cost = cost_of_object(size, shape);
  // Whether so many fit into `units` beside what is in the runs already.
  const auto fit = [&](std::uint64_t count, std::uint64_t units, const ReserveInput& before) {
    const auto objects = static_cast<double>(count);
    // Else their metadata may be more than a number of bytes has bits for.
    if (objects * cost.units > static_cast<double>(units)) return false;
    const auto record_bytes = static_cast<std::uint64_t>(objects * cost.record_bytes);
    ReserveInput after = before;
    after.run_bytes += record_bytes;
    const std::uint64_t kept =
        pool.has_runs ? divide_up(record_bytes, stripe_bytes(shape)) + reserve_units(after, shape)
                      : 0;
    return objects * cost.units + static_cast<double>(kept) <= static_cast<double>(units);
  };
  const auto most = [&](std::uint64_t units, const ReserveInput& before) {
    std::uint64_t fits = 0;
    std::uint64_t does_not = kMostObjects;
    while (does_not - fits > 1) {
      const std::uint64_t middle = fits + (does_not - fits) / 2;
      (fit(middle, units, before) ? fits : does_not) = middle;
    }
    return fits;
  };
  ReserveInput empty = pool.reserve;
  empty.run_bytes = 0;
  empty.runs = 1;
  empty.zones = pool.all_zones;
  // What is left counts the zones to come, and for their images more is kept.
  ReserveInput then = pool.reserve;
  then.zones = std::max(then.zones, pool.all_zones);
  return {size, most(pool.all_units, empty) * size,
          most(pool.left_units + pool.gain_units, then) * size};
}

void ObjectSizes::add(std::uint64_t size) {
  if (size == 0) return;
  Kind& kind = kinds_[static_cast<std::size_t>(std::bit_width(size)) - 1];
  ++kind.objects;
  kind.bytes += static_cast<double>(size);
}

std::optional<ObjectRoom> room_for_mix(const ObjectSizes& sizes, const PoolRoom& pool,
                                       const StoreShape& shape) {
  std::uint64_t objects = 0;
  double bytes = 0;
  double of_usable = 0;     // parts of the store that the mix takes, times its bytes
  double of_available = 0;  // ... and of what is available
  for (const ObjectSizes::Kind& kind : sizes.kinds()) {
    if (kind.objects == 0) continue;
    objects += kind.objects;
    bytes += kind.bytes;
    const double mean = kind.bytes / static_cast<double>(kind.objects);
    // Longer ones are made of pages, and take what these take. Some have holes, and are larger than
    // the store.
    const auto size = static_cast<std::uint64_t>(std::min(mean, static_cast<double>(kPageSpan)));
    const ObjectRoom room = room_for_objects(size, pool, shape);
    of_usable += kind.bytes / static_cast<double>(room.usable);
    of_available += kind.bytes / static_cast<double>(room.available);
  }
  if (objects == 0) return std::nullopt;
  // Where there is no room for some kind, there is none for the mix: that divides by infinity.
  return ObjectRoom{static_cast<std::uint64_t>(bytes / static_cast<double>(objects)),
                    static_cast<std::uint64_t>(bytes / of_usable),
                    static_cast<std::uint64_t>(bytes / of_available)};
}

ObjectRoom least_room(const PoolRoom& pool, const StoreShape& shape) {
  constexpr std::uint64_t kSmallest = 1 << 10;
  std::optional<ObjectRoom> least;
  for (std::uint64_t size = kSmallest; size <= kPageSpan; size *= 2) {
    for (const std::uint64_t one : {size, size + 1}) {
      const ObjectRoom room = room_for_objects(one, pool, shape);
      if (!least.has_value() || room.usable < least->usable) least = room;
    }
  }
  return *least;
}

}  // namespace hexad::core
