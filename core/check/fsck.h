// fsck: that metadata and space agree, and, deep, that every cell is what its checksum says and
// that parity is the code of the data. Commits wait for the moment in which it takes a state and
// whose space all was then (core/check/fsck_moment.h), and go on beside the rest. What it looks
// for: core/check/fsck_check.h.
#pragma once

#include <functional>

#include "base/error.h"
#include "core/api/types.h"
#include "core/check/check_parts.h"
#include "core/check/fsck_check.h"
#include "core/check/torn_cells.h"
#include "core/commit/commit_pipeline.h"
#include "core/commit/internal_commits.h"
#include "core/commit/sequencer.h"
#include "core/metadata/metadata.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class Fsck {
 public:
  // What it needs beside what scrubs need. All outlive it.
  struct Parts {
    Metadata& metadata;
    kv::TieredIndex& index;
    const TornCells& torn;
    Sequencer& sequencer;
    CommitPipeline* pipeline;  // null when the store is read-only
    InternalCommits* commits;  // as the pipeline
    std::function<Status()> writable;
  };
  Fsck(CheckParts look, Parts parts);

  // Any thread, under no lock. Errors: kClosed, kUnavailable (a device is silent), kReadOnly; our
  // own bugs. What is wrong with the store is a finding.
  Result<FsckReport> run(const FsckOptions& options);

 private:
  struct Start;
  // Asked between two steps; its error ends them.
  using GoOn = std::function<Status()>;

  Result<Start> begin();
  // All behind the beginning, into check.report; ends with an error, too, when that is not
  // complete.
  Status look_over(const FsckOptions& options, Start& start, FsckCheck& check);
  Status check_metadata(Start& start, FsckCheck& check, const GoOn& go_on);
  Status check_runs(const FsckOptions& options, const Start& start, FsckCheck& check,
                    const GoOn& go_on);
  Status check_index(FsckCheck& check, const GoOn& go_on);
  void correct_all_totals(const std::vector<FsckCheck::WrongTotals>& wrong, FsckCheck& check);
  Status correct_totals(const FsckCheck::WrongTotals& wrong);

  const CheckParts look_;
  const Parts parts_;
};

}  // namespace hexad::core
