#include "alloc/zone_image.h"

#include <catch2/catch.hpp>

#include "alloc/bitmap.h"
#include "alloc/device_layout.h"
#include "alloc/sealed_block.h"
#include "io/rng.h"
#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::to_hex;

namespace {

ZoneImage example() {
  ZoneImage image;
  image.zone = 17;
  image.slots = {{2, 0}, {5, 3}, {0, 1}};
  image.lsn = 1000;
  image.units = 300;
  UnitBitmap bitmap(300);
  bitmap.force_set({0, 20});
  bitmap.force_set({100, 50});
  bitmap.force_set({290, 10});
  image.bitmap = bitmap.words();
  image.deferred = {{{5, 3}, 990, 0}, {{8, 2}, 1000, 998}, {{110, 1}, 7, 7}};
  image.missing = {{1, {100, 10}}, {1, {120, 30}}, {2, {292, 8}}};
  image.packs = {{{1, 1}, 1, 1000, 1}, {{2, 3}, 300, 700, 0xdeadbeef}, {{140, 8}, 70000, 702, 3}};
  return image;
}

// A valid image of any shape.
ZoneImage random_image(io::Rng& rng) {
  ZoneImage image;
  image.zone = static_cast<ZoneId>(rng.next());
  for (DeviceId id = 0; id < 1 + rng.below(6); ++id) {
    image.slots.push_back({id, static_cast<std::uint32_t>(rng.below(9))});
  }
  image.lsn = 1 + rng.below(1 << 20);
  image.units = 2 + static_cast<std::uint32_t>(rng.below(700));
  UnitBitmap bitmap(image.units);
  bitmap.force_set({0, 1});
  const std::uint64_t density = rng.below(101);
  for (std::uint32_t u = 1; u < image.units; ++u) {
    if (rng.below(100) < density) bitmap.force_set({u, 1});
  }
  image.bitmap = bitmap.words();
  for (std::uint32_t u = 1; u < image.units; ++u) {
    if (bitmap.is_used(u) && rng.chance(1, 8)) {
      const Lsn freed = rng.below(image.lsn + 1);
      image.deferred.push_back({{u, 1}, freed, rng.below(freed + 1)});
    }
    // Sometimes longer than one unit; a pack stripe does not share its units with another.
    const std::uint64_t end = image.packs.empty() ? 1 : image.packs.back().run.end();
    const UnitRun run{u, 1 + static_cast<std::uint32_t>(rng.below(3))};
    if (u >= end && run.end() <= image.units && bitmap.all_used(run) && rng.chance(1, 8)) {
      image.packs.push_back({run, 1 + rng.below(1 << 30), 1 + rng.below(image.lsn),
                             static_cast<std::uint32_t>(rng.next())});
    }
  }
  for (std::uint32_t slot = 0; slot < image.slots.size(); ++slot) {
    for (std::uint32_t u = 1; u < image.units; u += 2) {
      if (bitmap.is_used(u) && rng.chance(1, 16)) image.missing.push_back({slot, {u, 1}});
    }
  }
  return image;
}

}  // namespace

TEST_CASE("zone_image: golden bytes hold both directions") {
  const std::string bytes = encode_zone_image(example());
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("zone_image")));
  const auto decoded = decode_zone_image(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example());
}

TEST_CASE("zone_image: random images come back, in the shorter of the two bitmap forms") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 500; ++i) {
    const ZoneImage image = random_image(rng);
    const std::string bytes = encode_zone_image(image);
    const auto decoded = decode_zone_image(as_bytes(bytes));
    REQUIRE(decoded.ok());
    REQUIRE(*decoded == image);
    REQUIRE(bytes.size() <= kSealSize + 17 + 8 * image.slots.size() + 1 + 8 * image.bitmap.size() +
                                18 * image.deferred.size() + 5 * image.missing.size() +
                                22 * image.packs.size() + 16);
  }
}

TEST_CASE("zone_image: every truncation and every flipped bit is refused") {
  io::Rng rng(9);
  for (const ZoneImage& image : {example(), random_image(rng)}) {
    alloc::testing::for_each_damage(encode_zone_image(image), [](const std::string& damaged) {
      REQUIRE(!decode_zone_image(as_bytes(damaged)).ok());
    });
  }
  CHECK(!decode_zone_image(as_bytes(encode_zone_image(example()) + "x")).ok());
}

TEST_CASE("zone_image: whatever passes the decoder behind a right checksum is sound") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  const auto check = [](const std::string& damaged) {
    if (damaged.size() < kSealSize) return;
    const auto decoded = decode_zone_image(as_bytes(alloc::testing::resealed(damaged)));
    if (!decoded.ok()) return;
    const UnitBitmap bitmap(decoded->units, decoded->bitmap);
    REQUIRE(bitmap.words() == decoded->bitmap);
    REQUIRE(bitmap.is_used(0));
    for (const DeferredFree& deferred : decoded->deferred) {
      REQUIRE(bitmap.all_used(deferred.run));
      REQUIRE(deferred.freed <= decoded->lsn);
      REQUIRE(deferred.born <= deferred.freed);
    }
    for (const MissingRun& missing : decoded->missing) {
      REQUIRE(missing.slot < decoded->slots.size());
      REQUIRE(bitmap.all_used(missing.run));
    }
    std::uint64_t free_from = 1;
    for (const PackStripe& pack : decoded->packs) {
      REQUIRE(pack.run.unit >= free_from);
      REQUIRE(bitmap.all_used(pack.run));
      REQUIRE(pack.live > 0);
      REQUIRE(pack.born > 0);
      REQUIRE(pack.born <= decoded->lsn);
      free_from = pack.run.end();
    }
    REQUIRE(*decode_zone_image(as_bytes(encode_zone_image(*decoded))) == *decoded);
  };
  const std::string bytes = encode_zone_image(seed == 1 ? example() : random_image(rng));
  alloc::testing::for_each_damage(bytes, check);
  for (int i = 0; i < 20000; ++i) {
    std::string wild = bytes;
    for (std::uint64_t n = 1 + rng.below(4); n > 0; --n) {
      wild[kSealSize + rng.below(wild.size() - kSealSize)] = static_cast<char>(rng.next());
    }
    check(wild);
  }
}

TEST_CASE("zone_image: an empty zone of the largest size takes a few bytes") {
  ZoneImage image;
  image.slots = {{0, 0}};
  image.units = kMaxSlabUnits;
  UnitBitmap bitmap(kMaxSlabUnits);
  bitmap.force_set({0, 1});
  image.bitmap = bitmap.words();
  const std::string bytes = encode_zone_image(image);
  CHECK(bytes.size() < 64);
  CHECK(*decode_zone_image(as_bytes(bytes)) == image);
}
