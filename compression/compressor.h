// The whole path of a payload through compression: decide, probe, compress, accept, count.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "compression/counters.h"
#include "compression/frames.h"
#include "compression/policy.h"
#include "io/clock.h"

namespace hexad::compression {

// Shared by all threads of a store.
class Compressor {
 public:
  // Both outlive the compressor.
  Compressor(const io::Clock& clock, Counters& counters) : clock_(clock), counters_(counters) {}

  // Compresses `payload` into the start of `out` (at least payload.size() bytes) where the policy
  // and the hint ask for it and the gain suffices. Nothing returned: store the payload as it is;
  // `out` is undefined then.
  // Errors: as compress_frames().
  Result<std::optional<FrameSet>> compress(const Policy& policy, Hint hint, ByteView payload,
                                           MutByteView out) const;

  // decompress_range(), timed.
  Status decompress(const FrameSet& set, std::uint64_t offset, ByteView stored,
                    MutByteView out) const;

 private:
  const io::Clock& clock_;
  Counters& counters_;
};

}  // namespace hexad::compression
