#include "core/blob/pack_verify.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "ec/shard_subsets.h"
#include "io/rng.h"
#include "tests/core/blob/random_packs.h"

namespace hexad::core {
namespace {

using ec::CodecKind;

// One pack stripe as it was written, another one that lay in the same place before, and what has
// become of the cells.
struct Stripe {
  Stripe(ec::Profile profile, ChecksumType sums, std::uint64_t seed)
      : rng(seed), codec(ec::make_codec(profile).value()) {
    shape = shape_for(profile, sums, 512u << rng.below(4));
    for (;;) {
      const auto blobs = random_unplaced(rng, 2 + rng.below(30), 1u << (4 + rng.below(10)));
      const PlacementPlan plan = plan_for(blobs, shape);
      if (plan.packs.empty()) continue;
      const PackPlan& pack = plan.packs[0];
      identity.where = {1, 40, pack.units};
      now = build_pack(pack, blobs, identity.where, shape, *codec).value();
      identity.footer = now.footer;
      for (const PackPlan::Slot& slot : pack.slots) {
        const std::string_view stored = as_text(blobs[slot.item].stored.bytes());
        expected.push_back({slot.cell, slot.offset, static_cast<std::uint32_t>(stored.size()),
                            checksum(sums, as_bytes(stored))});
      }
      // The same blobs with other bytes.
      std::vector<UnplacedBlob> old = blobs;
      for (UnplacedBlob& blob : old) {
        std::string bytes(as_text(blob.stored.bytes()));
        for (char& byte : bytes) byte = static_cast<char>(byte + 1);
        blob.stored = SharedBytes::copy_of(as_bytes(bytes));
      }
      before = build_pack(pack, old, identity.where, shape, *codec).value();
      break;
    }
    const std::size_t stride = now.stride;
    buffer = AlignedBuffer(2 * stride * shape.cells());
    for (std::uint32_t i = 0; i < 2 * shape.cells(); ++i) {
      (i < shape.cells() ? cells : right)
          .push_back(buffer.bytes().subspan(i * stride, now.blob.cell_bytes));
    }
    reset();
  }

  void reset() {
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      copy_bytes(cells[role], now.cell(role));
    }
    std::fill(right[0].begin(), right[shape.cells() - 1].end(), std::byte{0x77});
  }

  enum class Damage { kFlip, kRange, kZeros, kOld, kOther };
  static constexpr std::uint64_t kKinds = 5;
  // True when that changed anything.
  bool damage(std::uint32_t role, Damage kind) {
    const MutByteView cell = cells[role];
    const std::size_t at = rng.below(cell.size());
    const std::size_t length = 1 + rng.below(cell.size() - at);
    switch (kind) {
      case Damage::kFlip:
        cell[at] ^= std::byte{1};
        break;
      case Damage::kRange:
        for (std::byte& byte : cell.subspan(at, length)) byte = std::byte(rng.below(256));
        break;
      case Damage::kZeros:
        fill_zero(cell.subspan(at, length));
        break;
      case Damage::kOld:
        copy_bytes(cell, before.cell(role));
        break;
      case Damage::kOther:
        copy_bytes(cell, now.cell((role + 1) % shape.cells()));
        break;
    }
    return !same(cell, now.cell(role));
  }
  bool damage(std::uint32_t role) { return damage(role, static_cast<Damage>(rng.below(kKinds))); }

  static bool same(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin()); }
  PackResult verify(ec::ShardSet read) {
    return verify_pack(cells, read, right, identity, expected, shape, *codec).value();
  }
  bool is_right() const {
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      if (!same(right[role], now.cell(role))) return false;
    }
    return true;
  }
  ec::ShardSet all() const { return ec::ShardSet::first(shape.cells()); }

  io::Rng rng;
  std::unique_ptr<ec::Codec> codec;
  StoreShape shape;
  PackIdentity identity;
  PreparedBlob now;
  PreparedBlob before;
  std::vector<ExpectedBlob> expected;
  AlignedBuffer buffer;
  std::vector<MutByteView> cells;
  std::vector<MutByteView> right;
};

const ec::Profile kProfiles[] = {
    {4, 2, CodecKind::kIsaVandermonde, 0},     {4, 2, CodecKind::kJerasureCauchyGood, 64},
    {1, 1, CodecKind::kIsaVandermonde, 0},     {1, 2, CodecKind::kIsaVandermonde, 0},
    {2, 2, CodecKind::kJerasureCauchyGood, 8}, {2, 3, CodecKind::kIsaCauchy, 0},
    {5, 1, CodecKind::kIsaVandermonde, 0}};

TEST_CASE("pack_verify: whatever m cells are away or damaged, in any way, all cells are known") {
  const ec::Profile profile = GENERATE(from_range(std::begin(kProfiles), std::end(kProfiles)));
  const ChecksumType sums = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(profile.k, profile.m, static_cast<int>(profile.codec), static_cast<int>(sums), seed);
  Stripe stripe(profile, sums, seed);
  for (std::uint32_t count = 0; count <= profile.m; ++count) {
    for (ec::ShardSubsets hit(stripe.all(), count); !hit.done(); hit.next()) {
      for (std::uint32_t away = 0; away <= count; ++away) {
        for (ec::ShardSubsets gone(hit.get(), away); !gone.done(); gone.next()) {
          CAPTURE(hit.get().bits(), gone.get().bits());
          stripe.reset();
          ec::ShardSet damaged;
          for (const std::uint32_t role : hit.get()) {
            const bool changed = stripe.damage(role);
            if (changed && !gone.get().contains(role)) damaged.add(role);
          }
          const PackResult result = stripe.verify(stripe.all() - gone.get());
          REQUIRE(result.whole);
          REQUIRE(result.bad == damaged);
          REQUIRE(result.footer->entries.size() == stripe.expected.size());
          REQUIRE(result.problem.empty());
          REQUIRE(stripe.is_right());
        }
      }
    }
  }
}

TEST_CASE("pack_verify: more than m cells away or damaged are never made up") {
  const ec::Profile profile = GENERATE(from_range(std::begin(kProfiles), std::end(kProfiles)));
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(profile.k, profile.m, static_cast<int>(profile.codec), seed);
  Stripe stripe(profile, ChecksumType::kXxh3, seed);
  for (ec::ShardSubsets hit(stripe.all(), profile.m + 1); !hit.done(); hit.next()) {
    for (std::uint32_t away = 0; away <= profile.m + 1; ++away) {
      for (ec::ShardSubsets gone(hit.get(), away); !gone.done(); gone.next()) {
        CAPTURE(hit.get().bits(), gone.get().bits());
        stripe.reset();
        const auto kind = static_cast<Stripe::Damage>(stripe.rng.below(Stripe::kKinds));
        ec::ShardSet damaged;
        for (const std::uint32_t role : hit.get() - gone.get()) {
          while (!stripe.damage(role, kind) && !stripe.damage(role)) {
          }
          damaged.add(role);
        }
        const PackResult result = stripe.verify(stripe.all() - gone.get());
        REQUIRE_FALSE(result.whole);
        REQUIRE_FALSE(result.problem.empty());
      }
    }
  }
}

TEST_CASE("pack_verify: what an earlier stripe left on as many cells as it takes does not pass") {
  // With m >= k both stripes can be rebuilt. What the metadata has of the footer tells them apart,
  // and so do the blobs that should be there (J2, J4).
  const bool with_expected = GENERATE(true, false);
  Stripe stripe({1, 2, CodecKind::kIsaVandermonde, 0}, ChecksumType::kCrc32c, 7);
  if (!with_expected) stripe.expected.clear();
  stripe.damage(0, Stripe::Damage::kOld);
  stripe.damage(1, Stripe::Damage::kOld);
  const PackResult result = stripe.verify(stripe.all());
  REQUIRE(result.whole);
  REQUIRE(result.bad == ec::ShardSet{0, 1});
  REQUIRE(stripe.is_right());
  stripe.damage(2, Stripe::Damage::kOld);
  const PackResult old = stripe.verify(stripe.all());
  REQUIRE_FALSE(old.whole);
  REQUIRE(old.bad.empty());
  REQUIRE_FALSE(old.footer.has_value());
  REQUIRE_THAT(old.problem, Catch::Contains("one of a stripe that was there before is"));
}

TEST_CASE("pack_verify: what the blobs that should be there do not fit is not accepted") {
  Stripe stripe(kProfiles[0], ChecksumType::kCrc32c, 8);
  stripe.expected[0].sum ^= 1;
  const PackResult result = stripe.verify(stripe.all());
  REQUIRE_FALSE(result.whole);
  REQUIRE(result.bad.empty());
  REQUIRE_THAT(result.problem, Catch::Contains("not the blobs"));
}

TEST_CASE("pack_verify: a stripe of another place or store is not this one, and is told apart") {
  Stripe stripe(kProfiles[0], ChecksumType::kCrc32c, 9);
  stripe.expected.clear();
  const auto problem = [&] {
    const PackResult result = stripe.verify(stripe.all());
    REQUIRE_FALSE(result.whole);
    return result.problem;
  };
  stripe.identity.where.unit += 1;
  CHECK_THAT(problem(), Catch::Contains("one of the stripe at zone 1"));
  stripe.identity.where.unit -= 1;
  REQUIRE(stripe.verify(stripe.all()).whole);
  stripe.shape.uuid.bytes[3] ^= 1;
  CHECK_THAT(problem(), Catch::Contains("one of store "));
}

TEST_CASE("pack_verify: wide codes find the footer among very many choices") {
  const ec::Profile profile = GENERATE(ec::Profile{10, 4, CodecKind::kIsaCauchy, 0},
                                       ec::Profile{16, 4, CodecKind::kIsaCauchy, 0});
  Stripe stripe(profile, ChecksumType::kCrc32c, profile.k);
  for (int round = 0; round < 20; ++round) {
    stripe.reset();
    ec::ShardSet hit{profile.k - 1};
    while (hit.size() < profile.m) {
      hit.add(static_cast<std::uint32_t>(stripe.rng.below(stripe.shape.cells())));
    }
    for (const std::uint32_t role : hit) {
      for (std::byte& byte : stripe.cells[role]) byte = std::byte(stripe.rng.below(256));
    }
    const PackResult result = stripe.verify(stripe.all());
    REQUIRE(result.whole);
    REQUIRE(result.bad == hit);
    REQUIRE(stripe.is_right());
  }
}

TEST_CASE("pack_verify: a stripe of anything has no footer, and says so") {
  Stripe stripe(kProfiles[0], ChecksumType::kCrc32c, 5);
  for (const MutByteView cell : stripe.cells) {
    for (std::byte& byte : cell) byte = std::byte(stripe.rng.below(256));
  }
  const PackResult result = stripe.verify(stripe.all());
  REQUIRE_FALSE(result.whole);
  REQUIRE_FALSE(result.footer.has_value());
  REQUIRE(result.bad.empty());
  REQUIRE_THAT(result.problem, Catch::Contains("gives the footer of this stripe"));
}

TEST_CASE("pack_verify: too much damage still names the data cells that the footer disowns") {
  Stripe stripe(kProfiles[0], ChecksumType::kCrc32c, 6);
  for (const std::uint32_t role : {0, 1, 2}) stripe.cells[role][5] ^= std::byte{8};
  const PackResult result = stripe.verify(stripe.all());
  REQUIRE_FALSE(result.whole);
  REQUIRE(result.footer.has_value());
  REQUIRE(result.bad == ec::ShardSet{0, 1, 2});
}

}  // namespace
}  // namespace hexad::core
