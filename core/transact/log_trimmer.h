// Room in the log, which comes from checkpoints.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/jobs/checkpointer.h"
#include "kv/tiered/tiered_index.h"

namespace hexad::core {

class LogTrimmer {
 public:
  // All outlive it.
  LogTrimmer(Checkpointer& checkpointer, const kv::TieredIndex& index, CommitPipeline& pipeline)
      : checkpointer_(checkpointer), index_(index), pipeline_(pipeline) {}

  // For a record of so many bytes, or there was more to trim. Under no lock.
  Status make(std::uint64_t record_bytes);

 private:
  Checkpointer& checkpointer_;
  const kv::TieredIndex& index_;
  CommitPipeline& pipeline_;
};

}  // namespace hexad::core
