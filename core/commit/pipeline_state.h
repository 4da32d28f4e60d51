// Whether the commit pipeline goes on: the pauses in which the membership changes, and its end.
//
// All under the pipeline's lock, but for has_stopped().
#pragma once

#include <atomic>
#include <optional>

#include "base/assert.h"
#include "base/error.h"

namespace hexad::core {

class PipelineState {
 public:
  // Something may be sealed and acknowledged.
  bool is_going() const { return pauses_ == 0 && !stopped_.has_value(); }

  // --- pauses: they add up, and each ends by itself ---
  void pause() { ++pauses_; }
  bool is_paused() const { return pauses_ > 0; }
  void resume() {
    HEXAD_ASSERT(pauses_ > 0);
    --pauses_;
  }
  // A request has failed (R12, R13): nothing more is sealed or acknowledged until the membership
  // has changed. Whether the caller asks for that: one of a pause does, and nobody after the end.
  bool pause_for_repair() {
    if (repair_pending_ || stopped_.has_value()) return false;
    ++pauses_;
    repair_pending_ = true;
    return true;
  }
  // The pause of the call to repair() is about to end.
  void repaired() { repair_pending_ = false; }

  // --- the end ---
  void stop(const Error& why) {
    stopped_ = why;
    has_stopped_.store(true, std::memory_order_release);
  }
  const std::optional<Error>& stopped() const { return stopped_; }
  // The same, without the lock.
  bool has_stopped() const { return has_stopped_.load(std::memory_order_acquire); }

 private:
  int pauses_ = 0;
  bool repair_pending_ = false;  // one of the pauses is repair()'s
  std::optional<Error> stopped_;
  std::atomic<bool> has_stopped_{false};
};

}  // namespace hexad::core
