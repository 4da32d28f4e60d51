#include "tools/bench/payload.h"

#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <set>
#include <string>

#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"

namespace hexad::tools {
namespace {

constexpr unsigned char kPattern[4] = {0xde, 0xad, 0xfa, 0xce};

// Whether the pattern begins at `from` and goes on to the end of the block.
bool is_pattern(ByteView block, std::size_t from) {
  for (std::size_t at = from; at < block.size(); ++at) {
    if (block[at] != static_cast<std::byte>(kPattern[(at - from) % 4])) return false;
  }
  return true;
}

std::size_t deflated_bytes(ByteView bytes) {
  uLongf size = compressBound(bytes.size());
  std::vector<Bytef> out(size);
  REQUIRE(compress2(out.data(), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                    6) == Z_OK);
  return size;
}

// What fio writes with these percent, or nothing when there is none.
Bytes written_by_fio(std::uint32_t percent, std::size_t size) {
  const io::testing::TemporaryDirectory directory;
  const std::string path = directory.path("payload");
  const std::string command =
      "fio --name=payload --rw=write --bs=64k --ioengine=psync --refill_buffers --randseed=7"
      " --buffer_pattern=0xdeadface --buffer_compress_percentage=" +
      std::to_string(percent) + " --size=" + std::to_string(size) + " --filename=" + path + " >" +
      directory.path("output") + " 2>&1";
  if (std::system(command.c_str()) != 0) return {};
  const std::string text = io::testing::file_bytes(path);
  const ByteView bytes = as_bytes(text);
  return Bytes(bytes.begin(), bytes.end());
}

TEST_CASE("payload: the last part of each 512 bytes repeats a pattern, the rest is random") {
  for (const std::uint32_t percent : {0u, 1u, 25u, 33u, 50u, 80u, 100u}) {
    CAPTURE(percent);
    PayloadGenerator generator(5, percent);
    Bytes payload(8 * PayloadGenerator::kBlockBytes);
    generator.fill(payload);
    const std::size_t random = PayloadGenerator::kBlockBytes * (100 - percent) / 100;
    for (std::size_t at = 0; at < payload.size(); at += PayloadGenerator::kBlockBytes) {
      const ByteView block = ByteView(payload).subspan(at, PayloadGenerator::kBlockBytes);
      CHECK(is_pattern(block, random));
      // What stands before it may happen to be four bytes of it, but not eight.
      if (random >= 8) CHECK_FALSE(is_pattern(block, random - 8));
    }
  }
}

TEST_CASE("payload: it compresses as what fio writes does") {
  constexpr std::size_t kSize = 1 << 20;
  // For fio, 0 with a pattern is nothing but the pattern.
  for (const std::uint32_t percent : {10u, 33u, 50u, 80u, 99u, 100u}) {
    CAPTURE(percent);
    const Bytes theirs = written_by_fio(percent, kSize);
    if (theirs.empty()) {
      WARN("there is no fio: nothing is compared");
      return;
    }
    REQUIRE(theirs.size() == kSize);
    PayloadGenerator generator(7, percent);
    Bytes ours(kSize);
    generator.fill(ours);
    const auto expected = static_cast<double>(deflated_bytes(theirs));
    CHECK(static_cast<double>(deflated_bytes(ours)) == Approx(expected).epsilon(0.05));
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
  for (const std::uint32_t percent : {0u, 50u}) {
    PayloadGenerator generator(1, percent);
    for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 511u, 512u, 513u, 4097u, 10000u}) {
      CAPTURE(percent, size);
      Bytes payload(size + 8, std::byte{0});
      generator.fill(MutByteView(payload).first(size));
      CHECK(is_zero(ByteView(payload).subspan(size)));
      if (size >= 64) CHECK_FALSE(is_zero(ByteView(payload).subspan(size - 16, 16)));
    }
  }
}

}  // namespace
}  // namespace hexad::tools
