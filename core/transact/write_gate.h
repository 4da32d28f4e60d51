// Whether the store takes commits, and what those are told whose commit it does not take.
#pragma once

#include "base/error.h"
#include "core/api/commit_options.h"
#include "core/commit/commit_pipeline.h"
#include "core/job/closing.h"
#include "core/space/members.h"

namespace hexad::core {

class WriteGate {
 public:
  // All outlive it. `pipeline` null: the store is open for reading only.
  WriteGate(CommitPipeline* pipeline, const Closing& closing, const Members& members)
      : pipeline_(pipeline), closing_(closing), members_(members) {}

  // OK: it does. Any thread.
  Status check() const;
  bool is_closed() const { return closing_.is_closed(); }

  // For what has no LSN, so that nothing of it has happened. When the store has stopped, that is
  // what it says, and not what those are told whose outcome is unknown: the commits and the
  // checkpoint that it waited for.
  Status unsequenced(const Status& why) const;
  // Of a commit that is called back before it has its place.
  static Error called_back_early();

  // kIo when buffered commits have been lost (R15). Precondition: it is open for writing.
  Status lost_buffered() const;
  // What a commit is told that has failed with this error.
  Error told(const Error& error, Durability durability) const;

 private:
  CommitPipeline* const pipeline_;
  const Closing& closing_;
  const Members& members_;
};

}  // namespace hexad::core
