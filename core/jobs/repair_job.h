// Goes on without devices that have failed. Commits in flight wait for it, and so may every other
// job: it ends after them.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

#include "core/job/job.h"

namespace hexad::core {

class RepairJob : public Job {
 public:
  struct Work {
    std::function<void()> repair;         // for requests in flight that have failed
    std::function<void()> lose_suspects;  // if there are any still
  };
  explicit RepairJob(Work work) : work_(std::move(work)) {}

  // The scheduler is to be woken after either. Any thread.
  void want() { wanted_.store(true, std::memory_order_release); }
  void want_suspects() { suspects_.store(true, std::memory_order_release); }

  std::string_view name() const override { return "membership"; }
  std::string_view purpose() const override { return "going on without devices that have failed"; }
  std::optional<io::Nanos> due() override;
  // What fails has turned the store read-only, which says so itself.
  Result<bool> step() override;
  bool must_finish() const override { return true; }

 private:
  const Work work_;
  std::atomic<bool> wanted_{false};
  std::atomic<bool> suspects_{false};
};

}  // namespace hexad::core
