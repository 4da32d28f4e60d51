// Devices that are behind get what they lack, in the background and when they are asked to.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "core/api/types.h"
#include "core/devices/device_parts.h"
#include "core/jobs/catch_up_job.h"

namespace hexad::core {

class CatchUps {
 public:
  struct Hooks {
    // As a scrub, of stripes alone of which cells are missing on devices that are there.
    std::function<Result<ScrubReport>(const ScrubOptions&)> fill_cells;
    // The cleaner stood back while a device was behind (CL6), and nobody need commit anything for
    // it to go on.
    std::function<void()> clean_again;
    std::function<void()> want_moves;  // slabs may have to be moved
  };
  // They outlive it.
  CatchUps(const DeviceParts& parts, Hooks hooks);

  // In the background, where the options want that and some device is behind.
  void start();
  // As Store::catch_up().
  Result<CatchUpReport> run(const CatchUpOptions& options);
  // A root says that those are whole which lack nothing any more.
  Status settle_whole();
  CatchUpJob& job() { return job_; }

 private:
  std::uint64_t missing_bytes() const;
  // How often a commit, of a user or of the store itself, data of a stream, or a read of an object
  // that the cache had not, has made a device do something.
  std::uint64_t device_uses() const;

  const DeviceParts& parts_;
  const Hooks hooks_;
  CatchUpJob job_;
};

}  // namespace hexad::core
