// Writes a run: keys in ascending order go in, the bytes of the file come out from the first to the
// last (doc/format.md, "Runs").
//
// Memory: a block of each level of the index, the hashes of one filter, and the entry at hand;
// nothing grows with the run. Cost: compression, about as much as copying through zstd level 1.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "kv/run/run_block.h"
#include "kv/run/run_cache.h"
#include "kv/run/run_file.h"
#include "kv/run/run_filter.h"
#include "kv/run/run_format.h"
#include "kv/run/run_leaf.h"

namespace hexad::kv {

// One thread. Destroyed before finish() it leaves the sink with a part of a run.
class RunWriter {
 public:
  // Of the changes in (first_lsn, last_lsn]; first_lsn 0: of everything up to last_lsn.
  RunWriter(RunSink& sink, const Uuid& store, Lsn first_lsn, Lsn last_lsn,
            RunFilterBits filter_bits = RunFilterBits::kOfLargest);

  // Is told of every block and filter when the sink has it. `from`: where it is in the run that it
  // was taken over from as it is; null: it was made here.
  using Watcher = std::function<void(RunPieceKind, const RunBlockAddress&, ByteView stored,
                                     const RunBlockAddress* from)>;
  void set_watcher(Watcher watcher) { watcher_ = std::move(watcher); }

  // Nothing: a tombstone, which says that older runs' values of the key do not count. Errors:
  // kInvalidArgument (keys do not ascend, key or value too short or too long, LSNs the wrong way
  // round, finished), and those of the sink. After one the run is lost: later calls return it too.
  Status add(std::string_view key, std::optional<std::string_view> value);
  // All of a leaf of another run as it is stored there. What is open ends before it. Errors: as
  // add().
  Status take_over(const RunLeaf& leaf);
  // What the leaves that were taken over have; they do not say it themselves.
  void count_taken_over(std::uint64_t entries, std::uint64_t tombstones);
  // Bytes of these in the file so far, without what names their blocks.
  std::uint64_t taken_over() const { return taken_over_; }
  // Once. A run may be empty.
  Result<RunInfo> finish();

 private:
  Status check(std::string_view key, std::optional<std::string_view> value) const;
  Status add_checked(std::string_view key, std::optional<std::string_view> value);
  Result<RunInfo> finish_all();
  Result<RunBlockAddress> write(RunPieceKind kind, std::string raw, RunPacking packing);
  Status take_over_checked(const RunLeaf& leaf);
  Result<RunBlockAddress> append(RunPieceKind kind, const StoredRunBlock& block);
  Result<RunBlockAddress> append_as_is(RunPieceKind kind, const RunBlockAddress& from,
                                       ByteView stored);
  Status sink(RunPieceKind kind, const RunBlockAddress& address, ByteView stored,
              const RunBlockAddress* from);
  Result<RunBlockAddress> write_data();
  Status end_data_block(std::string_view separator);
  Status add_child(std::size_t level, std::string_view separator, const RunChild& child);
  Result<RunChild> end_index_block(std::size_t level);
  Result<RunBlockAddress> write_index_block(std::size_t level);

  RunSink& sink_;
  Watcher watcher_;
  RunFooter footer_;
  std::optional<Error> failed_;
  std::string last_key_;
  RunBlockBuilder data_;
  RunBlockForm form_ = RunBlockForm::kRows;  // that was shorter when both were tried
  std::uint64_t untried_ = 0;                // blocks until both are tried again
  RunFilterBuilder filter_;                  // of the open leaf, the open data block included
  std::vector<RunBlockBuilder> index_;       // open, [0] are leaves
  std::uint64_t taken_over_ = 0;             // bytes
};

}  // namespace hexad::kv
