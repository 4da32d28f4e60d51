// Cleans ahead of need: core/clean/cleaner.h.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "core/job/job.h"

namespace hexad::core {

class CleanJob : public Job {
 public:
  // One move. False: there is nothing worth it.
  explicit CleanJob(std::function<Result<bool>()> clean) : clean_(std::move(clean)) {}

  // Something may be worth it. True: this is news, and the scheduler is to be woken. Any thread;
  // cheap.
  bool want() { return !asked_.exchange(true, std::memory_order_acq_rel); }

  std::string_view name() const override { return "clean"; }
  std::string_view purpose() const override { return "moving what is alive out of dead stripes"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  const std::function<Result<bool>()> clean_;
  std::atomic<bool> asked_{false};
};

}  // namespace hexad::core
