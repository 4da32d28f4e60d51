// One scrub under way: which stripes it is about, what it has come to, and the pace that it is held
// to. What a pass (core/check/scrub_pass.h) and its parts for pack stripes and private ones share.
#pragma once

#include <cstdint>
#include <map>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "core/api/types.h"
#include "core/check/check_parts.h"
#include "core/check/scrub_position.h"
#include "core/space/space.h"
#include "io/clock.h"

namespace hexad::core {

// kMissing: stripes alone of which cells are missing on devices that are there.
enum class ScrubScope : std::uint8_t { kAll, kMissing };

// Single thread.
class ScrubRun {
 public:
  // All outlive it.
  ScrubRun(const CheckParts& parts, const ScrubOptions& options, ScrubScope scope);

  const CheckParts& parts() const { return parts_; }
  ScrubScope scope() const { return scope_; }
  bool concerns(const alloc::Extent& stripe) const {
    return scope_ == ScrubScope::kAll || parts_.space.lacks_cells(stripe);
  }
  // U5: writes the cell where it is missing. Precondition: it is right.
  Status fill(const alloc::Extent& stripe, const CellPlace& place, ByteView cell);

  // --- what it has come to ---
  void count_stripe();
  void count_bytes(std::uint64_t bytes);
  void note_silent(DeviceId device) { ++silent_[device]; }
  void find(Finding finding);
  // Labels and roots of all devices, at the end of a pass.
  Status look_at_headers();
  // With a finding for each device that did not answer. It is over.
  ScrubReport take_report(const ScrubPosition& at);

  // --- pace ---
  void begin_piece();
  void count_step() { ++steps_; }  // a stripe or a key
  bool is_full() const;            // the piece is
  // Behind a piece: waits until another one may begin, and tells meanwhile.
  Status rest(const ScrubPosition& at);
  bool is_stopped() const { return stopped_; }

 private:
  io::Nanos due() const;

  const CheckParts& parts_;
  const ScrubOptions& options_;
  const ScrubScope scope_;
  const std::uint64_t most_bytes_;  // of a piece
  const io::Nanos began_;
  ScrubReport report_;
  std::map<DeviceId, std::uint64_t> silent_;  // cells of theirs that were not looked at
  bool stopped_ = false;                      // the caller wants no more
  // Of the present piece.
  std::uint64_t bytes_before_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace hexad::core
