// Makes checkpoints: when the memtable or the log holds much, when somebody asks for one, and some
// time after a merge of runs that no other checkpoint has taken in.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string_view>

#include "core/job/job.h"
#include "io/clock.h"

namespace hexad::core {

class CheckpointJob : public Job {
 public:
  struct Work {
    std::function<Status()> make;
    std::function<bool()> due;       // memtable or log hold so much that one should be made
    std::function<bool()> unmerged;  // a merge is finished and in no checkpoint yet
  };
  CheckpointJob(io::Clock& clock, Work work) : clock_(clock), work_(std::move(work)) {}

  // A merge that is finished waits so long for a checkpoint to take it in, then there is one for
  // it: a store that nobody writes to has no other.
  static constexpr io::Nanos kInstallAfter = 10'000'000'000;

  // The first two return whether that is news: then the scheduler is to be woken. Any thread;
  // cheap.
  bool want() { return !wanted_.exchange(true, std::memory_order_acq_rel); }  // due or not
  bool note_due() { return !noted_due_.exchange(true, std::memory_order_acq_rel); }
  // A merge is finished. The scheduler is to be woken.
  void note_merged();

  std::string_view name() const override { return "checkpoint"; }
  std::string_view purpose() const override { return "the last checkpoint"; }
  std::optional<io::Nanos> due() override;
  Result<bool> step() override;

 private:
  io::Clock& clock_;
  const Work work_;
  std::atomic<bool> wanted_{false};
  std::atomic<bool> noted_due_{false};
  std::atomic<io::Nanos> install_at_{0};  // 0: nothing is merged
};

}  // namespace hexad::core
