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
};

}  // namespace hexad::kv
