#include "io/os/unwritten_ranges.h"

#include <algorithm>
#include <utility>

namespace hexad::io {

namespace {

// What is in neither a range nor its neighbours: up to two pieces of `whole` outside of `cut`.
std::vector<FileRange> minus(const FileRange& whole, const FileRange& cut) {
  std::vector<FileRange> pieces;
  if (whole.offset < cut.offset) {
    pieces.push_back({whole.offset, std::min(whole.end(), cut.offset) - whole.offset});
  }
  if (whole.end() > cut.end()) {
    const std::uint64_t from = std::max(whole.offset, cut.end());
    pieces.push_back({from, whole.end() - from});
  }
  return pieces;
}

}  // namespace

void UnwrittenRanges::add(FileRange range) {
  if (range.length == 0) return;
  const OsLock lock(mutex_);
  // A flush under way must not take it out again for the sake of an older write.
  std::vector<Pending> kept;
  for (const Pending& pending : pending_) {
    for (const FileRange& piece : minus(pending.range, range)) {
      kept.push_back({piece, pending.since});
    }
  }
  pending_ = std::move(kept);

  std::uint64_t offset = range.offset;
  std::uint64_t end = range.end();
  auto next = ends_.upper_bound(offset);
  if (next != ends_.begin() && std::prev(next)->second >= offset) --next;
  while (next != ends_.end() && next->first <= end) {
    offset = std::min(offset, next->first);
    end = std::max(end, next->second);
    next = ends_.erase(next);
  }
  ends_.emplace(offset, end);
  empty_.store(false, std::memory_order_relaxed);
}

bool UnwrittenRanges::touches(FileRange range) const {
  if (empty_.load(std::memory_order_relaxed)) return false;
  const OsLock lock(mutex_);
  const auto next = ends_.lower_bound(range.end());
  return next != ends_.begin() && std::prev(next)->second > range.offset;
}

void UnwrittenRanges::remove_locked(FileRange range) {
  auto next = ends_.upper_bound(range.offset);
  if (next != ends_.begin()) --next;
  while (next != ends_.end() && next->first < range.end()) {
    const FileRange old{next->first, next->second - next->first};
    next = ends_.erase(next);
    for (const FileRange& piece : minus(old, range)) ends_.emplace(piece.offset, piece.end());
  }
  empty_.store(ends_.empty(), std::memory_order_relaxed);
}

void UnwrittenRanges::written(FileRange range) {
  if (empty_.load(std::memory_order_relaxed)) return;
  const OsLock lock(mutex_);
  remove_locked(range);
}

void UnwrittenRanges::written_in_cache(FileRange range) {
  if (!touches(range)) return;
  const OsLock lock(mutex_);
  if (flush_failed_) return;
  ++writes_;
  // Zeros written ahead come in order: one entry for all of them.
  if (!pending_.empty() && pending_.back().range.end() == range.offset) {
    pending_.back().range.length += range.length;
    pending_.back().since = writes_;
    return;
  }
  pending_.push_back({range, writes_});
}

std::uint64_t UnwrittenRanges::begin_flush() const {
  const OsLock lock(mutex_);
  return writes_;
}

void UnwrittenRanges::complete_flush(std::uint64_t ticket) {
  const OsLock lock(mutex_);
  const auto later = std::find_if(pending_.begin(), pending_.end(),
                                  [&](const Pending& one) { return one.since > ticket; });
  for (auto one = pending_.begin(); one != later; ++one) remove_locked(one->range);
  pending_.erase(pending_.begin(), later);
}

void UnwrittenRanges::fail_flush() {
  const OsLock lock(mutex_);
  // A write that follows finds the range written, in memory only, and brings nothing to the next
  // flush that would make it so on the disk.
  flush_failed_ = true;
  pending_.clear();
}

std::vector<FileRange> UnwrittenRanges::ranges() const {
  const OsLock lock(mutex_);
  std::vector<FileRange> ranges;
  for (const auto& [offset, end] : ends_) ranges.push_back({offset, end - offset});
  return ranges;
}

}  // namespace hexad::io
