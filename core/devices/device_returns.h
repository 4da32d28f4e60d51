// Devices that have left come back: those that are attached when the store is opened, before
// anything else is done with it; later when they are asked to, or by themselves: BK10 to BK16 of
// doc/invariants.md#coming-back.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/thread_annotations.h"
#include "core/api/types.h"
#include "core/devices/catch_ups.h"
#include "core/devices/device_parts.h"
#include "core/devices/device_turn.h"
#include "core/jobs/return_job.h"
#include "core/opening/device_survey.h"
#include "core/opening/returned_device.h"

namespace hexad::core {

class DeviceReturns {
 public:
  // All outlive it. `look_again`: the cleaner looks at all zones again.
  DeviceReturns(const DeviceParts& parts, DeviceTurn& turn, CatchUps& catch_ups,
                std::function<void()> look_again);

  // Those that are attached again when the store is opened. `notes` and `warnings`: of the
  // opening, as in StoreStatus. What fails is the affair of the device, and said there. Errors: the
  // store has turned read-only.
  Status take_in_attached(std::vector<std::string>& notes, std::vector<std::string>& warnings);
  // As Store::bring_back_device().
  Status bring_back(DeviceId id, const std::string& path);
  // One that is attached, or has been put in the place of another one, is used from now on. Under
  // the turn. `failed_again`: it was in use, and has failed. `fresh`: as for
  // Checkpointer::begin_return().
  Status rejoin(DeviceId id, bool& failed_again, const std::set<DeviceId>& fresh = {})
      HEXAD_REQUIRES(turn_.mutex());

  // A device has left, or others are away than were.
  void wake();
  // Of a member that is not used.
  void show(const Member& member, DeviceStatus& device, StoreStatus& status);
  // Ends the looks. False: one is still under way.
  bool outlast_look();
  ReturnJob& job() { return job_; }

 private:
  // Of a device that is attached: room below it, and headers of its slabs. In a store that serves
  // under zone_mutex, up to Checkpointer::begin_return().
  Status prepare(DeviceId id);
  Status finish();
  // Errors: it has not left.
  Result<ReturnedTo> returned_to(DeviceId id) const;
  // Under the turn; `failed_again` as above.
  Status bring_back_locked(DeviceId id, const std::string& path, bool& failed_again)
      HEXAD_REQUIRES(turn_.mutex());

  // return_looks.cc
  std::vector<AwayDevice> away_devices() const;
  ReturnJob::Attempt attempt(DeviceId id);
  // By the job alone, under no lock.
  ReturnLook look_at_path(DeviceId id, const std::string& path);

  const DeviceParts& parts_;
  DeviceTurn& turn_;
  CatchUps& catch_ups_;
  const std::function<void()> look_again_;
  ReturnJob job_;
  std::atomic<bool> looking_{false};          // the job is in a call that may not come back
  std::map<DeviceId, SurveyedDevice> looks_;  // that are not answered whole; of the job alone
};

}  // namespace hexad::core
