// What a device has whose requests are neither the kernel's nor a thread's work: it takes a
// request, and says by a call when it is over. The queues of files (io/os) hand such requests to
// it; a batch may have them and others.
#pragma once

#include <functional>

#include "base/error.h"

namespace hexad::io {

struct IoRequest;

class Starter {
 public:
  using Answer = std::function<void(Status)>;

  // Begins a request to the device that is valid (D1). `answer` is called once, on any thread,
  // which may be this one before start() returns; then the device is done with the request's
  // memory. Does not wait for the device. `request` is gone when this returns; its memory stays
  // until the answer, and the device stays open until answer() has returned. Any thread.
  virtual void start(const IoRequest& request, Answer answer) = 0;

 protected:
  ~Starter() = default;
};

}  // namespace hexad::io
