// Cleans ahead of need: core/clean/cleaner.h.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "core/job/job.h"
#include "io/clock.h"

namespace hexad::core {

class CleanJob : public Job {
 public:
  struct Work {
    // One move. False: there is nothing worth it.
    std::function<Result<bool>()> clean;
    // The same for a store at rest, which takes more pains.
    std::function<Result<bool>()> rest;
  };
  CleanJob(io::Clock& clock, Work work) : clock_(clock), work_(std::move(work)) {}

  // So long behind the last commit a store is at rest.
  static constexpr io::Nanos kRest = 1'000'000'000;

  // Something may be worth it. True: this is news, and the scheduler is to be woken. Any thread;
  // cheap.
  bool want() { return !asked_.exchange(true, std::memory_order_acq_rel); }

  // A user has committed something, and it may be worth something once the store is at rest. True:
  // this is news, and the scheduler is to be woken. Any thread; cheap.
  bool want_rest();

  std::string_view name() const override { return "clean"; }
  std::string_view purpose() const override { return "moving what is alive out of dead stripes"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  io::Clock& clock_;
  const Work work_;
  std::atomic<bool> asked_{false};
  std::atomic<bool> rest_wanted_{false};
  std::atomic<io::Nanos> last_commit_{0};
};

}  // namespace hexad::core
