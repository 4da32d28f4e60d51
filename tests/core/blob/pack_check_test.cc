#include "core/blob/pack_check.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/blob/blob_read.h"
#include "io/executor.h"
#include "io/rng.h"
#include "tests/core/blob/random_packs.h"
#include "tests/core/memory_stripes.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kUnit = 40;  // where the stripe begins

// One pack stripe on devices in memory.
struct Fixture {
  explicit Fixture(ec::Profile profile = {}, std::uint64_t seed = 1)
      : rng(seed), codec(ec::make_codec(profile).value()) {
    PlacementPlan plan;
    while (plan.packs.empty()) {
      blobs = random_unplaced(rng, 2 + rng.below(30), 8192);
      plan = plan_for(blobs, shape);
    }
    pack = plan.packs[0];
    const alloc::Extent where{1, kUnit, pack.units};
    stripe = build_pack(pack, blobs, where, shape, *codec).value();
    map.packs[kUnit] = {where, stripe.footer};
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      copy_bytes(cell(role), stripe.cell(role));
    }
  }

  MutByteView cell(std::uint32_t role) {
    return map.cell_at(role, kUnit * shape.unit, stripe.blob.cell_bytes);
  }
  bool is_right(std::uint32_t role) {
    return std::equal(cell(role).begin(), cell(role).end(), stripe.cell(role).begin());
  }
  bool is_right() {
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      if (!is_right(role)) return false;
    }
    return true;
  }
  CheckedPack check() {
    std::vector<ExpectedBlob> expected;
    for (std::size_t i = 0; i < pack.slots.size(); ++i)
      expected.push_back(expected_blob_of(blob(i)));
    return checker.check({{1, kUnit, pack.units}, stripe.footer}, expected).value();
  }
  CheckedPack check_enough() {
    return checker.check({{1, kUnit, pack.units}, stripe.footer}, {}, PackChecker::Cells::kEnough)
        .value();
  }
  // As its record would name it.
  Blob blob(std::size_t slot) const {
    const std::string_view bytes = stored(slot);
    Blob blob;
    blob.placement = Placement::kPacked;
    blob.where = {1, kUnit, 0};
    blob.cell = pack.slots[slot].cell;
    blob.cell_offset = pack.slots[slot].offset;
    blob.raw = blob.stored = static_cast<std::uint32_t>(bytes.size());
    blob.cell_sums = {checksum(shape.record.checksum, as_bytes(bytes))};
    return blob;
  }
  std::string_view stored(std::size_t slot) const {
    return as_text(blobs[pack.slots[slot].item].stored.bytes());
  }
  Status read(std::size_t slot) {
    Bytes out(stored(slot).size());
    HEXAD_TRY(reader.read(blob(slot), 0, out));
    REQUIRE((as_text(out) == stored(slot)));
    return {};
  }
  std::uint64_t count(CounterId id) const { return counters.since_open(id); }

  io::Rng rng;
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::unique_ptr<ec::Codec> codec;
  StoreShape shape = shape_for(codec->profile(), ChecksumType::kCrc32c, 4096);
  std::vector<UnplacedBlob> blobs;
  PackPlan pack;
  PreparedBlob stripe;
  Counters counters;
  testing::CountingQueue queue;
  testing::MemoryStripes map{queue, shape.cells(), shape.unit};
  PackChecker checker{shape, *codec, map, queue, counters};
  compression::Counters compression_counters;
  compression::Compressor compressor{executor->clock(), compression_counters};
  LogBlobs log_blobs{*executor, shape.record};
  BlobReader reader{shape, *codec, compressor, map, queue, counters, log_blobs};
};

TEST_CASE("pack_check: a healthy stripe is one round of reads, and nothing is written") {
  Fixture fixture;
  const CheckedPack checked = fixture.check();
  REQUIRE(checked.result.whole);
  REQUIRE(checked.bad.empty());
  REQUIRE(checked.problems.empty());
  REQUIRE(checked.checked == 6 * fixture.stripe.blob.cell_bytes);
  REQUIRE(fixture.queue.rounds == 1);
  fixture.checker.heal(checked);
  REQUIRE(fixture.checker.repair(checked));
  REQUIRE(fixture.map.healed == 0);
  REQUIRE(fixture.count(CounterId::kCellsReconstructed) == 0);
}

TEST_CASE("pack_check: what is damaged, fails or is away is told apart, and only that is written") {
  Fixture fixture;
  fixture.cell(1)[100] ^= std::byte{4};
  fixture.map.present[4] = false;
  CheckedPack checked = fixture.check();
  REQUIRE(checked.result.whole);
  REQUIRE(checked.bad == ec::ShardSet{1});
  REQUIRE(checked.problems == "cell 1 on device 2 does not match its checksum");
  REQUIRE(fixture.checker.repair(checked));
  REQUIRE(fixture.map.healed == 1);
  REQUIRE(fixture.is_right());

  fixture.map.present[4] = true;
  fixture.cell(4)[0] ^= std::byte{1};
  fixture.map.devices[3]->fails = true;
  checked = fixture.check();
  REQUIRE(checked.bad == ec::ShardSet{3, 4});
  REQUIRE(checked.problems ==
          "cell 3 on device 4: the device failed; cell 4 on device 5 is not the code of the data");
  // Written back, but not to be read again.
  REQUIRE_FALSE(fixture.checker.repair(checked));
  REQUIRE(fixture.is_right());
}

TEST_CASE("pack_check: a repair that does not reach the media is none") {
  Fixture fixture;
  fixture.cell(0)[0] ^= std::byte{1};
  fixture.map.refuses = true;
  REQUIRE_FALSE(fixture.checker.repair(fixture.check()));
  fixture.map.refuses = false;
  REQUIRE(fixture.checker.repair(fixture.check()));
}

TEST_CASE("pack_check: more than m damaged cells are reported and left alone") {
  Fixture fixture;
  for (const std::uint32_t role : {0, 2, 5}) fixture.cell(role)[10] ^= std::byte{1};
  const CheckedPack checked = fixture.check();
  REQUIRE_FALSE(checked.result.whole);
  REQUIRE_THAT(checked.problems, Catch::Contains("cell 0 on device 1") &&
                                     Catch::Contains("cell 2 on device 3") &&
                                     Catch::Contains("gives back the rest"));
  fixture.checker.heal(checked);
  REQUIRE_FALSE(fixture.checker.repair(checked));
  REQUIRE(fixture.map.healed == 0);
}

TEST_CASE("pack_check: reading a blob heals every cell of its stripe that is damaged") {
  const auto codec = GENERATE(ec::CodecKind::kIsaVandermonde, ec::CodecKind::kJerasureCauchyGood);
  Fixture fixture({4, 2, codec, codec == ec::CodecKind::kJerasureCauchyGood ? 64u : 0u}, 3);
  const std::uint32_t cell = fixture.pack.slots[0].cell;
  for (std::uint32_t other = 0; other < 6; ++other) {
    CAPTURE(other);
    for (const bool away : {false, true}) {
      if (away && other == cell) continue;
      fixture.cell(cell)[fixture.pack.slots[0].offset] ^= std::byte{1};
      if (other != cell) fixture.cell(other)[fixture.pack.slots[0].offset] ^= std::byte{2};
      fixture.map.present[other] = !away;
      fixture.map.healed = 0;
      REQUIRE(fixture.read(0).ok());
      REQUIRE(fixture.map.healed == (other == cell || away ? 1 : 2));
      fixture.map.present[other] = true;
      REQUIRE(fixture.is_right(cell));
      if (away) copy_bytes(fixture.cell(other), fixture.stripe.cell(other));
      REQUIRE(fixture.is_right());
    }
  }
}

TEST_CASE("pack_check: a read heals nothing where that is not allowed, or the stripe has died") {
  Fixture fixture;
  fixture.cell(fixture.pack.slots[0].cell)[fixture.pack.slots[0].offset] ^= std::byte{1};
  SECTION("not allowed") { fixture.map.may_write = false; }
  SECTION("dead") { fixture.map.packs.clear(); }
  const int before = fixture.queue.rounds;
  REQUIRE(fixture.read(0).ok());
  REQUIRE(fixture.queue.rounds == before + 2);  // the blob, then the same bytes of the others
  REQUIRE(fixture.map.healed == 0);
}

TEST_CASE("pack_check: a cell that is away is rebuilt for every read and never written") {
  Fixture fixture;
  fixture.map.present[fixture.pack.slots[0].cell] = false;
  REQUIRE(fixture.read(0).ok());
  REQUIRE(fixture.map.healed == 0);
}

TEST_CASE("pack_check: a blob is found where the choices of cells are too many to try") {
  Fixture fixture({20, 4, ec::CodecKind::kIsaCauchy, 0}, 2);
  // Its cell, and the three without which comes last among the choices.
  REQUIRE(fixture.pack.slots[0].cell == 0);
  for (const std::uint32_t role : {0, 1, 2, 3}) {
    for (std::byte& byte : fixture.cell(role)) byte ^= std::byte{0xff};
  }
  REQUIRE(fixture.read(0).ok());
  REQUIRE(fixture.is_right());
}

TEST_CASE("pack_check: reads under random damage are right or refused, and heal what can be") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6, 7, 8);
  CAPTURE(seed);
  Fixture fixture({4, 2, ec::CodecKind::kIsaVandermonde, 0}, seed);
  io::Rng& rng = fixture.rng;
  for (int round = 0; round < 60; ++round) {
    const std::uint64_t hits = 1 + rng.below(4);
    ec::ShardSet damaged;
    while (damaged.size() < hits) damaged.add(static_cast<std::uint32_t>(rng.below(6)));
    for (const std::uint32_t role : damaged) {
      const MutByteView cell = fixture.cell(role);
      const std::size_t at = rng.below(cell.size());
      for (std::byte& byte : cell.subspan(at, 1 + rng.below(cell.size() - at))) {
        byte ^= std::byte(1 + rng.below(255));
      }
    }
    CAPTURE(round, damaged.bits());
    for (std::size_t slot = 0; slot < fixture.pack.slots.size(); ++slot) {
      const Status status = fixture.read(slot);  // compares the bytes
      if (hits <= 2) REQUIRE(status.ok());
      if (!status.ok()) REQUIRE(status.error().code == ErrorCode::kUnavailable);
    }
    const CheckedPack checked = fixture.check();
    REQUIRE(checked.result.whole == (hits <= 2));
    REQUIRE(fixture.checker.repair(checked) == (hits <= 2));
    REQUIRE(fixture.is_right() == (hits <= 2));
    for (std::uint32_t role = 0; role < 6; ++role) {
      copy_bytes(fixture.cell(role), fixture.stripe.cell(role));
    }
  }
}

TEST_CASE("pack_check: from k cells it says what the others are, or that they are not enough") {
  for (std::uint32_t lost = 0; lost < 6; ++lost) {
    for (std::uint32_t bad = 0; bad < 6; ++bad) {
      if (bad == lost) continue;
      CAPTURE(lost, bad);
      Fixture f;
      f.map.present[lost] = false;
      const CheckedPack healthy = f.check_enough();
      REQUIRE(healthy.result.whole);
      REQUIRE(healthy.bad.empty());
      REQUIRE(healthy.read.size() == f.shape.k());
      REQUIRE_FALSE(healthy.read.contains(lost));
      REQUIRE(healthy.checked == f.shape.k() * std::uint64_t{f.stripe.blob.cell_bytes});
      REQUIRE(f.count(CounterId::kCellsReconstructed) == 1);
      for (std::uint32_t role = 0; role < 6; ++role) {
        REQUIRE(std::equal(healthy.right[role].begin(), healthy.right[role].end(),
                           f.stripe.cell(role).begin()));
      }
      f.cell(bad)[7] ^= std::byte{1};
      const CheckedPack damaged = f.check_enough();
      const bool met = healthy.read.contains(bad);
      REQUIRE((damaged.result.whole && damaged.bad.empty()) == !met);
    }
  }
}

}  // namespace
}  // namespace hexad::core
