// Makes zones: their headers are written beside the commits, and a record of the store's own names
// them (doc/decisions/031-zones-beside-the-order.md).
#pragma once

#include <cstdint>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/membership/membership.h"
#include "core/space/space.h"
#include "core/transact/own_commits.h"
#include "core/transact/write_gate.h"
#include "io/executor.h"

namespace hexad::core {

class ZoneMaker {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const WriteGate& gate;
    CommitPipeline& pipeline;
    Space& space;
    Membership& membership;
    OwnCommits& commits;
  };
  // Ahead of need; for a commit that waits; for a checkpoint that does.
  enum class For : std::uint8_t { kCommits, kWaiting, kCheckpoint };

  explicit ZoneMaker(const Parts& parts) : parts_(parts), mutex_(parts.executor) {}

  // Under no lock to the right of zones.
  Status make(For whom);
  // For a commit that waits, unless there are more than so many units in zones since it looked.
  // Returns the bytes of its record where the log has no room for that; then there is no zone.
  Result<std::uint64_t> make_unless_more_than(std::uint64_t all_units);
  // The one that another thread is making is there, or is not to be.
  void await() { const io::Lock until_it_is_there(mutex_); }
  // While a zone is made. Who holds it keeps zones as they are.
  io::Mutex& mutex() HEXAD_RETURN_CAPABILITY(mutex_) { return mutex_; }

 private:
  // `lacking`: of kWaiting, and then there is no zone, and no error either.
  Status make_locked(For whom, OwnCommits::Lacking& lacking) HEXAD_REQUIRES(mutex_);

  const Parts parts_;
  io::Mutex mutex_;
};

}  // namespace hexad::core
