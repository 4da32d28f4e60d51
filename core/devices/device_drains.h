// Devices that are drained: because somebody wants it, or because they have been away for long (DT1
// to DT3 of core/jobs/drain_job.h). AD4 of doc/invariants.md#devices-more-and-less.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/thread_annotations.h"
#include "core/api/types.h"
#include "core/devices/device_parts.h"
#include "core/devices/device_turn.h"
#include "core/devices/room_elsewhere.h"
#include "core/devices/slab_moves.h"
#include "core/jobs/drain_job.h"

namespace hexad::core {

class DeviceDrains {
 public:
  // All outlive it.
  DeviceDrains(const DeviceParts& parts, DeviceTurn& turn, SlabMoves& moves);

  // As Store::drain_device() and Store::undrain_device().
  Status drain(DeviceId id);
  Status undrain(DeviceId id);

  // Of a member that is not used.
  void show(DeviceId id, DeviceStatus& device, StoreStatus& status);
  DrainJob& job() { return job_; }

 private:
  // Under the turn.
  Status drain_locked(DeviceId id) HEXAD_REQUIRES(turn_.mutex());
  Status undrain_locked(DeviceId id) HEXAD_REQUIRES(turn_.mutex());
  // Of the job.
  std::vector<DeviceId> lost_devices() const;
  Result<DrainJob::Attempt> drain_lost(DeviceId id);
  Result<bool> end_of_returned(DeviceId id);

  const DeviceParts& parts_;
  DeviceTurn& turn_;
  SlabMoves& moves_;
  const RoomElsewhere room_;
  DrainJob job_;
};

}  // namespace hexad::core
