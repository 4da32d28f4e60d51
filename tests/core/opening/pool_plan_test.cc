#include "core/opening/pool_plan.h"

#include <catch2/catch.hpp>
#include <string>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/store.h"
#include "io/memory_system.h"
#include "io/rng.h"
#include "tests/core/noise.h"
#include "tests/io/temporary.h"

namespace hexad::core {
namespace {

struct Made {
  Made(FormatOptions options, const std::vector<std::uint64_t>& sizes) {
    options.fast_directories = {directory.path("fast")};
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      options.devices.push_back("dev" + std::to_string(i));
      REQUIRE(memory.create_device(options.devices.back(), sizes[i]).ok());
    }
    Result<PoolDescription> pool = Store::format(options, &memory);
    if (!pool.ok()) FAIL(pool.error().to_string());
    store.emplace(Store::open(*pool, {}, &memory).value());
  }
  SpaceUsage space() { return store->space().value(); }

  io::MemorySystem memory;
  io::testing::TemporaryDirectory directory{io::testing::TemporaryDirectory::On::kMemory};
  std::optional<Store> store;
};

FormatOptions options_of(std::uint8_t k, std::uint8_t m) {
  FormatOptions options;
  options.profile.k = k;
  options.profile.m = m;
  options.log_size = 1_MiB;
  return options;
}

TEST_CASE("pool_plan: a store that is made so has the capacity that was planned") {
  const std::uint64_t seed = 7;
  io::Rng rng(seed);
  for (int round = 0; round < 24; ++round) {
    FormatOptions options = options_of(static_cast<std::uint8_t>(1 + rng.below(4)),
                                       static_cast<std::uint8_t>(1 + rng.below(2)));
    options.min_alloc = 4_KiB << (2 * rng.below(3));
    options.log_size = rng.chance(1, 4) ? 0 : 1_MiB << rng.below(2);
    if (rng.chance(1, 3)) options.slab_size = options.min_alloc * (8 + rng.below(20));
    std::vector<std::uint64_t> sizes;
    const std::size_t count = options.profile.shards() + rng.below(3);
    for (std::size_t i = 0; i < count; ++i) {
      sizes.push_back(round_up(24_MiB + rng.below(40_MiB), 4096));
    }
    CAPTURE(seed, round, ec::to_string(options.profile), options.min_alloc, options.log_size,
            options.slab_size, sizes);
    const PoolPlan plan = plan_pool(options, sizes).value();
    Made made(options, sizes);
    const SpaceUsage space = made.space();
    REQUIRE(space.capacity == plan.capacity);
    REQUIRE(space.internally_reserved <= plan.kept_back);
    const StoreStatus status = made.store->status();
    REQUIRE(status.faults_tolerated == plan.faults_tolerated);
    REQUIRE(status.log_size == plan.log_size);
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const PlannedDevice& device = plan.devices[i];
      REQUIRE(device.size == sizes[i]);
      REQUIRE(device.used + device.unused == space.per_device[i].capacity);
      REQUIRE(device.rebuild_written == device.used);
      REQUIRE(device.rebuild_read == options.profile.k * device.used);
      used += device.used;
    }
    // But for what is less than one zone.
    REQUIRE(used >= plan.zones * plan.slab_size * options.profile.shards());
    REQUIRE(used < (plan.zones + 1) * plan.slab_size * options.profile.shards());
    REQUIRE(made.store->close().ok());
  }
}

TEST_CASE("pool_plan: so much fits as was planned") {
  for (const std::uint64_t min_alloc : {4_KiB, 64_KiB}) {
    FormatOptions options = options_of(4, 2);
    options.min_alloc = min_alloc;
    const std::vector<std::uint64_t> sizes(6, 48_MiB);
    const PoolPlan plan = plan_pool(options, sizes).value();
    Made made(options, sizes);
    std::uint64_t stored = 0;
    for (int i = 0;; ++i) {
      Transaction t;
      t.put(kDefaultCollection, std::to_string(i), hexad::testing::noise(1_MiB, i));
      const Result<Lsn> done = made.store->commit(std::move(t));
      if (!done.ok()) {
        REQUIRE(done.error().code == ErrorCode::kNoSpace);
        break;
      }
      stored += 1_MiB;
    }
    CAPTURE(min_alloc, plan.capacity, plan.kept_back, plan.usable, stored);
    REQUIRE(stored + 2_MiB >= plan.usable);
    REQUIRE(stored <= plan.capacity);
    REQUIRE(made.store->close().ok());
  }
}

TEST_CASE("pool_plan: what the others are too small for is said to be of no use") {
  const FormatOptions options = options_of(1, 1);
  const PoolPlan plan = plan_pool(options, {400_MiB, 64_MiB, 64_MiB}).value();
  REQUIRE(plan.devices[0].unused > 200_MiB);
  REQUIRE(plan.devices[1].unused == 0);
  REQUIRE(plan.devices[2].unused == 0);
  // Three of one size leave nothing, whatever their number has in common with the profile.
  const PoolPlan even = plan_pool(options, {64_MiB, 64_MiB, 64_MiB}).value();
  for (const PlannedDevice& device : even.devices) REQUIRE(device.unused == 0);
}

TEST_CASE("pool_plan: sizes of real disks do not run over, and are nearly all of use") {
  const FormatOptions options = FormatOptions(Preset::kHddWithFastMeta);
  const std::vector<std::uint64_t> sizes(60, std::uint64_t{20} << 40);
  const PoolPlan plan = plan_pool(options, sizes).value();
  const auto raw = static_cast<double>(plan.raw);
  REQUIRE(plan.raw == 60 * (std::uint64_t{20} << 40));
  REQUIRE(static_cast<double>(plan.usable) > 0.65 * raw);
  REQUIRE(static_cast<double>(plan.usable) < raw * 4 / 6);
  REQUIRE(plan_pool(FormatOptions(), std::vector<std::uint64_t>(256, 1024_TiB)).ok());
}

TEST_CASE("pool_plan: what cannot be made says what is wrong, with numbers") {
  const auto refused = [](const FormatOptions& options, const std::vector<std::uint64_t>& sizes,
                          ErrorCode code, const std::string& text) {
    const Result<PoolPlan> plan = plan_pool(options, sizes);
    REQUIRE_FALSE(plan.ok());
    CAPTURE(plan.error().to_string());
    REQUIRE(plan.error().code == code);
    REQUIRE_THAT(plan.error().message, Catch::Contains(text));
    REQUIRE_FALSE(plan.error().hint.empty());
  };
  const std::vector<std::uint64_t> six(6, 64_MiB);
  refused({}, {64_MiB, 64_MiB}, ErrorCode::kInvalidArgument, "4+2 needs 6 devices");
  refused({}, {}, ErrorCode::kInvalidArgument, "those of 0");
  refused({}, {64_MiB, 64_MiB, 64_MiB, 64_MiB, 64_MiB, 1_MiB}, ErrorCode::kNoSpace, "device 5");
  refused({}, {64_MiB, 64_MiB, 0, 64_MiB, 64_MiB, 64_MiB}, ErrorCode::kNoSpace, "device 2 of 0 B");
  refused({}, {1024_TiB + 4096, 64_MiB, 64_MiB, 64_MiB, 64_MiB, 64_MiB},
          ErrorCode::kInvalidArgument, "device 0");
  FormatOptions options;
  options.log_size = 32_MiB;
  refused(options, std::vector<std::uint64_t>(6, 32_MiB), ErrorCode::kNoSpace, "device 0");
  options = {};
  options.min_alloc = 5000;
  REQUIRE(plan_pool(options, six).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad::core
