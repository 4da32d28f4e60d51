// What a store says about itself: status, space, counters.
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/clean/clean_plan.h"
#include "core/engine/engine.h"
#include "core/engine/object_room.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"
#include "core/space/log_set.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

void add_flush_domain(const Members& members, const io::Device& device, DeviceStatus& status) {
  const FlushDomain domain = members.flush_domain(&device);
  if (domain == kNoFlushDomain) {
    status.durability = "write";
    return;
  }
  status.durability = members.is_shared(domain) ? "shared flush" : "own flush";
  status.flush_domain = domain;
}

// What shares a cache shares a disk, and is lost with it.
void note_shared_domains(const Members& members, std::uint32_t m, StoreStatus& status) {
  for (FlushDomain domain = 0; domain < members.flush_domains(); ++domain) {
    if (!members.is_shared(domain)) continue;
    std::string names;
    std::uint32_t data = 0;
    for (const DeviceStatus& device : status.devices) {
      if (device.flush_domain != domain) continue;
      names += (names.empty() ? "" : ", ") + std::to_string(device.id);
      if (device.role == alloc::to_string(alloc::DeviceRole::kData)) ++data;
    }
    std::string note = "devices " + names + " share one flush domain: one failure domain";
    if (data > m && m > 0) {
      note += ", whose loss is more than the profile survives (" + std::to_string(data) +
              " data devices of " + std::to_string(m) + ")";
    }
    status.notes.push_back(std::move(note));
  }
}

// What is on the fast tier in place of an index that does not fit; empty: nothing.
std::string describe_resident(kv::ResidentPieces& resident) {
  const kv::ResidentPieces::Usage usage = resident.usage();
  if (!usage.open) {
    if (usage.problem.empty()) return "";
    return "no blocks of the runs are kept on the fast tier, look-ups read the data devices: " +
           usage.problem;
  }
  const kv::ResidentPieces::Tally tally = resident.tally();
  const std::uint64_t asked = tally.hits + tally.misses;
  return "the index does not fit the fast tier, which holds blocks of the runs in its place: " +
         format_size(usage.bytes) + " of " + format_size(usage.room) + "; " +
         std::to_string(tally.hits) + " of " + std::to_string(asked) +
         " blocks that were not in memory were found there" +
         (asked == 0 ? "" : " (" + std::to_string(tally.hits * 100 / asked) + " %)");
}

// Objects like those that are there take as much space as these do without what is reclaimable.
// Clones share space, so one of their bytes may take less than one; what is written anew does not.
std::optional<std::uint64_t> room_for_mix(const SpaceUsage& space) {
  const std::uint64_t taken = space.allocated - space.promised - space.reclaimable;
  if (space.user_bytes == 0 || taken == 0) return std::nullopt;
  const double each =
      std::max(1.0, static_cast<double>(taken) / static_cast<double>(space.user_bytes));
  return static_cast<std::uint64_t>(static_cast<double>(space.available + space.reclaimable) /
                                    each);
}

}  // namespace

StoreStatus Engine::status() {
  StoreStatus status;
  status.uuid = parts_.shape->uuid;
  status.epoch = lane_ == nullptr ? parts_.root.epoch : lane_->epoch();
  status.last_lsn = lane_ == nullptr ? parts_.last_lsn : lane_->durable();
  status.checkpoint_lsn = parts_.index->applied_lsn();
  status.log_used = lane_ == nullptr ? 0 : lane_->log_used();
  status.io_queue = parts_.system->queue().name();
  const std::optional<Error> stopped = lane_ == nullptr ? std::nullopt : lane_->stopped();
  status.memory_only = parts_.memory_only;
  status.parity_cells = parts_.shape->m();
  status.redundant_devices = parts_.redundant_devices;
  status.read_only = lane_ == nullptr || stopped.has_value();
  if (stopped.has_value()) status.read_only_reason = stopped->message;
  if (const Status ours = parts_.members->check_not_fenced(); !ours.ok()) {
    status.read_only = true;  // a commit would learn it now
    status.read_only_reason = ours.error().message;
  }
  status.notes = parts_.notes;
  status.warnings = parts_.warnings;
  if (const std::string problem = checkpointer_->index_problem(); !problem.empty()) {
    status.notes.push_back(
        "writing the index on the fast tier failed, it is made again from the runs: " + problem);
  }
  if (std::string note = describe_resident(*parts_.resident); !note.empty()) {
    status.notes.push_back(std::move(note));
  }
  const std::optional<Membership::Refused> refused =
      membership_ == nullptr ? std::nullopt : membership_->refused();
  if (refused.has_value()) {
    const io::Nanos waited = executor().clock().now() - refused->since;
    status.warnings.push_back(
        "commits have been waiting for " + std::to_string(waited / 1'000'000'000) +
        " s, since a write is refused and sent again: " + refused->why.to_string());
  }
  {
    const io::Lock lock(new_mutex_);
    if (new_device_ != nullptr && new_device_->owing_for() >= kSilence) {
      status.warnings.push_back(new_device_->name() + ", which is being added, " +
                                io::describe_silence(*new_device_) +
                                ": whoever adds, drains or removes devices waits for it");
    }
  }
  if (jobs_ != nullptr) status.jobs = jobs_->status();
  show_control(status);
  for (const JobStatus& job : status.jobs) {
    // A store that has stopped says so itself.
    if (job.problem.empty() || stopped.has_value()) continue;
    status.notes.push_back(job.purpose + " failed: " + job.problem);
  }
  const std::vector<DeviceId> log_devices =
      lane_ == nullptr ? parts_.root.log_devices
                       : choose_log_devices(*parts_.members, parts_.shape->m());
  for (std::size_t i = 0; i < parts_.members->size(); ++i) {
    if (parts_.members->is_removed(i)) continue;
    const Member& member = parts_.members->at(i);
    DeviceStatus device;
    device.id = member.id;
    device.path = member.path;
    device.role = alloc::to_string(member.role);
    device.state = parts_.members->state(i);
    device.detail = parts_.members->detail(i);
    device.draining = parts_.members->is_draining(member.id);
    if (device.state == "behind" || device.state == "filling") {
      device.missing_bytes = parts_.space->lacking_units(member.id) * parts_.shape->unit;
    }
    device.bad_header_slots = parts_.members->bad_header_slots(i);
    device.size = member.layout.device_size;
    const Space::Slabs slabs = parts_.space->slabs(member.id);
    device.slabs = slabs.total;
    device.slabs_used = slabs.used;
    device.physical_block = member.layout.physical_block;
    device.direct = member.device != nullptr && member.device->direct();
    device.holds_log =
        std::find(log_devices.begin(), log_devices.end(), member.id) != log_devices.end();
    if (member.device != nullptr) {
      add_flush_domain(*parts_.members, *member.device, device);
    }
    // Of all handles that it has had.
    for (const io::Device* const handle : parts_.members->handles(member.id)) {
      const io::DeviceTraffic& traffic = handle->traffic();
      device.bytes_read += traffic.bytes_read.load(std::memory_order_relaxed);
      for (std::size_t cause = 0; cause < io::kIoCauses; ++cause) {
        const std::string name = io::to_string(static_cast<io::IoCause>(cause));
        const std::uint64_t writes = traffic.writes_for[cause].load(std::memory_order_acquire);
        const std::uint64_t bytes = traffic.written_for[cause].load(std::memory_order_relaxed);
        device.writes_for[name] += writes;
        device.writes += writes;
        device.written_for[name] += bytes;
        device.bytes_written += bytes;
      }
      device.reads += traffic.reads.load(std::memory_order_relaxed);
      device.flushes += traffic.flushes.load(std::memory_order_relaxed) +
                        traffic.durable_writes.load(std::memory_order_relaxed);
      device.read_errors += traffic.failed_reads.load(std::memory_order_relaxed);
      device.write_errors += traffic.failed_writes.load(std::memory_order_relaxed);
      device.flush_errors += traffic.failed_flushes.load(std::memory_order_relaxed);
      device.checksum_errors += traffic.mismatches.load(std::memory_order_relaxed);
      device.timeouts += traffic.timeouts.load(std::memory_order_relaxed);
    }
    if (member.device != nullptr && !member.device->is_given_up()) {
      if (member.device->owing_for() >= kSilence) {
        const std::string text = io::describe_silence(*member.device);
        device.detail += (device.detail.empty() ? "" : "; ") + text;
        status.warnings.push_back("device " + std::to_string(member.id) + " (" + member.path +
                                  ") " + text +
                                  (io::is_silent(*member.device)
                                       ? ": reads go round it, commits and checkpoints wait for it"
                                       : ": commits and checkpoints may wait for that"));
      }
    }
    if (member.device != nullptr && member.device->is_given_up() &&
        parts_.members->usable(member.id)) {
      const std::string text = "has not answered for so long that it is given up";
      device.detail += (device.detail.empty() ? "" : "; ") + text;
      status.warnings.push_back("device " + std::to_string(member.id) + " (" + member.path + ") " +
                                text + ": it is left behind with what is in flight");
    }
    if (!parts_.members->is_usable(i)) show_return(member, device, status);
    if (device.holds_log) status.log_size = member.layout.log_size;
    if (member.device != nullptr && !member.device->direct() && status.io_queue != "memory") {
      status.notes.push_back(member.path + ": direct I/O is refused here, buffered I/O is used");
    }
    status.devices.push_back(std::move(device));
  }
  history_->describe(status);
  note_shared_domains(*parts_.members, parts_.shape->m(), status);
  if (lane_ != nullptr && parts_.options.log_durability == LogDurability::kFast) {
    const bool fast = std::any_of(log_devices.begin(), log_devices.end(), [this](DeviceId id) {
      return parts_.members->find(id)->role == alloc::DeviceRole::kLog;
    });
    status.notes.push_back(
        fast ? "log durability is fast: the loss of the fast device together with a crash can take "
               "the commits of the last 50 ms"
             : "log durability is fast, but no fast device holds the log: full durability is used");
  }
  status.devices.insert(status.devices.end(), parts_.strangers.begin(), parts_.strangers.end());
  // Those that are read all the same, since there are too few without them, count as lost.
  std::uint32_t lost = 0;
  for (std::size_t i = 0; i < parts_.members->size(); ++i) {
    const bool data = parts_.members->at(i).role == alloc::DeviceRole::kData;
    if (!data || parts_.members->is_removed(i)) continue;
    const std::string state = parts_.members->state(i);
    if (state != "ok" && state != "draining" && state != "filling") ++lost;
  }
  lost = std::max(lost, parts_.space->lost_devices());
  status.faults_tolerated = tolerated_with(lost, parts_.shape->m());
  status.health = health_with(lost, parts_.shape->m());
  show_damage(status);
  return status;
}

// Ends its view of the index before it returns: statistics of the index look at another one.
Status Engine::add_records(SpaceUsage& usage, const std::function<bool()>& go_on) {
  std::uint64_t steps = 0;
  const auto check = [&]() -> Status {
    constexpr std::uint64_t kSteps = 1024;
    if (!go_on || ++steps % kSteps != 0 || go_on()) return {};
    return Error{ErrorCode::kClosed, "space was being counted, and nobody wants to know any more",
                 ""};
  };
  HEXAD_TRY_ASSIGN(ReadState state, reads_->read_state());
  const RecordShape& shape = parts_.shape->record;
  std::set<ShareId> counted;
  const auto add = [&](const ExtentList& extents) {
    for (const Blob& blob : blobs_of(parts_.log_blobs->resolve(extents))) {
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

// One pass over all records: costs time with the number of objects, and is exact.
Result<SpaceUsage> Engine::space_usage(const std::function<bool()>& go_on) {
  SpaceUsage usage;
  HEXAD_TRY(add_records(usage, go_on));
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
  usage.held_by_readers = room.held * user_unit;
  usage.waiting = (room.units.deferred - room.held) * user_unit;
  usage.internally_reserved = room.reserve * user_unit;
  // The reserve may be more than is left.
  const std::uint64_t left = room.units.free + room.units.deferred - room.held + to_come;
  const std::uint64_t kept = room.reserved + room.reserve;
  usage.available = (left > kept ? left - kept : 0) * user_unit;
  usage.available_for_mix = room_for_mix(usage);
  usage.internal_metadata = room.internal * user_unit;
  usage.free_runs = classes_of(parts_.space->free_runs(), user_unit);
  usage.fragmentation = parts_.space->fragmentation();
  usage.granted_of_wanted = granted_of_wanted(*parts_.counters);
  HEXAD_TRY_ASSIGN(const kv::IndexStats index, parts_.index->stats());
  usage.metadata = index.bytes_used;
  return usage;
}

Result<ObjectRoom> Engine::room_for(std::uint64_t object_size) {
  if (object_size == 0 || object_size > kMaxObjectSize) {
    return Error{
        ErrorCode::kInvalidArgument,
        "objects of " + std::to_string(object_size) + " bytes: there are none of that size",
        "Name a size from 1 to " + std::to_string(kMaxObjectSize) + " bytes."};
  }
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
  const std::uint64_t left = room.units.free + room.units.deferred - room.held + to_come;
  pool.left_units = left - std::min(left, room.reserved);
  pool.gain_units = units_to_gain(candidates, rules);
  pool.has_runs = !parts_.memory_only;
  pool.reserve = checkpointer_->reserve_input();
  return room_for_objects(object_size, pool, *parts_.shape);
}

std::vector<EffectiveOption> Engine::effective_options() const {
  const RuntimeOptions& given = parts_.options;
  const RuntimeOptions defaults;
  const StoreShape& shape = *parts_.shape;
  std::vector<EffectiveOption> options;
  const auto from_label = [&](const char* name, std::string value) {
    options.push_back({name, std::move(value), "label"});
  };
  from_label("profile", ec::to_string(shape.profile));
  from_label("codec", ec::codec_to_string(shape.profile));
  from_label("redundant_devices", parts_.redundant_devices ? "true" : "false");
  from_label("min_alloc", format_size(shape.unit));
  from_label("physical_block", format_size(shape.block));
  from_label("log_block", format_size(shape.log_block));
  from_label("checksum", std::string(hexad::to_string(shape.record.checksum)));
  from_label("checksum_block", format_size(shape.record.checksum_block));
  from_label("compression", compression::to_string(parts_.compression));
  const auto runtime = [&](const char* name, std::uint64_t value, std::uint64_t usual,
                           std::string text) {
    options.push_back({name, std::move(text), value == usual ? "default" : "given"});
  };
  runtime("access", static_cast<std::uint64_t>(given.access),
          static_cast<std::uint64_t>(defaults.access),
          given.access == Access::kReadWrite ? "read-write" : "read-only");
  runtime("memtable_size", given.memtable_size, defaults.memtable_size,
          format_size(given.memtable_size));
  runtime("max_transaction", given.max_transaction, defaults.max_transaction,
          format_size(given.max_transaction));
  runtime("max_in_flight", given.max_in_flight, defaults.max_in_flight,
          format_size(given.max_in_flight));
  runtime("stream_buffer", given.stream_buffer, defaults.stream_buffer,
          format_size(given.stream_buffer));
  runtime("cache_size", given.cache_size, defaults.cache_size, format_size(given.cache_size));
  runtime("flush_sharing", static_cast<std::uint64_t>(given.flush_sharing),
          static_cast<std::uint64_t>(defaults.flush_sharing),
          given.flush_sharing == FlushSharing::kWhereSafe ? "where-safe" : "never");
  runtime("unwritable_devices", static_cast<std::uint64_t>(given.unwritable_devices),
          static_cast<std::uint64_t>(defaults.unwritable_devices),
          given.unwritable_devices == Unwritable::kRefuse ? "refuse" : "lose");
  runtime("log_durability", static_cast<std::uint64_t>(given.log_durability),
          static_cast<std::uint64_t>(defaults.log_durability),
          std::string(to_string(given.log_durability)));
  runtime("split_risk", static_cast<std::uint64_t>(given.split_risk),
          static_cast<std::uint64_t>(defaults.split_risk),
          given.split_risk == SplitRisk::kRefuse ? "refuse" : "take");
  runtime("bus_errors", static_cast<std::uint64_t>(given.bus_errors),
          static_cast<std::uint64_t>(defaults.bus_errors),
          given.bus_errors == BusErrors::kLeave ? "leave" : "explain");
  runtime("catch_up", static_cast<std::uint64_t>(given.catch_up),
          static_cast<std::uint64_t>(defaults.catch_up),
          given.catch_up == CatchUp::kInBackground ? "background" : "asked");
  runtime("returns", static_cast<std::uint64_t>(given.returns),
          static_cast<std::uint64_t>(defaults.returns),
          given.returns == Returns::kByThemselves ? "by-themselves" : "when-asked");
  runtime("hedged_reads", static_cast<std::uint64_t>(given.hedged_reads),
          static_cast<std::uint64_t>(defaults.hedged_reads),
          std::string(to_string(given.hedged_reads)));
  runtime("device_patience", given.device_patience, defaults.device_patience,
          std::to_string(given.device_patience) + " s");
  options.push_back({"io_queue", parts_.system->queue().name(), "computed"});
  return options;
}

std::vector<Counter> Engine::counters() {
  fold_counters();
  return parts_.counters->snapshot();
}

// Devices and the compressor count on their own; their numbers are copied into the registry.
void Engine::fold_counters() {
  const compression::CounterValues values = parts_.compression_counters->snapshot();
  Counters& counters = *parts_.counters;
  std::uint64_t flushes = 0;
  // One that was removed has been counted, and its number may be another one's.
  std::set<DeviceId> ids;
  for (std::size_t i = 0; i < parts_.members->size(); ++i) ids.insert(parts_.members->at(i).id);
  for (const DeviceId id : ids) {
    for (const io::Device* const handle : parts_.members->all_handles(id)) {
      flushes += handle->traffic().flushes.load(std::memory_order_relaxed) +
                 handle->traffic().durable_writes.load(std::memory_order_relaxed);
    }
  }
  const ReadCache::Tally cached = cache_.take_tally();
  constexpr auto kFilters = static_cast<std::size_t>(kv::RunPieceKind::kFilter);
  constexpr auto kIndexes = static_cast<std::size_t>(kv::RunPieceKind::kIndex);
  constexpr auto kBlocks = static_cast<std::size_t>(kv::RunPieceKind::kData);
  const kv::ResidentPieces::Tally resident = parts_.resident->tally();
  const std::pair<CounterId, std::uint64_t> since_last_time[] = {
      {CounterId::kReads, cached.reads},
      {CounterId::kBytesRead, cached.bytes_read},
      {CounterId::kCacheRecordHits, cached.record_hits},
      {CounterId::kCacheRecordMisses, cached.record_misses},
      {CounterId::kCacheBlockHits, cached.block_hits},
      {CounterId::kCacheBlockMisses, cached.block_misses},
      {CounterId::kRunFilterHits, cached.run_hits[kFilters]},
      {CounterId::kRunFilterMisses, cached.run_misses[kFilters]},
      {CounterId::kRunIndexHits, cached.run_hits[kIndexes]},
      {CounterId::kRunIndexMisses, cached.run_misses[kIndexes]},
      {CounterId::kRunBlockHits, cached.run_hits[kBlocks]},
      {CounterId::kRunBlockMisses, cached.run_misses[kBlocks]},
      {CounterId::kCacheReads, cached.reads},
      {CounterId::kCacheBytesRead, cached.bytes_read},
      {CounterId::kCacheEvictions, cached.evictions},
  };
  const std::pair<CounterId, std::uint64_t> since_opening[] = {
      {CounterId::kFlushes, flushes},
      {CounterId::kResidentHits, resident.hits},
      {CounterId::kResidentMisses, resident.misses},
      {CounterId::kResidentBytes, resident.bytes_written},
      {CounterId::kResidentErrors, resident.errors},
      {CounterId::kCompressSuccess, values.compress_success_count},
      {CounterId::kCompressRejected, values.compress_rejected_count},
      {CounterId::kCompressSkipped, values.compress_skipped_count},
      {CounterId::kCompressed, values.compressed},
      {CounterId::kCompressedOriginal, values.compressed_original},
      {CounterId::kCompressNanos, values.compress_ns},
      {CounterId::kDecompressNanos, values.decompress_ns},
  };
  for (const auto& [id, value] : since_last_time) counters.add(id, value);
  for (const auto& [id, value] : since_opening) counters.set(id, value);
}

}  // namespace hexad::core
