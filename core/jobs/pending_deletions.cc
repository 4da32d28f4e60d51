#include "core/jobs/pending_deletions.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

namespace {

template <typename List>
void move_first(List& from, List& to) {
  to.push_back(std::move(from.front()));
  from.erase(from.begin());
}

template <typename List>
void put_first(List& to, const List& list) {
  to.insert(to.begin(), list.begin(), list.end());
}

template <typename List>
void put_last(List& to, const List& list) {
  to.insert(to.end(), list.begin(), list.end());
}

}  // namespace

void PendingDeletions::schedule(ScheduledDeletions&& deletions) {
  const io::Lock lock(mutex_);
  for (const BodyId body : deletions.cuts) {
    const auto known = std::find(pending_.cuts.begin(), pending_.cuts.end(), body);
    if (known == pending_.cuts.end()) pending_.cuts.push_back(body);
  }
  put_last(pending_.bodies, deletions.bodies);
  put_last(pending_.names, deletions.names);
}

std::optional<io::Nanos> PendingDeletions::due() {
  const io::Lock lock(mutex_);
  return due_locked();
}

std::optional<io::Nanos> PendingDeletions::due_locked() {
  if (pending_.empty()) return std::nullopt;
  if (!pause_.failing()) return io::Nanos{0};
  return std::max<io::Nanos>(0, retry_at_ - executor_.clock().now());
}

std::optional<ScheduledDeletions> PendingDeletions::take() {
  const io::Lock lock(mutex_);
  if (due_locked() != io::Nanos{0}) return std::nullopt;
  ScheduledDeletions one;
  if (!pending_.bodies.empty()) {
    move_first(pending_.bodies, one.bodies);
  } else if (!pending_.cuts.empty()) {
    move_first(pending_.cuts, one.cuts);
  } else {
    move_first(pending_.names, one.names);
  }
  return one;
}

void PendingDeletions::note_deleted() { note_some_deleted({}); }

void PendingDeletions::note_some_deleted(ScheduledDeletions&& rest) {
  const io::Lock lock(mutex_);
  pause_.reset();
  put_first(pending_.bodies, rest.bodies);
  put_first(pending_.cuts, rest.cuts);
  put_first(pending_.names, rest.names);
}

void PendingDeletions::note_failed(ScheduledDeletions&& rest) {
  const io::Lock lock(mutex_);
  put_last(pending_.bodies, rest.bodies);
  put_last(pending_.cuts, rest.cuts);
  put_last(pending_.names, rest.names);
  retry_at_ = executor_.clock().now() + pause_.next();
}

}  // namespace hexad::core
