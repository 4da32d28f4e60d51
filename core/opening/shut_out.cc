#include "core/opening/shut_out.h"

#include <optional>
#include <string>
#include <utility>

#include "core/opening/pool_options.h"
#include "io/os_error.h"

namespace hexad::core {

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
  for (const DeviceHolder& holder : holders) HEXAD_TRY(system.shut_out(holder.path));
  return holders;
}

}  // namespace hexad::core
