// Merges runs beside checkpoints, on a thread of its own: a merge of all metadata takes seconds,
// and commits would wait for it when the log is full and only a checkpoint makes room.
//
// What it writes is in flight and named by nothing until a checkpoint installs it. So a crash at
// any moment leaves its units free, and runs as they were; a merge that is given up has cost its
// bytes and nothing else.
//
// Pace: it rests as long as it has worked, so that it takes half of a processor and of what the
// devices give to one writer, until somebody waits for it.
//
// Any thread; who calls install() also has the drafts of the catalogue to itself. Lock: a leaf but
// for the locks of space and members, under which it never calls out. The thread itself takes none
// of the engine's, so it can be waited for under all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/runs/run_catalogue.h"
#include "io/executor.h"

namespace hexad::core {

class RunMerger {
 public:
  // `tell` gets the outcome of each merge that was not given up, on the thread. All outlive it.
  RunMerger(io::Executor& executor, const RunCatalogue& runs, const BlobPreparer& preparer,
            std::function<void(const Status&)> tell);
  // As stop().
  ~RunMerger();
  RunMerger(const RunMerger&) = delete;
  RunMerger& operator=(const RunMerger&) = delete;

  // Makes the thread. Once, before the first start(). Errors: the system refuses it.
  Status begin();
  // A merge is under way, or finished and not installed.
  bool busy();
  // It is finished and not installed.
  bool finished();
  // Preconditions: begin() has succeeded, not busy(). After stop() it does nothing.
  void start(RunMerge plan);
  // Waits until none is under way; it does not rest any more.
  void finish();
  // What is finished goes into the draft, and devices that did not take what was written. Whether
  // there was something.
  bool install(RunDraft& draft);
  // Ends what is under way, and drops what is finished. Whether space came back. Cost: waits for
  // the writes that are on their way.
  bool give_up();
  // Gives up; nothing is started any more.
  void stop();

 private:
  enum class State : std::uint8_t { kIdle, kWanted, kRunning, kFinished };

  void thread();
  Status pace();
  bool under_way() const { return state_ == State::kWanted || state_ == State::kRunning; }

  io::Executor& executor_;
  const RunCatalogue& runs_;
  const BlobPreparer& preparer_;
  const std::function<void(const Status&)> tell_;

  io::Mutex mutex_;  // all below
  io::CondVar changed_;
  State state_ = State::kIdle;
  bool hurry_ = false;     // until the one under way ends
  bool unwanted_ = false;  // the one under way
  bool stopping_ = false;
  io::Nanos working_since_ = 0;
  RunMerge plan_;                       // kWanted
  std::optional<MergedRun> merged_;     // kFinished
  std::set<DeviceId> failed_;           // devices, since the last install()
  std::unique_ptr<io::Thread> thread_;  // since begin()
};

}  // namespace hexad::core
