// The scrub that other processes ask for over the control socket: one at a time, on a thread of its
// own. It can be ended, or paused and gone on with where it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "core/api/types.h"
#include "core/control/control_messages.h"
#include "io/executor.h"

namespace hexad::core {

class AskedScrub {
 public:
  // As Store::scrub().
  using Work = std::function<Result<ScrubReport>(const ScrubOptions& options)>;

  // `executor` and what the work needs outlive it.
  AskedScrub(io::Executor& executor, Work work);
  AskedScrub(const AskedScrub&) = delete;
  AskedScrub& operator=(const AskedScrub&) = delete;
  // Waits for the step that a scrub is at.
  ~AskedScrub();

  // Once, before all others. Errors: the system refuses the thread.
  Status launch();
  // No scrub begins any more, and one that is running ends at its next step. Any thread.
  void end();

  // What other processes ask for, each answered with what has come of it so far. None waits for the
  // scrub. Any thread.
  //
  // `rate`: bytes per second at most, 0: no limit. `from`: as ScrubOptions::from. Errors:
  // kAlreadyExists (one is running, or paused), kInvalidArgument (no such place), kClosed.
  Result<ControlScrub> start(std::uint64_t rate, const std::string& from);
  // It stops at its next step, and keeps its place. Errors: kNotFound (none is running).
  Result<ControlScrub> pause();
  // `rate`: 0: as before. Errors: kNotFound (none is paused), kAlreadyExists (it is running),
  // kClosed.
  Result<ControlScrub> resume(std::uint64_t rate);
  // Errors: kNotFound (none is running, or paused).
  Result<ControlScrub> stop();
  ControlScrub show();
  // Nothing: none has been asked for.
  std::optional<JobStatus> job();

 private:
  enum class Wish : std::uint8_t { kGoOn, kPause, kStop };

  void work_all();
  Result<ScrubReport> pass(const ScrubOptions& options);
  void add(const ScrubReport& report) HEXAD_REQUIRES(mutex_);
  void finish(const Result<ScrubReport>& report) HEXAD_REQUIRES(mutex_);

  io::Executor& executor_;
  const Work work_;

  io::Mutex mutex_;  // a leaf
  io::CondVar changed_;
  bool ended_ HEXAD_GUARDED_BY(mutex_) = false;
  bool wanted_ HEXAD_GUARDED_BY(mutex_) = false;  // a pass is to begin, where the account says
  Wish wish_ HEXAD_GUARDED_BY(mutex_) = Wish::kGoOn;
  std::uint64_t rate_ HEXAD_GUARDED_BY(mutex_) = 0;
  io::Nanos since_ HEXAD_GUARDED_BY(mutex_) = 0;  // when it was started, or gone on with
  ControlScrub scrub_ HEXAD_GUARDED_BY(mutex_);
  // The account as the present pass found it, and how many findings it had kept.
  ControlScrub before_ HEXAD_GUARDED_BY(mutex_);
  std::size_t kept_before_ HEXAD_GUARDED_BY(mutex_) = 0;

  std::unique_ptr<io::Thread> thread_;
};

}  // namespace hexad::core
