#include "core/membership/device_history.h"

#include <utility>

#include "base/assert.h"

namespace hexad::core {

namespace {

// Of all handles that it has had.
DeviceErrorCounts errors_of(const Members& members, DeviceId id) {
  DeviceErrorCounts errors = {};
  for (const io::Device* const device : members.handles(id)) {
    const io::DeviceTraffic& traffic = device->traffic();
    const std::atomic<std::uint64_t>* const counts[] = {
        &traffic.failed_reads, &traffic.failed_writes, &traffic.failed_flushes, &traffic.mismatches,
        &traffic.timeouts};
    for (std::size_t kind = 0; kind < kDeviceErrorKinds; ++kind) {
      errors[kind] += counts[kind]->load(std::memory_order_relaxed);
    }
  }
  return errors;
}

DeviceCompletion as_status(const DeviceFilled& last) {
  DeviceCompletion completion;
  completion.kind = to_string(last.fill.kind);
  completion.epoch = last.epoch;
  completion.lsn = last.lsn;
  completion.cells = last.fill.cells;
  completion.bytes = last.fill.bytes;
  completion.bytes_copied = last.fill.copied;
  completion.began = last.fill.began;
  completion.ended = last.ended;
  return completion;
}

}  // namespace

DeviceHistory::DeviceHistory(const Members& members, Space& space, io::Executor& executor,
                             std::map<DeviceId, DeviceRecord> records,
                             std::optional<std::uint64_t> copied)
    : members_(members),
      space_(space),
      clock_(executor.clock()),
      opened_(clock_.wall_time()),
      mutex_(executor),
      written_(std::move(records)) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_.at(i);
    if (member.replaced && copied.has_value()) copied_[member.id] = *copied;
    DeviceRecord& base = base_[member.id];
    const auto found = written_.find(member.id);
    if (found != written_.end() && found->second.uuid == member.uuid) {
      base = found->second;
    } else {
      base.uuid = member.uuid;
      base.since = opened_;
    }
  }
}

std::vector<DeviceHistory::Now> DeviceHistory::look() const {
  std::vector<Now> all;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const Member& member = members_.at(i);
    if (members_.is_removed(i)) continue;
    Now now;
    now.member = &member;
    now.errors = errors_of(members_, member.id);
    now.behind = members_.is_behind(member.id);
    now.filling = members_.is_filling(member.id);
    now.usable = members_.usable(member.id);
    now.filled = space_.filled(member.id);
    all.push_back(now);
  }
  return all;
}

// All that was filled since the opening, or since the last return, is of one fill.
DeviceRecord DeviceHistory::record_of(const Now& now, const std::set<DeviceId>& whole, Lsn lsn,
                                      Epoch epoch, std::int64_t time) const {
  const Member& member = *now.member;
  const auto known = base_.find(member.id);
  HEXAD_ASSERT(known != base_.end());
  DeviceRecord record = known->second;
  const auto forgotten = forgotten_.find(member.id);
  for (std::size_t kind = 0; kind < kDeviceErrorKinds; ++kind) {
    record.errors[kind] +=
        now.errors[kind] - (forgotten == forgotten_.end() ? 0 : forgotten->second[kind]);
  }
  if (now.behind) {
    const auto returned = returns_.find(member.id);
    const Return since = returned == returns_.end() ? Return{opened_, {}} : returned->second;
    if (!record.under_way.has_value()) {
      DeviceFill& fill = record.under_way.emplace();
      fill.began = since.time;
      if (member.replaced) {
        const auto copied = copied_.find(member.id);
        fill.kind = copied != copied_.end() ? FillKind::kReplace : FillKind::kRebuild;
        fill.copied = copied != copied_.end() ? copied->second : 0;
      } else if (now.filling) {
        fill.kind = FillKind::kRebuild;
      }
    }
    record.under_way->cells += now.filled.cells - since.before.cells;
    record.under_way->bytes += now.filled.bytes - since.before.bytes;
  } else if (const auto written = written_.find(member.id);
             written != written_.end() && written->second.uuid == member.uuid) {
    // As the checkpoint left it that made it whole, or that of an opening which did not know of it.
    record.last = written->second.last;
    record.under_way = now.usable ? std::nullopt : written->second.under_way;
  }
  if (whole.contains(member.id) && record.under_way.has_value()) {
    record.last = DeviceFilled{*record.under_way, time, epoch, lsn};
    record.under_way.reset();
  }
  return record;
}

bool DeviceHistory::is_worth_it(const DeviceRecord& record) {
  return record.errors != DeviceErrorCounts{} || record.last.has_value() ||
         record.under_way.has_value();
}

std::map<std::string, std::string> DeviceHistory::changes(const std::set<DeviceId>& whole, Lsn lsn,
                                                          Epoch epoch) {
  const std::vector<Now> all = look();
  const std::int64_t time = clock_.wall_time();
  std::map<std::string, std::string> changed;
  const io::Lock lock(mutex_);
  pending_ = written_;
  for (const Now& now : all) {
    const DeviceRecord record = record_of(now, whole, lsn, epoch, time);
    const auto before = written_.find(now.member->id);
    if (before == written_.end() ? !is_worth_it(record) : before->second == record) continue;
    changed.emplace(device_key(now.member->id), encode_device(record));
    pending_[now.member->id] = record;
  }
  return changed;
}

void DeviceHistory::written() {
  const io::Lock lock(mutex_);
  written_ = pending_;
}

bool DeviceHistory::has_changed() {
  const std::vector<Now> all = look();
  const io::Lock lock(mutex_);
  for (const Now& now : all) {
    const DeviceRecord record = record_of(now, {}, 0, 0, 0);
    const auto before = written_.find(now.member->id);
    if (before == written_.end() ? is_worth_it(record) : before->second != record) return true;
  }
  return false;
}

void DeviceHistory::note_added(DeviceId device, const Uuid& uuid) {
  change_places(device, new_past(uuid));
}

DeviceHistory::Past DeviceHistory::new_past(const Uuid& uuid) const {
  Past past;
  past.base.uuid = uuid;
  past.base.since = clock_.wall_time();
  return past;
}

DeviceHistory::Past DeviceHistory::change_places(DeviceId device, const Past& past) {
  const io::Lock lock(mutex_);
  copied_.erase(device);
  return {std::exchange(base_[device], past.base),
          std::exchange(forgotten_[device], past.forgotten)};
}

void DeviceHistory::note_return(DeviceId device) {
  const Space::Filled filled = space_.filled(device);
  const std::int64_t time = clock_.wall_time();
  const io::Lock lock(mutex_);
  returns_[device] = {time, filled};
  DeviceRecord& base = base_.at(device);
  const auto written = written_.find(device);
  const bool known = written != written_.end() && written->second.uuid == base.uuid;
  base.last = known ? written->second.last : std::nullopt;
  base.under_way = known ? written->second.under_way : std::nullopt;
}

void DeviceHistory::clear_errors(const std::set<DeviceId>& devices) {
  const std::vector<Now> all = look();
  const std::int64_t time = clock_.wall_time();
  const io::Lock lock(mutex_);
  for (const Now& now : all) {
    const DeviceId id = now.member->id;
    if (!devices.empty() && !devices.contains(id)) continue;
    base_[id].errors = {};
    base_[id].since = time;
    forgotten_[id] = now.errors;
  }
}

void DeviceHistory::describe(StoreStatus& status) {
  const std::vector<Now> all = look();
  const io::Lock lock(mutex_);
  for (const Now& now : all) {
    const DeviceRecord record = record_of(now, {}, 0, 0, 0);
    for (DeviceStatus& device : status.devices) {
      if (device.role.empty() || device.id != now.member->id) continue;
      DeviceErrors& total = device.errors_total;
      const bool any = record.errors != DeviceErrorCounts{};
      total = {any ? record.since : 0, record.errors[0], record.errors[1],
               record.errors[2],       record.errors[3], record.errors[4]};
      if (record.last.has_value()) device.last_completion = as_status(*record.last);
    }
  }
}

}  // namespace hexad::core
