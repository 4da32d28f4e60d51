// The devices of a store that is open: one more, one less. AD1 to AD6 of
// doc/invariants.md#devices-more-and-less.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "alloc/device_layout.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/thread_annotations.h"
#include "core/devices/catch_ups.h"
#include "core/devices/device_parts.h"
#include "core/devices/device_turn.h"
#include "core/devices/fast_directories.h"
#include "core/devices/room_elsewhere.h"
#include "core/devices/slab_moves.h"
#include "core/membership/silent_devices.h"
#include "core/opening/new_device.h"
#include "core/runs/run_catalogue.h"

namespace hexad::core {

class DeviceChanges {
 public:
  // Runs the work on a thread of its own, as Errands::run_apart() (core/job/errands.h).
  using RunApart = std::function<Status(std::function<Status()> work,
                                        const std::function<std::optional<Error>()>& leave)>;
  // What of the room it needs. All outlive it.
  struct Beside {
    DeviceTurn& turn;
    SilentDevices& silent;
    SlabMoves& moves;
    CatchUps& catch_ups;
    FastDirectories& fast;
    RunCatalogue& runs;
    RunApart run_apart;
  };
  DeviceChanges(const DeviceParts& parts, Beside beside);

  // As Store::add_device() and Store::add_fast_device(); `accept`: as AddedTo has it.
  using AcceptLayout = std::function<Status(const alloc::DeviceLayout&)>;
  using Progress = std::function<bool(std::uint64_t done, std::uint64_t total)>;
  Result<DeviceId> add(const std::string& path, const AcceptLayout& accept = {},
                       const Progress& progress = {}, const std::string& domain = {});
  Result<DeviceId> add_fast(const std::string& directory, const Progress& progress = {});
  // As Store::remove_device().
  Status remove(DeviceId id);

 private:
  Status may_add(const std::string& path, const AddedTo& to) const;
  Status check_domain(const AddedTo& to) const;
  // What is added at the path has to fit that. Errors: those of may_add().
  Status find_added_to(const std::string& path, AddedTo& to) HEXAD_REQUIRES(beside_.turn.mutex());
  Result<DeviceId> add_opened(OpenedDevice opened, AddedTo& to)
      HEXAD_REQUIRES(beside_.turn.mutex());
  // Not under the turn.
  Result<DeviceId> add_at(const std::string& path, AddedTo& to);
  Status check_empty(DeviceId id) const;
  Status remove_data_device(const Member& member) HEXAD_REQUIRES(beside_.turn.mutex());
  Status remove_fast_device(DeviceId id) HEXAD_REQUIRES(beside_.turn.mutex());
  enum class Settle : std::uint8_t { kNeedless, kFirst };
  Status remove_row(DeviceId id, Settle settle) HEXAD_REQUIRES(beside_.turn.mutex());

  const DeviceParts& parts_;
  const Beside beside_;
  const RoomElsewhere room_;
};

}  // namespace hexad::core
