#include "tools/bench/payload.h"

#include <catch2/catch.hpp>
#include <set>

namespace hexad::tools {
namespace {

// Bytes at the end of each block that follow the pattern.
std::size_t pattern_bytes(ByteView block) {
  static constexpr unsigned char kPattern[4] = {0xde, 0xad, 0xfa, 0xce};
  std::size_t count = 0;
  while (count < block.size() &&
         block[block.size() - 1 - count] ==
             static_cast<std::byte>(kPattern[(block.size() - 1 - count) % 4])) {
    ++count;
  }
  return count;
}

TEST_CASE("payload: the asked part of each block repeats, the rest is random") {
  for (const std::uint32_t percent : {0u, 1u, 25u, 50u, 80u, 100u}) {
    CAPTURE(percent);
    PayloadGenerator generator(5, percent);
    Bytes payload(4 * PayloadGenerator::kBlockBytes);
    generator.fill(payload);
    const std::size_t expected =
        PayloadGenerator::kBlockBytes - PayloadGenerator::kBlockBytes * (100 - percent) / 100;
    for (std::size_t at = 0; at < payload.size(); at += PayloadGenerator::kBlockBytes) {
      const std::size_t found =
          pattern_bytes(ByteView(payload).subspan(at, PayloadGenerator::kBlockBytes));
      CHECK(found >= expected);
      CHECK(found <= expected + 3);  // random bytes may happen to continue it
    }
  }
}

TEST_CASE("payload: no two payloads are the same, and a seed repeats them") {
  PayloadGenerator generator(9, 0);
  PayloadGenerator same(9, 0);
  std::set<Bytes> seen;
  for (int i = 0; i < 1000; ++i) {
    Bytes payload(24);
    Bytes again(24);
    generator.fill(payload);
    same.fill(again);
    REQUIRE(payload == again);
    REQUIRE(seen.insert(payload).second);
  }
}

TEST_CASE("payload: any length is filled to its end and not beyond") {
  PayloadGenerator generator(1, 0);
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 4095u, 4096u, 4097u, 10000u}) {
    CAPTURE(size);
    Bytes payload(size + 8, std::byte{0});
    generator.fill(MutByteView(payload).first(size));
    CHECK(is_zero(ByteView(payload).subspan(size)));
    if (size >= 64) CHECK_FALSE(is_zero(ByteView(payload).subspan(size - 16, 16)));
  }
}

}  // namespace
}  // namespace hexad::tools
