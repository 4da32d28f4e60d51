#include "kv/run/run_merge_cursor.h"

#include "kv/run/run_ahead.h"

namespace hexad::kv {

RunMergeCursor::RunMergeCursor(std::span<const std::shared_ptr<RunReader>> newest_first,
                               RunCaching caching)
    : runs_(newest_first.begin(), newest_first.end()), caching_(caching) {
  for (const std::shared_ptr<RunReader>& run : runs_) cursors_.push_back(run->cursor(caching));
}

template <typename Seek>
Status RunMergeCursor::seek_all(Direction direction, Seek seek) {
  current_ = nullptr;
  direction_ = direction;
  for (const auto& cursor : cursors_) HEXAD_TRY(seek(*cursor));
  choose();
  return {};
}

Status RunMergeCursor::seek(std::string_view key) {
  const std::string own(key);  // it may be the view of an entry that is about to go
  if (goes_ahead()) RunAhead(runs_).seek(own);
  return seek_all(Direction::kForward, [&](RunReader::Cursor& cursor) { return cursor.seek(own); });
}

Status RunMergeCursor::seek_before(std::string_view key) {
  const std::string own(key);
  if (goes_ahead()) RunAhead(runs_).seek(own);
  return seek_all(Direction::kBackward,
                  [&](RunReader::Cursor& cursor) { return cursor.seek_before(own); });
}

Status RunMergeCursor::seek_to_first() {
  if (goes_ahead()) RunAhead(runs_).seek_to(RunAhead::Edge::kFirst);
  return seek_all(Direction::kForward,
                  [](RunReader::Cursor& cursor) { return cursor.seek_to_first(); });
}

Status RunMergeCursor::seek_to_last() {
  if (goes_ahead()) RunAhead(runs_).seek_to(RunAhead::Edge::kLast);
  return seek_all(Direction::kBackward,
                  [](RunReader::Cursor& cursor) { return cursor.seek_to_last(); });
}

Status RunMergeCursor::next() { return step(Direction::kForward); }

Status RunMergeCursor::prev() { return step(Direction::kBackward); }

Status RunMergeCursor::step(Direction direction) {
  HEXAD_ASSERT(valid());
  RunReader::Cursor* const from = current_;
  current_ = nullptr;  // unless all goes well
  const auto move = [direction](RunReader::Cursor& cursor) {
    return direction == Direction::kForward ? cursor.next() : cursor.prev();
  };
  for (const auto& cursor : cursors_) {
    if (cursor.get() == from) continue;
    if (direction != direction_) {
      // Beyond the current key there may be others than those on the side it came from.
      if (direction == Direction::kForward) {
        HEXAD_TRY(cursor->seek(from->key()));
      } else {
        HEXAD_TRY(cursor->seek_before(from->key()));
      }
    }
    // Older entries of the same key.
    if (cursor->valid() && cursor->key() == from->key()) HEXAD_TRY(move(*cursor));
  }
  HEXAD_TRY(move(*from));
  direction_ = direction;
  choose();
  return {};
}

RunReader::Cursor* RunMergeCursor::lone_leaf() {
  HEXAD_ASSERT(valid() && direction_ == Direction::kForward);
  if (!current_->at_leaf()) return nullptr;
  current_->read_leaf_end(leaf_end_);
  for (const auto& cursor : cursors_) {
    if (cursor.get() == current_ || !cursor->valid()) continue;
    if (cursor->key() <= leaf_end_) return nullptr;  // RB5
  }
  return current_;
}

Status RunMergeCursor::skip_leaf() {
  RunReader::Cursor* const from = current_;
  HEXAD_ASSERT(valid());
  current_ = nullptr;  // unless all goes well
  HEXAD_TRY(from->skip_leaf());
  choose();
  return {};
}

Result<RunReader::Cursor::Counts> RunMergeCursor::skipped() const {
  RunReader::Cursor::Counts all;
  for (const auto& cursor : cursors_) {
    HEXAD_TRY_ASSIGN(const RunReader::Cursor::Counts counts, cursor->skipped());
    all.entries += counts.entries;
    all.tombstones += counts.tombstones;
  }
  return all;
}

void RunMergeCursor::choose() {
  current_ = nullptr;
  for (const auto& cursor : cursors_) {
    if (!cursor->valid()) continue;
    if (current_ == nullptr ||
        (direction_ == Direction::kForward ? cursor->key() < current_->key()
                                           : cursor->key() > current_->key())) {
      current_ = cursor.get();
    }
  }
}

}  // namespace hexad::kv
