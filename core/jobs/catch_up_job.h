// Gives devices that have come back what was written while they were away: piece by piece, with as
// long a rest behind each as it took, so that whoever commits or reads has the devices for half of
// the time at least; without a rest where nobody did meanwhile.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/api/types.h"
#include "core/job/job.h"
#include "core/job/pace.h"
#include "io/clock.h"

namespace hexad::core {

class CatchUpJob : public Job {
 public:
  struct Work {
    std::function<bool()> wanted;  // some device is behind; cheap
    // Fills some cells, from where the options say, until their progress() says no.
    std::function<Result<ScrubReport>(const ScrubOptions&)> fill;
    // Behind a pass: has a root say which devices lack nothing any more.
    std::function<Status()> settle;
    std::function<std::uint64_t()> missing;  // bytes
    std::function<std::uint64_t()> used;  // grows with each commit and read that devices work for
  };
  CatchUpJob(io::Clock& clock, Work work) : clock_(clock), work_(std::move(work)) {}

  // What a pass could not fill is tried again after the first, then after twice as long, up to the
  // longest.
  static constexpr io::Nanos kFirstPause = 100'000'000;
  static constexpr io::Nanos kLongestPause = 600'000'000'000;

  // The scheduler is to be woken. Again when another device has come back: then it does not wait
  // for what it could not do for others.
  void start();

  std::string_view name() const override { return "catch-up"; }
  std::string_view purpose() const override {
    return "giving devices that have come back what they lack";
  }
  std::optional<io::Nanos> due() override;
  // One piece, or the end of a pass. Errors: what could not be filled, and why.
  Result<bool> step() override;
  JobProgress progress() override;
  void stop() override { stopping_.store(true, std::memory_order_release); }

 private:
  Result<bool> work();

  io::Clock& clock_;
  const Work work_;
  std::atomic<bool> started_{false};
  std::atomic<bool> anew_{false};  // started, and no step has begun since
  std::atomic<bool> stopping_{false};
  std::atomic<io::Nanos> next_{0};       // not before
  std::atomic<std::uint64_t> total_{0};  // bytes, when it began
  std::string position_;                 // by the job's thread alone, as the next two
  std::string problem_;                  // of the present pass
  HalfPace pace_{clock_};                // likewise, as the next
  Backoff pause_{kFirstPause, kLongestPause};
};

}  // namespace hexad::core
