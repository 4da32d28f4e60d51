// Where the bytes of a store are, and for how many more there is room.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/clean/clean_plan.h"
#include "core/clean/compact_plan.h"
#include "core/engine/engine.h"
#include "core/engine/object_room.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

// What is counted in one walk over all records.
struct Engine::SpaceCount {
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
Status Engine::add_records(SpaceCount& count, const std::function<bool()>& go_on) {
  SpaceUsage& usage = count.usage;
  std::uint64_t steps = 0;
  const auto check = [&]() -> Status {
    constexpr std::uint64_t kSteps = 1024;
    if (!go_on || ++steps % kSteps != 0 || go_on()) return {};
    return Error{ErrorCode::kClosed, "space was being counted, and nobody wants to know any more",
                 ""};
  };
  HEXAD_TRY_ASSIGN(ReadState state, reads_->read_state());
  const RecordShape& shape = parts_.shape->record;
  const CompactRules rules{kLiveForCommit, kPageSpan, parts_.shape->unit * parts_.shape->k(),
                           kMostFilled};
  std::set<ShareId> counted;
  const auto add = [&](const ExtentList& extents) {
    const ExtentList placed = parts_.log_blobs->resolve(extents);
    const UnshownBytes unshown = unshown_bytes(placed, rules);
    usage.dead += unshown.all;
    usage.reclaimable += unshown.in_victims;
    count.to_compact += unshown.in_victims - unshown.in_victims / kCompactionCost;
    for (const Blob& blob : blobs_of(placed)) {
      if (blob.share != 0 && !counted.insert(blob.share).second) continue;
      // Pack stripes are counted as a whole below; a blob's part of one is its own bytes.
      const bool own = blob.placement == Placement::kPrivate;
      const std::uint64_t units = std::uint64_t{blob.where.units} * parts_.shape->unit;
      const std::uint64_t allocated = own ? units * parts_.shape->k() : blob.stored;
      if (own) usage.allocated += allocated;
      if (!blob.is_compressed()) continue;
      usage.compressed_original += blob.raw;
      usage.compressed += blob.stored;
      usage.compressed_allocated += allocated;
    }
  };
  HEXAD_TRY_ASSIGN(MetaView::Cursor objects, state.view->cursor_over(kObjectKeys));
  while (objects.valid()) {
    HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(objects.value(), shape));
    add(record.extents);
    usage.user_bytes += record.size;
    count.sizes.add(record.size);
    ++usage.objects;
    HEXAD_TRY(objects.next());
    HEXAD_TRY(check());
  }
  HEXAD_TRY_ASSIGN(MetaView::Cursor entries, state.view->cursor_over(kOmapKeys));
  while (entries.valid()) {
    if (!is_hidden_entry(entries.value())) {
      HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(entries.value(), shape));
      add(record.extents);
      usage.user_bytes += record.size;
      count.sizes.add(record.size);
    }
    HEXAD_TRY(entries.next());
    HEXAD_TRY(check());
  }
  HEXAD_TRY_ASSIGN(MetaView::Cursor pages, state.view->cursor_over(kPageKeys));
  while (pages.valid()) {
    HEXAD_TRY_ASSIGN(const PageKey key, parse_page_key(pages.key()));
    HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(pages.value(), key.page, shape));
    add(extents);
    HEXAD_TRY(pages.next());
    HEXAD_TRY(check());
  }
  return {};
}

// One pass over all records: costs time with the number of objects, and is exact.
Result<SpaceUsage> Engine::space_usage(const std::function<bool()>& go_on) {
  SpaceCount count;
  SpaceUsage& usage = count.usage;
  HEXAD_TRY(add_records(count, go_on));
  for (const alloc::ZoneId zone : parts_.space->zone_ids()) {
    for (const alloc::PackStripe& pack : parts_.space->packs(zone)) {
      const std::uint64_t bytes = pack.run.units * parts_.shape->unit * parts_.shape->k();
      usage.allocated += bytes;
      const std::uint64_t dead = bytes - std::min(bytes, pack.live);
      usage.dead += dead;
      if (may_be_victim(pack.live, bytes, kLiveForCommit)) usage.reclaimable += dead;
    }
  }

  const Space::Room room = parts_.space->room();
  std::uint32_t slab_units = 0;
  for (std::size_t i = 0; i < parts_.members->size(); ++i) {
    const Member& member = parts_.members->at(i);
    slab_units = std::max(slab_units, member.layout.slab_units);
    if (member.role != alloc::DeviceRole::kData || parts_.members->is_removed(i)) continue;
    DeviceSpace device;
    device.id = member.id;
    device.path = member.path;
    device.capacity = std::uint64_t{parts_.space->slabs(member.id).total} *
                      parts_.space->slab_units() * parts_.shape->unit;
    device.used = parts_.space->used_bytes(member.id);
    usage.used += device.used;
    usage.per_device.push_back(std::move(device));
  }
  const std::uint64_t user_unit = parts_.shape->unit * parts_.shape->k();
  const std::uint64_t to_come = slab_units == 0 ? 0 : room.zones_to_come * (slab_units - 1);
  usage.capacity = (room.units.total + to_come) * user_unit;
  // What rides in the log, or is on its way, has its units set aside.
  usage.promised = room.reserved * user_unit;
  usage.allocated += usage.promised;
  HeldByReaders held = held_by_readers();
  usage.held_by_readers = held.held;
  usage.readers = std::move(held.readers);
  usage.waiting = held.waiting;
  usage.internally_reserved = room.reserve * user_unit;
  // The reserve may be more than is left.
  const std::uint64_t left = room.units.free + held.waiting / user_unit + to_come;
  const std::uint64_t kept = room.reserved + room.reserve;
  usage.available = (left > kept ? left - kept : 0) * user_unit;
  const PoolRoom pool = pool_room(count.to_compact);
  if (const std::optional<ObjectRoom> mix = room_for_mix(count.sizes, pool, *parts_.shape)) {
    usage.usable_for_mix = mix->usable;
    usage.available_for_mix = mix->available;
  }
  usage.least = least_room(pool, *parts_.shape);
  usage.internal_metadata = room.internal * user_unit;
  usage.free_runs = classes_of(parts_.space->free_runs(), user_unit);
  usage.fragmentation = parts_.space->fragmentation();
  usage.granted_of_wanted = granted_of_wanted(*parts_.counters);
  HEXAD_TRY_ASSIGN(const kv::IndexStats index, parts_.index->stats());
  usage.metadata = index.bytes_used;
  return std::move(count.usage);
}

Engine::HeldByReaders Engine::held_by_readers() {
  const std::uint64_t user_unit = parts_.shape->unit * parts_.shape->k();
  Space::HeldSpace held = parts_.space->held_space();
  HeldByReaders found;
  // One beside more others than have slots of their own keeps all that is freed behind it, and the
  // first of them what the later ones do (core/cache/read_pins.h).
  std::uint64_t wide = held.others;
  for (OpenReaders::Reader& reader : readers_.all()) {
    std::uint64_t units = 0;
    if (reader.needed.upto == kMaxLsn) {
      units = std::exchange(wide, 0);
    } else if (const auto its = held.by_reader.find(reader.needed); its != held.by_reader.end()) {
      units = std::exchange(its->second, 0);  // several may have come at the same time
    }
    if (units == 0) continue;
    found.readers.push_back(
        {std::move(reader.collection), std::move(reader.name), reader.opened, units * user_unit});
  }
  found.held = (held.units + held.others - wide) * user_unit;
  found.waiting = wide * user_unit;
  return found;
}

std::string Engine::describe_held() {
  const HeldByReaders found = held_by_readers();
  if (found.held == 0) return "";
  std::string text =
      format_size(found.held) + " of what was deleted or overwritten is being read just now";
  const auto most = std::max_element(
      found.readers.begin(), found.readers.end(),
      [](const HeldByReader& a, const HeldByReader& b) { return a.held < b.held; });
  if (most == found.readers.end()) return text;
  const io::Nanos open_for = std::max<io::Nanos>(0, executor().clock().wall_time() - most->opened);
  return text + ", " + format_size(most->held) + " of it by a reader of " +
         printable(most->collection) + "/" + printable(most->name) + " that has been open for " +
         std::to_string(open_for / 1'000'000'000) + " s";
}

Result<ObjectRoom> Engine::room_for(std::uint64_t object_size) {
  if (object_size == 0 || object_size > kMaxObjectSize) {
    return Error{
        ErrorCode::kInvalidArgument,
        "objects of " + std::to_string(object_size) + " bytes: there are none of that size",
        "Name a size from 1 to " + std::to_string(kMaxObjectSize) + " bytes."};
  }
  return room_for_objects(object_size, pool_room(0), *parts_.shape);
}

PoolRoom Engine::pool_room(std::uint64_t to_compact) {
  Space& space = *parts_.space;
  std::vector<CleanCandidate> candidates;
  for (const Space::PackUse& pack : space.pack_uses()) {
    candidates.push_back({pack.stripe, pack.live, pack.footer, pack.born, pack.written});
  }
  CleanRules rules;
  rules.stripe_bytes = parts_.shape->unit * parts_.shape->k();
  rules.most_units = parts_.shape->max_pack_units;
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
  if (cleaner_ != nullptr) to_compact = std::max(to_compact, cleaner_->to_compact());
  pool.gain_units += to_compact / rules.stripe_bytes;
  pool.has_runs = !parts_.memory_only;
  pool.reserve = checkpointer_->reserve_input();
  return pool;
}

}  // namespace hexad::core
