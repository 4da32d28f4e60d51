// What a device has whose requests are neither the kernel's nor a thread's work: it takes
// requests, and says by a call when they are over. The queues of files (io/os) hand such requests
// to it; a batch may have them and others.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/error.h"

namespace hexad::io {

struct IoRequest;

class Starter {
 public:
  using Answer = std::function<void(Status)>;

  // Begins a row of requests to the device that are valid (D1): a single one, or writes of one mode
  // each of which begins where the one before it ends, of longest_row() bytes together at most.
  // `answer` is called once, for all of them, on any thread, which may be this one before start()
  // returns; then the device is done with their memory. Does not wait for the device. `row` is gone
  // when this returns; the memory stays until the answer, and the device stays open until answer()
  // has returned. Any thread.
  virtual void start(std::span<const IoRequest> row, Answer answer) = 0;
  // Where one long write costs less than the writes that it is made of: how long it may be, in
  // bytes. 0: requests come one by one. The same for the device's life.
  virtual std::uint64_t longest_row() const { return 0; }

 protected:
  ~Starter() = default;
};

}  // namespace hexad::io
