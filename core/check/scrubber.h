// Scrubs of an open store, one or several at a time, and how far those are that status() tells of.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/error.h"
#include "core/api/types.h"
#include "core/blob/in_flight_cells.h"
#include "core/check/check_parts.h"
#include "core/check/known_damage.h"
#include "core/check/scrub_run.h"

namespace hexad::core {

class Scrubber {
 public:
  // All outlive it.
  Scrubber(CheckParts parts, const InFlightCells& in_flight, KnownDamage& damage);

  // Any thread, under no lock. Errors: kClosed, kUnavailable (a device is silent, or the thread was
  // called back), kInvalidArgument (options.from). What is wrong with a stripe is a finding.
  Result<ScrubReport> scrub(const ScrubOptions& options);
  // The same, of which show() does not tell: whoever asked for it does.
  Result<ScrubReport> scrub_apart(const ScrubOptions& options);
  // The same, of stripes alone of which cells are missing on devices that are there.
  Result<ScrubReport> fill_cells(const ScrubOptions& options);
  // Any thread.
  void show(StoreStatus& status) const;

 private:
  Result<ScrubReport> run(const ScrubOptions& options, ScrubScope scope);

  const CheckParts parts_;
  const InFlightCells& in_flight_;
  KnownDamage& damage_;
  // Of scrub(): how many run, and how far the one is that said so last, in bytes.
  std::atomic<std::uint32_t> running_{0};
  std::atomic<std::uint64_t> done_{0};
  std::atomic<std::uint64_t> total_{0};
};

}  // namespace hexad::core
