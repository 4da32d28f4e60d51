// A redundancy profile: how many cells a stripe has, and which code fills the parity ones, if there
// are any.
//
// All codes are systematic and linear over GF(2^8) with the polynomial 0x11d, and any k of the
// k+m cells give back the rest (validate() refuses the combinations where that does not hold).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/error.h"

namespace hexad::ec {

inline constexpr std::uint32_t kMaxDataShards = 32;
inline constexpr std::uint32_t kMaxParityShards = 8;
inline constexpr std::uint32_t kMaxShards = kMaxDataShards + kMaxParityShards;

// Values are on disk; never reused. Each gives the bytes of Ceph's technique of that name (16.2.15;
// tests/ec/ceph_vectors_test.cc), but for kIsaCauchy with m = 1: see as_ceph_has_it().
enum class CodecKind : std::uint8_t {
  kIsaVandermonde = 1,       // isa:reed_sol_van
  kIsaCauchy = 2,            // isa:cauchy; with m = 1 isa:cauchy_row, of older pools only
  kJerasureVandermonde = 3,  // jerasure:reed_sol_van,w=8
  kJerasureCauchyGood = 4,   // jerasure:cauchy_good,w=8,packetsize=P
  kJerasureRaid6 = 5,        // jerasure:reed_sol_r6_op,w=8; m = 2 only
  kJerasureCauchyOrig = 6,   // jerasure:cauchy_orig,w=8,packetsize=P
};

struct Profile {
  std::uint32_t k = 4;  // data cells per stripe, 1 to kMaxDataShards
  std::uint32_t m = 2;  // parity cells per stripe, 0 to kMaxParityShards
  CodecKind codec = CodecKind::kIsaVandermonde;
  // Bytes that Jerasure's bit-matrix codes handle at a time, a multiple of 8; 0 for all others.
  std::uint32_t packet_bytes = 0;

  bool operator==(const Profile&) const = default;
  std::uint32_t shards() const { return k + m; }
};

// Whether the code works on packets of bits (the two Cauchy codes of Jerasure).
bool uses_packets(CodecKind codec);

// Cells must be a multiple of this many bytes: 8 packets for the bit-matrix codes, 1 otherwise.
std::uint32_t alignment(const Profile& profile);

// Vandermonde for m <= 3, Cauchy above. Without parity nothing is coded, and `codec` is this one.
CodecKind default_codec(std::uint32_t m);

// With m = 1 Ceph's isa plugin writes the XOR of the data, whatever the technique: that is
// isa:reed_sol_van, and what isa:cauchy stands for. Pools and chunk files from before that was so
// have the row 1 / (k xor j) and keep it: kIsaCauchy. Gives the former for the latter, and any
// other profile as it is.
Profile as_ceph_has_it(Profile profile);

// Whether ISA-L's Vandermonde generator gives a code that survives every loss of m cells at this
// shape. It does not for all: m = 4 from k = 22, m = 5 from k = 6, m = 6 from k = 5 on.
bool isa_vandermonde_is_mds(std::uint32_t k, std::uint32_t m);

// Errors: kInvalidArgument (k, m or the packet size out of range, a code that does not survive
// every loss of m cells at this shape); kUnsupported never.
Status validate(const Profile& profile);

// validate(), and in addition: the alignment divides 512, so that any cell made of device blocks
// fits. Errors: kInvalidArgument.
Status validate_for_store(const Profile& profile);

// "4+2".
std::string to_string(const Profile& profile);
// "isa:reed_sol_van", "jerasure:cauchy_good,w=8,packetsize=64"; "none" without parity.
// parse_profile() takes it back, with the same shape.
std::string codec_to_string(const Profile& profile);

// `shape` is "k+m". `codec` is what codec_to_string() gives, or one of the aliases
// "isa-vandermonde" and "isa-cauchy"; empty means default_codec(m). For Jerasure w may be left out
// (8 is the only width) and packetsize too (64). isa:cauchy with m = 1 is isa:reed_sol_van. With
// m = 0 it is empty or "none". The result is valid.
// Errors: kInvalidArgument, naming the part that is wrong.
Result<Profile> parse_profile(std::string_view shape, std::string_view codec = {});

// doc/format.md#redundancy-profile. decode_profile() returns a valid profile or kCorruption, or
// kUnsupported for a codec this version does not know.
void encode_profile(Encoder& out, const Profile& profile);
Result<Profile> decode_profile(Decoder& in);

}  // namespace hexad::ec
