// The devices of a store that is open for writing, and all that can be done with them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "core/api/types.h"
#include "core/devices/catch_ups.h"
#include "core/devices/device_changes.h"
#include "core/devices/device_drains.h"
#include "core/devices/device_parts.h"
#include "core/devices/device_replacement.h"
#include "core/devices/device_returns.h"
#include "core/devices/device_turn.h"
#include "core/devices/fast_directories.h"
#include "core/devices/slab_moves.h"
#include "core/membership/silent_devices.h"
#include "core/runs/run_catalogue.h"
#include "kv/index.h"

namespace hexad::core {

class Devices {
 public:
  // What else they need of those that stand above them; as the classes say that use it.
  struct Above {
    SilentDevices& silent;
    RunCatalogue& runs;
    kv::IndexHome& indexes;
    std::string index_directory;
    std::function<Result<ScrubReport>(const ScrubOptions&)> fill_cells = {};
    std::function<void()> look_again = {};
    std::function<void()> clean_again = {};
    std::function<Status()> make_zone = {};
    std::function<void()> reclaim = {};
    DeviceChanges::RunApart run_apart = {};
  };
  // All outlive it.
  Devices(DeviceParts parts, const Above& above);

  DeviceChanges& changes() { return changes_; }
  DeviceDrains& drains() { return drains_; }
  DeviceReplacement& replacement() { return replacement_; }
  DeviceReturns& returns() { return returns_; }
  CatchUps& catch_ups() { return catch_ups_; }
  SlabMoves& moves() { return moves_; }

  // As Store::clear_device_errors().
  Status clear_errors(const std::vector<DeviceId>& devices);
  // What is remembered of them is written, if it is not as the last checkpoint wrote it.
  void keep_records();
  // Calls of the kernel for paths of devices that last for long.
  void show_calls(StoreStatus& status);
  // Of a member that is not used.
  void show_unused(const Member& member, DeviceStatus& device, StoreStatus& status);
  // False: somebody is in such a call still.
  bool outlast_calls();

 private:
  const DeviceParts parts_;
  DeviceTurn turn_;
  SlabMoves moves_;
  CatchUps catch_ups_;
  FastDirectories fast_;
  DeviceReturns returns_;
  DeviceDrains drains_;
  DeviceChanges changes_;
  DeviceReplacement replacement_;
};

}  // namespace hexad::core
