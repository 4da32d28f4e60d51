#include "core/space/log_set.h"

#include <algorithm>
#include <bit>

#include "alloc/failure_domains.h"
#include "ec/profile.h"
#include "io/os_error.h"
#include "io/refused.h"
#include "kv/log/log_scan.h"

namespace hexad::core {

// The copies that a scan tells apart: 64 (kv/log/log_scan.h).
static_assert(2 * (ec::kMaxParityShards + 1) <= 64);

std::vector<DeviceId> choose_log_devices(std::span<const LogCandidate> candidates, std::uint32_t m,
                                         std::uint32_t domain_cells) {
  std::uint64_t size = 0;
  const auto first_of = [&](alloc::DeviceRole role) {
    std::vector<DeviceId> chosen;
    alloc::MostCells cells(domain_cells);
    for (const LogCandidate& candidate : candidates) {
      if (candidate.role != role || candidate.log_size == 0 || chosen.size() > m) continue;
      if (size == 0) size = candidate.log_size;
      if (candidate.log_size != size) continue;
      const std::uint32_t before = cells.count();
      cells.add(candidate.domain);
      if (cells.count() > before) chosen.push_back(candidate.id);
    }
    return chosen;
  };
  const std::vector<DeviceId> data = first_of(alloc::DeviceRole::kData);
  std::vector<DeviceId> chosen = first_of(alloc::DeviceRole::kLog);
  chosen.insert(chosen.end(), data.begin(), data.end());  // A9: beside the fast ones, all of them
  return chosen;
}

std::vector<DeviceId> choose_log_devices(const Members& members, std::uint32_t m,
                                         std::optional<DeviceId> without) {
  std::vector<LogCandidate> candidates;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (!members.is_usable(i) || member.id == without) continue;
    candidates.push_back({member.id, member.role, member.layout.log_size, member.domain});
  }
  return choose_log_devices(candidates, m, members.domain_cells());
}

namespace {

std::vector<std::uint64_t> refusals_of(const std::vector<kv::LogArea>& areas) {
  std::vector<std::uint64_t> counts;
  for (const kv::LogArea& area : areas) counts.push_back(area.device->traffic().refused);
  return counts;
}

// What a device has refused since its count was `before`.
Status refused_since(const std::vector<kv::LogArea>& areas,
                     const std::vector<std::uint64_t>& before) {
  for (std::size_t i = 0; i < areas.size(); ++i) {
    if (areas[i].device->traffic().refused == before[i]) continue;
    if (const std::optional<Error> why = areas[i].device->last_refusal()) return *why;
  }
  return {};
}

}  // namespace

Status resync_log_copies(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                         const kv::LogWriter& log, const Uuid& uuid, std::set<DeviceId>& failed) {
  kv::LogScanOptions options;
  options.uuid = uuid;
  options.block_size = log.block_size();
  options.trim = log.trim_point();
  const std::vector<std::uint64_t> before = refusals_of(areas);
  const Result<kv::LogScan> scanned = kv::scan_log(areas, options);
  // A block that was not read for want of memory is not one that is not there.
  HEXAD_TRY(refused_since(areas, before));
  HEXAD_TRY(scanned.status());
  const kv::LogScan& scan = *scanned;
  HEXAD_TRY(kv::check_log_scan(scan));
  if (!(scan.end == log.last())) {
    return Error{ErrorCode::kUnknown,
                 "the log ends at LSN " + std::to_string(scan.end.lsn) + " on the devices left, " +
                     "LSN " + std::to_string(log.last().lsn) + " was written last",
                 "Close the store, check the devices, open it again."};
  }
  std::uint64_t bits = 0;
  HEXAD_ASSERT(!ids.empty() && ids.size() <= areas.size());
  const std::uint64_t to = ~std::uint64_t{0} >> (64 - ids.size());
  HEXAD_TRY(kv::run_log_rewrite(scan, kv::plan_log_rewrite(scan), &bits, to));
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
    if (scanned) continue;
    Status copied = kv::copy_log(scan, 0, areas[i]);
    if (!copied.ok() && !io::is_medium(copied.error())) return copied;
    if (!copied.ok()) failed.insert(ids[i]);
  }
  return {};
}

Result<std::set<DeviceId>> write_fence(kv::PreparedBlock& fence, const Members& members,
                                       const SendAgain& again) {
  io::IoBatch batch;
  for (io::IoRequest& request : fence.requests) {
    request.mode = io::WriteMode::kDurable;
    batch.requests.push_back(request);
  }
  io::IoQueue& queue = batch.requests.front().device->queue();
  queue.run(batch);
  HEXAD_TRY(again(batch));
  std::set<DeviceId> failed;
  for (const io::IoRequest& request : batch.requests) {
    if (!request.status.ok()) failed.insert(members.owner(request.device)->id);
  }
  return failed;
}

}  // namespace hexad::core
