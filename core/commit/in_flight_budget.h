// Bounds the payload of transactions that are under way, bytes, so that memory stays bounded
// however many threads commit. Admits in the order of asking: a large transaction is not passed by
// small ones for ever, and the wait of each grows with those before it and no more.
//
// Any thread. The lock is a leaf, and one of its own, so that no commit wakes
// threads that wait for something else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>

#include "base/error.h"
#include "io/executor.h"

namespace hexad::core {

class InFlightBudget {
 public:
  // `relieve` is asked, under no lock, by who waits and is next: whether it has made durable
  // something that holds a part of the budget until then.
  InFlightBudget(io::Executor& executor, std::uint64_t limit, std::function<bool()> relieve);

  // Waits until `bytes` more may be under way; they are until the last copy of the result goes. A
  // single transaction larger than the limit passes alone. Outlived by the budget. Errors:
  // kUnavailable, the thread was called back (io/recall.h), and has taken nothing.
  Result<std::shared_ptr<void>> take(std::uint64_t bytes);

 private:
  // The turn is the next one's.
  void pass() HEXAD_REQUIRES(mutex_);
  void release(std::uint64_t bytes);

  const std::uint64_t limit_;
  const std::function<bool()> relieve_;
  io::Mutex mutex_;  // below
  io::CondVar changed_;
  std::uint64_t used_ HEXAD_GUARDED_BY(mutex_) = 0;
  std::uint64_t turn_ HEXAD_GUARDED_BY(mutex_) = 0;        // whose turn it is to be admitted
  std::uint64_t next_turn_ HEXAD_GUARDED_BY(mutex_) = 0;   // of who comes next
  std::set<std::uint64_t> left_ HEXAD_GUARDED_BY(mutex_);  // turns of threads that were called back
};

}  // namespace hexad::core
