#include "tools/verbs/pool_paths.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "io/device_path.h"

namespace hexad::tools {

namespace {

bool has(const std::vector<std::string>& paths, const std::string& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

}  // namespace

std::string absolute_path(const std::string& path) {
  if (io::is_address(path)) return path;
  std::error_code ignored;  // fails only without a current directory; then the path stays
  const std::filesystem::path full = std::filesystem::absolute(path, ignored);
  return full.empty() ? path : full.lexically_normal().string();
}

Status put_path_in_place(const Session& session, const std::string& old, const std::string& path) {
  if (session.pool().directory.empty()) return {};
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  if (has(pool.devices, path)) return {};
  const auto at = std::find(pool.devices.begin(), pool.devices.end(), old);
  if (at != pool.devices.end()) {
    *at = path;
  } else {
    pool.devices.push_back(path);
  }
  return write_pool(session.pool().directory, pool);
}

Result<bool> add_path(const Session& session, const std::string& path) {
  if (session.pool().directory.empty()) return false;
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  if (has(pool.devices, path)) return false;
  pool.devices.push_back(path);
  HEXAD_TRY(write_pool(session.pool().directory, pool));
  return true;
}

Status remove_path(const Session& session, const std::string& path) {
  if (session.pool().directory.empty()) return {};
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  if (!has(pool.devices, path)) return {};
  std::erase(pool.devices, path);
  return write_pool(session.pool().directory, pool);
}

Status put_fast_in_place(const Session& session, const std::string& old,
                         const std::string& directory) {
  if (session.pool().directory.empty()) return {};
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  std::vector<std::string>& all = pool.fast_directories;
  if (has(all, directory)) return {};
  const auto at = std::find(all.begin(), all.end(), old);
  if (at != all.end()) {
    *at = directory;
  } else {
    all.push_back(directory);
  }
  return write_pool(session.pool().directory, pool);
}

bool is_its_path(const StoreStatus& before, const DeviceStatus& device) {
  const auto is_away = [](const DeviceStatus& one) {
    return one.state == "missing" || one.state == "unreadable";
  };
  if (device.role != "data" || device.path.empty()) return false;
  return !is_away(device) ||
         std::count_if(before.devices.begin(), before.devices.end(), is_away) == 1;
}

}  // namespace hexad::tools
