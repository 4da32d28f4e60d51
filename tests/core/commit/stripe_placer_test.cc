#include "core/commit/stripe_placer.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <new>
#include <set>

#include "core/record/keys.h"
#include "io/rng.h"
#include "tests/core/space_world.h"

namespace hexad::core {
namespace {

using testing::kSlabUnits;

struct Fixture : testing::SpaceWorld {
  using SpaceWorld::SpaceWorld;

  // With units set aside for it, as a commit does.
  UnplacedBlob unplaced(std::size_t bytes) {
    UnplacedBlob blob;
    blob.place = {++lsn, 0};
    blob.stored = SharedBytes::copy_of(as_bytes(noise(bytes)));
    blob.owner = object_key(1, "object" + std::to_string(lsn));
    blob.units = static_cast<std::uint32_t>((bytes + 16383) / 16384);
    space->reserve(PromisedUnits(blob.units));
    return blob;
  }
  std::vector<UnplacedBlob> group(std::size_t count, std::size_t bytes) {
    std::vector<UnplacedBlob> blobs;
    for (std::size_t i = 0; i < count; ++i) blobs.push_back(unplaced(bytes));
    return blobs;
  }

  // Units that are neither taken nor reserved.
  std::uint64_t available() { return space->counters().free - space->reserved(); }

  StripePlacer placer() { return {shape, *codec, preparer, *space}; }

  Lsn lsn = 100;
};

// What the part of the record says is what the stripes hold: every blob once, where it is said, the
// proofs those of the cells; and it can be written down.
void check_placed(const PlacedBlobs& placed, const std::vector<UnplacedBlob>& blobs,
                  const Fixture& f) {
  std::map<LogPlace, std::string> wanted;
  for (const UnplacedBlob& blob : blobs) wanted[blob.place] = as_text(blob.stored.bytes());
  REQUIRE(placed.stripes.size() == placed.part.allocated.size());
  for (std::size_t i = 0; i < placed.stripes.size(); ++i) {
    const StripeWrite& stripe = placed.stripes[i];
    const StripeProof& proof = placed.part.allocated[i];
    REQUIRE(proof.where == stripe.where);
    REQUIRE(stripe.prepared.units == stripe.where.units);
    REQUIRE(proof.cell_bytes == stripe.prepared.blob.cell_bytes);
    REQUIRE_FALSE(proof.durable_before);
    std::vector<ByteView> cells;
    for (std::uint32_t role = 0; role < f.shape.cells(); ++role) {
      cells.push_back(stripe.prepared.cell(role));
      REQUIRE(checksum(f.shape.record.checksum, cells.back()) == proof.cell_sums[role]);
    }
    REQUIRE(f.codec->verify(cells).value());
  }
  for (const UnplacedPlace& place : placed.part.placed) {
    const auto stripe = std::find_if(placed.stripes.begin(), placed.stripes.end(),
                                     [&](const StripeWrite& candidate) {
                                       return candidate.where.zone == place.where.zone &&
                                              candidate.where.unit == place.where.unit;
                                     });
    REQUIRE(stripe != placed.stripes.end());
    std::string found;
    if (place.placement == Placement::kPacked) {
      found = as_text(stripe->prepared.cell(place.cell).subspan(place.cell_offset, place.stored));
    } else {
      for (std::uint32_t role = 0; role < f.shape.k(); ++role) {
        found += as_text(stripe->prepared.cell(role));
      }
      found.resize(place.stored);
    }
    REQUIRE(found == wanted.at(place.from));
    wanted.erase(place.from);
  }
  REQUIRE(placed.in_log.size() == placed.part.payloads.size());
  for (std::size_t i = 0; i < placed.in_log.size(); ++i) {
    const UnplacedPayload& payload = placed.part.payloads[i];
    REQUIRE(payload.place == placed.in_log[i].place);
    REQUIRE(payload.owner == placed.in_log[i].owner);
    REQUIRE(payload.bytes == wanted.at(payload.place));
    wanted.erase(payload.place);
  }
  REQUIRE(wanted.empty());

  std::uint64_t bound = 32;
  for (const UnplacedBlob& blob : blobs) {
    bound += group_part_bound(blob.stored.size(), f.shape.record);
  }
  for (const UnplacedPayload& payload : placed.part.payloads) {
    bound += payload.bytes.size() + payload.owner.size();
  }
  LogRecord record;
  record.group = placed.part;
  const std::string encoded = encode_log_record(record, f.shape.record);
  REQUIRE(decode_log_record(encoded, f.shape.record).value() == record);
  REQUIRE(encode_group_part(placed.part, f.shape.record).size() <= bound);
}

std::uint64_t units_of(const PlacedBlobs& placed) {
  std::uint64_t units = 0;
  for (const StripeWrite& stripe : placed.stripes) units += stripe.where.units;
  return units;
}

// Encodes so many stripes, and is refused memory for the next one.
class RefusedCodec : public ec::Codec {
 public:
  RefusedCodec(const ec::Codec& codec, int allowed) : codec_(codec), allowed_(allowed) {}
  const ec::Profile& profile() const override { return codec_.profile(); }
  Status encode(std::span<const ByteView> data,
                std::span<const MutByteView> parity) const override {
    if (allowed_-- == 0) throw std::bad_alloc();
    return codec_.encode(data, parity);
  }
  Status encode_and_sum(std::span<const ByteView> sources, std::span<const MutByteView> shards,
                        std::span<std::uint32_t> sums) const override {
    if (allowed_-- == 0) throw std::bad_alloc();
    return codec_.encode_and_sum(sources, shards, sums);
  }
  Status reconstruct_wanted(std::span<const MutByteView> shards, ec::ShardSet present,
                            ec::ShardSet wanted) const override {
    return codec_.reconstruct_wanted(shards, present, wanted);
  }

 private:
  const ec::Codec& codec_;
  mutable int allowed_;
};

TEST_CASE("stripe_placer: whoever wants to know is told of blobs that get a stripe to themselves") {
  Fixture f;
  std::vector<std::pair<std::string, std::uint32_t>> told;
  const StripePlacer placer(
      f.shape, *f.codec, f.preparer, *f.space,
      [&](const UnplacedBlob& blob, std::uint32_t units) { told.emplace_back(blob.owner, units); });
  REQUIRE(placer.place(f.group(20, 8192), 0).ok());
  CHECK(told.empty());
  const std::vector<UnplacedBlob> one = f.group(1, 20'000);
  REQUIRE(placer.place(one, 0).ok());
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == one[0].owner);
  CHECK(told[0].second == 2);
}

TEST_CASE("stripe_placer: memory that is refused to a stripe is an error, and all space is back") {
  for (int allowed = 0;; ++allowed) {
    CAPTURE(allowed);
    Fixture f;
    const auto blobs = f.group(30, 100'000);  // more than one shared stripe
    const std::uint64_t available = f.available();
    const RefusedCodec codec(*f.codec, allowed);
    const BlobPreparer preparer(f.shape, codec, f.compressor);
    const StripePlacer placer(f.shape, codec, preparer, *f.space);
    const Result<PlacedBlobs> placed = placer.place(blobs, 0);
    if (placed.ok()) {
      REQUIRE(allowed > 1);
      check_placed(*placed, blobs, f);
      break;
    }
    REQUIRE(placed.error().code == ErrorCode::kExhausted);
    REQUIRE(f.space->counters().in_flight == 0);
    REQUIRE(f.available() == available);
  }
}

TEST_CASE("stripe_placer: objects share a stripe, which is published with what lives in it") {
  Fixture f;
  const auto blobs = f.group(32, 4096);
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 0);
  REQUIRE(placed.ok());
  check_placed(*placed, blobs, f);
  REQUIRE(placed->stripes.size() == 1);
  CHECK(f.space->counters().in_flight == units_of(*placed));
  CHECK(f.available() == kSlabUnits - 1 - units_of(*placed));  // nothing is reserved any more

  LogRecord record;
  record.group = placed->part;
  f.log_blobs.set_places(record.group.placed);
  f.space->publish(200, record);
  const StripeProof& stripe = placed->part.allocated[0];
  CHECK(stripe.live == 32 * 4096);
  CHECK(f.space->packs(stripe.where.zone) ==
        std::vector<alloc::PackStripe>{{stripe.where.run(), 32 * 4096, 200, stripe.footer}});
  CHECK(f.space->check_invariants().ok());
  // They die one by one, the last one takes the stripe along.
  for (const UnplacedBlob& blob : blobs) {
    CHECK(f.space->is_live(stripe.where));
    LogRecord release;
    release.unplaced_releases.push_back(blob.place);
    f.space->publish(300 + blob.place.lsn, release);
  }
  CHECK_FALSE(f.space->is_live(stripe.where));
  CHECK(f.space->reclaim(kMaxLsn) == stripe.where.units);
}

TEST_CASE("stripe_placer: random groups are placed as their records say, and hold no reservation") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  Fixture f;
  f.rng = io::Rng(seed);
  for (int round = 0; round < 10; ++round) {
    std::vector<UnplacedBlob> blobs;
    for (std::uint64_t i = 1 + f.rng.below(20); i > 0; --i) {
      blobs.push_back(f.unplaced(1 + f.rng.below(1u << (4 + f.rng.below(13)))));
    }
    // Some have units of their own already, because nothing could be reserved for them.
    for (UnplacedBlob& blob : blobs) {
      if (!f.rng.chance(1, 10)) continue;
      blob.where = f.space->allocate(blob.units).value();
      f.space->release(PromisedUnits(blob.units));
      blob.units = 0;
    }
    const std::uint64_t log_bytes = f.rng.chance(1, 2) ? f.rng.below(100'000) : 0;
    const Result<PlacedBlobs> placed = f.placer().place(blobs, log_bytes);
    REQUIRE(placed.ok());
    check_placed(*placed, blobs, f);
    PromisedUnits in_log_units;
    std::uint64_t in_log_bytes = 0;
    for (const UnplacedBlob& blob : placed->in_log) {
      in_log_units += PromisedUnits(blob.units);
      in_log_bytes += blob.stored.size();
    }
    REQUIRE(in_log_bytes <= log_bytes);
    // What rides in the log keeps its reservation, all else has given it back.
    REQUIRE(f.space->reserved() == in_log_units.units);
    REQUIRE(f.available() == kSlabUnits - 1 - units_of(*placed) - in_log_units.units);
    f.space->release(in_log_units);
    for (const StripeWrite& stripe : placed->stripes) f.space->discard(stripe.where);
    REQUIRE(f.available() == kSlabUnits - 1);
  }
  REQUIRE(f.space->check_invariants().ok());
}

TEST_CASE("stripe_placer: a record replayed gives the space that publishing it gave") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  CAPTURE(seed);
  Fixture f;
  f.rng = io::Rng(seed);
  LogBlobs other_blobs(f.system.executor(), f.shape.record);
  Space other(f.system.executor(), f.shape, *f.members, f.counters, other_blobs);
  std::vector<LogPlace> alive;
  for (Lsn lsn = 1000; lsn < 1030; ++lsn) {
    CAPTURE(lsn);
    LogRecord record;
    if (lsn == 1000) record.zones.push_back(f.zone);
    std::vector<UnplacedBlob> blobs;
    for (std::uint64_t i = 1 + f.rng.below(6); i > 0; --i) {
      blobs.push_back(f.unplaced(1 + f.rng.below(1u << (4 + f.rng.below(11)))));
      alive.push_back(blobs.back().place);
    }
    const Result<PlacedBlobs> placed = f.placer().place(blobs, f.rng.chance(1, 2) ? 16'384 : 0);
    REQUIRE(placed.ok());
    record.group = placed->part;
    // Older blobs die, and some that this very group has placed.
    while (alive.size() > 12 || (!alive.empty() && f.rng.chance(1, 3))) {
      const std::size_t at = f.rng.below(alive.size());
      record.unplaced_releases.push_back(alive[at]);
      alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
    }
    // As the sequencer and the pipeline do.
    for (const LogPlace& release : record.unplaced_releases) {
      f.space->release(f.log_blobs.release(release));
    }
    f.log_blobs.set_places(placed->part.placed);
    for (const UnplacedBlob& blob : placed->in_log) {
      if (f.log_blobs.add_payload(blob)) f.space->release(PromisedUnits(blob.units));
    }
    f.space->publish(lsn, record);

    const std::string bytes = encode_log_record(record, f.shape.record);
    const Status replayed = other.replay(lsn, decode_log_record(bytes, f.shape.record).value());
    INFO((replayed.ok() ? "" : replayed.error().message));
    REQUIRE(replayed.ok());
    REQUIRE(other.packs(f.zone.zone) == f.space->packs(f.zone.zone));
    REQUIRE(other.live_runs(f.zone.zone) == f.space->live_runs(f.zone.zone));
    REQUIRE(other.counters() == f.space->counters());
    REQUIRE(other.reserved() == f.space->reserved());
    REQUIRE(other_blobs.payload_bytes() == f.log_blobs.payload_bytes());
    REQUIRE(other.check_invariants().ok());
    if (f.rng.chance(1, 4)) REQUIRE(other.reclaim(lsn) == f.space->reclaim(lsn));
  }
  LogRecord wrong;
  wrong.unplaced_releases.push_back({77, 7});
  REQUIRE(other.replay(2000, wrong).error().code == ErrorCode::kCorruption);
}

TEST_CASE(
    "stripe_placer: where no long run is free, objects share stripes as short as there are runs") {
  Fixture f;
  std::vector<alloc::Extent> taken;
  for (std::uint32_t i = 1; i < kSlabUnits; ++i) taken.push_back(f.space->allocate(1).value());
  for (std::size_t i = 0; i < taken.size(); i += 2) f.space->discard(taken[i]);
  REQUIRE(f.space->largest_free_run() == 1);
  const auto blobs = f.group(16, 4096);
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 0);
  REQUIRE(placed.ok());
  check_placed(*placed, blobs, f);
  CHECK(placed->stripes.size() <= 6);  // a unit has room for three of them
  for (const UnplacedPlace& place : placed->part.placed) {
    CHECK(place.placement == Placement::kPacked);
  }
  CHECK(f.available() == 128 - placed->stripes.size());
  CHECK(f.space->check_invariants().ok());
}

TEST_CASE(
    "stripe_placer: a lone small object rides in the log, and keeps what is reserved for it") {
  Fixture f;
  const std::vector<UnplacedBlob> blobs = {f.unplaced(4096)};
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 64 << 10);
  REQUIRE(placed.ok());
  check_placed(*placed, blobs, f);
  CHECK(placed->stripes.empty());
  REQUIRE(placed->in_log.size() == 1);
  CHECK(f.available() == kSlabUnits - 2);
  // Without room in the log: a stripe, for which there is always space.
  const Result<PlacedBlobs> now = f.placer().place(placed->in_log, 0);
  REQUIRE(now.ok());
  check_placed(*now, blobs, f);
  CHECK(now->stripes.size() == 1);
  CHECK(now->part.placed.front().placement == Placement::kPacked);  // the cleaner may move it
  CHECK(f.available() == kSlabUnits - 2);
}

TEST_CASE("stripe_placer: what others allocate leaves the run that was promised") {
  Fixture f;
  std::uint64_t reserved = 0;
  while (f.space->try_reserve(4)) reserved += 4;
  REQUIRE(reserved > 0);
  while (f.space->allocate(1).ok()) continue;
  for (std::uint64_t done = 0; done < reserved; done += 4) {
    REQUIRE(f.space->allocate_reserved(4).ok());
  }
  CHECK(f.space->reserved() == 0);
}

TEST_CASE("stripe_placer: a footer's unit is not taken from what belongs to others") {
  const bool spare = GENERATE(false, true);
  CAPTURE(spare);
  Fixture f(spare ? 19 : 18);  // one is the header's
  const auto blobs = f.group(4, 64 << 10);
  REQUIRE(f.space->reserved() == 16);
  REQUIRE(f.space->try_reserve(1));  // somebody else's
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 0);
  REQUIRE(placed.ok());
  check_placed(*placed, blobs, f);
  // Together with the footer they fill 17 units.
  CHECK(placed->stripes.size() == (spare ? 1 : 4));
  CHECK(units_of(*placed) == (spare ? 17 : 16));
  CHECK(f.space->reserved() == 1);
  CHECK(f.space->allocate_reserved(1).ok());
  CHECK(f.available() == 0);
}

TEST_CASE("stripe_placer: units that a blob has already are where it goes") {
  Fixture f;
  const bool packed = GENERATE(false, true);  // it fills its stripe, or less than half of it
  CAPTURE(packed);
  UnplacedBlob blob = f.unplaced(packed ? 4'000 : 30'000);
  blob.where = f.space->allocate(blob.units).value();
  f.space->release(PromisedUnits(blob.units));
  blob.units = 0;
  const Result<PlacedBlobs> placed = f.placer().place({blob}, 64 << 10);
  REQUIRE(placed.ok());
  check_placed(*placed, {blob}, f);
  REQUIRE(placed->stripes.size() == 1);
  CHECK(placed->stripes[0].where == blob.where);
  CHECK((placed->part.placed.front().placement == Placement::kPacked) == packed);
  CHECK(placed->part.payloads.empty());
}

TEST_CASE("stripe_placer: blobs whose transaction has a place for them share that, and no other") {
  Fixture f;
  std::vector<UnplacedBlob> blobs = f.group(12, 4096);
  const std::vector<UnplacedBlob> others = f.group(3, 200);
  for (UnplacedBlob& blob : blobs) {
    f.space->release(PromisedUnits(blob.units));
    blob.units = 0;
  }
  blobs.insert(blobs.begin(), others.begin(), others.end());
  const PlacementPlan plan = f.placer().plan({blobs.begin() + 3, blobs.end()}, 32);
  std::vector<GivenPack> given;
  for (PackPlan pack : plan.packs) {
    for (PackPlan::Slot& slot : pack.slots) slot.item += 3;
    given.push_back({pack, f.space->allocate(pack.units).value()});
  }
  REQUIRE(given.size() == 1);
  REQUIRE(plan.own_stripe.empty());
  REQUIRE(plan.in_log.empty());
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 64 << 10, given);
  REQUIRE(placed.ok());
  check_placed(*placed, blobs, f);
  REQUIRE(placed->stripes.size() == 1);
  CHECK(placed->stripes[0].where == given[0].where);
  CHECK(placed->in_log.size() == 3);
  CHECK(f.space->reserved() == 3);
}

TEST_CASE("stripe_placer: when a reservation does not hold, nothing is left allocated") {
  Fixture f(9);
  // 5 units more than there are.
  const auto blobs = f.group(13, 200);
  PromisedUnits promised;
  for (const UnplacedBlob& blob : blobs) promised += PromisedUnits(blob.units);
  std::vector<alloc::Extent> taken;
  f.space->release(promised);
  for (int i = 0; i < 8; i += 1) taken.push_back(f.space->allocate(1).value());
  f.space->reserve(promised);
  const Result<PlacedBlobs> placed = f.placer().place(blobs, 0);
  REQUIRE_FALSE(placed.ok());
  CHECK(placed.error().code == ErrorCode::kNoSpace);
  CHECK(f.space->counters().in_flight == 8);
  CHECK(f.space->reserved() == 13);
  // With four of them free, a shared stripe fits, whatever was promised.
  for (int i = 0; i < 4; ++i) f.space->discard(taken[static_cast<std::size_t>(i)]);
  const Result<PlacedBlobs> fits = f.placer().place(blobs, 0);
  REQUIRE(fits.ok());
  check_placed(*fits, blobs, f);
  CHECK(f.space->check_invariants().ok());
}

}  // namespace
}  // namespace hexad::core
