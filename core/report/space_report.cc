#include "core/report/space_report.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/check/record_walk.h"
#include "core/check/stripe_walk.h"
#include "core/clean/clean_plan.h"
#include "core/clean/compact_plan.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

// What is counted in one walk over all records.
struct SpaceReport::Count {
  SpaceUsage usage;
  ObjectSizes sizes;
  std::uint64_t to_compact = 0;  // user bytes that compaction would bring back, about
};

namespace {

// What is written again has a footer, too: such a part of what comes back is not gained.
constexpr std::uint64_t kCompactionCost = 8;

// By powers of two of the number of units.
std::vector<FreeRuns> classes_of(const std::vector<std::uint32_t>& runs, std::uint64_t unit) {
  std::map<std::uint32_t, FreeRuns> classes;
  for (const std::uint32_t units : runs) {
    const std::uint32_t shortest = std::bit_floor(units);
    FreeRuns& one = classes[shortest];
    one.from = shortest * unit;
    ++one.runs;
    one.bytes += units * unit;
  }
  std::vector<FreeRuns> sorted;
  for (const auto& [shortest, one] : classes) sorted.push_back(one);
  return sorted;
}

double granted_of_wanted(const Counters& counters) {
  const std::uint64_t granted = counters.total(CounterId::kStripes);
  const std::uint64_t more =
      counters.total(CounterId::kPiecesCutInto) - counters.total(CounterId::kPiecesCut);
  // Stripes are counted when they are durable, cuts before.
  if (granted <= more) return 1;
  return static_cast<double>(granted - more) / static_cast<double>(granted);
}

}  // namespace

// Ends its view of the index before it returns: statistics of the index look at another one.
Status SpaceReport::add_records(Count& count, const std::function<bool()>& go_on) {
  SpaceUsage& usage = count.usage;
  std::uint64_t steps = 0;
  const auto check = [&]() -> Status {
    constexpr std::uint64_t kSteps = 1024;
    if (!go_on || ++steps % kSteps != 0 || go_on()) return {};
    return Error{ErrorCode::kClosed, "space was being counted, and nobody wants to know any more",
                 ""};
  };
  HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
  const CompactRules rules{kLiveForCommit, kPageSpan, user_unit_, kMostFilled};
  std::set<ShareId> counted;
  const auto add = [&](const ExtentList& extents) {
    const ExtentList placed = parts_.log_blobs.resolve(extents);
    const UnshownBytes unshown = unshown_bytes(placed, rules);
    usage.dead += unshown.all;
    usage.reclaimable += unshown.in_victims;
    count.to_compact += unshown.in_victims - unshown.in_victims / kCompactionCost;
    for (const Blob& blob : blobs_of(placed)) {
      if (blob.share != 0 && !counted.insert(blob.share).second) continue;
      // Pack stripes are counted as a whole below; a blob's part of one is its own bytes.
      const bool own = blob.placement == Placement::kPrivate;
      const std::uint64_t units = std::uint64_t{blob.where.units} * parts_.shape.unit;
      const std::uint64_t allocated = own ? units * parts_.shape.k() : blob.stored;
      if (own) usage.allocated += allocated;
      if (!blob.is_compressed()) continue;
      usage.compressed_original += blob.raw;
      usage.compressed += blob.stored;
      usage.compressed_allocated += allocated;
    }
  };
  const auto add_record = [&](const ObjectRecord& record, std::uint64_t& sum) {
    add(record.extents);
    sum += record.size;
    count.sizes.add(record.size);
  };
  RecordWalk walk(*state.view, parts_.shape.record, check);
  HEXAD_TRY(walk.over_objects([&](std::string_view, const ObjectRecord& record) -> Status {
    add_record(record, usage.user_bytes);
    ++usage.objects;
    return {};
  }));
  HEXAD_TRY(walk.over_entries([&](std::string_view, const ObjectRecord& record) -> Status {
    add_record(record, usage.omap_bytes);
    return {};
  }));
  return walk.over_pages([&](const PageKey&, const ExtentList& extents) -> Status {
    add(extents);
    return {};
  });
}

// Every commit keeps them, with what it changes (core/plan/plan_totals.h).
Status SpaceReport::add_collections(SpaceUsage& usage) {
  HEXAD_TRY_ASSIGN(const std::vector<CollectionInfo> collections, parts_.reads.collections());
  for (const CollectionInfo& one : collections) {
    usage.objects += one.objects;
    usage.user_bytes += one.bytes;
  }
  return {};
}

void SpaceReport::add_packs(SpaceUsage& usage, Packs what) {
  StripeWalk walk(parts_.space);
  while (const std::optional<StripeWalk::Stripe> pack = walk.next()) {
    const std::uint64_t bytes = pack->where.units * user_unit_;
    if (what == Packs::kAllocated) usage.allocated += bytes;
    const std::uint64_t dead = bytes - std::min(bytes, pack->live);
    usage.dead += dead;
    if (may_be_victim(pack->live, bytes, kLiveForCommit)) usage.reclaimable += dead;
  }
}

void SpaceReport::add_devices(SpaceUsage& usage) {
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    const Member& member = parts_.members.at(i);
    if (member.role != alloc::DeviceRole::kData || parts_.members.is_removed(i)) continue;
    DeviceSpace device;
    device.id = member.id;
    device.path = member.path;
    device.capacity = std::uint64_t{parts_.space.slabs(member.id).total} *
                      parts_.space.slab_units() * parts_.shape.unit;
    device.used = parts_.space.used_bytes(member.id);
    usage.used += device.used;
    usage.per_device.push_back(std::move(device));
  }
}

std::uint64_t SpaceReport::RoomNow::available(std::uint64_t user_unit) const {
  // The reserve may be more than is left.
  const std::uint64_t left = room.units.free + held.waiting / user_unit + to_come;
  const std::uint64_t kept = room.reserved + room.reserve;
  return left > kept ? left - kept : 0;
}

SpaceReport::RoomNow SpaceReport::room_now() {
  RoomNow now{parts_.space.room(), 0, held_by_readers()};
  std::uint32_t slab_units = 0;
  for (std::size_t i = 0; i < parts_.members.size(); ++i) {
    slab_units = std::max(slab_units, parts_.members.at(i).layout.slab_units);
  }
  now.to_come = slab_units == 0 ? 0 : now.room.zones_to_come * (slab_units - 1);
  return now;
}

std::uint64_t SpaceReport::available() { return room_now().available(user_unit_) * user_unit_; }

Result<SpaceUsage> SpaceReport::usage(SpaceDetail detail, const std::function<bool()>& go_on) {
  Count count;
  SpaceUsage& usage = count.usage;
  usage.broken_down = detail == SpaceDetail::kBreakdown;
  HEXAD_TRY(usage.broken_down ? add_records(count, go_on) : add_collections(usage));
  add_packs(usage, usage.broken_down ? Packs::kAllocated : Packs::kDeadOnly);
  RoomNow now = room_now();
  const Space::Room& room = now.room;
  if (!usage.broken_down) {
    const std::uint64_t users = room.units.live + room.units.in_flight;
    usage.allocated = (users - std::min(users, room.internal)) * user_unit_;
  }
  add_devices(usage);
  usage.capacity = (room.units.total + now.to_come) * user_unit_;
  // What rides in the log, or is on its way, has its units set aside.
  usage.promised = room.reserved * user_unit_;
  usage.allocated += usage.promised;
  usage.held_by_readers = now.held.held;
  usage.readers = std::move(now.held.readers);
  usage.waiting = now.held.waiting;
  usage.internally_reserved = room.reserve * user_unit_;
  usage.available = now.available(user_unit_) * user_unit_;
  const PoolRoom pool = pool_room(count.to_compact);
  if (const std::optional<ObjectRoom> mix = room_for_mix(count.sizes, pool, parts_.shape)) {
    usage.usable_for_mix = mix->usable;
    usage.available_for_mix = mix->available;
  }
  usage.least = least_room(pool, parts_.shape);
  usage.internal_metadata = room.internal * user_unit_;
  usage.free_runs = classes_of(parts_.space.free_runs(), user_unit_);
  usage.fragmentation = parts_.space.fragmentation();
  usage.granted_of_wanted = granted_of_wanted(parts_.counters);
  HEXAD_TRY_ASSIGN(const kv::IndexStats index, parts_.index.stats());
  usage.metadata = index.bytes_used;
  return std::move(count.usage);
}

SpaceReport::HeldByReaders SpaceReport::held_by_readers() {
  Space::HeldSpace held = parts_.space.held_space();
  HeldByReaders found;
  // One beside more others than have slots of their own keeps all that is freed behind it, and the
  // first of them what the later ones do (core/cache/read_pins.h).
  std::uint64_t wide = held.others;
  for (OpenReaders::Reader& reader : parts_.readers.all()) {
    std::uint64_t units = 0;
    if (reader.needed.upto == kMaxLsn) {
      units = std::exchange(wide, 0);
    } else if (const auto its = held.by_reader.find(reader.needed); its != held.by_reader.end()) {
      units = std::exchange(its->second, 0);  // several may have come at the same time
    }
    if (units == 0) continue;
    found.readers.push_back(
        {std::move(reader.collection), std::move(reader.name), reader.opened, units * user_unit_});
  }
  found.held = (held.units + held.others - wide) * user_unit_;
  found.waiting = wide * user_unit_;
  return found;
}

std::string SpaceReport::describe_held() {
  const HeldByReaders found = held_by_readers();
  if (found.held == 0) return "";
  std::string text =
      format_size(found.held) + " of what was deleted or overwritten is being read just now";
  const auto most = std::max_element(
      found.readers.begin(), found.readers.end(),
      [](const HeldByReader& a, const HeldByReader& b) { return a.held < b.held; });
  if (most == found.readers.end()) return text;
  const io::Nanos open_for =
      std::max<io::Nanos>(0, parts_.executor.clock().wall_time() - most->opened);
  return text + ", " + format_size(most->held) + " of it by a reader of " +
         printable(most->collection) + "/" + printable(most->name) + " that has been open for " +
         std::to_string(open_for / 1'000'000'000) + " s";
}

Result<ObjectRoom> SpaceReport::room_for(std::uint64_t object_size) {
  if (object_size == 0 || object_size > kMaxObjectSize) {
    return Error{
        ErrorCode::kInvalidArgument,
        "objects of " + std::to_string(object_size) + " bytes: there are none of that size",
        "Name a size from 1 to " + std::to_string(kMaxObjectSize) + " bytes."};
  }
  return room_for_objects(object_size, pool_room(0), parts_.shape);
}

PoolRoom SpaceReport::pool_room(std::uint64_t to_compact) {
  Space& space = parts_.space;
  std::vector<CleanCandidate> candidates;
  for (const Space::PackUse& pack : space.pack_uses()) {
    candidates.push_back(candidate_of(pack));
  }
  CleanRules rules;
  rules.stripe_bytes = user_unit_;
  rules.most_units = parts_.shape.max_pack_units;
  rules.most_live = kLiveForCommit;
  rules.moved_up_to = kMaxLsn;
  const Space::Room room = space.room();
  const std::uint32_t slab_units = space.slab_units();
  const std::uint64_t to_come = slab_units == 0 ? 0 : room.zones_to_come * (slab_units - 1);
  PoolRoom pool;
  pool.all_units = room.units.total + to_come;
  pool.all_zones = space.zone_ids().size() + room.zones_to_come;
  const std::uint64_t waiting = held_by_readers().waiting / rules.stripe_bytes;
  const std::uint64_t left = room.units.free + waiting + to_come;
  pool.left_units = left - std::min(left, room.reserved);
  pool.gain_units = units_to_gain(candidates, rules);
  if (parts_.cleaner != nullptr) to_compact = std::max(to_compact, parts_.cleaner->to_compact());
  pool.gain_units += to_compact / rules.stripe_bytes;
  pool.has_runs = parts_.has_runs;
  pool.reserve = parts_.checkpointer.reserve_input();
  return pool;
}

}  // namespace hexad::core
