#include "compression/frames.h"

#include <algorithm>
#include <bit>
#include <string>

#include "base/units.h"

namespace hexad::compression {
namespace {

constexpr std::uint64_t kMaxPayloadBytes = std::uint64_t{1} << 44;

// A frame stored raw is written as 0: one byte in the table, where its length would take three.
constexpr std::uint64_t kRawMark = 0;

Error invalid(std::string message) {
  return Error{ErrorCode::kInvalidArgument, "compressed payload: " + std::move(message), ""};
}

Error corrupt(std::string message) {
  return Error{ErrorCode::kCorruption, "frame table: " + std::move(message), ""};
}

}  // namespace

std::uint32_t FrameSet::raw_length_of(std::size_t frame) const {
  const std::uint64_t begin = frame * std::uint64_t{frame_bytes};
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(frame_bytes, raw_length - begin));
}

Result<std::optional<FrameSet>> compress_frames(const Policy& policy, ByteView payload,
                                                MutByteView out) {
  HEXAD_TRY(validate(policy));
  if (payload.size() > kMaxPayloadBytes) {
    return Error{ErrorCode::kTooBig,
                 "payload of " + format_size(payload.size()) + " to compress, at most " +
                     format_size(kMaxPayloadBytes),
                 ""};
  }
  if (out.size() < payload.size()) {
    return invalid(std::to_string(out.size()) + " B of room for " + std::to_string(payload.size()) +
                   " B");
  }
  if (policy.algorithm == Algorithm::kNone) return std::optional<FrameSet>();
  const std::uint64_t limit = accepted_bytes(policy, payload.size());
  FrameSet set;
  set.algorithm = policy.algorithm;
  set.frame_bytes = policy.max_blob_size;
  set.raw_length = payload.size();
  set.stored_lengths.reserve(divide_up(payload.size(), set.frame_bytes));
  Bytes copy(std::min<std::uint64_t>(set.frame_bytes, payload.size()));
  for (std::uint64_t at = 0; at < payload.size(); at += set.frame_bytes) {
    const MutByteView frame = MutByteView(copy).first(set.raw_length_of(at / set.frame_bytes));
    copy_bytes(frame, payload.subspan(at, frame.size()));
    // One byte less than the frame, so that what fits has shrunk (FR3); and no more than is left of
    // the limit, so that the compressor may stop as soon as the whole cannot succeed.
    const std::uint64_t room = std::min<std::uint64_t>(frame.size() - 1, limit - set.stored_bytes);
    HEXAD_TRY_ASSIGN(
        const std::optional<std::size_t> packed,
        compress(policy.algorithm, policy.level, frame, out.subspan(set.stored_bytes, room)));
    const std::uint64_t stored = packed ? *packed : frame.size();
    if (stored > limit - set.stored_bytes) return std::optional<FrameSet>();
    if (!packed) copy_bytes(out.subspan(set.stored_bytes), frame);
    set.stored_lengths.push_back(static_cast<std::uint32_t>(stored));
    set.stored_bytes += stored;
  }
  // With a required ratio of 1 everything may have stayed raw; a table would then say nothing.
  if (set.stored_bytes == set.raw_length) return std::optional<FrameSet>();
  return std::optional<FrameSet>(std::move(set));
}

Result<FrameRange> frames_for_range(const FrameSet& set, std::uint64_t offset,
                                    std::uint64_t length) {
  if (offset > set.raw_length || length > set.raw_length - offset) {
    return invalid("range at " + std::to_string(offset) + " of " + std::to_string(length) +
                   " B passes its end at " + std::to_string(set.raw_length) + " B");
  }
  FrameRange range;
  if (length == 0) return range;
  range.first_frame = offset / set.frame_bytes;
  range.frame_count = (offset + length - 1) / set.frame_bytes - range.first_frame + 1;
  range.raw_offset = range.first_frame * std::uint64_t{set.frame_bytes};
  for (std::size_t i = 0; i < range.first_frame; ++i) range.stored_offset += set.stored_lengths[i];
  for (std::size_t i = 0; i < range.frame_count; ++i) {
    range.stored_length += set.stored_lengths[range.first_frame + i];
  }
  return range;
}

Status decompress_range(const FrameSet& set, std::uint64_t offset, ByteView stored,
                        MutByteView out) {
  HEXAD_TRY_ASSIGN(const FrameRange range, frames_for_range(set, offset, out.size()));
  if (stored.size() != range.stored_length) {
    return invalid(std::to_string(stored.size()) + " B given, the range is stored in " +
                   std::to_string(range.stored_length) + " B");
  }
  Bytes partial;
  std::uint64_t frame_begin = range.raw_offset;
  for (std::size_t i = range.first_frame; i < range.first_frame + range.frame_count; ++i) {
    const std::uint32_t raw = set.raw_length_of(i);
    const std::uint32_t stored_length = set.stored_lengths[i];
    const ByteView bytes = stored.first(stored_length);
    stored = stored.subspan(stored_length);
    // What of this frame is wanted, counted from the frame's start.
    const std::uint64_t from = std::max(offset, frame_begin) - frame_begin;
    const std::uint64_t to = std::min(offset + out.size(), frame_begin + raw) - frame_begin;
    const MutByteView target = out.subspan(frame_begin + from - offset, to - from);
    frame_begin += raw;
    if (stored_length == raw) {  // FR3: stored as it was
      copy_bytes(target, bytes.subspan(from, target.size()));
    } else if (target.size() == raw) {
      HEXAD_TRY(decompress(set.algorithm, bytes, target));
    } else {
      partial.resize(raw);
      HEXAD_TRY(decompress(set.algorithm, bytes, partial));
      copy_bytes(target, ByteView(partial).subspan(from, target.size()));
    }
  }
  return ok_status();
}

void encode_frame_set(Encoder& out, const FrameSet& set) {
  out.u8(static_cast<std::uint8_t>(set.algorithm));
  out.u8(static_cast<std::uint8_t>(std::countr_zero(set.frame_bytes)));
  for (std::size_t i = 0; i < set.stored_lengths.size(); ++i) {
    const std::uint32_t stored = set.stored_lengths[i];
    out.varint(stored == set.raw_length_of(i) ? kRawMark : stored);
  }
}

Result<FrameSet> decode_frame_set(Decoder& in, std::uint64_t raw_length) {
  const std::uint8_t algorithm = in.u8();
  const std::uint8_t frame_shift = in.u8();
  HEXAD_TRY(in.check("frame table"));
  FrameSet set;
  HEXAD_TRY_ASSIGN(set.algorithm, algorithm_from_disk(algorithm));
  if (set.algorithm == Algorithm::kNone) return corrupt("no algorithm");
  if (frame_shift < std::countr_zero(kMinFrameBytes) ||
      frame_shift > std::countr_zero(kMaxFrameBytes)) {
    return corrupt("frames of 2^" + std::to_string(frame_shift) + " B");
  }
  set.frame_bytes = std::uint32_t{1} << frame_shift;
  if (raw_length > kMaxPayloadBytes) {
    return corrupt("payload of " + std::to_string(raw_length) + " B");
  }
  set.raw_length = raw_length;
  const std::uint64_t frames = divide_up(raw_length, set.frame_bytes);
  // Every frame has a byte at least, so nothing is allocated for frames that cannot be there.
  if (frames > in.remaining()) {
    return corrupt(std::to_string(frames) + " frames in " + std::to_string(in.remaining()) + " B");
  }
  set.stored_lengths.reserve(frames);
  for (std::uint64_t i = 0; i < frames; ++i) {
    const std::uint32_t raw = set.raw_length_of(i);
    // A raw frame is told by the mark alone: its length in place of that is refused.
    const auto stored = static_cast<std::uint32_t>(in.varint_up_to(raw - 1));
    set.stored_lengths.push_back(stored == kRawMark ? raw : stored);
    set.stored_bytes += set.stored_lengths.back();
  }
  HEXAD_TRY(in.check("frame table"));
  return set;
}

}  // namespace hexad::compression
