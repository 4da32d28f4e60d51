// Merges runs beside checkpoints, as a job with a thread of its own: a merge of all metadata takes
// seconds, and commits would wait for it when the log is full and only a checkpoint makes room. A
// store has two (core/runs/run_mergers.h).
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
#include <string_view>
#include <vector>

#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/job/job.h"
#include "core/job/pace.h"
#include "core/runs/merge_state.h"
#include "core/runs/run_catalogue.h"
#include "io/executor.h"

namespace hexad::core {

class RunMerger : public Job {
 public:
  struct Words {
    std::string_view name;
    std::string_view purpose;
  };
  // `words` say what it is to those who look at jobs. `tell` gets the outcome of each merge that
  // was not given up, on the thread. All outlive it.
  RunMerger(io::Executor& executor, const RunCatalogue& runs, const BlobPreparer& preparer,
            Words words, std::function<void(const Status&)> tell);
  // Drops what is finished. Precondition: no step is under way.
  ~RunMerger() override;

  // A merge is under way, or finished and not installed.
  bool busy();
  // It is finished and not installed.
  bool finished();
  // The runs that it makes one of, the newest first; none when it is not busy().
  std::vector<std::uint64_t> inputs();
  // Units that what is under way may take yet.
  std::uint64_t units_to_come();
  // Precondition: not busy(). After stop() it does nothing. The scheduler is to be woken.
  void start(RunMerge plan);
  // Waits until none is under way; it does not rest any more. Precondition: a scheduler runs it.
  void finish();
  // What is finished goes into the draft, and devices that did not take what was written. Whether
  // there was something.
  bool install(RunDraft& draft);
  // Ends what is under way, and drops what is finished. Whether space came back. Cost: waits for
  // the writes that are on their way.
  bool give_up();
  // Devices that did not take what was written have left since.
  void forget_failed();
  // Gives up; nothing is started any more.
  void stop() override;

  std::string_view name() const override { return words_.name; }
  std::string_view purpose() const override { return words_.purpose; }
  // The last checkpoint may wait for it.
  bool must_finish() const override { return true; }
  std::optional<io::Nanos> due() override;
  // A whole merge: it rests in between, and ends when it is given up. Errors: those of the merge.
  Result<bool> step() override;

 private:
  Status go_on();

  io::Executor& executor_;
  const RunCatalogue& runs_;
  const BlobPreparer& preparer_;
  const Words words_;
  const std::function<void(const Status&)> tell_;

  io::Mutex mutex_;  // all below
  io::CondVar changed_;
  MergeState merge_ HEXAD_GUARDED_BY(mutex_);
  bool hurry_ HEXAD_GUARDED_BY(mutex_) = false;     // until the one under way ends
  bool unwanted_ HEXAD_GUARDED_BY(mutex_) = false;  // the one under way
  bool stopping_ HEXAD_GUARDED_BY(mutex_) = false;
  HalfPace pace_ HEXAD_GUARDED_BY(mutex_);
  std::set<DeviceId> failed_ HEXAD_GUARDED_BY(mutex_);  // devices, since the last install()
};

}  // namespace hexad::core
