// What to compress, and what to keep of it: a collection's settings and the decision they lead to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/error.h"
#include "compression/codec.h"

namespace hexad::compression {

// Values are on disk; never reused.
enum class Mode : std::uint8_t {
  kNone = 0,        // never
  kPassive = 1,     // only what is hinted compressible
  kAggressive = 2,  // all but what is hinted incompressible
  kForce = 3,       // always, hints and probe ignored
};

std::string_view to_string(Mode mode);           // "none", "passive", "aggressive", "force"
Result<Mode> parse_mode(std::string_view text);  // kInvalidArgument

// What the writer says about an object's bytes.
enum class Hint : std::uint8_t { kNone = 0, kCompressible = 1, kIncompressible = 2 };

struct Policy {
  Mode mode = Mode::kNone;
  Algorithm algorithm = Algorithm::kSnappy;
  int level = 0;  // of the algorithm; 0 is its default
  // Thousandths. The compressed form is kept when stored <= original * required_ratio / 1000.
  std::uint32_t required_ratio = 875;
  // Payloads shorter than this many bytes are stored as they are.
  std::uint32_t min_blob_size = 512;
  // Longer payloads are cut into frames of this many bytes, each compressed alone, so that a small
  // read decompresses no more than that. A power of two, 4 KiB to 1 MiB. The default gives up 1 to
  // 3 % of what 64 KiB would save (snappy, programs and text) for half the time of a small read.
  std::uint32_t max_blob_size = 32 * 1024;

  bool operator==(const Policy&) const = default;
};

inline constexpr std::uint32_t kMinFrameBytes = 4 * 1024;
inline constexpr std::uint32_t kMaxFrameBytes = 1024 * 1024;

// Errors: kInvalidArgument, naming the field, its value and its bounds.
Status validate(const Policy& policy);

enum class Decision : std::uint8_t {
  kStoreRaw,           // do not try
  kProbeThenCompress,  // try unless a look at a sample says it is hopeless
  kCompress,           // try
};

// Pure. `length`: bytes of the payload.
Decision decide(const Policy& policy, Hint hint, std::uint64_t length);

// The largest compressed form of `original` bytes that is worth keeping. Exact integer arithmetic.
// Precondition: at most 2^50 bytes.
std::uint64_t accepted_bytes(const Policy& policy, std::uint64_t original);

// "mode=aggressive,algorithm=zstd,level=3,required_ratio=0.875,min_blob_size=512,max_blob_size=64
// KiB". parse_policy() takes the fields in any order and any number of them, starting from `base`;
// a word without '=' is a mode or, failing that, an algorithm: "aggressive,zstd". Errors:
// kInvalidArgument, naming the field. The result is valid.
std::string to_string(const Policy& policy);
Result<Policy> parse_policy(std::string_view text, const Policy& base = {});

// "0.875" <-> 875. At most three decimals, above 0 and at most 1. Errors: kInvalidArgument.
std::string format_ratio(std::uint32_t thousandths);
Result<std::uint32_t> parse_ratio(std::string_view text);

// doc/format.md#compression-policy. decode_policy() returns a valid policy, kCorruption, or
// kUnsupported for a mode or an algorithm that this version does not know.
void encode_policy(Encoder& out, const Policy& policy);
Result<Policy> decode_policy(Decoder& in);

}  // namespace hexad::compression
