// The compression algorithms behind one pair of calls, into buffers of the caller.
//
// Contexts (hundreds of KiB for zstd and zlib) are kept per thread inside codec.cc: a call never
// leaves one in use, so neither fibers nor the simulated executor can see it half-way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"

namespace hexad::compression {

// Values are on disk; never reused.
enum class Algorithm : std::uint8_t {
  kNone = 0,
  kSnappy = 1,
  kZstd = 2,  // one zstd frame (RFC 8878)
  kLz4 = 3,   // one LZ4 block
  kZlib = 4,  // raw deflate (RFC 1951)
};

inline constexpr std::array kAlgorithms = {Algorithm::kNone, Algorithm::kSnappy, Algorithm::kZstd,
                                           Algorithm::kLz4, Algorithm::kZlib};

std::string_view to_string(Algorithm algorithm);  // "none", "snappy", "zstd", "lz4", "zlib"
std::string algorithm_names();  // of kAlgorithms, for a sentence: "none, snappy, zstd, lz4 or zlib"
Result<Algorithm> parse_algorithm(std::string_view text);   // kInvalidArgument
Result<Algorithm> algorithm_from_disk(std::uint8_t value);  // kUnsupported: not known here

// Level 0 is the algorithm's default: zstd 1, lz4 fast, zlib 6.
struct LevelRange {
  int min = 0;
  int max = 0;
};
// none and snappy 0..0, zstd -7..19, lz4 0..12 (from 3 on the slow, denser search), zlib 0..9.
LevelRange level_range(Algorithm algorithm);

// Inputs and outputs of a call: at most this many bytes.
inline constexpr std::size_t kMaxCodecBytes = std::size_t{1} << 30;

// Compresses `in` into the start of `out` and returns the bytes used, or nothing when the result
// does not fit; then the content of `out` is undefined. `out` may be shorter than `in`: that is how
// a caller says what gain it wants, and zstd, lz4 and zlib stop early then. Any thread.
// Errors: kInvalidArgument (level out of range), kTooBig (over kMaxCodecBytes), kUnavailable (no
// memory for a context).
Result<std::optional<std::size_t>> compress(Algorithm algorithm, int level, ByteView in,
                                            MutByteView out);

// Restores exactly out.size() bytes. Survives any input: never writes past `out`, memory is bounded
// by out.size() plus a fixed context. Any thread.
// Errors: kCorruption (not the compressed form of out.size() bytes), kTooBig, kUnavailable.
Status decompress(Algorithm algorithm, ByteView in, MutByteView out);

}  // namespace hexad::compression
