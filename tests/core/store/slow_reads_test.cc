// What look-ups read where runs answer, counted: the bars of doc/benchmarks.md ("Runs alone") hold
// for objects in their records, and for objects that have data of their own.
#include <catch2/catch.hpp>
#include <string>

#include "base/units.h"
#include "io/memory_system.h"
#include "io/rng.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr int kObjects = 6000;
constexpr int kCheckpoints = 12;
constexpr int kLookUps = 4000;

std::string name_of(std::uint64_t index) {
  return "o/" + std::to_string(index * 0x9e3779b97f4a7c15u);
}

// A pool without a place for an index.
Store open_without_fast(io::MemorySystem& system, std::uint64_t device_size) {
  FormatOptions format = small_format();
  format.device_size = device_size;
  for (int i = 0; i < 6; ++i) format.devices.push_back("dev" + std::to_string(i));
  const Result<PoolDescription> pool = Store::format(format, &system);
  if (!pool.ok()) FAIL(pool.error().to_string());
  RuntimeOptions options;
  options.cache_size = 0;
  Result<Store> store = Store::open(*pool, options, &system);
  if (!store.ok()) FAIL(store.error().to_string());
  return std::move(store).value();
}

struct Reads {
  double pieces = 0;  // of runs that had to be read, if no block of data were in memory
  double data = 0;    // rounds of reads of user bytes
};

template <typename Act>
Reads look_up(Store& store, const Act& act) {
  const auto pieces = [&] {
    // A block that is found in memory would be read where there is more of everything.
    return counter(store, "run_filter_misses") + counter(store, "run_index_misses") +
           counter(store, "run_block_hits") + counter(store, "run_block_misses");
  };
  const std::uint64_t pieces_before = pieces();
  const std::uint64_t data_before = counter(store, "data_reads");
  for (int i = 0; i < kLookUps; ++i) act();
  return {static_cast<double>(pieces() - pieces_before) / kLookUps,
          static_cast<double>(counter(store, "data_reads") - data_before) / kLookUps};
}

TEST_CASE("slow reads: one for a stat, one more for the data, none for a name that is not there",
          "[one-thread]") {
  const bool own_data = GENERATE(false, true);
  CAPTURE(own_data);
  const std::size_t size = own_data ? 4_KiB : 100;
  io::MemorySystem system;
  Store store = open_without_fast(system, own_data ? 32_MiB : 12_MiB);
  const std::string data = noise(size + 4_KiB, 1);
  for (int i = 0; i < kObjects; ++i) {
    const std::string value = data.substr(static_cast<std::size_t>(i) * 7 % 4_KiB, size);
    REQUIRE(message_of(put(store, name_of(static_cast<std::uint64_t>(i)), value).status()) == "");
    if (i % (kObjects / kCheckpoints) == 0) REQUIRE(message_of(store.checkpoint()) == "");
  }
  REQUIRE(message_of(store.checkpoint()) == "");
  REQUIRE(store.status().metadata_on == "runs");
  io::Rng rng(1);
  const auto there = [&] { return name_of(rng.below(kObjects)); };
  const auto absent = [&] { return name_of(kObjects + rng.below(1u << 30)); };
  // Filters and index, which are what stays in memory.
  for (int i = 0; i < kLookUps; ++i) REQUIRE_FALSE(store.exists(kBucket, absent()).value());

  const Reads of_stat = look_up(store, [&] { REQUIRE(store.stat(kBucket, there()).ok()); });
  const Reads of_absent =
      look_up(store, [&] { REQUIRE_FALSE(store.exists(kBucket, absent()).value()); });
  const Reads of_get =
      look_up(store, [&] { REQUIRE(store.get(kBucket, there())->size() == size); });
  CAPTURE(of_stat.pieces, of_absent.pieces, of_get.pieces, of_get.data);
  REQUIRE(of_stat.pieces >= 1);
  REQUIRE(of_stat.pieces <= 1.06);
  REQUIRE(of_stat.data == 0);
  REQUIRE(of_absent.pieces <= 0.02);
  REQUIRE(of_get.pieces <= 1.06);
  REQUIRE(of_get.data == (own_data ? 1 : 0));
}

}  // namespace
}  // namespace hexad::testing
