// That we write the bytes of Ceph: parity that its own tool made, kept as digests.
//
// The tool is ceph-erasure-code-tool of Ceph 16.2.15 (Debian 12: the program is in ceph-osd, the
// plugins are in ceph-base). For each row, with the data below in the file `in`:
//
//   ceph-erasure-code-tool encode plugin=isa,technique=cauchy,k=4,m=1 4096 0,1,2,3,4 in
//
// and jerasure likewise, with w=8 and, where it stands there, packetsize. 4096 is the length of a
// chunk; it is 65536 with packetsize=2048. in.4 is the first parity chunk. The digest is the crc32c
// of all parity chunks, one behind the other.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "ec/codec.h"
#include "ec/profile.h"
#include "tests/ec/naive.h"

using namespace hexad;
using namespace hexad::ec;

namespace {

struct Vector {
  const char* shape;
  const char* codec;
  std::uint32_t digest;
};

constexpr Vector kVectors[] = {
    {"2+1", "isa:reed_sol_van", 0x81061220},
    {"4+1", "isa:reed_sol_van", 0x65a99761},
    {"4+2", "isa:reed_sol_van", 0x404bf5a4},
    {"8+3", "isa:reed_sol_van", 0x129abd75},
    {"10+4", "isa:reed_sol_van", 0x9118b800},
    {"21+4", "isa:reed_sol_van", 0x643f3a3f},
    {"32+1", "isa:reed_sol_van", 0xa8f36938},
    {"32+3", "isa:reed_sol_van", 0xc0dbe1ae},
    {"2+1", "isa:cauchy", 0x81061220},
    {"4+1", "isa:cauchy", 0x65a99761},
    {"3+2", "isa:cauchy", 0x7b82d23c},
    {"4+2", "isa:cauchy", 0xef755eeb},
    {"8+3", "isa:cauchy", 0x1d57ff1c},
    {"10+4", "isa:cauchy", 0xd2f9ef3e},
    {"16+4", "isa:cauchy", 0x1572d9dc},
    {"20+6", "isa:cauchy", 0xa2fe8c34},
    {"32+8", "isa:cauchy", 0x31d7451e},
    {"32+1", "isa:cauchy", 0xa8f36938},
    {"2+1", "jerasure:reed_sol_van,w=8", 0x81061220},
    {"4+1", "jerasure:reed_sol_van,w=8", 0x65a99761},
    {"3+2", "jerasure:reed_sol_van,w=8", 0x511bf9ec},
    {"4+2", "jerasure:reed_sol_van,w=8", 0x7e381b45},
    {"8+3", "jerasure:reed_sol_van,w=8", 0xf9d64e47},
    {"10+4", "jerasure:reed_sol_van,w=8", 0xedccc48c},
    {"16+4", "jerasure:reed_sol_van,w=8", 0xde431c20},
    {"20+6", "jerasure:reed_sol_van,w=8", 0xe946807a},
    {"32+8", "jerasure:reed_sol_van,w=8", 0x64037a62},
    {"32+1", "jerasure:reed_sol_van,w=8", 0xa8f36938},
    {"2+2", "jerasure:reed_sol_r6_op,w=8", 0x51a688c6},
    {"4+2", "jerasure:reed_sol_r6_op,w=8", 0x404bf5a4},
    {"10+2", "jerasure:reed_sol_r6_op,w=8", 0x8c39271e},
    {"32+2", "jerasure:reed_sol_r6_op,w=8", 0xf9250198},
    {"2+1", "jerasure:cauchy_orig,w=8,packetsize=64", 0xde556970},
    {"4+1", "jerasure:cauchy_orig,w=8,packetsize=8", 0x13e55ab5},
    {"4+1", "jerasure:cauchy_orig,w=8,packetsize=64", 0x0f5ef1a9},
    {"4+1", "jerasure:cauchy_orig,w=8,packetsize=2048", 0x631836b6},
    {"3+2", "jerasure:cauchy_orig,w=8,packetsize=64", 0x4d7b4837},
    {"4+2", "jerasure:cauchy_orig,w=8,packetsize=8", 0xdb1dc16a},
    {"4+2", "jerasure:cauchy_orig,w=8,packetsize=64", 0xdc2c0353},
    {"4+2", "jerasure:cauchy_orig,w=8,packetsize=2048", 0x73701214},
    {"8+3", "jerasure:cauchy_orig,w=8,packetsize=64", 0xbeb53043},
    {"10+4", "jerasure:cauchy_orig,w=8,packetsize=64", 0x0667e7bc},
    {"10+4", "jerasure:cauchy_orig,w=8,packetsize=2048", 0x3e58ef3d},
    {"16+4", "jerasure:cauchy_orig,w=8,packetsize=64", 0x7b8992cb},
    {"20+6", "jerasure:cauchy_orig,w=8,packetsize=64", 0xd5f8d461},
    {"32+8", "jerasure:cauchy_orig,w=8,packetsize=8", 0x78385bac},
    {"32+8", "jerasure:cauchy_orig,w=8,packetsize=64", 0x19452338},
    {"32+1", "jerasure:cauchy_orig,w=8,packetsize=64", 0x720cd246},
    {"2+1", "jerasure:cauchy_good,w=8,packetsize=64", 0x81061220},
    {"4+1", "jerasure:cauchy_good,w=8,packetsize=8", 0x65a99761},
    {"4+1", "jerasure:cauchy_good,w=8,packetsize=64", 0x65a99761},
    {"4+1", "jerasure:cauchy_good,w=8,packetsize=2048", 0xc855bcfb},
    {"3+2", "jerasure:cauchy_good,w=8,packetsize=64", 0x2b37968f},
    {"4+2", "jerasure:cauchy_good,w=8,packetsize=8", 0x9fd4fa12},
    {"4+2", "jerasure:cauchy_good,w=8,packetsize=64", 0x91262a5a},
    {"4+2", "jerasure:cauchy_good,w=8,packetsize=2048", 0x1a1c52fe},
    {"8+3", "jerasure:cauchy_good,w=8,packetsize=64", 0x6ce0524f},
    {"10+4", "jerasure:cauchy_good,w=8,packetsize=64", 0x21fb182c},
    {"10+4", "jerasure:cauchy_good,w=8,packetsize=2048", 0xd29c592f},
    {"16+4", "jerasure:cauchy_good,w=8,packetsize=64", 0x00cbe5f3},
    {"20+6", "jerasure:cauchy_good,w=8,packetsize=64", 0x4fe4ef40},
    {"32+8", "jerasure:cauchy_good,w=8,packetsize=8", 0x55e5fd55},
    {"32+8", "jerasure:cauchy_good,w=8,packetsize=64", 0x9ae7802f},
    {"32+1", "jerasure:cauchy_good,w=8,packetsize=64", 0xa8f36938},
};

std::vector<Bytes> known_data(std::uint32_t k, std::size_t length) {
  std::vector<Bytes> data(k, Bytes(length));
  std::uint32_t state = 1;
  for (Bytes& chunk : data) {
    for (std::byte& byte : chunk) {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      byte = static_cast<std::byte>(state >> 16);
    }
  }
  return data;
}

std::uint32_t parity_digest(const Profile& profile, std::size_t length) {
  const std::vector<Bytes> data = known_data(profile.k, length);
  std::vector<Bytes> parity(profile.m, Bytes(length));
  const std::unique_ptr<Codec> codec = make_codec(profile).value();
  REQUIRE(codec->encode(naive::views(data), naive::mutable_views(parity)).ok());
  std::uint32_t sum = 0;
  for (const Bytes& chunk : parity) sum = crc32c(chunk, sum);
  return sum;
}

}  // namespace

TEST_CASE("ceph vectors: each profile gives the parity that Ceph's tool wrote") {
  for (const Vector& vector : kVectors) {
    CAPTURE(vector.shape, vector.codec);
    const Profile profile = parse_profile(vector.shape, vector.codec).value();
    CHECK(parity_digest(profile, profile.packet_bytes == 2048 ? 65536 : 4096) == vector.digest);
  }
}

TEST_CASE("ceph vectors: a pool from before keeps the row that isa:cauchy had with m = 1") {
  // 1 / (4 xor j) over the same data, computed byte by byte.
  const Profile before{4, 1, CodecKind::kIsaCauchy, 0};
  const std::vector<Bytes> parity = naive::encode(before, known_data(4, 4096));
  CHECK(parity_digest(before, 4096) == crc32c(parity[0]));
  CHECK(parity_digest(before, 4096) != parity_digest(as_ceph_has_it(before), 4096));
}
