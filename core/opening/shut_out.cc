#include "core/opening/shut_out.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "core/opening/pool_options.h"
#include "io/executor.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

// To shut somebody out is a round of the monitors of a cluster, about a second; all that are asked
// for at the same time share one.
constexpr std::size_t kAtOnce = 16;

// Of all of them. Returns the first error, in their order.
Status shut_out_all(const std::vector<DeviceHolder>& holders, io::System& system) {
  std::vector<Status> outcomes(holders.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < holders.size(); i = next++) {
      outcomes[i] = system.shut_out(holders[i].path);
    }
  };
  std::vector<std::unique_ptr<io::Thread>> others;
  while (others.size() + 1 < std::min(kAtOnce, holders.size())) {
    Result<std::unique_ptr<io::Thread>> thread = system.executor().try_start("hexad-fence", work);
    if (!thread.ok()) break;  // fewer at once
    others.push_back(std::move(thread).value());
  }
  work();
  for (const std::unique_ptr<io::Thread>& thread : others) thread->join();
  for (const Status& outcome : outcomes) HEXAD_TRY(outcome);
  return {};
}

}  // namespace

Result<std::vector<DeviceHolder>> find_holders(const PoolDescription& pool, io::System& system) {
  std::vector<std::string> paths = pool.devices;
  for (const std::string& directory : pool.fast_directories) {
    paths.push_back(fast_log_path(directory));
  }
  std::vector<DeviceHolder> holders;
  for (const std::string& path : paths) {
    Result<std::optional<io::Holder>> holder = system.holder(path);
    if (!holder.ok()) {
      if (io::is_medium(holder.error())) continue;
      return holder.error();
    }
    if (!holder->has_value()) continue;
    holders.push_back({path, std::move((*holder)->who), (*holder)->can_be_shut_out});
  }
  return holders;
}

Result<std::vector<DeviceHolder>> shut_out_holders(const PoolDescription& pool,
                                                   io::System& system) {
  HEXAD_TRY_ASSIGN(std::vector<DeviceHolder> holders, find_holders(pool, system));
  for (const DeviceHolder& holder : holders) {
    if (holder.can_be_shut_out) continue;
    return Error{ErrorCode::kBusy, holder.who + ", and nothing shuts it out of that",
                 "End that process; nobody has been shut out of any device."};
  }
  HEXAD_TRY(shut_out_all(holders, system));
  return holders;
}

}  // namespace hexad::core
