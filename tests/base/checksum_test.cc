#include "base/checksum.h"

#include <catch2/catch.hpp>

#include "base/crc32c_folding.h"
#include "base/crc32c_moved.h"

using namespace hexad;

TEST_CASE("checksum: crc32c gives the published values of RFC 3720") {
  REQUIRE(crc32c(as_bytes("123456789")) == 0xe3069283);
  REQUIRE(crc32c({}) == 0);
  REQUIRE(crc32c(Bytes(32)) == 0x8a9136aa);                   // B.4: 32 bytes of zeros
  REQUIRE(crc32c(Bytes(32, std::byte{0xff})) == 0x62a8ab43);  // 32 bytes of ones
  Bytes rising(32);
  for (std::size_t i = 0; i < 32; ++i) rising[i] = static_cast<std::byte>(i);
  REQUIRE(crc32c(rising) == 0x46dd794e);
  Bytes falling(rising.rbegin(), rising.rend());
  REQUIRE(crc32c(falling) == 0x113fdb5c);
}

TEST_CASE("checksum: crc32c agrees with the bitwise definition at every length") {
  Bytes bytes;
  for (std::size_t length = 0; length < 300; ++length) {
    std::uint32_t state = 0xffffffff;
    for (const std::byte byte : bytes) {
      state ^= static_cast<std::uint32_t>(byte);
      for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78 : 0);
    }
    REQUIRE(crc32c(bytes) == ~state);
    bytes.push_back(static_cast<std::byte>(length * 37 + 11));
  }
}

TEST_CASE("checksum: three sums at once are those of each, whatever their lengths") {
  Bytes bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 37 + 11);
  const auto piece = [&](std::size_t size) { return ByteView(bytes).last(size); };
  for (const std::size_t a : {0, 1, 7, 8, 29, 145, 255, 256}) {
    for (const std::size_t b : {0, 3, 16, 23, 130, 255, 300}) {
      for (const std::size_t c : {0, 8, 15, 145, 260}) {
        CAPTURE(a, b, c);
        std::uint32_t sums[3] = {0, 1, 0xffffffff};
        crc32c_three({piece(a), piece(b), piece(c)}, sums);
        REQUIRE(sums[0] == crc32c(piece(a), 0));
        REQUIRE(sums[1] == crc32c(piece(b), 1));
        REQUIRE(sums[2] == crc32c(piece(c), 0xffffffff));
      }
    }
  }
}

TEST_CASE("checksum: crc32c continues from the bytes before at every cut") {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  const std::uint32_t whole = crc32c(as_bytes(text));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    const std::uint32_t head = crc32c(as_bytes(std::string_view(text).substr(0, cut)));
    REQUIRE(crc32c(as_bytes(std::string_view(text).substr(cut)), head) == whole);
  }
}

TEST_CASE("checksum: crc32c of two runs of bytes is joined from their sums") {
  const Bytes bytes = [] {
    Bytes made(70'000);
    for (std::size_t i = 0; i < made.size(); ++i) made[i] = static_cast<std::byte>(i * i >> 3);
    return made;
  }();
  const ByteView all = bytes;
  for (const std::size_t first : {0, 1, 5, 4096, 20'000}) {
    for (const std::size_t second : {0, 1, 2, 3, 7, 64, 100, 512, 4096, 16384, 16385, 50'000}) {
      CAPTURE(first, second);
      REQUIRE(crc32c_joined(crc32c(all.first(first)), crc32c(all.subspan(first, second)), second) ==
              crc32c(all.first(first + second)));
    }
  }
  // Bytes of zeros, more of them than anybody would sum: shifts compose.
  const std::uint32_t sum = crc32c(as_bytes("123456789"));
  constexpr std::uint64_t kFar = (std::uint64_t{1} << 62) + 12345;
  REQUIRE(crc32c_joined(crc32c_joined(sum, 0, kFar), 0, kFar) == crc32c_joined(sum, 0, 2 * kFar));
}

TEST_CASE("checksum: both ways to move a crc32c are that of zeros behind it") {
  const bool clmul = __builtin_cpu_supports("pclmul") != 0;
  if (!clmul) WARN("SKIPPED in part: this processor has no PCLMULQDQ");
  const Bytes zeros(70'000);
  for (const std::size_t size : {0, 1, 2, 3, 4, 7, 8, 63, 64, 512, 4096, 16384, 16385, 65'521}) {
    for (const std::uint32_t sum : {0u, 1u, 0x80000000u, 0xe3069283u, 0xffffffffu}) {
      CAPTURE(size, sum);
      const std::uint32_t moved = crc32c_moved(sum, size);
      // Zeros are summed as zeros, but for what is inverted.
      REQUIRE(moved ==
              (crc32c(ByteView(zeros).first(size), sum) ^ crc32c(ByteView(zeros).first(size), 0)));
      if (clmul) REQUIRE(crc32c_moved_by_clmul(sum, size) == moved);
    }
  }
  constexpr std::uint64_t kFar = ~std::uint64_t{0};
  if (clmul) REQUIRE(crc32c_moved_by_clmul(0xe3069283, kFar) == crc32c_moved(0xe3069283, kFar));
}

namespace {

HEXAD_CRC32C_FOLDING std::uint32_t fold(ByteView bytes, std::uint32_t previous) {
  const __m512i factors = crc32c_folding::factors();
  __m512i all = crc32c_folding::before(previous);
  for (std::size_t at = 0; at < bytes.size(); at += 64) {
    all = crc32c_folding::folded(all, factors, _mm512_loadu_si512(bytes.data() + at));
  }
  return crc32c_folding::finish(all);
}

std::uint32_t bitwise(ByteView bytes, std::uint32_t previous) {
  std::uint32_t state = ~previous;
  for (const std::byte byte : bytes) {
    state ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = state >> 1 ^ (state & 1 ? 0x82f63b78 : 0);
  }
  return ~state;
}

}  // namespace

TEST_CASE("checksum: folding agrees with the bitwise definition at every length and place") {
  if (!crc32c_folding::is_there()) {
    WARN("SKIPPED: this processor has no AVX-512 with VPCLMULQDQ");
    return;
  }
  Bytes bytes(64 + 2048);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i >> 3 ^ i);
  for (std::size_t size = 0; size <= 2048; size += 64) {
    for (std::size_t place = 0; place < 64; place += size < 1100 ? 1 : 7) {
      const ByteView run = ByteView(bytes).subspan(place, size);
      for (const std::uint32_t previous : {0u, 1u, 0xe3069283u, 0xffffffffu}) {
        CAPTURE(size, place, previous);
        REQUIRE(fold(run, previous) == bitwise(run, previous));
      }
    }
  }
}

TEST_CASE("checksum: xxh3 gives the published values") {
  REQUIRE(xxh3_64({}) == 0x2d06800538d394c2);  // xxHash, seed 0, empty input
  REQUIRE(xxh3_64(as_bytes("a")) == 0xe6c632b61e964e1f);
}

TEST_CASE("checksum: a running one gives what the whole gives, however it is cut") {
  Bytes bytes;
  for (std::size_t i = 0; i < 1500; ++i) bytes.push_back(static_cast<std::byte>(i * 53 + i / 256));
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    REQUIRE(RunningChecksum(type).value() == checksum(type, {}));
    for (std::size_t step = 1; step < 700; step += 13) {
      RunningChecksum running(type);
      for (std::size_t at = 0; at < bytes.size(); at += step) {
        REQUIRE(running.value() == checksum(type, ByteView(bytes).first(at)));
        running.add(ByteView(bytes).subspan(at, std::min(step, bytes.size() - at)));
        running.add({});
      }
      REQUIRE(running.value() == checksum(type, bytes));
    }
  }
}

TEST_CASE("checksum: both kinds have a name, a size and one entry point") {
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    REQUIRE(parse_checksum_type(to_string(type)).value() == type);
  }
  REQUIRE(checksum_size(ChecksumType::kCrc32c) == 4);
  REQUIRE(checksum_size(ChecksumType::kXxh3) == 8);
  REQUIRE(checksum(ChecksumType::kCrc32c, as_bytes("123456789")) == 0xe3069283);
  REQUIRE(checksum(ChecksumType::kXxh3, {}) == xxh3_64({}));
  REQUIRE(parse_checksum_type("md5").error().code == ErrorCode::kInvalidArgument);
  REQUIRE_FALSE(parse_checksum_type("md5").error().hint.empty());
}
