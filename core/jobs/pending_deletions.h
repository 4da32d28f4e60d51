// What is scheduled for deletion, and when the next try is due. In memory: what is pending has a
// key of its own in the metadata until it is deleted, so the next opening finds it again.
//
//   PD1 what is taken is either gone or put back: no deletion is forgotten before the store closes
//   PD2 after a failure nothing is due before a pause, which doubles with each failure up to a
//       limit and ends with the first success
#pragma once

#include <optional>

#include "core/job/pace.h"
#include "core/plan/planner.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class PendingDeletions {
 public:
  static constexpr io::Nanos kFirstPause = 100'000'000;
  static constexpr io::Nanos kLongestPause = 10'000'000'000;

  explicit PendingDeletions(io::Executor& executor) : executor_(executor), mutex_(executor) {}

  // Any thread.
  void schedule(ScheduledDeletions&& deletions);
  // How long until the next try; nothing: there is nothing to delete. Any thread.
  std::optional<io::Nanos> due();

  // The first of them, if one is due: one body, or one body's cuts, or one range of names. Whoever
  // takes it says one of the three below, before the next is taken.
  std::optional<ScheduledDeletions> take();
  void note_deleted();  // all of it
  void note_some_deleted(
      ScheduledDeletions&& rest);  // and this is left, to be taken next of its kind
  void note_failed(
      ScheduledDeletions&& rest);  // to be tried after all others of its kind, and after a pause

 private:
  std::optional<io::Nanos> due_locked() HEXAD_REQUIRES(mutex_);

  io::Executor& executor_;
  io::Mutex mutex_;  // a leaf
  ScheduledDeletions pending_ HEXAD_GUARDED_BY(mutex_);
  Backoff pause_ HEXAD_GUARDED_BY(mutex_){kFirstPause, kLongestPause};
  io::Nanos retry_at_ HEXAD_GUARDED_BY(mutex_) = 0;  // none before, while the last try has failed
};

}  // namespace hexad::core
