// Compression policies: which data of a collection is compressed, and how.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/error.h"
#include "compression/codec.h"

// Compression of stored data: the policies of collections.
namespace hexad::compression {

// Which data is compressed. The values are on disk, and are never reused.
enum class Mode : std::uint8_t {
  kNone = 0,        // none
  kPassive = 1,     // only data with Hint::kCompressible, unless a sample says it is hopeless
  kAggressive = 2,  // all but data with Hint::kIncompressible, unless a sample says it is hopeless
  kForce = 3,       // all, whatever hints and samples say
};

// Returns "none", "passive", "aggressive" or "force".
std::string_view to_string(Mode mode);
// Returns the mode that is called "none", "passive", "aggressive" or "force".
//
// Errors: kInvalidArgument.
Result<Mode> parse_mode(std::string_view text);

// What is known of data that compression can use.
enum class Hint : std::uint8_t {
  kNone = 0,            // nothing
  kCompressible = 1,    // compression is expected to make it shorter
  kIncompressible = 2,  // compression is expected to be in vain
};

// How the data of a collection is compressed.
struct Policy {
  Mode mode = Mode::kNone;                   // which data is compressed
  Algorithm algorithm = Algorithm::kSnappy;  // how; Algorithm::kNone: not at all
  int level = 0;                             // the level of the algorithm; 0 is its default
  // The most that may be left of the data, in thousandths, 1 to 1000: the compressed form is stored
  // if its length is at most that of the data * required_ratio / 1000.
  std::uint32_t required_ratio = 875;
  // Data of fewer bytes is stored as it is.
  std::uint32_t min_blob_size = 512;
  // Bytes of a frame: longer data is cut into frames, each compressed alone, so that a small read
  // decompresses no more than one. A power of two, kMinFrameBytes to kMaxFrameBytes.
  //
  // The default saves 1 to 3 % less space than 64 KiB would (snappy, programs and text), and halves
  // the time of a small read.
  std::uint32_t max_blob_size = 32 * 1024;

  // Returns true if all fields are equal.
  bool operator==(const Policy&) const = default;
};

// The smallest Policy::max_blob_size, in bytes.
inline constexpr std::uint32_t kMinFrameBytes = 4 * 1024;
// The largest Policy::max_blob_size, in bytes.
inline constexpr std::uint32_t kMaxFrameBytes = 1024 * 1024;

// Returns OK if every field is within its bounds.
//
// Errors: kInvalidArgument (the message has the field, its value and its bounds); kUnsupported (an
// algorithm that this version does not have).
Status validate(const Policy& policy);

// What to do with one payload.
enum class Decision : std::uint8_t {
  kStoreRaw,           // store it as it is
  kProbeThenCompress,  // compress it, unless a sample says it is hopeless
  kCompress,           // compress it
};

// Returns what a policy says about a payload of `length` bytes with this hint.
Decision decide(const Policy& policy, Hint hint, std::uint64_t length);

// Returns the largest compressed form, in bytes, of `original` bytes that is stored. Precondition:
// at most 2^50 bytes.
std::uint64_t accepted_bytes(const Policy& policy, std::uint64_t original);

// Returns all fields as a text that parse_policy() reads, such as
// "mode=none,algorithm=snappy,level=0,required_ratio=0.875,min_blob_size=512,max_blob_size=32768".
std::string to_string(const Policy& policy);
// Returns `base` with the fields that the text has, in any order and any number:
// "mode=passive,level=3".
//
// Sizes may have a unit, as in "64KiB". A word without "=" is a mode or else an algorithm:
// "aggressive,zstd". The result is valid.
//
// Errors: kInvalidArgument (the message has the field).
Result<Policy> parse_policy(std::string_view text, const Policy& base = {});

// Returns thousandths as a decimal fraction: 875 becomes "0.875".
std::string format_ratio(std::uint32_t thousandths);
// Returns the thousandths of a decimal fraction with at most three decimals: "0.875" becomes 875.
//
// Errors: kInvalidArgument (also if it is not above 0 and at most 1).
Result<std::uint32_t> parse_ratio(std::string_view text);

// Appends a policy as records and labels have it (doc/format.md#compression-policy).
void encode_policy(Encoder& out, const Policy& policy);
// Reads what encode_policy() has written, and returns a valid policy.
//
// Errors: kCorruption; kUnsupported (a mode or an algorithm that this version does not have).
Result<Policy> decode_policy(Decoder& in);

}  // namespace hexad::compression
