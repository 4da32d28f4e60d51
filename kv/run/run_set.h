// Several runs as one state of an index: the newest run that knows a key says what it is.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "kv/index.h"
#include "kv/run/run_reader.h"

namespace hexad::kv {

// Immutable; any thread. What replaces runs is a new set; who reads the old one keeps it.
class RunSet {
 public:
  // `runs`: newest first. `lsn`, `epoch`: what the readers say of themselves.
  RunSet(std::vector<std::shared_ptr<RunReader>> runs, Lsn lsn, Epoch epoch)
      : runs_(std::move(runs)), lsn_(lsn), epoch_(epoch) {}

  // What kv/index.h says of readers and cursors holds; `self` is this set, and the reader keeps it.
  // A value that get() returned takes memory until the reader ends.
  std::unique_ptr<IndexReader> snapshot(std::shared_ptr<const RunSet> self) const;

  const std::vector<std::shared_ptr<RunReader>>& runs() const { return runs_; }
  Lsn lsn() const { return lsn_; }
  Epoch epoch() const { return epoch_; }

 private:
  const std::vector<std::shared_ptr<RunReader>> runs_;
  const Lsn lsn_;
  const Epoch epoch_;
};

}  // namespace hexad::kv
