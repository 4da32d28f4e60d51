// A ring of one thread and one read at a time. Such a read costs one system call and wakes nobody,
// as pread(2) does, and the thread that waits for it can leave it: what it reads into stays the
// ring's until the device has answered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/os_mutex.h"
#include "io/clock.h"

namespace hexad::io {

class LoneRing {
 public:
  // Errors: kUnsupported (the kernel refuses it, or cannot wait for so long and no longer).
  static Result<std::unique_ptr<LoneRing>> make();
  LoneRing(const LoneRing&) = delete;
  LoneRing& operator=(const LoneRing&) = delete;
  // Nothing is under way.
  ~LoneRing();

  enum class Outcome : std::uint8_t {
    kAnswered,  // and `result` is as of read(2), errors negative
    kLate,      // it is under way, and is_late() until take() has its result
    kNotSent,   // the kernel did not take it: nothing is under way, and the ring is of no more use
  };
  struct Answer {
    Outcome outcome;
    int result = 0;
  };
  // `may_wait`: by a thread of the kernel, for a read that cannot go on without waiting.
  enum class How : std::uint8_t { kAtOnce, kMayWait };
  // Precondition: !is_late().
  Answer read(int fd, MutByteView into, std::uint64_t offset, How how, Nanos limit);

  bool is_late() const { return late_; }
  // Of the late read, when it has been answered: kAnswered, else kLate.
  Answer take();
  // Can be polled: readable when take() has an answer.
  int fd() const;

 private:
  struct Ring;
  explicit LoneRing(std::unique_ptr<Ring> ring);

  std::unique_ptr<Ring> ring_;
  bool late_ = false;
};

// Those of a queue: at most `most`, made when they are needed first. Any thread.
class LoneRings {
 public:
  explicit LoneRings(std::size_t most) : most_(most) {}
  // One that nobody else has until it is given back. Null: all are in use, or the kernel gives no
  // more of them.
  LoneRing* take();
  void release(LoneRing* ring);
  // Instead of release(), of one that is of no more use.
  void discard(LoneRing* ring);

 private:
  const std::size_t most_;
  OsMutex mutex_;
  std::vector<std::unique_ptr<LoneRing>> all_ HEXAD_GUARDED_BY(mutex_);
  // The last one used is the next: its memory is in the caches.
  std::vector<LoneRing*> free_ HEXAD_GUARDED_BY(mutex_);
  bool refused_ HEXAD_GUARDED_BY(mutex_) = false;
};

}  // namespace hexad::io
