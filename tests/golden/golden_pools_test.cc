// Pools of the format as older programs have written it. Images of a new one, and all others:
//   HEXAD_GOLDEN=/tmp golden_pools_test "golden: made by this program"
#include "tests/golden/golden_pools.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <map>

#include "base/checksum.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::string compare(Store& store, const Model& model) {
  io::Rng rng(1);
  const std::string differs = difference(store, model, rng);
  return differs.empty() ? deep_findings(store) : differs;
}

std::map<std::string, std::uint64_t> fingerprint(GoldenPool& golden) {
  std::map<std::string, std::uint64_t> sums;
  for (const std::string& device : golden.pool.devices) {
    sums[device] = checksum(ChecksumType::kXxh3, read_media(*golden.memory.media(device)));
  }
  return sums;
}

TEST_CASE("golden: a pool is read as it was written, and nothing is written for that") {
  for (const std::string& name : golden_names()) {
    CAPTURE(name);
    GoldenPool golden(name);
    const auto before = fingerprint(golden);
    RuntimeOptions options;
    options.access = Access::kReadOnly;
    {
      Store store = Store::open(golden.pool, options, &golden.memory).value();
      CHECK(compare(store, golden.model) == "");
    }
    CHECK(fingerprint(golden) == before);
  }
}

TEST_CASE("golden: a pool is gone on with, and read again") {
  for (const std::string& name : golden_names()) {
    CAPTURE(name);
    GoldenPool golden(name);
    for (int opening = 0; opening < 3; ++opening) {
      CAPTURE(opening);
      Store store = Store::open(golden.pool, {}, &golden.memory).value();
      REQUIRE(compare(store, golden.model) == "");
      for (int i = 0; i < 3; ++i) {
        Transaction t;
        t.put(kBucket, "new " + std::to_string(i), noise(20'000, static_cast<std::uint64_t>(i)));
        t.write(kBucket, "two MiB", 12'345, as_bytes(noise(700, 3)));
        t.clone(kBucket, "sparse", kBucket, "copy " + std::to_string(opening));
        t.append(kBucket, "small", as_bytes("!"));
        REQUIRE(!golden.model.apply(t).has_value());
        golden.model.stamp(store.commit(std::move(t)).value());
      }
      if (opening == 1) REQUIRE(store.checkpoint().ok());
      REQUIRE(compare(store, golden.model) == "");
      REQUIRE(store.close().ok());
    }
  }
}

TEST_CASE("golden: a pool is whole without any m of its devices and the fast tier") {
  for (const std::string& name : golden_names()) {
    for (std::uint32_t first = 0; first < 3; ++first) {
      CAPTURE(name, first);
      GoldenPool golden(name);
      const std::size_t devices = golden.pool.devices.size();
      for (std::uint32_t i = 0; i < golden.m; ++i) {
        golden.memory.remove_device(golden.pool.devices[(first + 2 * i) % devices]);
      }
      golden.memory.remove_device(golden.pool.fast_directories[0] + "/log");
      RuntimeOptions options;
      options.access = Access::kReadOnly;
      Store store = Store::open(golden.pool, options, &golden.memory).value();
      io::Rng rng(first);
      CHECK(difference(store, golden.model, rng) == "");
    }
  }
}

// Also shows that the making works while nobody needs it.
TEST_CASE("golden: made by this program") {
  for (const std::string& name : golden_names()) {
    const std::string image = make_golden(name);
    CHECK(image.size() < 300'000);
    const char* folder = std::getenv("HEXAD_GOLDEN");
    if (folder == nullptr) continue;
    std::ofstream file(std::string(folder) + "/" + name + ".pool.zst", std::ios::binary);
    file << image;
    REQUIRE(file.flush().good());
  }
}

}  // namespace
}  // namespace hexad::testing
