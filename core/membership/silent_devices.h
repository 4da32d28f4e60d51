// Devices that do not answer, and the waits that end for them. doc/invariants.md#waits
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/thread_annotations.h"
#include "core/api/types.h"
#include "core/commit/commit_pipeline.h"
#include "core/membership/membership.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "io/clock.h"
#include "io/device.h"
#include "io/executor.h"

namespace hexad::core {

class SilentDevices {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    const Members& members;
    Space& space;
    CommitPipeline* pipeline;             // null: the store is open for reading only
    Membership* membership;               // as the pipeline
    io::Nanos patience;                   // device_patience
    std::function<void()> lose_suspects;  // on another thread, soon
  };
  explicit SilentDevices(Parts parts) : parts_(std::move(parts)), new_mutex_(parts_.executor) {}

  // The usable device that has been silent for so long, or longest; null: none has. One that owes
  // an answer and gives others counts for as long as it owes that, and the caller has `waited`.
  const Member* find(io::Nanos limit, io::Nanos waited = 0) const;
  // Whether one takes so long that whoever waits for it may wait for longer.
  bool any_soon() const;
  // kUnavailable when one is silent, for whoever has waited since `began`: `what` begins the
  // message.
  Status check(const std::string& what, io::Nanos began) const;
  // Of data devices, where m = 0: nothing but their answers ends a wait for them (HG2).
  Status check_answers(io::Nanos limit) const;
  // Of cells on it, none: of its label and roots, that were not looked at.
  Finding finding(DeviceId device, std::uint64_t cells) const;

  // Locks the mutex, unless its holder seems to wait for a device that is silent. The thread safety
  // analysis knows no lock that is taken where a Status is OK.
  template <typename M>
  Status lock_unless_silent(M& mutex,
                            const std::string& what) const HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  // Until `lsn` is durable or the pipeline has stopped, unless a device is silent.
  Status wait_until_durable(Lsn lsn, const std::string& what) const;

  // Gives up devices that have owed an answer for too long (core/membership/hanging_devices.h), and
  // has the repair thread leave them behind. Whether there were any. Precondition: it is open for
  // writing.
  bool leave_hanging();
  // Somebody waits for it, before it is a member's; null: nobody does any more.
  void watch_new(io::Device* device);
  // What to say of it where it has been silent; empty: it has not.
  std::string describe_silent_new() const;

 private:
  const Parts parts_;
  mutable io::Mutex new_mutex_;  // below, a leaf but for what io::IoQueue::give_up() takes
  io::Device* new_device_ HEXAD_GUARDED_BY(new_mutex_) = nullptr;
};

}  // namespace hexad::core
