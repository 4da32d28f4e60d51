// Walks one run in either direction, tombstones shown. Like IndexCursor (kv/index.h), but a value
// may be nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/run/run_block.h"
#include "kv/run/run_format.h"
#include "kv/run/run_leaf.h"
#include "kv/run/run_source.h"

namespace hexad::kv {

// How a walk uses the cache.
enum class RunCaching : std::uint8_t {
  kThrough,  // looks there, and leaves there what it reads
  kPast,     // neither: for merges
  kWithin,   // reads nothing: where something is not there, the error is kUnavailable
};

// Going forward it reads ahead from the second block on. One thread at a time; keeps the source
// alive. Views stay valid until the next step. After an error it is not valid. Memory: one block of
// data, one of each level of the index, kRunReadAhead bytes. Errors: those of RunSource.
class RunCursor {
 public:
  explicit RunCursor(std::shared_ptr<const RunSource> source,
                     RunCaching caching = RunCaching::kThrough)
      : source_(std::move(source)), caching_(caching) {}

  Status seek(std::string_view key);         // the first key >= `key`
  Status seek_before(std::string_view key);  // the last key < `key`
  Status seek_to_first();
  Status seek_to_last();
  // Precondition of these and of the two below them: valid().
  Status next();
  Status prev();
  std::string_view key() const { return key_; }
  std::optional<std::string_view> value() const { return block_->value(at_); }
  bool valid() const { return valid_; }
  // Whether a faster device has a copy of the block of data that it stands on. Precondition:
  // valid().
  bool has_copy() const;

  // --- leaves as a whole, going forward from the first entry on ---
  // Whether it stands on the first entry of a leaf. Precondition of this and of those below that
  // say nothing else: valid().
  bool at_leaf() const { return at_ == 0 && path_.back().at == 0; }
  // A key that is at least the last one of the leaf, and below all behind that.
  void read_leaf_end(std::string& key) const;
  Result<RunLeafAddress> leaf() const;
  const RunSource& source() const { return *source_; }
  // Behind it, to the first entry of the next one. Precondition: at_leaf().
  Status skip_leaf();
  // Entries of the run that were skipped, when it has come to the end, and of these tombstones.
  // Errors: kCorruption (the run has not what it says that it has). Any time.
  struct Counts {
    std::uint64_t entries = 0;
    std::uint64_t tombstones = 0;
  };
  Result<Counts> skipped() const;
  // Whether there may be any from the leaf on that it stands at. Precondition: at_leaf().
  bool tombstones_ahead() const;

 private:
  struct Level {
    RunBlockAddress address;
    std::shared_ptr<const RunBlock> block;
    std::size_t at = 0;  // of the entry that the walk went down
  };
  enum class Edge : std::uint8_t { kFirst, kLast };
  enum class Direction : std::uint8_t { kForward, kBackward };

  Result<bool> descend(std::string_view key);
  Status descend(Edge edge);
  Status open_level(const RunBlockAddress& address);
  RunSource::Reads reads() const;
  Result<RunChild> current_child() const;
  Status open_data(RunAdmit admit);
  Status open_data_ahead();
  Status step_block(Direction direction);
  Result<bool> step_path(Direction direction);
  void count_block();
  void stand(std::size_t at);
  unsigned levels() const { return source_->footer().levels; }

  std::shared_ptr<const RunSource> source_;
  RunCaching caching_;
  std::vector<Level> path_;                // [0] is the root, the last one a leaf
  std::shared_ptr<const RunBlock> block_;  // of data
  std::size_t at_ = 0;                     // in it
  std::string key_;                        // of at_
  bool valid_ = false;
  RunWindow ahead_;
  Counts opened_;         // of blocks of data since seek_to_first() that were not skipped
  bool skipped_ = false;  // any leaf
};

}  // namespace hexad::kv
