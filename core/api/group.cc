#include "core/api/group.h"

#include <utility>

#include "io/rbd/rbd_group.h"

namespace hexad {

Result<PoolDescription> expand_group(PoolDescription pool) {
  if (pool.devices.size() != 1) return pool;
  HEXAD_TRY_ASSIGN(pool.devices, io::images_of_group(pool.devices.front()));
  return pool;
}

Result<std::string> take_snapshot(const PoolDescription& pool, const std::string& name,
                                  const std::string& group) {
  HEXAD_TRY_ASSIGN(const PoolDescription images, expand_group(pool));
  return io::take_group_snapshot(images.devices, name, group);
}

Result<std::vector<GroupSnapshot>> list_snapshots(const PoolDescription& pool) {
  HEXAD_TRY_ASSIGN(const PoolDescription images, expand_group(pool));
  HEXAD_TRY_ASSIGN(const std::vector<io::GroupSnapshot> all,
                   io::list_group_snapshots(images.devices));
  std::vector<GroupSnapshot> found;
  for (const io::GroupSnapshot& one : all) {
    found.push_back({one.name, one.images == images.devices.size(), one.taken_at});
  }
  return found;
}

Status remove_snapshot(const PoolDescription& pool, const std::string& name) {
  HEXAD_TRY_ASSIGN(const PoolDescription images, expand_group(pool));
  return io::remove_group_snapshot(images.devices, name);
}

}  // namespace hexad
