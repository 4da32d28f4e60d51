// A new index for the fast tier, copied from the runs bit by bit while the store serves from those.
// Until the last bit is there its LSN is 0, so that a crash in between leaves an index that nobody
// trusts.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "kv/index.h"
#include "kv/run/run_set.h"

namespace hexad::core {

class IndexRebuild {
 public:
  // `fresh` is empty.
  IndexRebuild(std::unique_ptr<kv::Index> fresh, std::shared_ptr<const kv::RunSet> from);

  // Copies about `bytes` more. Whether all that `from` holds is there, durably. Errors: those of
  // the index and of the runs; the rebuild is lost.
  Result<bool> step(std::uint64_t bytes);
  // When all is there: what the runs of `now` hold beyond that. False: they do not say any more
  // what changed since, and the rebuild is lost. Cost: as much as was written in between.
  Result<bool> follow(const kv::RunSet& now);
  std::unique_ptr<kv::Index> take();

 private:
  std::shared_ptr<const kv::RunSet> from_;
  std::unique_ptr<kv::Index> index_;
  std::unique_ptr<kv::IndexReader> reader_;
  std::unique_ptr<kv::IndexCursor> cursor_;
};

// Applies to `index`, which holds the changes up to some LSN, those of the runs of `now` above it.
// False, and nothing is done: the runs do not say any more what changed since, because what was
// deleted meanwhile has left no trace in them. Errors: those of the index and of the runs.
Result<bool> follow_runs(kv::Index& index, const kv::RunSet& now);

}  // namespace hexad::core
