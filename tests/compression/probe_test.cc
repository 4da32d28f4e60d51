#include "compression/probe.h"

#include <catch2/catch.hpp>

#include "compression/frames.h"
#include "tests/compression/data.h"

using namespace hexad;
using namespace hexad::compression;

TEST_CASE("probe: noise is seen as noise, at every size") {
  int mistaken = 0;
  int tried = 0;
  for (std::size_t size : {512, 1000, 4096, 8192, 65536, 1 << 20}) {
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      mistaken += looks_compressible(data::noise(size, seed), 875);
      ++tried;
    }
  }
  // A mistake costs time, nothing else.
  CAPTURE(tried);
  CHECK(mistaken <= 3);
}

TEST_CASE("probe: whatever an algorithm shortens to the required ratio is never turned away") {
  for (std::size_t size : {512, 1000, 4096, 8192, 30000, 65536, 1 << 20}) {
    std::vector<Bytes> all = {data::zeros(size), data::text(size, 1), data::records(size, 2),
                              data::floats(size, 3)};
    for (std::uint32_t percent = 20; percent <= 100; percent += 10) {
      for (std::size_t block : {512, 4096, 8192, 65536}) {
        all.push_back(data::fio(size, percent, block, percent));
      }
    }
    for (std::size_t period : {64, 512, 4096}) {
      if (period * 2 <= size) all.push_back(data::repeated_noise(size, period, period));
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Policy policy = *parse_policy("force,zstd,level=3");
      Bytes out(size);
      const bool shortens = compress_frames(policy, all[i], out)->has_value();
      CAPTURE(size, i);
      if (shortens) REQUIRE(looks_compressible(all[i], 875));
    }
  }
}

TEST_CASE("probe: skewed bytes without any repeats are left to the entropy coder") {
  // 64 of the 256 values: a quarter saved by entropy coding alone.
  for (std::size_t size : {512, 4096, 65536}) {
    Bytes bytes = data::noise(size, 8);
    for (std::byte& byte : bytes) byte &= std::byte{0x3f};
    CHECK(looks_compressible(bytes, 875));
  }
}

TEST_CASE("probe: tiny payloads and odd ratios are answered") {
  CHECK_FALSE(looks_compressible({}, 875));
  for (std::size_t size = 1; size < 300; ++size) {
    looks_compressible(data::noise(size, size), 875);
    CHECK(looks_compressible(data::zeros(size + 32), 1));
    CHECK(looks_compressible(data::zeros(size + 32), 1000));
  }
}
