// The lock under which transactions get their places in the order, one at a time. Whoever holds it
// holds up every commit.
//
//   C11 one hold handles a bounded number of keys of the metadata, beside those that the ops of its
//       transaction name one by one; keys that were deleted since the last checkpoint count
//       (NewestState::largest_hold())
//   C12 no hold asks a device for anything, but for fsck, a checkpoint that waits for what is in
//       flight, and, while there is no index on the fast tier, look-ups in runs for changes of the
//       store's own. What a transaction of a user needs of the runs is read before, and when
//       something is missing its attempt is repeated; one that has lacked something kMaxCold times
//       reads like the others
#pragma once

#include "io/executor.h"
#include "io/recall.h"

namespace hexad::core {

class HEXAD_CAPABILITY("sequencer") Sequencer {
 public:
  explicit Sequencer(io::Executor& executor) : mutex_(executor) {}

  void lock() HEXAD_ACQUIRE() {
    mutex_.lock();
    ++held();
  }
  bool try_lock() HEXAD_TRY_ACQUIRE(true) {
    if (!mutex_.try_lock()) return false;
    ++held();
    return true;
  }
  // As lock() on threads that nobody calls back (io/recall.h). False: the thread was, and holds
  // nothing.
  bool lock_unless_recalled() HEXAD_TRY_ACQUIRE(true) {
    if (io::Recall::here() == nullptr) {
      lock();
      return true;
    }
    while (!mutex_.try_lock_for(io::Recall::kBetweenAsks)) {
      if (io::Recall::comes()) return false;
    }
    ++held();
    return true;
  }
  void unlock() HEXAD_RELEASE() {
    --held();
    mutex_.unlock();
  }
  // Whether the calling thread holds one, of any store. The fibers of a simulation share a thread,
  // so there it says whether any of them does. For tests.
  static bool held_here() { return held() > 0; }

 private:
  // By the calling thread.
  static int& held() {
    static thread_local int count = 0;
    return count;
  }

  io::Mutex mutex_;
};

using SequencerLock = io::BasicLock<Sequencer>;

}  // namespace hexad::core
