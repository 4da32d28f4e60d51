#include "core/record/blob_uses.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "core/record/object_extents.h"
#include "io/rng.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

Blob private_blob(std::uint32_t unit, std::uint32_t raw, std::uint32_t stored) {
  Blob blob = extent_of_64_kib().blob;
  blob.where.unit = unit;
  blob.raw = raw;
  blob.stored = stored;
  return blob;
}

Extent shows(std::uint64_t offset, std::uint64_t length, const Blob& blob, std::uint32_t from) {
  Extent extent;
  extent.offset = offset;
  extent.length = length;
  extent.blob = blob;
  extent.blob_offset = from;
  return extent;
}

TEST_CASE("blob uses: what a list shows of each blob, and what it hides") {
  const Blob whole = private_blob(1, 4096, 4096);
  const Blob part = private_blob(2, 65536, 65536);
  const Blob compressed = private_blob(3, 8000, 2000);
  const ExtentList extents = {shows(0, 4096, whole, 0), shows(4096, 1000, part, 0),
                              inline_extent(5096, "in between"), shows(6000, 15384, part, 3000),
                              shows(30'000, 6000, compressed, 2000)};
  const std::vector<BlobUse> uses = blob_uses(extents);
  REQUIRE(uses.size() == 3);
  CHECK(uses[0].shown == 4096);
  CHECK(uses[0].hidden() == 0);
  CHECK(uses[1].shown == 16384);
  CHECK(uses[1].hidden() == 49152);
  CHECK(uses[2].shown == 6000);
  CHECK(uses[2].hidden() == 500);  // of those that are stored
  CHECK((hidden_bytes(extents) == HiddenBytes{67536, 49652}));
}

TEST_CASE("blob uses: what clones share does not count, nor does an empty list") {
  Blob shared = private_blob(2, 65536, 65536);
  shared.share = 7;
  CHECK(blob_uses({shows(0, 10, shared, 0)}).empty());
  CHECK((hidden_bytes({}) == HiddenBytes{}));
}

TEST_CASE("blob uses: what blobs leave empty of stripes of their own") {
  constexpr std::uint64_t kStripe = 16384;
  const auto alone = [](std::uint32_t unit, std::uint32_t stored, std::uint32_t units) {
    Blob blob = private_blob(unit, stored, stored);
    blob.where.units = units;
    return blob;
  };
  const Blob half = alone(1, 8192, 1);
  const Blob most = alone(2, 15361, 1);  // more than fifteen sixteenths
  const Blob just = alone(4, 15360, 1);
  const Blob long_one = alone(8, 36'000, 3);
  Blob packed = alone(16, 4096, 0);
  packed.placement = Placement::kPacked;
  Blob shared = alone(32, 4096, 1);
  shared.share = 7;
  const ExtentList extents = {shows(0, 8192, half, 0),        shows(10'000, 15361, most, 0),
                              shows(30'000, 15360, just, 0),  shows(50'000, 36'000, long_one, 0),
                              shows(90'000, 4096, packed, 0), shows(95'000, 4096, shared, 0)};
  CHECK((spare_bytes(extents, kStripe) ==
         HiddenBytes{5 * kStripe, 8192 + 1024 + 3 * kStripe - 36'000}));
  // In part: that is hidden_bytes()'s.
  CHECK((spare_bytes({shows(0, 8000, half, 0)}, kStripe) == HiddenBytes{}));
  CHECK((spare_bytes({shows(0, 192, half, 0), shows(192, 8000, half, 192)}, kStripe) ==
         HiddenBytes{kStripe, 8192}));
}

TEST_CASE("blob uses: random writes, counted byte by byte") {
  io::Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    ExtentList extents;
    std::map<std::uint32_t, std::uint64_t> raw;  // by unit
    std::vector<std::uint32_t> shown(4096, 0);   // unit of the blob at each byte
    const auto writes = static_cast<std::uint32_t>(1 + rng.below(30));
    for (std::uint32_t unit = 1; unit <= writes; ++unit) {
      const std::uint64_t offset = rng.below(4000);
      const std::uint64_t length = 1 + rng.below(4096 - offset);
      punch(extents, offset, length);
      insert(extents, shows(offset, length,
                            private_blob(unit, static_cast<std::uint32_t>(length),
                                         static_cast<std::uint32_t>(length)),
                            0));
      raw[unit] = length;
      std::fill_n(shown.begin() + static_cast<std::ptrdiff_t>(offset), length, unit);
    }
    HiddenBytes expected;
    std::size_t blobs = 0;
    for (const auto& [unit, length] : raw) {
      const auto left = static_cast<std::uint64_t>(std::count(shown.begin(), shown.end(), unit));
      if (left > 0) ++blobs;
      if (left == 0 || left == length) continue;
      expected.of += length;
      expected.hidden += length - left;
    }
    REQUIRE(blob_uses(extents).size() == blobs);
    REQUIRE((hidden_bytes(extents) == expected));
  }
}

}  // namespace
}  // namespace hexad::core
