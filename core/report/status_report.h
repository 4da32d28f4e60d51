// What a store says about itself: its state, its devices, what is to be known of either.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "base/error.h"
#include "core/api/types.h"
#include "core/check/known_damage.h"
#include "core/check/scrubber.h"
#include "core/commit/commit_pipeline.h"
#include "core/job/job_scheduler.h"
#include "core/jobs/checkpointer.h"
#include "core/membership/device_history.h"
#include "core/membership/membership.h"
#include "core/opening/store_parts.h"
#include "core/space/members.h"

namespace hexad::core {

class StatusReport {
 public:
  // All outlive it.
  struct Parts {
    const StoreParts& store;
    CommitPipeline* pipeline;  // null when the store is read-only, like the next two
    Membership* membership;
    JobScheduler* jobs;
    Checkpointer& checkpointer;
    DeviceHistory& history;
    const Scrubber& scrubber;
    const KnownDamage& damage;
    // Calls for paths that do not come back, a device that is being added and does not answer.
    std::function<void(StoreStatus&)> show_openings;
    std::function<void(StoreStatus&)> show_control;  // the control socket
    std::function<void(StoreStatus&)> show_layers;   // where what is, and what it has answered
    // A member that is not used: whether it comes back, and whether it is drained.
    std::function<void(const Member&, DeviceStatus&, StoreStatus&)> show_away;
  };
  explicit StatusReport(Parts parts) : parts_(std::move(parts)) {}

  // Any thread. Takes no lock that is held while waiting.
  StoreStatus status() const;

 private:
  void show_store(const std::optional<Error>& stopped, StoreStatus& status) const;
  void show_refused(StoreStatus& status) const;
  void show_jobs(const std::optional<Error>& stopped, StoreStatus& status) const;
  void show_device(std::size_t index, const std::vector<DeviceId>& log_devices,
                   StoreStatus& status) const;
  static void show_silence(const Member& member, DeviceStatus& device, StoreStatus& status);
  void show_given_up(const Member& member, DeviceStatus& device, StoreStatus& status) const;
  void show_log_durability(const std::vector<DeviceId>& log_devices, StoreStatus& status) const;
  void show_health(StoreStatus& status) const;

  const Parts parts_;
};

}  // namespace hexad::core
