// Any bytes as a frame table with stored frames behind it, and as the compressed form of each
// algorithm: nothing may be read or written where it should not.
#include <cstdint>

#include "base/assert.h"
#include "compression/codec.h"
#include "compression/frames.h"

using namespace hexad;
using namespace hexad::compression;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  Decoder in(input);
  // 64 KiB at most: sixteen frames are enough to meet every case.
  const std::uint64_t raw_length = in.le16();
  const std::uint64_t offset = in.le16();
  const Result<FrameSet> set = decode_frame_set(in, raw_length);
  if (set.ok() && offset <= raw_length) {
    const std::uint64_t length = raw_length - offset;
    const Result<FrameRange> range = frames_for_range(*set, offset, length);
    HEXAD_ASSERT(range.ok());
    HEXAD_ASSERT(range->stored_offset + range->stored_length <= set->stored_bytes);
    // The bytes that follow, repeated as often as it takes to be as long as the table says.
    Bytes stored(range->stored_length);
    for (std::size_t i = 0; i < stored.size() && in.remaining() > 0; ++i) {
      stored[i] = as_bytes(in.rest())[i % in.remaining()];
    }
    Bytes out(length);
    decompress_range(*set, offset, stored, out).ignore();
  }
  Bytes out(raw_length);
  for (Algorithm algorithm : kAlgorithms) {
    decompress(algorithm, input.subspan(size < 4 ? size : 4), out).ignore();
  }
  return 0;
}
