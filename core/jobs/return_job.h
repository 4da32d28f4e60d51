// Takes devices in that have left and answer again: looks at each now and then, the longer it has
// been away the less often (core/membership/return_schedule.h).
//
// A look opens a path that may be that of a disk which was pulled, and such a call may not come
// back. So the job has a thread to itself, and holds nothing while it looks.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/api/options.h"
#include "core/job/job.h"
#include "core/membership/return_schedule.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class ReturnJob : public Job {
 public:
  enum class Outcome : std::uint8_t {
    kBack,      // it is used again
    kNotThere,  // it cannot be opened or read, or owes answers
    kRefused,   // it is not what left, or has lost something: `why`
    kBusy,      // somebody else is at it
    kFailed,    // it could not be taken in: `why`
    kLeft,      // the same, and it was in use for a moment
  };
  struct Attempt {
    Outcome outcome = Outcome::kNotThere;
    std::string why = {};
  };
  struct Work {
    // Those that could be taken in; none where the store takes nothing in. Cheap.
    std::function<std::vector<AwayDevice>()> away;
    // Looks at one, and takes it in where that will do. May wait for devices.
    std::function<Attempt(DeviceId)> attempt;
  };
  // `returns` as in RuntimeOptions: unless by themselves, the job does nothing.
  ReturnJob(io::Executor& executor, Returns returns, Work work)
      : clock_(executor.clock()),
        by_themselves_(returns == Returns::kByThemselves),
        work_(std::move(work)),
        mutex_(executor) {}

  // A device has left, or others are away than were. The scheduler is to be woken. Any thread.
  void note_change() { changed_.store(true, std::memory_order_release); }
  // Somebody has asked for the device: what was before does not count. Likewise.
  void ask_for(DeviceId id);
  // Nothing: it is not away, or nobody looks. Any thread.
  std::optional<ReturnSchedule::Standing> standing(DeviceId id);

  std::string_view name() const override { return "return"; }
  std::string_view purpose() const override {
    return "taking in devices that have left and answer again";
  }
  std::optional<io::Nanos> due() override;
  // One device. Errors: it was there, and could not be taken in.
  Result<bool> step() override;
  void stop() override { stopping_.store(true); }
  bool is_stopping() const { return stopping_.load(); }

 private:
  io::Clock& clock_;
  const bool by_themselves_;
  const Work work_;
  std::atomic<bool> changed_{false};
  std::atomic<bool> stopping_{false};
  io::Mutex mutex_;  // a leaf
  ReturnSchedule schedule_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
