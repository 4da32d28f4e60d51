// What the queues of files share for devices that take requests by themselves (io/starter.h): which
// requests such devices have, and what becomes of them.
//
// Invariants
//   SQ1 a request that a device has been given is in started_ until its answer has been dealt with,
//       to the end; so the queue, which waits for that when it is destroyed, outlives every call
//   SQ2 the device never sees a request or batch of a caller, only a copy: when it is given up, one
//       that nobody waits for takes their place in started_, and its answer goes there
//   SQ3 a row is of requests of one batch, and its answer is that of each of them: a write that
//       failed beside another one counts as failed, too (D2)
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/os_mutex.h"
#include "io/device.h"

namespace hexad::io {

class StarterQueue : public IoQueue {
 protected:
  // Gives those requests of the batch to their devices that are for starters and whose status is
  // ok: check() has been asked. `count`: how many these are. Where no others are left the batch may
  // be gone when this returns. No lock of the queue is held.
  void start(IoBatch& batch, std::size_t count);
  // give_up_requests() of a starter.
  void give_up_started(Device& device);
  // The last request of a batch has been completed by a device, or by give_up_started(). The batch
  // may be gone. kCallback: it had one, which has run.
  enum class Told : std::uint8_t { kCallback, kWhoWaits };
  virtual void completed(const IoBatch* batch, Told told) = 0;
  // In the destructor of what has completed().
  void wait_for_started();

 private:
  struct Started {
    IoBatch* batch;
    IoRequest* request;
    Told told;
    bool answered = false;
  };
  using Place = std::list<Started>::iterator;
  void start_row(IoBatch& batch, std::span<IoRequest* const> row, Told told);
  void take_answer(Place place, Status status);

  OsMutex started_mutex_;
  std::condition_variable none_started_;
  std::list<Started> started_ HEXAD_GUARDED_BY(started_mutex_);
};

}  // namespace hexad::io
