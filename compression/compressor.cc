#include "compression/compressor.h"

#include "compression/probe.h"

namespace hexad::compression {

Result<std::optional<FrameSet>> Compressor::compress(const Policy& policy, Hint hint,
                                                     ByteView payload, MutByteView out) const {
  const Decision decision = decide(policy, hint, payload.size());
  if (decision == Decision::kStoreRaw) return std::optional<FrameSet>();
  const io::Nanos begin = clock_.now();
  if (decision == Decision::kProbeThenCompress &&
      !looks_compressible(payload, policy.required_ratio)) {
    counters_.add_skipped();
    counters_.add_compress_time(clock_.now() - begin);
    return std::optional<FrameSet>();
  }
  Result<std::optional<FrameSet>> set = compress_frames(policy, payload, out);
  counters_.add_compress_time(clock_.now() - begin);
  if (!set.ok()) return set;
  if (set->has_value()) {
    counters_.add_success((*set)->stored_bytes, payload.size());
  } else {
    counters_.add_rejected();
  }
  return set;
}

Status Compressor::decompress(const FrameSet& set, std::uint64_t offset, ByteView stored,
                              MutByteView out) const {
  const io::Nanos begin = clock_.now();
  Status status = decompress_range(set, offset, stored, out);
  counters_.add_decompress_time(clock_.now() - begin);
  return status;
}

}  // namespace hexad::compression
