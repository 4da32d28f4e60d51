// The two that merge runs beside checkpoints. One takes whatever is worth it; at last that is all
// there is, and takes long. The other one takes what checkpoints put in front of that meanwhile: so
// look-ups have few runs to ask, and no checkpoint has to wait for the long one
// (doc/decisions/064-young-runs-beside-a-long-merge.md).
//
// What they have in hand is disjoint, and all of it is named by the manifest (K8): the second one
// takes runs that are newer than those of the first alone, and the first one begins when the second
// has nothing. So one draft can take in both.
//
// Threads as RunMerger's; who calls plan(), install() or install_until() has the drafts of the
// catalogue to itself, and is the only one who starts a merge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/runs/run_catalogue.h"
#include "core/runs/run_merger.h"
#include "io/executor.h"

namespace hexad::core {

class RunMergers {
 public:
  // As RunMerger; `tell` on either's thread. All outlive it.
  RunMergers(io::Executor& executor, const RunCatalogue& runs, const BlobPreparer& preparer,
             const std::function<void(const Status&)>& tell);

  // The jobs. Each wants a thread of its own.
  RunMerger& any() { return any_; }
  RunMerger& young() { return young_; }

  // One of them is under way, or finished and not installed.
  bool busy();
  // One of them is finished and not installed.
  bool finished();
  // What they may write yet.
  std::uint64_t units_to_come();

  // What should begin now, and who is free for it. Nothing: all is well, or under way.
  struct Next {
    RunMerger* by = nullptr;
    RunMerge plan;
  };
  std::optional<Next> plan(const RunDraft& draft);

  // Waits until none is under way. They do not rest any more.
  void finish();
  // What is finished goes into the draft. Whether there was something.
  bool install(RunDraft& draft);
  // Waits for what is under way, the shorter one first, until the draft has at most so many runs or
  // nothing is left to wait for, and installs it. Whether there was something.
  bool install_until(RunDraft& draft, std::size_t most_runs);
  // Ends both, and drops what is finished. Whether space came back.
  bool give_up();
  // The same, and no draft is told of devices that did not take what was written: they have left.
  void forget();
  void stop();

 private:
  const RunCatalogue& runs_;
  RunMerger any_;
  RunMerger young_;
};

}  // namespace hexad::core
