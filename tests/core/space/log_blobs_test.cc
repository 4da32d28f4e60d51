#include "core/space/log_blobs.h"

#include <catch2/catch.hpp>

#include "io/rng.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

UnplacedBlob unplaced(LogPlace place, std::size_t bytes, std::uint32_t units = 1) {
  UnplacedBlob blob;
  blob.place = place;
  blob.stored =
      SharedBytes::copy_of(as_bytes(std::string(bytes, static_cast<char>('a' + place.index % 26))));
  blob.owner = "oowner";
  blob.units = units;
  return blob;
}

UnplacedPlace packed(LogPlace from, std::uint32_t stored, std::uint32_t unit = 9) {
  return packed_place(from, stored, {3, unit, 0}, {1, 64});
}

Blob unplaced_record(LogPlace place, std::uint32_t stored) {
  return unplaced_blob(place, stored, 77);
}

struct Fixture {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  RecordShape shape;
  LogBlobs blobs{*executor, shape};
};

TEST_CASE("log_blobs: a payload is found with its bytes, a placed blob with its place") {
  Fixture f;
  CHECK_FALSE(f.blobs.find({5, 0}).has_value());
  CHECK_FALSE(f.blobs.add_payload(unplaced({5, 0}, 100)));
  REQUIRE(f.blobs.find({5, 0}).has_value());
  CHECK(f.blobs.find({5, 0})->stored.size() == 100);
  CHECK_FALSE(f.blobs.find({5, 0})->place.has_value());
  CHECK_FALSE(f.blobs.find({5, 1}).has_value());
  CHECK(f.blobs.payload_bytes() == 100);

  CHECK(f.blobs.set_places({packed({5, 0}, 100)}) == PromisedUnits(1));
  CHECK(f.blobs.find({5, 0})->place == packed({5, 0}, 100));
  CHECK(f.blobs.find({5, 0})->stored.empty());  // YB2
  CHECK(f.blobs.payload_bytes() == 0);
  CHECK(f.blobs.packing_bytes() == 0);
  // Placed when its group was sealed: it was never a payload.
  CHECK(f.blobs.set_places({packed({6, 0}, 50)}) == PromisedUnits());
  CHECK(f.blobs.find({6, 0})->place.has_value());
}

TEST_CASE("log_blobs: a record is resolved where the place is known, and fits") {
  Fixture f;
  const Blob record = unplaced_record({5, 0}, 100);
  CHECK(f.blobs.resolve(record) == record);
  f.blobs.add_payload(unplaced({5, 0}, 100));
  CHECK(f.blobs.resolve(record) == record);
  f.blobs.set_places({packed({5, 0}, 100)});
  Blob expected = record;
  expected.placement = Placement::kPacked;
  expected.log = {};
  expected.where = {3, 9, 0};
  expected.cell = 1;
  expected.cell_offset = 64;
  CHECK(f.blobs.resolve(record) == expected);
  // A place of another length belongs to something else.
  CHECK(f.blobs.resolve(unplaced_record({5, 0}, 101)) == unplaced_record({5, 0}, 101));

  const UnplacedPlace own = private_place({5, 1}, 100, {3, 12, 1}, 512, {1, 2, 3, 4, 5, 6});
  f.blobs.set_places({own});
  Blob private_blob = unplaced_record({5, 1}, 100);
  private_blob.placement = Placement::kPrivate;
  private_blob.log = {};
  private_blob.where = own.where;
  private_blob.cell_bytes = 512;
  private_blob.cell_sums = own.cell_sums;
  CHECK(f.blobs.resolve(unplaced_record({5, 1}, 100)) == private_blob);

  ExtentList extents(4);
  extents[0].blob = record;
  extents[0].length = 100;
  extents[1].bytes = "inline";
  extents[2].blob = expected;  // not unplaced: as it is
  extents[3].blob = unplaced_record({9, 9}, 10);
  ExtentList resolved = extents;
  resolved[0].blob = expected;
  CHECK(f.blobs.resolve(extents) == resolved);
}

TEST_CASE("log_blobs: a blob given up before its group is sealed is dead on arrival") {
  Fixture f;
  CHECK(f.blobs.release({5, 0}) == PromisedUnits());
  CHECK_FALSE(f.blobs.find({5, 0}).has_value());
  CHECK(f.blobs.add_payload(unplaced({5, 0}, 100, 3)));
  CHECK(f.blobs.find({5, 0})->dead);
  CHECK(f.blobs.payload_bytes() == 0);
  CHECK(f.blobs.take_payloads(1000, kAny).empty());
  // The release has had its effect: a second one has none.
  CHECK(f.blobs.release({5, 0}) == PromisedUnits());
  // One that got a place with its group is freed by whoever killed it, by that place.
  CHECK(f.blobs.release({5, 1}) == PromisedUnits());
  CHECK(f.blobs.set_places({packed({5, 1}, 10)}) == PromisedUnits());
  CHECK(f.blobs.find({5, 1})->place.has_value());
  // A payload gives back what was reserved for it, once.
  f.blobs.add_payload(unplaced({6, 0}, 100, 2));
  CHECK(f.blobs.release({6, 0}) == PromisedUnits(2));
  CHECK(f.blobs.release({6, 0}) == PromisedUnits());
  CHECK(f.blobs.find({6, 0})->dead);
  CHECK_FALSE(f.blobs.find({6, 0})->stored.empty());  // for who may still read it
  CHECK(f.blobs.set_places({packed({6, 0}, 100)}) == PromisedUnits());
}

TEST_CASE("log_blobs: payloads come oldest first, up to a size, and always one") {
  Fixture f;
  for (std::uint32_t i = 0; i < 5; ++i) f.blobs.add_payload(unplaced({10 - i, 0}, 100));
  const auto lsns = [&](std::uint64_t bytes) {
    std::vector<Lsn> found;
    const std::vector<UnplacedBlob> taken = f.blobs.take_payloads(bytes, kAny);
    for (const UnplacedBlob& blob : taken) found.push_back(blob.place.lsn);
    CHECK(f.blobs.return_payloads(taken) == PromisedUnits());
    return found;
  };
  CHECK(lsns(0) == std::vector<Lsn>{6});
  CHECK(lsns(199) == std::vector<Lsn>{6});
  CHECK(lsns(200) == std::vector<Lsn>{6, 7});
  CHECK(lsns(10'000) == std::vector<Lsn>{6, 7, 8, 9, 10});
  f.blobs.release({6, 0});
  f.blobs.set_places({packed({7, 0}, 100)});
  CHECK(lsns(10'000) == std::vector<Lsn>{8, 9, 10});
  const std::uint64_t one = group_part_bound(100, f.shape);
  CHECK(f.blobs.take_payloads(kAny, 0).size() == 1);
  CHECK(f.blobs.take_payloads(kAny, 2 * one).size() == 2);
  CHECK(f.blobs.take_payloads(kAny, 3 * one - 1).size() == 2);
}

TEST_CASE("log_blobs: units go along with payloads that are taken, and come back with them") {
  Fixture f;
  for (Lsn lsn = 1; lsn <= 4; ++lsn) f.blobs.add_payload(unplaced({lsn, 0}, 100, 2));
  const std::vector<UnplacedBlob> taken = f.blobs.take_payloads(kAny, kAny);
  REQUIRE(taken.size() == 4);
  for (const UnplacedBlob& blob : taken) CHECK(blob.units == 2);
  // They are somebody else's to give back now.
  CHECK(f.blobs.release({1, 0}) == PromisedUnits());
  CHECK(f.blobs.set_places({packed({2, 0}, 100)}) == PromisedUnits());
  // What is handed back is a payload as before; of what has died meanwhile the units are over.
  CHECK(f.blobs.return_payloads({taken[0], taken[2], taken[3]}) == PromisedUnits(2));
  CHECK(f.blobs.payload_bytes() == 200);
  CHECK(f.blobs.release({3, 0}) == PromisedUnits(2));
  CHECK(f.blobs.set_places({packed({4, 0}, 100)}) == PromisedUnits(2));
}

TEST_CASE("log_blobs: what a checkpoint covers is forgotten when its last reader is gone") {
  Fixture f;
  for (Lsn lsn = 1; lsn <= 6; ++lsn) f.blobs.set_places({packed({lsn, 7}, 10)});
  f.blobs.retire(3, 8);
  f.blobs.forget(8);  // somebody may have a pin at 8
  CHECK(f.blobs.find({1, 7}).has_value());
  f.blobs.forget(9);
  for (Lsn lsn = 1; lsn <= 6; ++lsn) CHECK(f.blobs.find({lsn, 7}).has_value() == (lsn > 3));
  f.blobs.retire(5, 12);
  f.blobs.retire(6, 20);
  f.blobs.forget(15);
  CHECK_FALSE(f.blobs.find({5, 7}).has_value());
  CHECK(f.blobs.find({6, 7}).has_value());
  f.blobs.forget(kMaxLsn);
  CHECK_FALSE(f.blobs.find({6, 7}).has_value());
}

// In the simplest words: what happened to each blob, in lists.
struct Model {
  struct Entry {
    bool sealed = false;
    bool placed = false;
    bool dead = false;
    std::size_t bytes = 0;
    std::uint32_t units = 0;
    bool is_payload() const { return sealed && !placed && !dead; }
  };
  std::map<LogPlace, Entry> entries;
  std::vector<std::pair<Lsn, Lsn>> retirements;

  std::uint64_t payload_bytes() const {
    std::uint64_t total = 0;
    for (const auto& [place, entry] : entries) total += entry.is_payload() ? entry.bytes : 0;
    return total;
  }
  std::uint64_t packing_bytes(const RecordShape& shape) const {
    std::uint64_t total = 0;
    for (const auto& [place, entry] : entries) {
      if (entry.is_payload()) total += group_part_bound(entry.bytes, shape);
    }
    return total;
  }
  void forget(Lsn limit) {
    while (!retirements.empty() && retirements.front().second < limit) {
      const Lsn covered = retirements.front().first;
      std::erase_if(entries, [&](const auto& entry) {
        return entry.first.lsn <= covered && entry.second.sealed;
      });
      retirements.erase(retirements.begin());
    }
  }
};

TEST_CASE("log_blobs: random lives of unplaced blobs match lists of what happened") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  io::Rng rng(seed);
  Fixture f;
  Model model;
  Lsn next = 1;    // of the transactions; their groups are sealed in order
  Lsn sealed = 0;  // all up to it
  std::uint64_t reserved = 0;
  std::uint64_t expected_reserved = 0;
  std::map<Lsn, std::uint32_t> blobs_of;
  for (int step = 0; step < 3000; ++step) {
    CAPTURE(step);
    const std::uint64_t dice = rng.below(100);
    if (dice < 30) {
      blobs_of[next++] = static_cast<std::uint32_t>(rng.below(4));
    } else if (dice < 55 && sealed + 1 < next) {
      ++sealed;
      for (std::uint32_t i = 0; i < blobs_of[sealed]; ++i) {
        const LogPlace place{sealed, i};
        Model::Entry& entry = model.entries[place];
        entry.sealed = true;
        entry.bytes = 1 + rng.below(100'000);
        if (rng.chance(1, 2)) {
          entry.placed = true;
          REQUIRE(f.blobs.set_places({packed(place, static_cast<std::uint32_t>(entry.bytes))}) ==
                  PromisedUnits());
        } else {
          entry.units = static_cast<std::uint32_t>(1 + rng.below(5));
          reserved += entry.units;
          expected_reserved += entry.dead ? 0 : entry.units;
          const bool dead = f.blobs.add_payload(unplaced(place, entry.bytes, entry.units));
          REQUIRE(dead == entry.dead);
          if (dead) reserved -= entry.units;
        }
      }
    } else if (dice < 75 && next > 1) {
      // Somebody gives up a blob of one of the last transactions, sealed or not.
      const Lsn lsn = next - 1 - rng.below(std::min<Lsn>(next - 1, 20));
      if (blobs_of[lsn] == 0) continue;
      const LogPlace place{lsn, static_cast<std::uint32_t>(rng.below(blobs_of[lsn]))};
      if (lsn <= sealed && !model.entries.contains(place)) continue;  // forgotten
      Model::Entry& entry = model.entries[place];
      if (entry.dead) continue;
      if (entry.is_payload()) expected_reserved -= entry.units;
      entry.dead = true;
      reserved -= f.blobs.release(place).units;
    } else if (dice < 85) {
      // They are packed, or that fails and they are handed back.
      const std::vector<UnplacedBlob> taken = f.blobs.take_payloads(rng.below(300'000), kAny);
      const bool fails = rng.chance(1, 3);
      for (const UnplacedBlob& blob : taken) {
        Model::Entry& entry = model.entries.at(blob.place);
        REQUIRE(entry.is_payload());
        REQUIRE(blob.stored.size() == entry.bytes);
        REQUIRE(blob.units == entry.units);
        if (fails) continue;
        entry.placed = true;
        expected_reserved -= entry.units;
        reserved -= blob.units;
        REQUIRE(f.blobs.set_places({packed(blob.place, static_cast<std::uint32_t>(entry.bytes))}) ==
                PromisedUnits());
      }
      if (fails) REQUIRE(f.blobs.return_payloads(taken) == PromisedUnits());
    } else if (dice < 92) {
      const auto payloads = f.blobs.take_payloads(kAny, kAny);
      REQUIRE(f.blobs.return_payloads(payloads) == PromisedUnits());
      const Lsn covered = payloads.empty() ? sealed : Lsn{payloads.front().place.lsn - 1};
      f.blobs.retire(covered, next - 1);
      model.retirements.emplace_back(covered, next - 1);
    } else {
      const Lsn limit = rng.below(next + 2);
      f.blobs.forget(limit);
      model.forget(limit);
    }
    REQUIRE(reserved == expected_reserved);
    REQUIRE(f.blobs.payload_bytes() == model.payload_bytes());
    REQUIRE(f.blobs.packing_bytes() == model.packing_bytes(f.shape));
    if (step % 50 != 0) continue;
    for (const auto& [lsn, count] : blobs_of) {
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto found = f.blobs.find({lsn, i});
        const auto at = model.entries.find({lsn, i});
        const bool known = at != model.entries.end() && at->second.sealed;
        REQUIRE(found.has_value() == known);
        if (!known) continue;
        REQUIRE(found->place.has_value() == at->second.placed);
        REQUIRE(found->stored.empty() == at->second.placed);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
