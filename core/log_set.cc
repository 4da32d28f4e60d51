#include "core/log_set.h"

#include <algorithm>
#include <bit>

#include "kv/log_scan.h"

namespace hexad::core {

std::vector<DeviceId> choose_log_devices(const Members& members, std::uint32_t m) {
  std::vector<DeviceId> chosen;
  std::uint64_t size = 0;
  for (const alloc::DeviceRole role : {alloc::DeviceRole::kLog, alloc::DeviceRole::kData}) {
    for (std::size_t i = 0; i < members.size() && chosen.size() <= m; ++i) {
      const Member& member = members.at(i);
      if (member.role != role || !members.usable(member.id) || member.layout.log_size == 0)
        continue;
      if (size == 0) size = member.layout.log_size;
      if (member.layout.log_size == size) chosen.push_back(member.id);
    }
  }
  return chosen;
}

Status bring_log_up(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                    const kv::LogWriter& log, const Uuid& uuid, std::set<DeviceId>& failed) {
  kv::LogScanOptions options;
  options.uuid = uuid;
  options.block_size = log.block_size();
  options.trim = log.trim_point();
  HEXAD_TRY_ASSIGN(const kv::LogScan scan, kv::scan_log(areas, options));
  HEXAD_TRY(kv::check_log_scan(scan));
  if (!(scan.end == log.last())) {
    return Error{ErrorCode::kUnknown,
                 "the log ends at LSN " + std::to_string(scan.end.lsn) + " on the devices left, " +
                     "LSN " + std::to_string(log.last().lsn) + " was written last",
                 "Close the store, check the devices, open it again."};
  }
  std::uint64_t bits = 0;
  HEXAD_TRY(kv::run_log_rewrite(scan, kv::plan_log_rewrite(scan), &bits));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((bits >> i & 1) != 0) failed.insert(ids[i]);
  }
  return {};
}

Status copy_chain(const kv::LogScan& scan, const std::vector<kv::LogArea>& areas,
                  const std::vector<DeviceId>& ids, Counters& counters,
                  std::set<DeviceId>& failed) {
  // Copies that were scanned lack single blocks; the others are new and get everything.
  std::uint64_t bits = 0;
  const std::vector<kv::LogRewriteStep> steps = kv::plan_log_rewrite(scan);
  // The plan rewrites the end of the log in any case (R8); what was missing somewhere is counted.
  for (const kv::LogRewriteStep& step : steps) {
    const auto held = static_cast<std::size_t>(std::popcount(scan.blocks[step.block].copies));
    if (held < scan.areas.size()) counters.add(CounterId::kRecoveryLogCopiesHealed);
  }
  HEXAD_TRY(kv::run_log_rewrite(scan, steps, &bits));
  for (std::size_t i = 0; i < areas.size(); ++i) {
    bool scanned = false;
    for (std::size_t j = 0; j < scan.areas.size(); ++j) {
      if (scan.areas[j].device != areas[i].device) continue;
      scanned = true;
      if ((bits >> j & 1) != 0) failed.insert(ids[i]);
    }
    if (!scanned && !kv::copy_log(scan, 0, areas[i]).ok()) failed.insert(ids[i]);
  }
  return {};
}

std::set<DeviceId> write_fence(kv::PreparedBlock& fence, const Members& members) {
  io::IoBatch batch;
  for (io::IoRequest& request : fence.requests) {
    request.mode = io::WriteMode::kDurable;
    batch.requests.push_back(request);
  }
  io::IoQueue& queue = batch.requests.front().device->queue();
  queue.run(batch);
  std::set<DeviceId> failed;
  for (const io::IoRequest& request : batch.requests) {
    if (!request.status.ok()) failed.insert(members.owner(request.device)->id);
  }
  return failed;
}

}  // namespace hexad::core
