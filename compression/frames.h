// A payload compressed in frames, so that a read of a range decompresses only what it touches.
//
// The payload is cut into frames of `frame_bytes` logical bytes (the last may be shorter), each
// compressed alone and stored one after the other. A frame that does not shrink is stored raw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/codec.h"
#include "base/error.h"
#include "compression/codec.h"
#include "compression/policy.h"

namespace hexad::compression {

// Invariants, guaranteed by compress_frames() and decode_frame_set():
//   FR1 frame_bytes is a power of two, kMinFrameBytes to kMaxFrameBytes
//   FR2 there is one stored length per frame: ceil(raw_length / frame_bytes)
//   FR3 0 < stored length <= raw length of the frame; equal means stored raw
//   FR4 stored_bytes is the sum of the stored lengths
struct FrameSet {
  Algorithm algorithm = Algorithm::kNone;
  std::uint32_t frame_bytes = 0;
  std::uint64_t raw_length = 0;               // bytes of the payload
  std::uint64_t stored_bytes = 0;             // bytes of all frames
  std::vector<std::uint32_t> stored_lengths;  // bytes, in order

  bool operator==(const FrameSet&) const = default;
  // Logical bytes of frame i: frame_bytes but for the last.
  std::uint32_t raw_length_of(std::size_t frame) const;
};

// Compresses `payload` into the start of `out`, which has at least payload.size() bytes; no more
// are ever written. Nothing is returned, and `out` is undefined, when the result misses the
// policy's required ratio: store the payload as it is then, without a frame table. Gives up as soon
// as the frames so far are over the limit. Reads every byte of the payload once, into a copy of a
// frame: compressors look at theirs again and again, and a payload that somebody changes meanwhile
// becomes a mixture that decompresses. Errors: kInvalidArgument (`out` too short, policy invalid),
// kTooBig (payload over 2^44 bytes).
Result<std::optional<FrameSet>> compress_frames(const Policy& policy, ByteView payload,
                                                MutByteView out);

// What has to be read to give back a logical range.
struct FrameRange {
  std::size_t first_frame = 0;
  std::size_t frame_count = 0;
  std::uint64_t stored_offset = 0;  // bytes from the start of the stored form
  std::uint64_t stored_length = 0;  // bytes
  std::uint64_t raw_offset = 0;     // where first_frame begins, bytes from the start of the payload

  bool operator==(const FrameRange&) const = default;
};

// The frames that [offset, offset + length) of the payload touches; none for length 0. Cost: one
// pass over the lengths of the frames before the range's end.
// Errors: kInvalidArgument (the range passes raw_length).
Result<FrameRange> frames_for_range(const FrameSet& set, std::uint64_t offset,
                                    std::uint64_t length);

// Fills `out` with the payload's bytes from `offset` on. `stored` is what frames_for_range(set,
// offset, out.size()) names. Whole frames go straight into `out`; the first and the last pass
// through a buffer of one frame when they are needed in part.
// Errors: kInvalidArgument (range, or `stored` of another length), kCorruption, kUnavailable.
Status decompress_range(const FrameSet& set, std::uint64_t offset, ByteView stored,
                        MutByteView out);

// The frame table: doc/format.md#frame-table. The raw length is in the object's record already and
// is given to the decoder. decode_frame_set() bounds everything by the bytes it has.
// Errors: kCorruption, kUnsupported (an algorithm that this version does not know).
void encode_frame_set(Encoder& out, const FrameSet& set);
Result<FrameSet> decode_frame_set(Decoder& in, std::uint64_t raw_length);

}  // namespace hexad::compression
