// Ids are never given out twice (R16), however many are drawn: an epoch that has given out half of
// its own is followed by another one while commits go on, and one that has few left gives no more.
#include "core/plan/body_ids.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "core/record/keys.h"
#include "core/report/status_report.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using core::BodyId;
using core::BodyIds;

constexpr Epoch kEpoch = (Epoch{5} << 32) + 7;

TEST_CASE("body_ids: the low half of the epoch, and a counter from 1") {
  BodyIds ids;
  ids.begin(kEpoch);
  CHECK(ids.draw() == (BodyId{7} << 32 | 1));
  CHECK(ids.draw() == (BodyId{7} << 32 | 2));
  ids.begin(kEpoch + 1);
  CHECK(ids.draw() == (BodyId{8} << 32 | 1));
  CHECK(ids.drawn() == 1);
}

TEST_CASE("body_ids: says when another epoch is wanted, and when to stop") {
  BodyIds ids;
  ids.begin(kEpoch, BodyIds::kHalf - 1);
  CHECK_FALSE(ids.half_spent());
  CHECK(ids.draw() == (BodyId{7} << 32 | BodyIds::kHalf));
  CHECK(ids.half_spent());
  CHECK_FALSE(ids.spent());
  const std::uint32_t last = 0 - BodyIds::kKept;
  ids.begin(kEpoch, last - 1);
  CHECK_FALSE(ids.spent());
  CHECK(ids.draw() == (BodyId{7} << 32 | last));
  CHECK(ids.spent());
  // Whoever had begun goes on.
  CHECK(ids.draw() == (BodyId{7} << 32 | (last + 1)));
}

TEST_CASE("body_ids: threads that draw while an epoch begins get different ones") {
  BodyIds ids;
  ids.begin(1);
  std::vector<std::vector<BodyId>> drawn(4);
  std::vector<std::thread> threads;
  for (std::vector<BodyId>& mine : drawn) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) mine.push_back(ids.draw());
    });
  }
  for (Epoch epoch = 2; epoch < 50; ++epoch) ids.begin(epoch);
  for (std::thread& thread : threads) thread.join();
  std::set<BodyId> all;
  for (const std::vector<BodyId>& mine : drawn) all.insert(mine.begin(), mine.end());
  CHECK(all.size() == 80'000);
}

struct Opened {
  Opened(StoreFixture& fixture, std::uint32_t drawn)
      : engine([&] {
          core::StoreParts parts = core::open_parts(fixture.pool, {}, fixture.system).value();
          parts.ids_drawn = drawn;
          return parts;
        }()) {
    REQUIRE(engine.start().ok());
  }
  ~Opened() { engine.close().ignore(); }
  // An object of two pages, which has a body.
  Result<Lsn> put(const std::string& name) {
    Transaction t;
    t.write(kBucket, name, 0, as_bytes(std::string_view(name)));
    t.write(kBucket, name, core::kPageSpan, as_bytes(std::string_view(name)));
    return engine.commit(std::move(t));
  }
  Epoch epoch() { return engine.status_report().status().epoch; }
  // How many keys of pages each body has.
  std::map<BodyId, int> bodies() {
    std::map<BodyId, int> found;
    const auto look = [&](std::string_view key, std::string_view) -> Result<bool> {
      HEXAD_TRY_ASSIGN(const core::PageKey page, core::parse_page_key(key));
      ++found[page.body];
      return true;
    };
    REQUIRE(engine.own_commits().scan(core::kPageKeys, look).ok());
    return found;
  }

  core::Engine engine;
};

void check_all(StoreFixture& fixture, int objects) {
  Store store = fixture.open();
  for (int i = 0; i < objects; ++i) {
    const std::string name = std::to_string(i);
    const Bytes found = store.get(kBucket, name).value();
    REQUIRE(found.size() == core::kPageSpan + name.size());
    REQUIRE(as_text(ByteView(found).subspan(core::kPageSpan)) == name);
  }
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("body_ids: half an epoch's ids are followed by another epoch, beside the commits") {
  StoreFixture fixture;
  int objects = 0;
  {
    Opened opened(fixture, BodyIds::kHalf - 3);
    const Epoch first = opened.epoch();
    while (opened.epoch() == first) {
      REQUIRE(opened.put(std::to_string(objects++)).ok());
      REQUIRE(objects < 100'000);
    }
    for (int i = 0; i < 5; ++i) REQUIRE(opened.put(std::to_string(objects++)).ok());
    CHECK(opened.epoch() == first + 1);
    CHECK_FALSE(opened.engine.status_report().status().read_only);
    const std::map<BodyId, int> bodies = opened.bodies();
    CHECK(bodies.size() == static_cast<std::size_t>(objects));
    CHECK(bodies.begin()->first == (first << 32 | (BodyIds::kHalf - 2)));
    CHECK(bodies.rbegin()->first >> 32 == first + 1);
    CHECK(static_cast<std::uint32_t>(bodies.rbegin()->first) < 100'000);
  }
  check_all(fixture, objects);
}

TEST_CASE("body_ids: with few ids left transactions are refused until there is another epoch") {
  StoreFixture fixture;
  {
    Opened opened(fixture, 0 - BodyIds::kKept);
    const Epoch first = opened.epoch();
    const Result<Lsn> refused = opened.put("0");
    REQUIRE(code_of(refused) == ErrorCode::kExhausted);
    CHECK_THAT(refused.error().message, Catch::Contains("4026531840 have been used"));
    CHECK_THAT(refused.error().hint, Catch::Contains("Retry"));
    CHECK(opened.bodies().empty());
    while (!opened.put("0").ok()) REQUIRE_FALSE(opened.engine.status_report().status().read_only);
    CHECK(opened.epoch() == first + 1);
    CHECK(opened.bodies().begin()->first >> 32 == first + 1);
  }
  check_all(fixture, 1);
}

}  // namespace
}  // namespace hexad::testing
