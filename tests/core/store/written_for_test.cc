// Bytes and writes on each device by what they were for: none without a cause, and as many as
// arithmetic says.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using Causes = std::map<std::string, std::uint64_t>;

// Over all data devices; of each device the causes add up to what was written. The store may be
// writing meanwhile: what status() says fits together all the same.
Causes causes_of(Store& store, Causes* log = nullptr) {
  Causes all;
  for (const DeviceStatus& device : store.status().devices) {
    if (device.written_for.empty()) continue;  // it is away
    std::uint64_t sum = 0;
    for (const auto& [cause, bytes] : device.written_for) {
      sum += bytes;
      (device.role == "log" && log != nullptr ? *log : all)[cause] += bytes;
    }
    REQUIRE(sum == device.bytes_written);
    std::uint64_t writes = 0;
    for (const auto& [cause, count] : device.writes_for) {
      writes += count;
      REQUIRE((count == 0 || device.written_for.at(cause) > 0));
    }
    REQUIRE(writes == device.writes);
    REQUIRE(device.written_for.at("other") == 0);
  }
  return all;
}

TEST_CASE("written for: every byte on a device has a cause, and parity is m cells for k of data") {
  StoreFixture fixture;
  Store store = fixture.open();
  for (int i = 0; i < 40; ++i) {
    REQUIRE(put(store, std::to_string(i), noise(100 + 5000 * (i % 9), i)).ok());
    if (i % 8 == 7) REQUIRE(store.checkpoint().ok());
  }
  {
    Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kBucket, "streamed");
    REQUIRE(writer.ok());
    REQUIRE((*writer)->append(as_bytes(noise(3'000'000, 7))).ok());
    Transaction t;
    t.publish(**writer);
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  REQUIRE(store.checkpoint().ok());
  Causes log;
  const Causes data = causes_of(store, &log);
  CHECK(data.at("user") >= 3'000'000);
  CHECK(data.at("parity") * 4 == data.at("user") * 2);
  // A copy of the log on the fast device, and three on data devices.
  CHECK(log.at("log") > 0);
  CHECK(data.at("log") == 3 * log.at("log"));
  CHECK(log.at("user") + log.at("parity") + log.at("run") + log.at("merge") == 0);
  CHECK(data.at("run") > 0);
  CHECK(data.at("run") % 6 == 0);
  CHECK(data.at("merge") > 0);
  CHECK(data.at("super") > 0);
  CHECK(data.at("heal") == 0);
}

// What the counters say of the bytes of stripes.
std::uint64_t stripe_bytes(Store& store) {
  std::uint64_t sum = 0;
  for (const char* const name : {"device_user_bytes", "device_parity_bytes", "write_pad_bytes",
                                 "device_run_bytes", "device_merge_bytes", "device_clean_bytes"}) {
    sum += counter(store, name);
  }
  return sum;
}

bool jobs_at_rest(Store& store) {
  for (const JobStatus& job : store.status().jobs) {
    if (job.running) return false;
  }
  return true;
}

// Of stripes: what the counters say of them, and what the devices have got for them. A merge that
// runs beside is counted in both, one after the other: so it is looked at until it has ended.
void require_counted(Store& store) {
  for (;;) {
    const std::uint64_t counted = stripe_bytes(store);
    const Causes causes = causes_of(store);
    const std::uint64_t written = causes.at("user") + causes.at("parity") + causes.at("run") +
                                  causes.at("merge") + causes.at("clean");
    const bool still = causes_of(store) == causes && stripe_bytes(store) == counted;
    if (counted == written || (still && jobs_at_rest(store))) {
      CHECK(counted == written);
      return;
    }
    std::this_thread::yield();
  }
}

void write_everything(Store& store) {
  for (int i = 0; i < 40; ++i) {
    REQUIRE(put(store, std::to_string(i), noise(100 + 5000 * (i % 9), i)).ok());
    if (i % 8 == 7) REQUIRE(store.checkpoint().ok());
  }
  REQUIRE(put(store, "large", noise(1'234'567, 7)).ok());
  Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kBucket, "streamed");
  REQUIRE(writer.ok());
  REQUIRE((*writer)->append(as_bytes(noise(3'000'001, 7))).ok());
  REQUIRE((*writer)->commit().ok());
  REQUIRE(store.checkpoint().ok());
}

// Pages of streams have padding, too; cells of devices that are away are not written.
TEST_CASE("written for: counters of stripes add up to what the devices got, one away or not") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    write_everything(store);
    require_counted(store);
    REQUIRE(store.close().ok());
  }
  fixture.take_away(2);
  Store store = fixture.open();
  write_everything(store);
  require_counted(store);
}

TEST_CASE("written for: a cell that was wrong and is written back counts as healing") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", value).ok());
    REQUIRE(store.close().ok());
  }
  const StripeOnMedia cells = find_private(fixture, value);
  write_cell(fixture, cells[1], Bytes(cells[1].bytes.size()));
  Store store = fixture.open();
  REQUIRE(get(store, "a") == value);
  CHECK(causes_of(store).at("heal") == cells[1].bytes.size());
}

}  // namespace
}  // namespace hexad::testing
