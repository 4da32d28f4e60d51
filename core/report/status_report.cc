// What a store says about itself: status, options, counters.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "core/engine/engine.h"
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
    std::set<DeviceId> data;
    for (const DeviceStatus& device : status.devices) {
      if (device.flush_domain != domain) continue;
      names += (names.empty() ? "" : ", ") + std::to_string(device.id);
      if (device.role == alloc::to_string(alloc::DeviceRole::kData)) data.insert(device.id);
    }
    std::string note =
        "devices " + names + " share one flush domain: a flush that fails is the loss of all";
    if (const std::uint32_t cells = members.cells_on(data); cells > m && m > 0) {
      note += ", which is more than the profile survives (" +
              describe_lost(cells, members.domain_cells()) + "; it survives " + std::to_string(m) +
              ")";
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
  status.domain_cells = parts_.members->domain_cells();
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
  if (const std::string text = silent_->describe_silent_new(); !text.empty()) {
    status.warnings.push_back(text + ": whoever adds, drains or removes devices waits for it");
  }
  if (devices_ != nullptr) devices_->show_calls(status);
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
    device.failure_domain = member.domain;
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
    if (devices_ != nullptr && !parts_.members->is_usable(i)) {
      devices_->show_unused(member, device, status);
    }
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
  std::set<DeviceId> lacking;
  for (std::size_t i = 0; i < parts_.members->size(); ++i) {
    const bool data = parts_.members->at(i).role == alloc::DeviceRole::kData;
    if (!data || parts_.members->is_removed(i)) continue;
    const std::string state = parts_.members->state(i);
    if (state != "ok" && state != "draining" && state != "filling") {
      lacking.insert(parts_.members->at(i).id);
    }
  }
  const std::uint32_t lost =
      std::max(parts_.members->cells_on(lacking), parts_.space->lost_cells());
  status.faults_tolerated = tolerated_with(lost, parts_.shape->m());
  status.health = health_with(lost, parts_.shape->m());
  show_damage(status);
  return status;
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
  runtime("drain_lost_after", given.drain_lost_after, defaults.drain_lost_after,
          std::to_string(given.drain_lost_after) + " s");
  options.push_back({"io_queue", parts_.system->queue().name(), "computed"});
  return options;
}

std::vector<Counter> Engine::counters() {
  fold_counters();
  std::vector<Counter> counters = parts_.counters->snapshot();
  add_free_runs(counters);
  return counters;
}

// What there is now, and no count: both numbers say the same.
void Engine::add_free_runs(std::vector<Counter>& counters) {
  struct Kind {
    const char* name;
    std::uint32_t most;  // units
    std::uint64_t runs = 0;
  };
  std::array<Kind, 6> kinds{{{"alloc_free_runs_1", 1},
                             {"alloc_free_runs_2_3", 3},
                             {"alloc_free_runs_4_7", 7},
                             {"alloc_free_runs_8_15", 15},
                             {"alloc_free_runs_16_63", 63},
                             {"alloc_free_runs_64_up", UINT32_MAX}}};
  for (const std::uint32_t units : parts_.space->free_runs()) {
    const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                   [units](const Kind& one) { return units <= one.most; });
    ++kind->runs;
  }
  for (const Kind& kind : kinds) counters.push_back({kind.name, kind.runs, kind.runs});
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
