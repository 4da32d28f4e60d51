// What cannot be read is listed, outlives the store, and leaves the list when it is not lost any
// more.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kBlock = 4096;

std::string noted(const Damage& damage) {
  return damage.name + (damage.omap_key.has_value() ? "#" + *damage.omap_key : "") + " " +
         std::to_string(damage.offset) + "+" + std::to_string(damage.length) +
         (damage.acknowledged ? " acknowledged" : "");
}

std::vector<std::string> list(Store& store) {
  const Result<std::vector<Damage>> damage = store.damage();
  if (!damage.ok()) return {damage.error().to_string()};
  std::vector<std::string> lines;
  for (const Damage& one : *damage) lines.push_back(noted(one));
  return lines;
}

using Lines = std::vector<std::string>;

// One object in a stripe of its own, of which three cells are damaged: bytes of the first and the
// third data cell are lost, and what parity would give back.
class Victim {
 public:
  Victim() {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(put(store, "other", noise(300'000, 2)).ok());
    REQUIRE(store.close().ok());
    cells = find_private(fixture, value);
    damage();
  }
  void damage() {
    for (const std::size_t role : {0, 2, 5}) flip_byte(fixture, cells[role], 7);
  }

  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  StripeOnMedia cells;
};

TEST_CASE("damage: a sound store has none, and writes nothing for it") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", noise(300'000, 1)).ok());
  REQUIRE(message_of(store.checkpoint()) == "");
  const auto before = fixture.fingerprint();
  CHECK(list(store).empty());
  CHECK(store.acknowledge_all_damage()->empty());
  CHECK(store.status().health == Health::kOk);
  CHECK((fixture.fingerprint() == before));
}

TEST_CASE(
    "damage: a read that fails is listed with what is lost, also when the store is opened again") {
  Victim victim;
  const std::uint64_t cell = victim.cells[0].bytes.size();
  const std::uint64_t block = 16384;
  const Lines expected = {"victim 0+" + std::to_string(block),
                          "victim " + std::to_string(2 * cell) + "+" + std::to_string(block)};
  std::int64_t first_seen = 0;
  {
    Store store = victim.fixture.open();
    CHECK(store.status().health == Health::kOk);  // nobody has looked
    CHECK(code_of(store.get(kBucket, "victim")) == ErrorCode::kUnavailable);
    CHECK(store.status().health == Health::kDamaged);
    CHECK(store.status().damaged_blobs == 1);
    CHECK(list(store) == expected);
    first_seen = store.damage()->front().first_seen;
    CHECK_THAT(store.damage()->front().problem, Catch::Contains("only 3 of 6 cells are good"));
    REQUIRE(store.close().ok());
  }
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = victim.fixture.open(access);
    CHECK(store.status().health == Health::kDamaged);
    CHECK(list(store) == expected);
    CHECK(store.damage()->front().first_seen == first_seen);
    CHECK(get(store, "other") == noise(300'000, 2));
  }
}

TEST_CASE("damage: what was acknowledged outlives a crash") {
  Victim victim;
  {
    Store store = victim.fixture.open();
    CHECK_FALSE(store.get(kBucket, "victim").ok());
    CHECK(store.acknowledge_all_damage()->size() == 2);
  }  // without a checkpoint
  Store store = victim.fixture.open();
  CHECK(store.status().health == Health::kOk);
  const Lines lines = list(store);
  REQUIRE(lines.size() == 2);
  CHECK_THAT(lines[0], Catch::EndsWith(" acknowledged"));
}

TEST_CASE("damage: a scrub lists it, a read of what is whole does not") {
  Victim victim;
  Store store = victim.fixture.open();
  Bytes some(kBlock);
  // The second data cell is sound.
  REQUIRE(store.read(kBucket, "victim", victim.cells[0].bytes.size() + 100, some).ok());
  CHECK(list(store).empty());
  REQUIRE(store.scrub()->errors() == 1);
  CHECK(list(store).size() == 2);
  CHECK(store.status().health == Health::kDamaged);
}

TEST_CASE("damage: a deep fsck that repairs lists it, one that changes nothing does not") {
  Victim victim;
  Store store = victim.fixture.open();
  REQUIRE(store.fsck({})->errors() == 0);
  REQUIRE(store.fsck({.deep = true})->errors() == 1);
  CHECK(list(store).empty());
  REQUIRE(store.fsck({.deep = true, .repair = true})->errors() == 1);
  CHECK(list(store).size() == 2);
  CHECK(store.status().health == Health::kDamaged);
}

TEST_CASE("damage: goes when the object is removed, or written again, or can be read again") {
  Victim victim;
  const int how = GENERATE(0, 1, 2, 3);
  CAPTURE(how);
  {
    Store store = victim.fixture.open();
    CHECK_FALSE(store.get(kBucket, "victim").ok());
    REQUIRE(list(store).size() == 2);
    if (how == 0) REQUIRE(remove(store, "victim").ok());
    if (how == 1) REQUIRE(put(store, "victim", "new").ok());
    if (how == 2) restore(victim.fixture, victim.cells);
    if (how == 3) {  // one of the two ranges
      REQUIRE(commit(store, [](Transaction& t) {
                t.write(kBucket, "victim", 0, as_bytes(noise(16384, 3)));
              }).ok());
      CHECK(list(store).size() == 1);
      REQUIRE(commit(store, [&](Transaction& t) {
                t.write(kBucket, "victim", 2 * victim.cells[0].bytes.size(),
                        as_bytes(noise(16384, 3)));
              }).ok());
    }
    CHECK(list(store).empty());
    CHECK(store.status().health == Health::kOk);
    REQUIRE(store.close().ok());
  }
  Store store = victim.fixture.open(Access::kReadOnly);
  CHECK(store.status().health == Health::kOk);
  CHECK(list(store).empty());
}

TEST_CASE("damage: a scrub takes away what is right again") {
  Victim victim;
  Store store = victim.fixture.open();
  REQUIRE(store.scrub()->errors() == 1);
  CHECK(store.status().damaged_blobs == 1);
  restore(victim.fixture, victim.cells);
  REQUIRE(store.scrub()->errors() == 0);
  CHECK(store.status().damaged_blobs == 0);
}

TEST_CASE("damage: clones and new names are listed, and acknowledged together") {
  Victim victim;
  Store store = victim.fixture.open();
  REQUIRE(commit(store, [](Transaction& t) { t.clone(kBucket, "victim", kBucket, "clone"); }).ok());
  CHECK_FALSE(store.get(kBucket, "victim").ok());
  REQUIRE(commit(store, [](Transaction& t) { t.rename(kBucket, "victim", kBucket, "z"); }).ok());
  const Lines lines = list(store);
  REQUIRE(lines.size() == 4);
  CHECK_THAT(lines[0], Catch::StartsWith("clone 0+"));
  CHECK_THAT(lines[2], Catch::StartsWith("z 0+"));
  const ObjectName nobody{kBucket, "victim"};
  CHECK(code_of(store.acknowledge_damage({&nobody, 1})) == ErrorCode::kNotFound);
  const ObjectName one{kBucket, "z"};
  CHECK(store.acknowledge_damage({&one, 1})->size() == 4);
  CHECK(store.acknowledge_damage({&one, 1})->empty());
  CHECK(store.status().health == Health::kOk);
  CHECK(list(store).size() == 4);
  // Somebody meets it again: it is no news.
  CHECK_FALSE(store.get(kBucket, "clone").ok());
  CHECK(store.status().health == Health::kOk);
  REQUIRE(remove(store, "z").ok());
  CHECK(list(store).size() == 2);
  REQUIRE(remove(store, "clone").ok());
  CHECK(list(store).empty());
}

TEST_CASE("damage: in pages and in the values of an omap") {
  StoreFixture fixture;
  const std::string value = noise(270'000, 1);
  const std::string far = noise(300'000, 2);
  {
    Store store = fixture.open();
    REQUIRE(commit(store, [&](Transaction& t) {
              t.put(kBucket, "omap", "x");
              t.omap_set(kBucket, "omap", "k", value);
              t.write(kBucket, "pages", 3 << 20, as_bytes(far));
            }).ok());
    REQUIRE(commit(store, [](Transaction& t) { t.clone(kBucket, "omap", kBucket, "copy"); }).ok());
    REQUIRE(store.close().ok());
  }
  for (const std::string& bytes : {value, far}) {
    const StripeOnMedia cells = find_private(fixture, bytes);
    for (const std::size_t role : {0, 1, 4}) flip_byte(fixture, cells[role], 7);
  }
  Store store = fixture.open();
  REQUIRE(store.scrub()->errors() == 2);
  const Lines lines = list(store);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "copy#k 0+16384");
  CHECK(lines[2] == "omap#k 0+16384");
  CHECK(lines[4] == "pages " + std::to_string(3 << 20) + "+16384");
  // The copy has a value of its own.
  REQUIRE(commit(store, [](Transaction& t) { t.omap_set(kBucket, "copy", "k", "new"); }).ok());
  CHECK(list(store).size() == 4);
  REQUIRE(commit(store, [](Transaction& t) { t.omap_remove(kBucket, "omap", "k"); }).ok());
  REQUIRE(commit(store, [](Transaction& t) { t.truncate(kBucket, "pages", 10); }).ok());
  CHECK(list(store).empty());
}

TEST_CASE("damage: of a pack stripe those blobs are listed that cannot be read") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(commit(store, [](Transaction& t) {
              for (int i = 0; i < 40; ++i) t.put(kBucket, std::to_string(i), noise(3000, i));
            }).ok());
    REQUIRE(store.close().ok());
  }
  const PackOnMedia pack = find_pack(fixture, small_format());
  // All of three cells: of blobs in the others nothing is lost.
  for (const std::size_t role : {0, 1, 4}) {
    const std::string other = noise(pack.cells[role].bytes.size(), 1000 + role);
    write_cell(fixture, pack.cells[role], as_bytes(other));
  }
  std::size_t lost = 0;
  for (const core::PackEntry& entry : pack.footer.entries) lost += entry.cell < 2 ? 1 : 0;
  REQUIRE(lost > 0);
  REQUIRE(lost < 40);
  Store store = fixture.open();
  const bool by_fsck = GENERATE(false, true);
  CAPTURE(by_fsck);
  if (by_fsck) {
    REQUIRE(store.fsck({.deep = true, .repair = true})->errors() > lost);
  } else {
    REQUIRE(store.scrub()->errors() == 1);
  }
  const Lines lines = list(store);
  CHECK(lines.size() == lost);
  std::size_t unreadable = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    if (store.get(kBucket, name).ok()) continue;
    ++unreadable;
    CHECK(std::count(lines.begin(), lines.end(), name + " 0+3000") == 1);
  }
  CHECK(unreadable == lost);
}

TEST_CASE(
    "damage: what a store that is open for reading meets it knows, says so, and keeps nothing") {
  Victim victim;
  {
    Store store = victim.fixture.open(Access::kReadOnly);
    const auto before = victim.fixture.fingerprint();
    CHECK_FALSE(store.get(kBucket, "victim").ok());
    CHECK(list(store).size() == 2);
    const StoreStatus status = store.status();
    CHECK(status.health == Health::kDamaged);
    CHECK(std::any_of(status.notes.begin(), status.notes.end(), [](const std::string& note) {
      return note.find("is not kept") != std::string::npos;
    }));
    CHECK(code_of(store.acknowledge_all_damage()) == ErrorCode::kReadOnly);
    REQUIRE(store.close().ok());
    CHECK((victim.fixture.fingerprint() == before));
  }
  Store store = victim.fixture.open();
  CHECK(store.status().health == Health::kOk);
}

TEST_CASE("damage: a device that is away makes more of it, and less when it is back") {
  Victim victim;
  restore(victim.fixture, victim.cells);
  for (const std::size_t role : {0, 2}) flip_byte(victim.fixture, victim.cells[role], 7);
  victim.fixture.take_away(victim.cells[5].device);
  {
    Store store = victim.fixture.open();
    CHECK_FALSE(store.get(kBucket, "victim").ok());
    CHECK(store.status().health == Health::kDamaged);
    CHECK(list(store).size() == 2);
    REQUIRE(store.close().ok());
  }
  victim.fixture.bring_back(victim.cells[5].device);
  Store store = victim.fixture.open();
  CHECK(list(store).empty());
  CHECK(get(store, "victim") == victim.value);
}

}  // namespace
}  // namespace hexad::testing
