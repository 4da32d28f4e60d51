#include "compression/codec.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "tests/compression/data.h"

using namespace hexad;
using namespace hexad::compression;

namespace {

constexpr auto kAll = kAlgorithms;
// But for none.
constexpr std::span kReal = std::span(kAlgorithms).subspan<1>();

Bytes packed(Algorithm algorithm, ByteView in, int level = 0) {
  Bytes out(in.size() * 2 + 1000);
  const auto used = compress(algorithm, level, in, out);
  REQUIRE(used.ok());
  REQUIRE(used->has_value());
  out.resize(**used);
  return out;
}

std::vector<Bytes> classes(std::size_t size) {
  return {data::zeros(size),     data::noise(size, 1),
          data::text(size, 2),   data::fio(size, 80, 8192, 3),
          data::floats(size, 4), data::repeated_noise(size, 700, 5)};
}

// Decompresses into a buffer fenced on both sides; whatever comes back, the fences stand.
Status fenced_decompress(Algorithm algorithm, ByteView in, std::size_t size, Bytes& out) {
  constexpr std::size_t kFence = 64;
  Bytes arena(size + 2 * kFence, std::byte{0xee});
  const MutByteView middle = MutByteView(arena).subspan(kFence, size);
  const Status status = decompress(algorithm, in, middle);
  for (std::size_t i = 0; i < kFence; ++i) {
    if (arena[i] != std::byte{0xee} || arena[kFence + size + i] != std::byte{0xee}) {
      FAIL("bytes written outside the output");
    }
  }
  out.assign(middle.begin(), middle.end());
  return status;
}

}  // namespace

TEST_CASE("compression codec: names come back as they were") {
  for (Algorithm algorithm : kAll) {
    CHECK(*parse_algorithm(to_string(algorithm)) == algorithm);
    CHECK(*algorithm_from_disk(static_cast<std::uint8_t>(algorithm)) == algorithm);
  }
  CHECK(parse_algorithm("brotli").error().code == ErrorCode::kInvalidArgument);
  CHECK(algorithm_from_disk(5).error().code == ErrorCode::kUnsupported);
}

TEST_CASE("compression codec: every kind of data of every size comes back") {
  for (std::size_t size : {0, 1, 2, 3, 15, 16, 17, 255, 256, 4095, 4096, 4097, 65535, 65536, 65537,
                           70000, 131072, 300000}) {
    for (const Bytes& bytes : classes(size)) {
      for (Algorithm algorithm : kAll) {
        CAPTURE(size, to_string(algorithm));
        const Bytes stored = packed(algorithm, bytes);
        Bytes found;
        const Status status = fenced_decompress(algorithm, stored, size, found);
        if (!status.ok()) FAIL(status.error().to_string());
        REQUIRE(found == bytes);
      }
    }
  }
}

TEST_CASE("compression codec: every level compresses what the same decompressor restores") {
  const Bytes bytes = data::text(20000, 9);
  for (Algorithm algorithm : kAll) {
    const LevelRange range = level_range(algorithm);
    for (int level = range.min; level <= range.max; ++level) {
      CAPTURE(to_string(algorithm), level);
      Bytes found;
      REQUIRE(fenced_decompress(algorithm, packed(algorithm, bytes, level), 20000, found).ok());
      REQUIRE(found == bytes);
    }
    Bytes out(40000);
    CHECK(compress(algorithm, range.min - 1, bytes, out).error().code ==
          ErrorCode::kInvalidArgument);
    CHECK(compress(algorithm, range.max + 1, bytes, out).error().code ==
          ErrorCode::kInvalidArgument);
  }
}

TEST_CASE("compression codec: what does not fit is said to, what fits exactly fits") {
  for (const Bytes& bytes : classes(5000)) {
    for (Algorithm algorithm : kAll) {
      const std::size_t needed = packed(algorithm, bytes).size();
      for (std::size_t room : {std::size_t{0}, std::size_t{1}, needed / 2, needed - 1}) {
        CAPTURE(to_string(algorithm), needed, room);
        Bytes arena(room + 32, std::byte{0xee});
        const auto used = compress(algorithm, 0, bytes, MutByteView(arena).first(room));
        REQUIRE(used.ok());
        // LZ4 and zstd may find a shorter form when they are told to.
        if (used->has_value()) REQUIRE(**used <= room);
        for (std::size_t i = room; i < arena.size(); ++i) REQUIRE(arena[i] == std::byte{0xee});
      }
      // Snappy and plain copies need exactly that much; the others may want slack while at work.
      const std::size_t slack = algorithm == Algorithm::kZlib || algorithm == Algorithm::kZstd ||
                                        algorithm == Algorithm::kLz4
                                    ? 16
                                    : 0;
      Bytes out(needed + slack);
      CHECK((*compress(algorithm, 0, bytes, out)).has_value());
    }
  }
}

TEST_CASE("compression codec: a truncated form is an error, at every length") {
  for (const Bytes& bytes : {data::text(3000, 1), data::zeros(3000), data::noise(300, 2)}) {
    for (Algorithm algorithm : kReal) {
      const Bytes stored = packed(algorithm, bytes);
      for (std::size_t cut = 0; cut < stored.size(); ++cut) {
        Bytes found;
        const Status status =
            fenced_decompress(algorithm, ByteView(stored).first(cut), bytes.size(), found);
        CAPTURE(to_string(algorithm), cut, stored.size());
        REQUIRE_FALSE(status.ok());
        REQUIRE(status.error().code == ErrorCode::kCorruption);
      }
    }
  }
}

TEST_CASE("compression codec: with any bit flipped nothing is written outside the output") {
  for (const Bytes& bytes : {data::text(3000, 1), data::zeros(70000), data::noise(300, 2)}) {
    for (Algorithm algorithm : kReal) {
      const Bytes stored = packed(algorithm, bytes);
      for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
        Bytes damaged = stored;
        damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        Bytes found;
        const Status status = fenced_decompress(algorithm, damaged, bytes.size(), found);
        if (!status.ok()) REQUIRE(status.error().code == ErrorCode::kCorruption);
      }
    }
  }
}

TEST_CASE("compression codec: noise given as a compressed form does no harm") {
  io::Rng rng(77);
  for (int round = 0; round < 3000; ++round) {
    const Bytes junk = data::noise(rng.below(200), rng.next());
    for (Algorithm algorithm : kReal) {
      Bytes found;
      const Status status = fenced_decompress(algorithm, junk, rng.below(5000), found);
      if (!status.ok()) REQUIRE(status.error().code == ErrorCode::kCorruption);
    }
  }
}

TEST_CASE("compression codec: the output has to be exactly as long as the data") {
  const Bytes bytes = data::text(3000, 4);
  for (Algorithm algorithm : kAll) {
    const Bytes stored = packed(algorithm, bytes);
    for (std::size_t size : {0, 1, 2999, 3001, 6000}) {
      CAPTURE(to_string(algorithm), size);
      Bytes found;
      const Status status = fenced_decompress(algorithm, stored, size, found);
      REQUIRE_FALSE(status.ok());
      CHECK(status.error().code == ErrorCode::kCorruption);
    }
    Bytes longer = stored;
    longer.push_back(std::byte{0});
    Bytes found;
    CHECK_FALSE(fenced_decompress(algorithm, longer, 3000, found).ok());
  }
}

TEST_CASE("compression codec: levels may change from call to call on one thread") {
  const Bytes bytes = data::text(9000, 6);
  for (int level : {1, 9, 0, 6, 1}) {
    for (Algorithm algorithm : {Algorithm::kZlib, Algorithm::kZstd, Algorithm::kLz4}) {
      Bytes found;
      CHECK(fenced_decompress(algorithm, packed(algorithm, bytes, level), 9000, found).ok());
      CHECK(found == bytes);
    }
  }
}
