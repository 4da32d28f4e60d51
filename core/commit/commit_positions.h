// How far commits have come: of each state, the last LSN up to which all have reached it.
//
// All under the pipeline's lock, but for visible().
//
// Invariants
//   C3  recorded <= durable, and some durable log block carries recorded (R9)
//   C6  durable <= answered <= visible < next; visible never goes back. Everything up to visible
//       can be read: its blobs are known to LogBlobs or InFlightCells from before it could
#pragma once

#include <algorithm>
#include <atomic>

#include "base/ids.h"

namespace hexad::core {

class CommitPositions {
 public:
  // Everything before `next` is durable.
  explicit CommitPositions(Lsn next)
      : next_(next), durable_(next - 1), answered_(durable_), recorded_(durable_) {
    visible_.store(durable_, std::memory_order_relaxed);
  }

  // That the next transaction has to carry.
  Lsn next() const { return next_; }
  Lsn last() const { return next_ - 1; }
  // Have their places in the log.
  Lsn in_log() const { return in_log_; }
  // durable(), or copies of its log block are missing that the answer does not wait for.
  Lsn answered() const { return answered_; }
  Lsn durable() const { return durable_; }
  // The watermark that a durable block, or a root, carries.
  Lsn recorded() const { return recorded_; }
  // The state that readers see. Any thread, no lock.
  Lsn visible() const { return visible_.load(std::memory_order_acquire); }

  // The next transaction is queued.
  void advance_next() { ++next_; }
  void set_in_log(Lsn lsn) { in_log_ = lsn; }
  void raise_visible(Lsn lsn) {
    if (lsn > visible_.load(std::memory_order_relaxed)) {
      visible_.store(lsn, std::memory_order_release);
    }
  }
  void raise_answered(Lsn lsn) {
    answered_ = std::max(answered_, lsn);
    raise_visible(answered_);
  }
  void raise_durable(Lsn lsn) { durable_ = std::max(durable_, lsn); }
  // A durable block carries `watermark`.
  void raise_recorded(Lsn watermark) { recorded_ = std::max(recorded_, watermark); }  // C3
  // A root does: no more than what is durable counts.
  void note_recorded(Lsn watermark) {
    recorded_ = std::max(recorded_, std::min(watermark, durable_));
  }

 private:
  Lsn next_;
  Lsn in_log_ = 0;
  Lsn durable_;
  Lsn answered_;
  Lsn recorded_;
  std::atomic<Lsn> visible_{0};  // written under the lock
};

}  // namespace hexad::core
