// What fits an empty pool commits, in one transaction and in any order of its objects.
//
// It was refused: a transaction that brought more small objects than half a slab has units, and
// then one of more than 64 KiB, found "no space" on a pool where nothing was. Each small object had
// been promised two units of the longest free run, and no run is longer than a slab.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>

#include "base/units.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

struct Shape {
  const char* name;
  ec::Profile profile;
  std::uint64_t unit;
  std::uint64_t device;
  std::uint64_t slab;
};

// Several zones, few of them, and one.
constexpr std::uint64_t kTinySlab = 2_MiB;
const Shape kShapes[] = {
    {"tiny", {4, 2, ec::CodecKind::kIsaVandermonde, 0}, 4_KiB, 16_MiB, kTinySlab},
    {"hdd", {4, 2, ec::CodecKind::kIsaVandermonde, 0}, 16_KiB, 32_MiB, 4_MiB},
    {"mirror", {2, 1, ec::CodecKind::kIsaVandermonde, 0}, 4_KiB, 32_MiB, kTinySlab},
    {"wide", {10, 4, ec::CodecKind::kIsaCauchy, 0}, 4_KiB, 16_MiB, 2_MiB},
    {"one zone", {4, 2, ec::CodecKind::kIsaVandermonde, 0}, 4_KiB, 24_MiB, 16_MiB},
};

std::uint64_t units_of(std::uint64_t size, const Shape& shape) {
  return divide_up(size, shape.profile.k * shape.unit);
}

enum class Order { kMixed, kLargeFirst, kLargeLast };

// Objects of all sizes that together need `units` units when each has a stripe of its own.
std::vector<std::size_t> sizes_for(std::uint64_t units, const Shape& shape, Order order,
                                   io::Rng& rng) {
  constexpr std::uint64_t kMostBytes = 50_MiB;  // a transaction has at most 64 MiB
  constexpr std::size_t kMost[] = {4000, 4000, 4000, 20'000, 65'536, 70'000, 300'000};
  std::vector<std::size_t> sizes;
  std::uint64_t taken = 0;
  std::uint64_t bytes = 0;
  while (sizes.size() < 4000) {
    const std::size_t size = 1 + rng.below(kMost[rng.below(std::size(kMost))]);
    taken += units_of(size, shape);
    bytes += size;
    if (taken > units || bytes > kMostBytes) break;
    sizes.push_back(size);
  }
  if (order == Order::kLargeFirst) std::sort(sizes.rbegin(), sizes.rend());
  if (order == Order::kLargeLast) std::sort(sizes.begin(), sizes.end());
  return sizes;
}

// Commits them in one transaction, and looks whether all are there.
void require_commits(Store& store, const std::vector<std::size_t>& sizes, std::uint64_t seed,
                     Durability durability) {
  std::vector<std::string> contents;
  Transaction t;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    contents.push_back(noise(sizes[i], seed + i));
    t.put(kBucket, std::to_string(i), contents.back());
  }
  CommitOptions options;
  options.durability = durability;
  REQUIRE(message_of(store.commit(std::move(t), options).status()) == "");
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (get(store, std::to_string(i)) != contents[i]) FAIL("object " << i << " differs");
  }
}

TEST_CASE("empty pool: small objects and then a large one commit", "[one-thread]") {
  FormatOptions options;
  options.device_size = 32_MiB;
  options.log_size = 4_MiB;
  options.slab_size = kTinySlab;  // 511 units
  for (const bool large_first : {false, true}) {
    CAPTURE(large_first);
    StoreFixture fixture(options);
    Store store = fixture.open();
    std::vector<std::size_t> sizes(600, 4000);
    sizes.insert(large_first ? sizes.begin() : sizes.end(), 70'000);
    require_commits(store, sizes, 1, Durability::kDurable);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("empty pool: any mix of sizes well below what is available commits in any order",
          "[one-thread]") {
  const std::uint64_t seed = GENERATE(range(1, 3));
  const Order order = GENERATE(Order::kMixed, Order::kLargeFirst, Order::kLargeLast);
  for (const Shape& shape : kShapes) {
    CAPTURE(seed, static_cast<int>(order), shape.name);
    io::Rng rng(seed);
    FormatOptions options;
    options.profile = shape.profile;
    options.min_alloc = shape.unit;
    options.device_size = shape.device;
    options.slab_size = shape.slab;
    options.log_size = 5_MiB;
    StoreFixture fixture(options);
    Store store = fixture.open();
    const std::uint64_t available = store.space()->available / (shape.profile.k * shape.unit);
    const auto sizes = sizes_for(available * 8 / 10, shape, order, rng);
    REQUIRE(sizes.size() > 100);
    require_commits(store, sizes, seed,
                    rng.chance(1, 2) ? Durability::kDurable : Durability::kBuffered);
    REQUIRE(message_of(store.sync()) == "");
    REQUIRE(message_of(store.close()) == "");
  }
}

FormatOptions large_units() {
  FormatOptions options;
  options.min_alloc = 16_KiB;  // 64 KiB to a stripe of one unit
  options.device_size = 32_MiB;
  options.slab_size = 4_MiB;
  options.log_size = 5_MiB;
  return options;
}

// A stripe for each was wanted, although some fifteen share one.
TEST_CASE("empty pool: small objects that share stripes need no stripe each", "[one-thread]") {
  const FormatOptions options = large_units();
  StoreFixture fixture(options);
  Store store = fixture.open();
  const std::uint64_t stripes = store.space()->available / (64_KiB);
  require_commits(store, std::vector<std::size_t>(stripes * 2, 4000), 1, Durability::kDurable);
  REQUIRE(deep_findings(store) == "");
  SECTION("nor where no two free units touch") {
    std::uint64_t count = 0;
    while (put(store, "large" + std::to_string(count), noise(60'000, count)).ok()) ++count;
    REQUIRE(count > stripes / 2);
    for (std::uint64_t i = 0; i < count; i += 2) {
      REQUIRE(remove(store, "large" + std::to_string(i)).ok());
    }
    require_commits(store, std::vector<std::size_t>(count, 4000), 7, Durability::kBuffered);
    REQUIRE(message_of(store.sync()) == "");
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("empty pool: what fits a store in memory commits in any order", "[one-thread]") {
  const std::uint64_t seed = GENERATE(range(1, 4));
  const Order order = GENERATE(Order::kMixed, Order::kLargeFirst, Order::kLargeLast);
  CAPTURE(seed, static_cast<int>(order));
  io::Rng rng(seed);
  MemoryStoreOptions options;
  options.capacity = 64_MiB;
  Store store = Store::in_memory(options).value();
  const Shape shape{"memory", options.profile, 4_KiB, 0, 0};
  const std::uint64_t available = store.space()->available / (shape.profile.k * shape.unit);
  require_commits(store, sizes_for(available * 8 / 10, shape, order, rng), seed,
                  Durability::kDurable);
  REQUIRE(message_of(store.close()) == "");
}

}  // namespace
}  // namespace hexad::testing
