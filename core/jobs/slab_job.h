// Moves slabs off devices that are drained, and to devices that have room: some at a time, with as
// long a rest behind as they took, so that whoever commits has the devices for half of the time at
// least.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/job/job.h"
#include "core/job/pace.h"
#include "io/clock.h"

namespace hexad::core {

class SlabJob : public Job {
 public:
  struct Round {
    std::uint64_t moved = 0;  // slabs
    std::uint64_t left = 0;   // that were to be moved before it
    bool leaving = false;     // slabs that were left are not free yet
    bool given_up = false;    // for somebody who needed the space
    std::string problem;      // why none was
  };
  // Moves some slabs; asks now and then whether to go on.
  using MoveSome = std::function<Result<Round>(const std::function<bool()>& go_on)>;
  SlabJob(io::Clock& clock, MoveSome move_some) : clock_(clock), move_some_(std::move(move_some)) {}

  // A store that is open for a moment moves nothing.
  static constexpr io::Nanos kFirstWait = 2'000'000'000;
  // What could not be moved is tried again after the first, then after twice as long, up to the
  // longest.
  static constexpr io::Nanos kFirstPause = 1'000'000'000;
  static constexpr io::Nanos kLongestPause = 600'000'000'000;
  // Until slabs that were left are looked at again: then they are free.
  static constexpr io::Nanos kLeaving = 2'000'000'000;

  // While there is one nothing is begun: somebody moves slabs at a pace of his own. Null: of
  // nobody. Whatever was asked for meanwhile is done when it is asked for again.
  class Hold {
   public:
    explicit Hold(SlabJob* job) : job_(job) {
      if (job_ != nullptr) job_->held_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~Hold() {
      if (job_ != nullptr) job_->held_.fetch_sub(1, std::memory_order_acq_rel);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    SlabJob* const job_;
  };

  // Something may have to be moved, after `wait`. The scheduler is to be woken. Any thread.
  void want(io::Nanos wait = 0);

  std::string_view name() const override { return "slabs"; }
  std::string_view purpose() const override { return "moving slabs to other devices"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;
  JobProgress progress() override;
  void stop() override { stopping_.store(true, std::memory_order_release); }

 private:
  // By the job itself, unless others have asked meanwhile.
  void want_again(io::Nanos wait);

  io::Clock& clock_;
  const MoveSome move_some_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> anew_{false};  // by others, and no step has begun since
  std::atomic<bool> stopping_{false};
  std::atomic<int> held_{0};
  std::atomic<io::Nanos> next_{0};      // not before
  std::atomic<std::uint64_t> done_{0};  // slabs, since there was last nothing to do
  std::atomic<std::uint64_t> left_{0};
  HalfPace pace_{clock_};  // by the job's thread alone, as the next
  Backoff pause_{kFirstPause, kLongestPause};
};

}  // namespace hexad::core
