// Cells of private stripes that have gone bad on the media, found by their content.
// (Pack stripes: pack_damage_test.cc.)
#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

enum class Damage { kFlip, kZeros, kSwap };

struct DamagedStore {
  DamagedStore() {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(put(store, "other", other).ok());
    REQUIRE(store.close().ok());
    cells = find_private(fixture, value);
  }

  void damage(std::uint32_t role, Damage kind) {
    Bytes bytes = cells[role].bytes;
    if (kind == Damage::kFlip) bytes[bytes.size() / 2] ^= std::byte{1};
    if (kind == Damage::kZeros) bytes.assign(bytes.size(), std::byte{0});
    if (kind == Damage::kSwap) bytes = cells[(role + 1) % cells.size()].bytes;
    write_cell(fixture, cells[role], bytes);
  }
  bool is_whole() { return testing::is_whole(fixture, cells); }

  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  const std::string other = noise(100'000, 2);
  StripeOnMedia cells;
};

// One or two cells of which each is found once and all are repaired.
void require_found_and_repaired(DamagedStore& damaged, Store& store, std::size_t cells) {
  const Result<FsckReport> looked = store.fsck({true, false});
  REQUIRE(looked.ok());
  REQUIRE(looked->findings.size() == 1);
  REQUIRE(looked->errors() == 1);
  REQUIRE_THAT(looked->findings[0].subject, Catch::Contains("default/victim"));
  const std::string& problem = looked->findings[0].problem;
  REQUIRE(static_cast<std::size_t>(std::count(problem.begin(), problem.end(), ';')) == cells - 1);
  REQUIRE_FALSE(damaged.is_whole());
  require_repair(store);
  REQUIRE(damaged.is_whole());
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE(
    "store: any two cells of a stripe damaged in any way give the exact bytes and are healed") {
  DamagedStore damaged;
  StoreFixture& fixture = damaged.fixture;
  const std::string& value = damaged.value;
  for (const Damage kind : {Damage::kFlip, Damage::kZeros, Damage::kSwap}) {
    for (const auto& [a, b] : pairs_below(6)) {
      CAPTURE(static_cast<int>(kind), a, b);
      restore(fixture, damaged.cells);
      damaged.damage(a, kind);
      damaged.damage(b, kind);
      {
        // Reading alone changes nothing.
        const auto before = fixture.fingerprint();
        Store store = fixture.open(Access::kReadOnly);
        REQUIRE((get(store, "victim") == value));
        Bytes into(70'000);
        for (const std::uint64_t offset : {0u, 80'000u, 160'000u, 230'000u}) {
          REQUIRE(store.read(kDefaultCollection, "victim", offset, into).ok());
          REQUIRE((as_text(into) == value.substr(offset, into.size())));
        }
        REQUIRE((fixture.fingerprint() == before));
      }
      Store store = fixture.open();
      REQUIRE((get(store, "victim") == value));
      const bool data_cell_bad = a < 4;
      if (data_cell_bad) {
        REQUIRE(counter(store, "cells_healed") == 2);
        REQUIRE(damaged.is_whole());
        REQUIRE(deep_findings(store) == "");
      } else {
        // Nobody reads parity until somebody needs it: fsck does.
        require_found_and_repaired(damaged, store, 2);
      }
      REQUIRE((get(store, "victim") == value));
    }
  }
}

TEST_CASE("store: a deep check that repairs finds every damaged cell once and leaves none") {
  DamagedStore damaged;
  for (std::uint32_t role = 0; role < 6; ++role) {
    CAPTURE(role);
    damaged.damage(role, Damage::kFlip);
    Store store = damaged.fixture.open();
    require_found_and_repaired(damaged, store, 1);
  }
}

TEST_CASE("store: more than m cells away or damaged are an error that harms nothing else") {
  struct Case {
    std::vector<std::uint32_t> damaged;
    std::vector<std::uint32_t> away;
    std::uint32_t good;  // a data cell
  };
  const Case one = GENERATE(values<Case>({{{0, 2, 5}, {}, 1},
                                          {{3, 4, 5}, {}, 0},
                                          {{3, 5}, {0}, 1},
                                          {{3}, {0, 4}, 2},
                                          {{1}, {4, 5}, 0}}));
  CAPTURE(one.damaged, one.away);
  DamagedStore damaged;
  StoreFixture& fixture = damaged.fixture;
  for (const std::uint32_t role : one.damaged) damaged.damage(role, Damage::kZeros);
  for (const std::uint32_t role : one.away) fixture.take_away(damaged.cells[role].device);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = fixture.open(access);
    const Result<Bytes> found = store.get(kDefaultCollection, "victim");
    REQUIRE(code_of(found) == ErrorCode::kUnavailable);
    REQUIRE_THAT(found.error().message, Catch::Contains("default/victim"));
    // Devices are asked for where they would help, and a copy where none does.
    const bool devices_help = one.damaged.size() <= 2;
    REQUIRE_THAT(found.error().hint, Catch::StartsWith(devices_help ? "Attach the missing devices"
                                                                    : "More cells are damaged"));
    // What is inside a good cell is still there.
    const std::uint64_t from = one.good * damaged.cells[0].bytes.size() + 20'000;
    Bytes part(30'000);
    REQUIRE(store.read(kDefaultCollection, "victim", from, part).ok());
    REQUIRE((as_text(part) == damaged.value.substr(from, part.size())));

    REQUIRE((get(store, "other") == damaged.other));
    REQUIRE(store.list(kDefaultCollection)->entries.size() == 2);
    REQUIRE(store.stat(kDefaultCollection, "victim")->size == damaged.value.size());
    REQUIRE_THAT(deep_findings(store), Catch::Contains("default/victim"));
    REQUIRE(code_of(store.get(kDefaultCollection, "victim")) == ErrorCode::kUnavailable);
  }
  Store store = fixture.open();
  // Damage that nobody could repair is not covered up by a repair.
  REQUIRE(store.fsck({true, true})->errors() == 1);
  REQUIRE(code_of(store.get(kDefaultCollection, "victim")) == ErrorCode::kUnavailable);
  // It can be replaced and removed.
  REQUIRE(put(store, "victim", "new").ok());
  REQUIRE(get(store, "victim") == "new");
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
