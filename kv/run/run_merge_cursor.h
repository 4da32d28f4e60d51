// Walks several runs as one: of each key the entry of the newest run that has it, tombstones shown.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/run/run_reader.h"

namespace hexad::kv {

// The first blocks of all runs are read together (kv/run/run_ahead.h), but not past the cache.
//
// One thread at a time. Like RunCursor: views stay valid until the next step, after an error it is
// not valid. Cost of a step: a comparison for each run; turning round is a seek in each.
class RunMergeCursor {
 public:
  explicit RunMergeCursor(std::span<const std::shared_ptr<RunReader>> newest_first,
                          RunCaching caching = RunCaching::kThrough);

  Status seek(std::string_view key);         // the first key >= `key`
  Status seek_before(std::string_view key);  // the last key < `key`
  Status seek_to_first();
  Status seek_to_last();
  // Precondition of these and of the two below them: valid().
  Status next();
  Status prev();
  std::string_view key() const { return current_->key(); }
  std::optional<std::string_view> value() const { return current_->value(); }
  bool valid() const { return current_ != nullptr; }
  bool has_copy() const { return current_->has_copy(); }  // RunCursor::has_copy()

  // Going forward from the first entry on: the cursor of the run that has all that comes next up to
  // the end of a leaf, which it stands at the beginning of; no other run has anything there, so
  // that none of it is hidden and it hides nothing (RB5). Null: there is none.
  RunReader::Cursor* lone_leaf();
  // Behind that leaf. Precondition: lone_leaf() is not null.
  Status skip_leaf();
  // What was skipped of all runs, at the end. Errors: RunCursor::skipped().
  Result<RunReader::Cursor::Counts> skipped() const;

 private:
  enum class Direction : std::uint8_t { kForward, kBackward };

  template <typename Seek>
  Status seek_all(Direction direction, Seek seek);
  Status step(Direction direction);
  void choose();

  bool goes_ahead() const { return caching_ == RunCaching::kThrough && runs_.size() > 1; }

  const std::vector<std::shared_ptr<RunReader>> runs_;  // newest first
  const RunCaching caching_;
  std::vector<std::unique_ptr<RunReader::Cursor>> cursors_;  // of these
  // Forward: each stands at its first key from the current one on, backward at its last key up to
  // that; one that is not valid has none.
  Direction direction_ = Direction::kForward;
  RunReader::Cursor* current_ = nullptr;  // the newest of those at the current key
  std::string leaf_end_;
};

}  // namespace hexad::kv
