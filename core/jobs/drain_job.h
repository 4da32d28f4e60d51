// Drains devices that have been away for long, so that what they held is built again on the others,
// and ends that for one that comes back before it has been emptied.
//
//   DT1  only time in which somebody looked counts: a process that was stopped, or whose machine
//        slept, drains nothing because of that
//   DT2  what somebody has asked for stays so: a device that was drained by a word, before or
//        since, is drained still when it comes back, and one whose draining somebody has ended is
//        not drained again before it was back
//   DT3  whether a device is still away is asked again where nothing can change it any more: one
//        that comes back just then is not drained
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "core/job/job.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class DrainJob : public Job {
 public:
  enum class Outcome : std::uint8_t {
    kDrained,  // and note_drained() has been called, where nobody could come between
    kLater,    // somebody is changing devices just now, or it is not away any more
    kRefused,  // the others have no room for what it held: `why`
  };
  struct Attempt {
    Outcome outcome = Outcome::kLater;
    std::string why = {};
  };
  struct Work {
    // Data devices that are away and are not drained; none where the store takes no commits. Cheap.
    std::function<std::vector<DeviceId>()> away;
    // Drains one. Errors: it failed.
    std::function<Result<Attempt>(DeviceId)> drain;
    // Of one that this has drained: where it is in use again, ends that. True: it is drained no
    // more, whoever ended that.
    std::function<Result<bool>(DeviceId)> end;
  };
  // It looks so often within the limit, once a minute at least, and once a second at most. What
  // left is seen at the next look, and what is due at another one.
  static constexpr io::Nanos kLooks = 8;
  static constexpr io::Nanos kMostBetween = 60'000'000'000;
  static constexpr io::Nanos kLeastBetween = 1'000'000'000;

  // `limit`: how long a device may be away; 0: for ever.
  DrainJob(io::Executor& executor, io::Nanos limit, Work work);

  struct Standing {
    io::Nanos left = 0;   // until it is drained
    std::string refused;  // why it could not be, the last time
  };
  // Of one that is away. Nothing: it has not been looked at, or is left alone. Any thread.
  std::optional<Standing> standing(DeviceId id);
  // Whether it is drained since it was away for so long. Any thread.
  bool has_drained(DeviceId id);
  // The job has drained it. Under the lock under which it was.
  void note_drained(DeviceId id);
  // DT2: somebody has asked for it to be drained, or to be drained no more. Any thread.
  void note_asked_to_drain(DeviceId id);
  void note_asked_to_end(DeviceId id);

  std::string_view name() const override { return "drain"; }
  std::string_view purpose() const override {
    return "having what a device held that is away for long built again on the others";
  }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  struct Away {
    io::Nanos waited = 0;
    std::string refused;
  };
  // Adds what has passed since the last look to all that were away then, and returns those whose
  // time is over.
  std::vector<DeviceId> look(io::Nanos passed);
  Result<bool> drain_all(const std::vector<DeviceId>& due);
  Result<bool> end_those_that_are_back();

  io::Clock& clock_;
  const io::Nanos limit_;
  const io::Nanos every_;
  const Work work_;
  io::Nanos last_;       // look; by the job's thread alone, which due() is asked by, too
  bool failed_ = false;  // the last step, likewise
  io::Mutex mutex_;      // a leaf
  std::map<DeviceId, Away> away_ HEXAD_GUARDED_BY(mutex_);
  std::set<DeviceId> drained_ HEXAD_GUARDED_BY(mutex_);
  std::set<DeviceId> left_alone_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
