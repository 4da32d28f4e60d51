// One change of devices at a time: who has the turn brings one back, adds, replaces, drains or
// removes one. Doing so he may be in a call of the kernel that does not come back, of which the
// others are told.
#pragma once

#include "base/error.h"
#include "base/thread_annotations.h"
#include "core/devices/openings.h"
#include "core/membership/silent_devices.h"
#include "io/executor.h"

namespace hexad::core {

class DeviceTurn {
 public:
  // Both outlive it.
  DeviceTurn(io::Executor& executor, const SilentDevices& silent)
      : executor_(executor), silent_(silent), mutex_(executor), openings_(executor) {}

  // mutex() is held when this returns without an error. Errors: kUnavailable (who has it is in a
  // call of the kernel that does not come back). The thread safety analysis knows no lock that is
  // taken where a Status is OK.
  Status take() HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  // While a device comes back, takes the place of another one, or is added, drained or removed.
  io::Mutex& mutex() HEXAD_RETURN_CAPABILITY(mutex_) { return mutex_; }
  Openings& openings() { return openings_; }
  // Until nobody is in such a call. False: somebody is in one still.
  bool outlast_openings() const;

 private:
  io::Executor& executor_;
  const SilentDevices& silent_;
  io::Mutex mutex_;
  Openings openings_;
};

}  // namespace hexad::core
