// A device that goes, and another one for it, while the store is open and serves. One that is lost,
// and a fast one, gives its place to the new one, number and all: RP1 to RP6 of
// doc/invariants.md#replacing-while-the-store-serves. One that answers is emptied onto the others,
// of which the new one is one more, and removed: nothing that is not there already, and no moment
// with less redundancy than before.
#pragma once

#include <string>

#include "base/error.h"
#include "base/ids.h"
#include "base/thread_annotations.h"
#include "core/api/types.h"
#include "core/devices/catch_ups.h"
#include "core/devices/device_changes.h"
#include "core/devices/device_drains.h"
#include "core/devices/device_parts.h"
#include "core/devices/device_returns.h"
#include "core/devices/device_turn.h"
#include "core/devices/fast_directories.h"
#include "core/devices/room_elsewhere.h"
#include "core/devices/slab_moves.h"
#include "core/membership/silent_devices.h"
#include "core/opening/new_device.h"

namespace hexad::core {

class DeviceReplacement {
 public:
  // What of the room it needs. All outlive it.
  struct Beside {
    DeviceTurn& turn;
    SilentDevices& silent;
    SlabMoves& moves;
    CatchUps& catch_ups;
    FastDirectories& fast;
    DeviceReturns& returns;
    DeviceDrains& drains;
    DeviceChanges& changes;
  };
  DeviceReplacement(const DeviceParts& parts, const Beside& beside);

  // As Store::replace_device(). The number of the new device, which is another one where
  // `replacement` names one that answers.
  Result<DeviceId> run(const Replacement& replacement);
  // Only what begins it: then slabs are to be moved off that, and it is to be removed.
  Result<DeviceId> begin(const Replacement& replacement);

 private:
  struct Former;
  Result<DeviceId> replace_fast(const Replacement& replacement)
      HEXAD_REQUIRES(beside_.turn.mutex());
  Result<DeviceId> take_place(const Replacement& replacement, const std::string& path)
      HEXAD_REQUIRES(beside_.turn.mutex());
  Result<AddedTo> in_place_of(DeviceId id, const std::string& path)
      HEXAD_REQUIRES(beside_.turn.mutex());
  void give_back_place(DeviceId id, Former former) HEXAD_REQUIRES(beside_.turn.mutex());
  // The turn of `returns` is this one's, which the thread safety analysis cannot know.
  Status rejoin(DeviceId id, bool& failed_again, const std::set<DeviceId>& fresh)
      HEXAD_REQUIRES(beside_.turn.mutex()) HEXAD_NO_THREAD_SAFETY_ANALYSIS {
    return beside_.returns.rejoin(id, failed_again, fresh);
  }
  // Not under the turn.
  Result<DeviceId> add_beside(const Replacement& replacement);
  Status move_off(const Replacement& replacement, DeviceId by);
  Status remove_emptied(const Replacement& replacement, DeviceId by);

  const DeviceParts& parts_;
  const Beside beside_;
  const RoomElsewhere room_;
};

}  // namespace hexad::core
