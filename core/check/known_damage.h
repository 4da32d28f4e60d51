// What of a store is known to be lost: reads and scrubs note the blobs of which bytes cannot be had
// (core/check/damage_list.h), a job writes that down, and who asks is told of all objects that show
// such bytes now (core/check/damage_search.h).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "core/api/damage.h"
#include "core/api/types.h"
#include "core/blob/blob_read.h"
#include "core/check/damage_list.h"
#include "core/check/damage_search.h"
#include "core/commit/internal_commits.h"
#include "core/read/store_reader.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "io/executor.h"

namespace hexad::core {

class KnownDamage {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    DamageSearch::Parts search;
    InternalCommits* commits;  // null when the store is read-only
    std::function<bool()> closed;
    std::function<Status()> writable;
    std::function<void()> wake_job;  // something is to be written
  };
  explicit KnownDamage(Parts parts) : parts_(std::move(parts)), list_(parts_.executor) {}

  // What the metadata has. Before other threads.
  Status load();
  // A read does not get the blob. Any thread; waits for nothing.
  void note(const Blob& blob, const Error& why);
  // What all objects show of it now; what is no damage any more leaves the list. `go_on`: asked now
  // and then; false ends it with kClosed. Empty: nobody wants it to end. Any thread, under no lock.
  Result<std::vector<Damage>> find(const std::function<bool()>& go_on = {});
  // ... and of these objects, or of all: health does not count it any more. Returns what it did
  // count.
  Result<std::vector<Damage>> acknowledge(std::optional<std::span<const ObjectName>> objects,
                                          const std::function<bool()>& go_on = {});
  // A step of the job. False: there was nothing to write.
  Result<bool> write();
  // Until it is written, or it takes long. `in_vain`: asked now and then.
  void await_written(const std::function<bool()>& in_vain);
  void show(StoreStatus& status) const;

  // Pack stripes that a scrub could not judge or put right.
  DamageList& list() { return list_; }

 private:
  Result<std::vector<DamageSearch::Found>> search(const std::function<bool()>& go_on);

  const Parts parts_;
  DamageList list_;
};

}  // namespace hexad::core
