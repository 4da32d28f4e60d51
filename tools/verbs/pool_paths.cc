#include "tools/verbs/pool_paths.h"

#include <fmt/format.h>

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
  if (full.empty()) return path;
  std::string tidy = full.lexically_normal().string();
  while (tidy.size() > 1 && tidy.ends_with('/')) tidy.pop_back();
  return tidy;
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

namespace {

// Where nothing is. Of several such devices nobody knows which is which.
bool is_away(const DeviceStatus& one) {
  return one.state == "missing" || one.state == "unreadable";
}

bool shows_own_path(const StoreStatus& status, const DeviceStatus& device) {
  return !device.path.empty() &&
         (!is_away(device) ||
          std::count_if(status.devices.begin(), status.devices.end(), is_away) == 1);
}

// Those that it names, or where it names none, those that are in use.
std::vector<std::string> named_fast(const PoolDescription& pool, const StoreStatus& status) {
  std::vector<std::string> names = pool.fast_directories;
  if (!names.empty()) return names;
  for (const DeviceStatus& device : status.devices) {
    const std::string directory = fast_directory_of(status, device.id).value_or("");
    if (!directory.empty()) names.push_back(directory);
  }
  return names;
}

}  // namespace

Result<bool> add_fast_path(const Session& session, const StoreStatus& status,
                           const std::string& directory) {
  if (session.pool().directory.empty()) return false;
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  pool.fast_directories = named_fast(pool, status);
  if (has(pool.fast_directories, directory)) return false;
  pool.fast_directories.push_back(directory);
  HEXAD_TRY(write_pool(session.pool().directory, pool));
  return true;
}

Status remove_fast_path(const Session& session, const StoreStatus& status,
                        const std::string& directory) {
  if (session.pool().directory.empty()) return {};
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  pool.fast_directories = named_fast(pool, status);
  if (!has(pool.fast_directories, directory)) return {};
  std::erase(pool.fast_directories, directory);
  return write_pool(session.pool().directory, pool);
}

Status put_fast_in_place(const Session& session, const std::string& old,
                         const std::string& directory) {
  if (session.pool().directory.empty() || old == directory) return {};
  HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
  std::vector<std::string>& all = pool.fast_directories;
  std::erase(all, directory);
  if (has(all, old)) {
    std::replace(all.begin(), all.end(), old, directory);
  } else {
    all.insert(all.begin(), directory);  // the index goes to the first
  }
  return write_pool(session.pool().directory, pool);
}

std::optional<std::string> fast_directory_of(const StoreStatus& status, DeviceId id) {
  constexpr std::string_view kLog = "/log";
  for (const DeviceStatus& device : status.devices) {
    if (device.id != id || device.role != "log") continue;
    if (!device.path.ends_with(kLog) || !shows_own_path(status, device)) return "";
    return device.path.substr(0, device.path.size() - kLog.size());
  }
  return std::nullopt;
}

std::vector<std::string> without_device(const PoolDescription& pool, const StoreStatus& status) {
  std::vector<std::string> left = pool.fast_directories;
  for (const DeviceStatus& device : status.devices) {
    const std::optional<std::string> its = fast_directory_of(status, device.id);
    if (device.role != "log" || !its.has_value()) continue;
    if (its->empty()) return {};
    std::erase_if(
        left, [&](const std::string& one) { return absolute_path(one) == absolute_path(*its); });
  }
  return left;
}

void take_back_path(Session& session, const Result<StoreStatus>& now, const std::string& path,
                    PathOf of) {
  constexpr const char* kNoHarm = "the pool's description goes on naming it, which does no harm";
  if (!now.ok()) {
    return session.out().warn(
        fmt::format("whether {} has become a device of the pool could not be looked up, so {}: {}",
                    path, kNoHarm, now.error().to_string()));
  }
  if (now->read_only) {
    return session.out().warn(fmt::format(
        "the store has turned read-only, and {} may be a device of it when it is opened next: {}",
        path, kNoHarm));
  }
  const auto is_there = [&](const DeviceStatus& device) {
    if (of == PathOf::kFast) return fast_directory_of(*now, device.id) == path;
    return !device.role.empty() && device.path == path;
  };
  if (std::any_of(now->devices.begin(), now->devices.end(), is_there)) return;
  const Status taken =
      of == PathOf::kFast ? remove_fast_path(session, *now, path) : remove_path(session, path);
  if (!taken.ok()) {
    session.out().warn(fmt::format("the pool's description still names {}, which does no harm: {}",
                                   path, taken.error().to_string()));
  }
}

bool is_its_path(const StoreStatus& before, const DeviceStatus& device) {
  return device.role == "data" && shows_own_path(before, device);
}

}  // namespace hexad::tools
