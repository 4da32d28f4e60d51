// Changes of many threads as few commits: whoever comes while a commit is going on waits for the
// next one, which takes all that have come by then. What a user of a store with one writer puts in
// front of it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "benchmarks/peers/change.h"

namespace hexad::bench {

// Any thread.
class GroupingQueue {
 public:
  // Commits changes together, durably, in order. Called on the thread of one of them, never twice
  // at a time.
  using Commit = std::function<void(const std::vector<Change>&)>;
  explicit GroupingQueue(Commit commit) : commit_(std::move(commit)) {}
  GroupingQueue(const GroupingQueue&) = delete;
  GroupingQueue& operator=(const GroupingQueue&) = delete;

  // Returns when the change is durable.
  void run(const Change& change) {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_.push_back(change);
    const std::uint64_t group = next_group_;
    while (done_groups_ <= group) {
      if (committing_) {
        changed_.wait(lock);
        continue;
      }
      committing_ = true;
      const std::vector<Change> changes = std::exchange(waiting_, {});
      ++next_group_;
      lock.unlock();
      commit_(changes);
      lock.lock();
      committing_ = false;
      ++done_groups_;
      changed_.notify_all();
    }
  }

 private:
  const Commit commit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Change> waiting_;    // guarded by mutex_, as all below
  std::uint64_t next_group_ = 0;   // that of what is waiting
  std::uint64_t done_groups_ = 0;  // as many are durable
  bool committing_ = false;
};

}  // namespace hexad::bench
