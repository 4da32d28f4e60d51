// Deferred deletion: reclaims in bounded steps what no name leads to any more. That is bodies of
// streamed writers that never published and of large objects that were removed or replaced, omaps,
// what was cut off of large objects, and the objects of removed collections. Each has a key of its
// own until nothing is left of it, so what a crash leaves undone is found by the next opening. What
// an error leaves undone is tried again, too.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/commit/internal_commits.h"
#include "core/job/job.h"
#include "core/jobs/pending_deletions.h"
#include "core/plan/owners.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

class DeletionJob : public Job {
 public:
  struct Parts {
    InternalCommits& commits;
    const LogBlobs& log_blobs;
    const RecordShape& shape;
    io::Executor& executor;
    std::function<void()> wake;  // the scheduler, for this job
  };
  explicit DeletionJob(Parts parts);

  // Deleted soon: by the job, by whoever finds no space before, or by the next opening. Any thread;
  // does no I/O.
  void schedule(ScheduledDeletions&& deletions);
  // Schedules what is pending in the metadata, of earlier openings; what there is goes to the
  // counters and into the notes for people. Once, before any commit.
  Status schedule_found(Counters& counters, std::vector<std::string>& notes);
  // All pages that are cut off of the body, at once. Several may do so beside each other.
  Status reclaim_cuts(BodyId body);

  std::string_view name() const override { return "deletion"; }
  std::string_view purpose() const override { return "reclaiming the space of a removed object"; }
  std::optional<io::Nanos> due() override { return pending_.due(); }
  // One body or some objects at most. Any thread: one at a time, so whoever needs the space waits
  // for the step under way. True: something has been deleted, here or by another thread meanwhile.
  // What fails is tried again when everything else has been, after a pause (PD2); until then
  // nobody finds space here.
  Result<bool> step() override;

 private:
  // What one record reclaims.
  struct Reclaiming {
    LogRecord& record;
    BlobOwners blobs = BlobOwners();
    LayerOwners layers = {};
  };
  // Notes there what the value of a key held.
  using Reclaim =
      std::function<Status(std::string_view key, std::string_view value, Reclaiming& reclaiming)>;
  // Keys of one prefix that go, and the key that goes with the last of them.
  struct PendingKeys {
    std::string prefix;
    std::string end;  // exclusive
    std::string marker;
  };

  // True: nothing is left of it.
  Result<bool> reclaim_some(const ScheduledDeletions& one) HEXAD_REQUIRES(step_mutex_);
  Status reclaim_body(BodyId body);
  Result<bool> reclaim_objects(const NameRange& names) HEXAD_REQUIRES(step_mutex_);
  Result<bool> reclaim_some_cuts(BodyId body);
  // One record's worth of the keys from `from` on, and moves `from`. True: the marker went with
  // them.
  Result<bool> reclaim_records(const PendingKeys& keys, std::string& from);
  Result<bool> reclaim_pages(const PendingKeys& keys, std::string& from);
  Result<bool> reclaim_keys(const PendingKeys& keys, std::string& from, const Reclaim& reclaim);
  void reclaim_blobs(std::string_view key, const ExtentList& extents, Reclaiming& reclaiming) const;
  Status reclaim_page(std::string_view key, std::string_view value, Reclaiming& reclaiming) const;

  const Parts parts_;
  PendingDeletions pending_;
  io::Mutex step_mutex_;  // while something is deleted
  // Objects of a removed collection before are gone.
  std::string objects_from_ HEXAD_GUARDED_BY(step_mutex_);
  std::atomic<std::uint64_t> deleted_{0};  // steps
};

}  // namespace hexad::core
