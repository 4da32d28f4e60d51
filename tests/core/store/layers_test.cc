// What a store says of its layers, in the simulation: counts are exact, and time is the
// simulation's.
#include <catch2/catch.hpp>
#include <string>

#include "base/units.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

LayerStatus layer(Store& store, const std::string& name) {
  for (const LayerStatus& one : store.status().layers) {
    if (one.name == name) return one;
  }
  return {};
}

TEST_CASE(
    "layers: a read that memory does not answer is timed, and counted where it was answered") {
  SimPool pool;
  LayerStatus records, memtable, index, blocks, data;
  std::uint64_t missed = 0;
  std::uint64_t hit = 0;
  std::string on;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    const std::string bytes(100'000, 'x');
    for (const char* name : {"a", "b"}) {
      if (!put(store, name, bytes).ok()) return "put";
    }
    if (!store.checkpoint().ok()) return "checkpoint";
    if (get(store, "a") != bytes) return "a";
    const auto before = [&](const char* name) { return layer(store, name); };
    const LayerStatus records0 = before("records");
    const LayerStatus memtable0 = before("memtable");
    const LayerStatus index0 = before("index");
    const LayerStatus data0 = before("data");
    const LayerStatus blocks0 = before("data blocks");
    const std::uint64_t missed0 = counter(store, "buffer_miss_bytes");
    const std::uint64_t hit0 = counter(store, "buffer_hit_bytes");
    // Once from the devices, and once from memory.
    for (int i = 0; i < 2; ++i) {
      if (get(store, "b") != bytes) return "b";
    }
    const auto since = [](LayerStatus now, const LayerStatus& then) {
      now.hits -= then.hits, now.misses -= then.misses;
      now.timed -= then.timed, now.timed_ns -= then.timed_ns;
      return now;
    };
    records = since(layer(store, "records"), records0);
    memtable = since(layer(store, "memtable"), memtable0);
    index = since(layer(store, "index"), index0);
    data = since(layer(store, "data"), data0);
    blocks = since(layer(store, "data blocks"), blocks0);
    missed = counter(store, "buffer_miss_bytes") - missed0;
    hit = counter(store, "buffer_hit_bytes") - hit0;
    on = store.status().metadata_on;
    if (counter(store, "onode_hits") + counter(store, "onode_shard_hits") !=
        counter(store, "cache_record_hits")) {
      return "the hits of onodes and of pages are not those of records";
    }
    return deep_findings(store);
  }) == "");
  CHECK(on == "index");
  CHECK(records.hits == 1);
  CHECK(records.misses == 1);
  CHECK(records.bytes > 0);
  CHECK(memtable.hits == 0);
  CHECK(memtable.misses == 1);
  CHECK(index.hits == 1);
  CHECK(index.bytes > 0);
  CHECK(data.hits == 1);
  CHECK(data.timed == 1);
  CHECK(data.timed_ns >= static_cast<std::uint64_t>(io::SimLatency().read));
  CHECK(data.timed_ns < 100 * static_cast<std::uint64_t>(io::SimLatency().read));
  CHECK(blocks.hits == 7);  // of 16 KiB
  CHECK(blocks.misses == 7);
  CHECK(missed == 100'000);
  CHECK(hit == 100'000);
}

TEST_CASE("layers: what was committed since the last checkpoint, the memtable answers") {
  SimPool pool;
  RuntimeOptions options;
  options.cache_size = 0;
  LayerStatus before, after, records;
  REQUIRE(pool.with_store(
              [&](Store& store) -> std::string {
                if (!put(store, "a", "1").ok()) return "put";
                before = layer(store, "memtable");
                for (int i = 0; i < 64; ++i) {
                  if (get(store, "a") != "1") return "get";
                }
                after = layer(store, "memtable");
                records = layer(store, "records");
                return "";
              },
              options) == "");
  CHECK(after.hits == before.hits + 64);
  CHECK(after.timed == before.timed + 1);  // one of 64
  CHECK(after.misses == before.misses);
  CHECK(after.bytes > 0);
  CHECK_FALSE(records.in_use);
}

TEST_CASE("layers: how long free space lasts, at the rate of the last hour") {
  SimPoolOptions options;
  options.device_size = 32_MiB;
  SimPool pool(options);
  FillForecast opened, filling, resting;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    opened = store.status().fill;
    for (int i = 0; i < 20; ++i) {
      if (!put(store, std::to_string(i), std::string(1_MiB, 'x')).ok()) return "put";
      pool.sleep(60 * kSecond);
    }
    filling = store.status().fill;
    pool.sleep(2 * 3600 * kSecond);
    resting = store.status().fill;
    return "";
  }) == "");
  CHECK_FALSE(opened.hours_to_full.has_value());
  CHECK(opened.note.find("not known yet") == 0);
  CHECK(opened.available > filling.available);
  INFO(filling.note);
  REQUIRE(filling.hours_to_full.has_value());
  CHECK(filling.observed_seconds >= 20 * 60);
  CHECK(filling.observed_seconds < 25 * 60);
  CHECK(*filling.hours_to_full * filling.bytes_per_hour ==
        Approx(static_cast<double>(filling.available)));
  CHECK(filling.bytes_per_hour > 0.9 * 60 * 1_MiB);
  CHECK(filling.bytes_per_hour < 1.5 * 60 * 1_MiB);
  INFO(resting.note);
  CHECK_FALSE(resting.hours_to_full.has_value());
  CHECK(resting.note.find("never at this rate") == 0);
}

}  // namespace
}  // namespace hexad::testing
