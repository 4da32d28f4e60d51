// Devices that are away and come back: what is read, what is written, what is believed.
#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr int kObjects = 40;

std::string name_of(int i) { return "object" + std::to_string(i); }
std::string value_of(int i) { return noise(static_cast<std::size_t>(i * i * 40), i); }

// Objects of 0 B to 60 KiB and one of several pages; some behind the last checkpoint.
void fill(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    REQUIRE(put(store, name_of(i), value_of(i)).ok());
    if (i == kObjects / 2) REQUIRE(store.checkpoint().ok());
  }
  REQUIRE(put(store, "pages", noise(1'500'000, 77)).ok());
}

void require_filled(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    CAPTURE(i);
    REQUIRE((get(store, name_of(i)) == value_of(i)));
  }
  REQUIRE((get(store, "pages") == noise(1'500'000, 77)));
  const Result<ListPage> page = store.list(kDefaultCollection);
  REQUIRE(page.ok());
  REQUIRE(page->entries.size() >= kObjects + 1);
}

TEST_CASE(
    "store: any two devices away, read-only: all is read, nothing is written, they come back "
    "healthy") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
    SECTION("after a clean close") { REQUIRE(store.close().ok()); }
    SECTION("after a crash") {}
  }
  const auto before = fixture.fingerprint();
  for (const auto& [a, b] : pairs_below(6)) {
    CAPTURE(a, b);
    fixture.take_away(a);
    fixture.take_away(b);
    const auto rest = fixture.fingerprint();
    {
      Store store = fixture.open(Access::kReadOnly);
      require_filled(store);
      REQUIRE(store.status().health == Health::kDegraded);
      REQUIRE(store.status().faults_tolerated == 0);
      REQUIRE(state_of(store, fixture.device(a)) != "ok");
      REQUIRE(deep_findings(store) == "");
      REQUIRE(code_of(put(store, "new", "value")) == ErrorCode::kReadOnly);
      REQUIRE(code_of(store.open_writer(kDefaultCollection, "new")) == ErrorCode::kReadOnly);
      REQUIRE(store.space().ok());
      REQUIRE(store.close().ok());
    }
    REQUIRE((fixture.fingerprint() == rest));
    fixture.bring_back(a);
    fixture.bring_back(b);
  }
  REQUIRE((fixture.fingerprint() == before));
  {
    Store store = fixture.open(Access::kReadOnly);
    REQUIRE(store.status().health == Health::kOk);
    require_filled(store);
  }
  Store store = fixture.open();
  REQUIRE(store.status().health == Health::kOk);
  REQUIRE(store.status().faults_tolerated == 2);
  require_filled(store);
  REQUIRE(deep_findings(store) == "");
}

// What is written while the two are away: all kinds of change.
void change(Store& store) {
  for (int i = 0; i < kObjects; i += 4) REQUIRE(put(store, name_of(i), noise(9000 + i, i)).ok());
  for (int i = 1; i < kObjects; i += 4) REQUIRE(remove(store, name_of(i)).ok());
  Transaction t;
  t.write(kDefaultCollection, "pages", 1'000'000, as_bytes(noise(100'000, 5)));
  t.rename(kDefaultCollection, name_of(2), kDefaultCollection, "renamed");
  t.set_attr(kDefaultCollection, name_of(3), "colour", "blue");
  REQUIRE(store.commit(std::move(t)).ok());
}

void require_changed(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    CAPTURE(i);
    if (i % 4 == 0) REQUIRE((get(store, name_of(i)) == noise(9000 + i, i)));
    if (i % 4 == 1 || i == 2) {
      REQUIRE(code_of(store.get(kDefaultCollection, name_of(i))) == ErrorCode::kNotFound);
    }
    if (i % 4 > 1 && i != 2) REQUIRE((get(store, name_of(i)) == value_of(i)));
  }
  REQUIRE((get(store, "renamed") == value_of(2)));
  std::string pages = noise(1'500'000, 77);
  pages.replace(1'000'000, 100'000, noise(100'000, 5));
  REQUIRE((get(store, "pages") == pages));
  REQUIRE(store.attributes(kDefaultCollection, name_of(3))->at("colour") == "blue");
}

RuntimeOptions asked() {
  RuntimeOptions options;
  options.catch_up = CatchUp::kWhenAsked;
  return options;
}

TEST_CASE("store: any two devices that missed writes come back, and count as lost") {
  for (const auto& [a, b] : pairs_below(6)) {
    for (const bool clean : {true, false}) {
      CAPTURE(a, b, clean);
      StoreFixture fixture;
      {
        Store store = fixture.open();
        fill(store);
        REQUIRE(store.close().ok());
      }
      fixture.take_away(a);
      fixture.take_away(b);
      {
        Store store = fixture.open();
        require_filled(store);
        change(store);
        require_changed(store);
        if (clean) REQUIRE(store.close().ok());
      }
      fixture.bring_back(a);
      fixture.bring_back(b);
      for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
        Store store = fixture.open(access, asked());
        const std::string state = access == Access::kReadOnly ? "away" : "behind";
        REQUIRE(state_of(store, fixture.device(a)) == state);
        REQUIRE(state_of(store, fixture.device(b)) == state);
        REQUIRE(store.status().faults_tolerated == 0);
        require_changed(store);
        REQUIRE(deep_findings(store) == "");
        if (access == Access::kReadWrite) {
          REQUIRE(put(store, "after", noise(50'000, 1)).ok());
          REQUIRE((get(store, "after") == noise(50'000, 1)));
          REQUIRE(store.close().ok());
        }
      }

      // A third one is too many for writing, and all three are named.
      std::size_t c = 0;
      while (c == a || c == b) ++c;
      fixture.take_away(c);
      const auto before = fixture.fingerprint();
      const Result<Store> refused = fixture.try_open(Access::kReadWrite, asked());
      REQUIRE(code_of(refused) == ErrorCode::kUnavailable);
      for (const std::size_t device : {a, b, c}) {
        REQUIRE_THAT(refused.error().message, Catch::Contains("device " + std::to_string(device)));
      }
      REQUIRE((fixture.fingerprint() == before));
      fixture.bring_back(c);
      Store store = fixture.open();
      require_changed(store);
      REQUIRE((get(store, "after") == noise(50'000, 1)));
    }
  }
}

TEST_CASE("store: devices leave one after the other, with writes in between") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
  }
  fixture.take_away(1);
  {
    Store store = fixture.open();
    require_filled(store);
    change(store);
  }
  fixture.bring_back(1);
  fixture.take_away(4);
  {
    Store store = fixture.open();
    require_changed(store);
    REQUIRE(put(store, "last", noise(200'000, 9)).ok());
  }
  fixture.bring_back(4);
  Store store = fixture.open(Access::kReadWrite, asked());
  REQUIRE(state_of(store, fixture.device(1)) != "away");
  REQUIRE(state_of(store, fixture.device(4)) == "behind");
  require_changed(store);
  REQUIRE((get(store, "last") == noise(200'000, 9)));
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: a device of an older day that is put back is never served from") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
    REQUIRE(store.close().ok());
  }
  const Bytes old = read_media(*fixture.media(2));
  {
    Store store = fixture.open();
    change(store);
    REQUIRE(store.close().ok());
  }
  fixture.media(2)->write(0, old);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = fixture.open(access);
    REQUIRE(state_of(store, fixture.device(2)) == "stale");
    require_changed(store);
  }
}

TEST_CASE("store: the log device away does not lose a commit") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
  }
  const std::string log = fixture.pool.fast_directories[0] + "/log";
  const Bytes bytes = read_media(*fixture.memory.media(log));
  fixture.memory.remove_device(log);
  {
    Store store = fixture.open(Access::kReadOnly);
    require_filled(store);
  }
  {
    Store store = fixture.open();
    require_filled(store);
    change(store);
  }
  // It comes back with what it knew: older than what the others say.
  REQUIRE(fixture.memory.create_device(log, bytes.size()).ok());
  fixture.memory.media(log)->write(0, bytes);
  Store store = fixture.open();
  require_changed(store);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: inspect says what is wrong where opening cannot") {
  StoreFixture fixture;
  for (const std::size_t device : {0, 1, 2}) fixture.take_away(device);
  const auto before = fixture.fingerprint();
  const Result<StoreStatus> status = inspect(fixture.pool, fixture.system);
  REQUIRE(message_of(status.status()) == "");
  REQUIRE(status->health == Health::kUnavailable);
  int missing = 0;
  for (const DeviceStatus& device : status->devices) missing += device.state == "ok" ? 0 : 1;
  REQUIRE(missing >= 3);
  REQUIRE((fixture.fingerprint() == before));
}

}  // namespace
}  // namespace hexad::testing
