// What a store remembers of its devices across openings, looked at with the whole store.
#include "core/membership/device_history.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/core/faults/returned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

DeviceStatus device(Store& store, std::size_t index) { return store.status().devices[index]; }

// A store of which device 1 was away, and is taken in by the next opening for writing.
void fill_without_1(StoreFixture& fixture, Content& content) {
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 0);
    REQUIRE(store.close().ok());
  }
  fixture.take_away(1);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    churn(store, content, 1);
    REQUIRE(store.close().ok());
  }
}

TEST_CASE("device history: a catch-up that is complete is remembered until the next one") {
  StoreFixture fixture(format_of({4, 2}));
  Content content;
  fill_without_1(fixture, content);
  fixture.bring_back(1);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    REQUIRE(device(store, 1).state == "behind");
    REQUIRE(device(store, 1).last_completion.kind.empty());
    REQUIRE(store.checkpoint().ok());
  }  // as in a crash: it is under way still
  DeviceCompletion first;
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    REQUIRE(device(store, 1).last_completion.kind.empty());
    catch_up(store);
    first = device(store, 1).last_completion;
    REQUIRE(first.kind == "catch-up");
    REQUIRE(first.cells > 0);
    REQUIRE(first.bytes >= first.cells * 4096);
    REQUIRE(first.bytes_copied == 0);
    REQUIRE(first.lsn <= store.status().last_lsn);
    REQUIRE(first.lsn > 0);
    REQUIRE(first.ended >= first.began);
    REQUIRE(device(store, 0).last_completion.kind.empty());
  }
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = fixture.open(access, asked());
    const DeviceCompletion again = device(store, 1).last_completion;
    REQUIRE(again.kind == "catch-up");
    REQUIRE(again.lsn == first.lsn);
    REQUIRE(again.cells == first.cells);
    REQUIRE(again.ended == first.ended);
    if (access == Access::kReadWrite) REQUIRE(store.close().ok());
  }
  // The next one takes its place.
  fixture.take_away(1);
  {
    Store store = fixture.open(Access::kReadWrite, asked());
    REQUIRE(device(store, 1).last_completion.lsn == first.lsn);
    churn(store, content, 2);
  }
  fixture.bring_back(1);
  Store store = fixture.open(Access::kReadWrite, asked());
  REQUIRE(device(store, 1).last_completion.lsn == first.lsn);
  catch_up(store);
  REQUIRE(device(store, 1).last_completion.lsn > first.lsn);
}

TEST_CASE("device history: a new device in the place of a lost one, and of one that answers") {
  for (const bool answers : {false, true}) {
    CAPTURE(answers);
    StoreFixture fixture(format_of({4, 2}));
    Content content;
    {
      Store store = fixture.open(Access::kReadWrite, asked());
      churn(store, content, 0);
      REQUIRE(store.close().ok());
    }
    if (!answers) fixture.take_away(1);
    {
      Result<Store> store =
          Store::open_replacing(fixture.pool, {1, "new1"}, asked(), &fixture.memory);
      REQUIRE(message_of(store.status()) == "");
      catch_up(*store);
      REQUIRE(store->close().ok());
    }
    fixture.pool.devices[1] = "new1";
    Store store = fixture.open(Access::kReadOnly);
    const DeviceCompletion last = device(store, 1).last_completion;
    REQUIRE(last.kind == (answers ? "replace" : "rebuild"));
    REQUIRE((last.bytes_copied > 0) == answers);
    if (!answers) REQUIRE(last.cells > 0);
  }
}

// Reads of device 2 fail, and the others make them good.
void fail_reads(FaultySystem& faulty, StoreFixture& fixture, Store& store, const Content& content) {
  faulty.fault(fixture.device(2)).reads = true;
  require_content(store, content);
  faulty.fault(fixture.device(2)).reads = false;
}

RuntimeOptions without_cache() {
  RuntimeOptions options = asked();
  options.cache_size = 0;
  return options;
}

TEST_CASE("device history: errors are added up over openings, until they are cleared") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(format_of({4, 2}), &faulty);
  Content content;
  std::uint64_t counted = 0;
  for (int opening = 0; opening < 3; ++opening) {
    Store store = fixture.open(Access::kReadWrite, without_cache());
    REQUIRE(device(store, 2).read_errors == 0);
    REQUIRE(device(store, 2).errors_total.read_errors == counted);
    if (opening == 0) churn(store, content, 0);
    fail_reads(faulty, fixture, store, content);
    const DeviceStatus now = device(store, 2);
    REQUIRE(now.read_errors > 0);
    REQUIRE(now.errors_total.read_errors == counted + now.read_errors);
    REQUIRE(device(store, 3).errors_total.any() == false);
    counted += now.read_errors;
    REQUIRE(store.close().ok());
  }
  {
    Store store = fixture.open(Access::kReadWrite, without_cache());
    REQUIRE(device(store, 2).errors_total.read_errors == counted);
    fail_reads(faulty, fixture, store, content);
    REQUIRE(device(store, 2).errors_total.since > 0);
    REQUIRE(code_of(store.clear_device_errors({9})) == ErrorCode::kNotFound);
    REQUIRE(store.clear_device_errors({3}).ok());
    REQUIRE(device(store, 2).errors_total.read_errors > counted);
    REQUIRE(store.clear_device_errors().ok());
    REQUIRE(device(store, 2).read_errors > 0);
    REQUIRE(!device(store, 2).errors_total.any());
    REQUIRE(device(store, 2).errors_total.since == 0);
  }  // as in a crash: it is durable
  {
    Store store = fixture.open(Access::kReadWrite, without_cache());
    REQUIRE(!device(store, 2).errors_total.any());
    REQUIRE(store.close().ok());
  }
  const Lsn last = fixture.open(Access::kReadOnly).status().last_lsn;
  // Nothing has gone wrong, so nothing is committed for it.
  REQUIRE(fixture.open(Access::kReadWrite, without_cache()).close().ok());
  REQUIRE(fixture.open(Access::kReadOnly).status().last_lsn == last);
}

TEST_CASE("device history: errors are of the device, and not of the one in its place") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(format_of({4, 2}), &faulty);
  Content content;
  {
    Store store = fixture.open(Access::kReadWrite, without_cache());
    churn(store, content, 0);
    fail_reads(faulty, fixture, store, content);
    REQUIRE(store.close().ok());
  }
  {
    Result<Store> store = Store::open_replacing(fixture.pool, {2, "new2"}, asked(), &faulty);
    REQUIRE(message_of(store.status()) == "");
    REQUIRE(!device(*store, 2).errors_total.any());
    catch_up(*store);
    REQUIRE(store->close().ok());
  }
  fixture.pool.devices[2] = "new2";
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE(!device(store, 2).errors_total.any());
  REQUIRE(device(store, 2).last_completion.kind == "replace");
}

}  // namespace
}  // namespace hexad::testing
