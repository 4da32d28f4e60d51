// Background work: what a store does beside its callers. A job knows when it has something to do
// and does it step by step; a scheduler (core/job/job_scheduler.h) has the threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/clock.h"

namespace hexad::core {

// How far a job has come with what it is at. `total` 0: it cannot say, or is at nothing.
struct JobProgress {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::string unit = {};  // "bytes", "runs"
};

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  virtual ~Job() = default;

  // What `hexad status` calls it: "checkpoint". Always the same, one word where that will do.
  virtual std::string_view name() const = 0;
  // What failed when a step has: "making a zone ahead of need". Always the same.
  virtual std::string_view purpose() const = 0;

  // How long until a step is due; 0: now; nothing: not until somebody wakes the scheduler. Asked
  // often, by one thread at a time, under no lock of the scheduler: no I/O, no waiting.
  virtual std::optional<io::Nanos> due() = 0;

  // One step, when one is due: so much as may be done before the other jobs of the thread have
  // their turn, and before a store that is closed waits for it. True: it did something. False:
  // there was nothing to do. Errors: those of the work, which is not due again at once; status()
  // shows the last one until a step succeeds.
  virtual Result<bool> step() = 0;

  // Any thread.
  virtual JobProgress progress() { return {}; }

  // Others wait for what it does: steps that are due are taken even while the store is closed, and
  // until stop() has ended what waits for them.
  virtual bool must_finish() const { return false; }

  // No other step is wanted, unless must_finish(), and one that is under way ends as soon as it
  // can. Any thread; once.
  virtual void stop() {}
};

}  // namespace hexad::core
