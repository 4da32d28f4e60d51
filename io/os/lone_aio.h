// A read of one thread by Linux's first asynchronous I/O (io_submit(2)), for machines where
// io_uring is refused: two system calls, and nobody is woken. Only direct I/O is asynchronous that
// way, and only what does not have to wait for anything but the device; for all else kNotSent.
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

class LoneAio {
 public:
  // Errors: kUnsupported (the kernel refuses it).
  static Result<std::unique_ptr<LoneAio>> make();
  LoneAio(const LoneAio&) = delete;
  LoneAio& operator=(const LoneAio&) = delete;
  // Nothing is under way.
  ~LoneAio();

  enum class Outcome : std::uint8_t {
    kAnswered,  // and `result` is as of read(2), errors negative
    kLate,      // it is under way, until take() has its result
    kNotSent,   // nothing is under way: it would have to wait, or is not supported for this file
  };
  struct Answer {
    Outcome outcome;
    std::int64_t result = 0;
  };
  // `fd`: opened for direct I/O. Precondition: nothing is late.
  Answer read(int fd, MutByteView into, std::uint64_t offset, Nanos limit);
  // Of the late read: waits for it.
  std::int64_t take();

 private:
  explicit LoneAio(std::uint64_t context) : context_(context) {}
  Answer wait(Nanos limit);  // negative: without limit

  const std::uint64_t context_;
  bool late_ = false;
};

// Those of a queue: at most `most`, made when they are needed first. Any thread.
class LoneAios {
 public:
  explicit LoneAios(std::size_t most) : most_(most) {}
  // One that nobody else has until it is given back. Null: all are in use, or the kernel gives no
  // more of them.
  LoneAio* take();
  void release(LoneAio* one);

 private:
  const std::size_t most_;
  OsMutex mutex_;
  std::vector<std::unique_ptr<LoneAio>> all_ HEXAD_GUARDED_BY(mutex_);
  std::vector<LoneAio*> free_ HEXAD_GUARDED_BY(mutex_);
  bool refused_ HEXAD_GUARDED_BY(mutex_) = false;
};

}  // namespace hexad::io
