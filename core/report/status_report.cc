#include "core/report/status_report.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include "base/units.h"
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

// Of all handles that it has had.
void add_traffic(const Members& members, DeviceStatus& device) {
  for (const io::Device* const handle : members.handles(device.id)) {
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
}

}  // namespace

StoreStatus StatusReport::status() const {
  StoreStatus status;
  const Members& members = *parts_.store.members;
  const std::optional<Error> stopped =
      parts_.pipeline == nullptr ? std::nullopt : parts_.pipeline->stopped();
  show_store(stopped, status);
  show_refused(status);
  parts_.show_openings(status);
  show_jobs(stopped, status);
  const std::vector<DeviceId> log_devices =
      parts_.pipeline == nullptr ? parts_.store.root.log_devices
                                 : choose_log_devices(members, parts_.store.shape->m());
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (!members.is_removed(i)) show_device(i, log_devices, status);
  }
  parts_.history.describe(status);
  note_shared_domains(members, parts_.store.shape->m(), status);
  show_log_durability(log_devices, status);
  status.devices.insert(status.devices.end(), parts_.store.unrecognised.begin(),
                        parts_.store.unrecognised.end());
  show_health(status);
  parts_.damage.show(status);
  parts_.show_layers(status);
  return status;
}

void StatusReport::show_store(const std::optional<Error>& stopped, StoreStatus& status) const {
  status.uuid = parts_.store.shape->uuid;
  status.epoch = parts_.pipeline == nullptr ? parts_.store.root.epoch : parts_.pipeline->epoch();
  status.last_lsn = parts_.pipeline == nullptr ? parts_.store.last_lsn : parts_.pipeline->durable();
  status.checkpoint_lsn = parts_.store.index->applied_lsn();
  status.log_used = parts_.pipeline == nullptr ? 0 : parts_.pipeline->log_used();
  status.io_queue = parts_.store.system->queue().name();
  status.memory_only = parts_.store.memory_only;
  status.parity_cells = parts_.store.shape->m();
  status.domain_cells = parts_.store.members->domain_cells();
  status.redundant_devices = parts_.store.redundant_devices;
  status.read_only = parts_.pipeline == nullptr || stopped.has_value();
  if (stopped.has_value()) status.read_only_reason = stopped->message;
  if (const Status ours = parts_.store.members->check_not_fenced(); !ours.ok()) {
    status.read_only = true;  // a commit would learn it now
    status.read_only_reason = ours.error().message;
  }
  status.notes = parts_.store.notes;
  status.warnings = parts_.store.warnings;
  if (const std::string problem = parts_.checkpointer.index_problem(); !problem.empty()) {
    status.notes.push_back(
        "writing the index on the fast tier failed, it is made again from the runs: " + problem);
  }
  if (std::string note = describe_resident(*parts_.store.resident); !note.empty()) {
    status.notes.push_back(std::move(note));
  }
}

void StatusReport::show_refused(StoreStatus& status) const {
  if (parts_.membership == nullptr) return;
  const std::optional<Membership::Refused> refused = parts_.membership->refused();
  if (!refused.has_value()) return;
  const io::Nanos waited = parts_.store.system->clock().now() - refused->since;
  status.warnings.push_back(
      "commits have been waiting for " + std::to_string(waited / 1'000'000'000) +
      " s, since a write is refused and sent again: " + refused->why.to_string());
}

void StatusReport::show_jobs(const std::optional<Error>& stopped, StoreStatus& status) const {
  if (parts_.jobs != nullptr) status.jobs = parts_.jobs->status();
  if (parts_.pipeline != nullptr) parts_.scrubber.show(status);
  parts_.show_control(status);
  for (const JobStatus& job : status.jobs) {
    // A store that has stopped says so itself.
    if (job.problem.empty() || stopped.has_value()) continue;
    status.notes.push_back(job.purpose + " failed: " + job.problem);
  }
}

void StatusReport::show_device(std::size_t index, const std::vector<DeviceId>& log_devices,
                               StoreStatus& status) const {
  const Members& members = *parts_.store.members;
  const Member& member = members.at(index);
  DeviceStatus device;
  device.id = member.id;
  device.path = member.path;
  device.role = alloc::to_string(member.role);
  device.state = members.state(index);
  device.detail = members.detail(index);
  device.draining = members.is_draining(member.id);
  device.failure_domain = member.domain;
  if (device.state == "behind" || device.state == "filling") {
    device.missing_bytes = parts_.store.space->lacking_units(member.id) * parts_.store.shape->unit;
  }
  device.bad_header_slots = members.bad_header_slots(index);
  device.size = member.layout.device_size;
  const Space::Slabs slabs = parts_.store.space->slabs(member.id);
  device.slabs = slabs.total;
  device.slabs_used = slabs.used;
  device.physical_block = member.layout.physical_block;
  device.direct = member.device != nullptr && member.device->direct();
  device.holds_log =
      std::find(log_devices.begin(), log_devices.end(), member.id) != log_devices.end();
  if (member.device != nullptr) {
    add_flush_domain(members, *member.device, device);
  }
  add_traffic(members, device);
  show_silence(member, device, status);
  show_given_up(member, device, status);
  if (!members.is_usable(index)) parts_.show_away(member, device, status);
  if (device.holds_log) status.log_size = member.layout.log_size;
  if (member.device != nullptr && !member.device->direct() && status.io_queue != "memory") {
    status.notes.push_back(member.path + ": direct I/O is refused here, buffered I/O is used");
  }
  status.devices.push_back(std::move(device));
}

void StatusReport::show_silence(const Member& member, DeviceStatus& device, StoreStatus& status) {
  if (member.device == nullptr || member.device->is_given_up()) return;
  if (member.device->owing_for() < kSilence) return;
  const std::string text = io::describe_silence(*member.device);
  device.detail += (device.detail.empty() ? "" : "; ") + text;
  status.warnings.push_back(
      "device " + std::to_string(member.id) + " (" + member.path + ") " + text +
      (io::is_silent(*member.device) ? ": reads go round it, commits and checkpoints wait for it"
                                     : ": commits and checkpoints may wait for that"));
}

void StatusReport::show_given_up(const Member& member, DeviceStatus& device,
                                 StoreStatus& status) const {
  if (member.device == nullptr || !member.device->is_given_up()) return;
  if (!parts_.store.members->usable(member.id)) return;
  const std::string text = "has not answered for so long that it is given up";
  device.detail += (device.detail.empty() ? "" : "; ") + text;
  status.warnings.push_back("device " + std::to_string(member.id) + " (" + member.path + ") " +
                            text + ": it is left behind with what is in flight");
}

void StatusReport::show_log_durability(const std::vector<DeviceId>& log_devices,
                                       StoreStatus& status) const {
  if (parts_.pipeline == nullptr || parts_.store.options.log_durability != LogDurability::kFast)
    return;
  const bool fast = std::any_of(log_devices.begin(), log_devices.end(), [this](DeviceId id) {
    return parts_.store.members->find(id)->role == alloc::DeviceRole::kLog;
  });
  status.notes.push_back(
      fast ? "log durability is fast: the loss of the fast device together with a crash can take "
             "the commits of the last 50 ms"
           : "log durability is fast, but no fast device holds the log: full durability is used");
}

void StatusReport::show_health(StoreStatus& status) const {
  const Members& members = *parts_.store.members;
  // Those that are read all the same, since there are too few without them, count as lost.
  std::set<DeviceId> lacking;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool data = members.at(i).role == alloc::DeviceRole::kData;
    if (!data || members.is_removed(i)) continue;
    const std::string state = members.state(i);
    if (state != "ok" && state != "draining" && state != "filling") {
      lacking.insert(members.at(i).id);
    }
  }
  const std::uint32_t lost = std::max(members.cells_on(lacking), parts_.store.space->lost_cells());
  status.faults_tolerated = tolerated_with(lost, parts_.store.shape->m());
  status.health = health_with(lost, parts_.store.shape->m());
}

}  // namespace hexad::core
