// A store that holds so much of what it can hold is overwritten at random, lap after lap: no write
// is refused, and what it costs is counted by cause. How much it can hold is tried out first.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>

#include "base/units.h"
#include "tests/core/store/churn_blocks.h"

namespace hexad::testing {
namespace {

void churn(bool one_object, std::uint64_t percent) {
  CAPTURE(one_object, percent);
  SimPool pool(churn_pool());
  std::uint64_t per_mille = 0;  // copies by the cleaner, of what users wrote
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    ChurnBlocks blocks(store, one_object);
    const Result<std::size_t> room = blocks.try_out();
    if (!room.ok()) return message_of(room.status());
    const Status filled = blocks.fill(*room * percent / 100);
    if (!filled.ok()) return "fill: " + message_of(filled);
    const std::uint64_t written = counter(store, "written_bytes");
    const std::uint64_t copied = counter(store, "device_clean_bytes");
    const Status overwritten = blocks.overwrite(churn_laps());
    if (!overwritten.ok()) return message_of(overwritten);
    per_mille = (counter(store, "device_clean_bytes") - copied) * 1000 /
                (counter(store, "written_bytes") - written);
    return blocks.check();
  });
  std::printf("%s at %d %% of what fits: %.2f bytes copied for each that is written\n",
              one_object ? "a disk" : "objects of 4 KiB", static_cast<int>(percent),
              static_cast<double>(per_mille) / 1000);
  REQUIRE(wrong == "");
}

TEST_CASE("churn: objects of 4 KiB") { churn(false, GENERATE(25, 50, 75, 85, 90)); }

TEST_CASE("churn: the blocks of an object that is used as a disk") {
  churn(true, GENERATE(25, 50, 75, 85, 90));
}

// It was full after half a lap.
TEST_CASE("churn: a disk of 100 MiB in a pool that has room for 187 MiB") {
  SimPoolOptions options;
  options.device_size = 64_MiB;
  options.log_size = 16_MiB;
  options.fast_size = 18_MiB;
  SimPool pool(options);
  SpaceUsage empty;
  SpaceUsage loaded;
  SpaceUsage rested;
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    ChurnBlocks blocks(store, true);
    empty = *store.space();
    Status status = blocks.fill(100_MiB / kChurnBlock);
    if (status.ok()) status = blocks.overwrite(3);
    if (!status.ok()) return message_of(status);
    loaded = *store.space();
    pool.sleep(60'000'000'000);
    rested = *store.space();
    return blocks.check();
  });
  const auto ratio = [](const SpaceUsage& usage) {
    return static_cast<double>(usage.allocated) /
           static_cast<double>(std::max<std::uint64_t>(1, usage.user_bytes));
  };
  std::printf("a disk of 100 MiB, capacity %d MiB: allocated / user bytes %.2f, at rest %.2f\n",
              static_cast<int>(empty.capacity >> 20), ratio(loaded), ratio(rested));
  REQUIRE(wrong == "");
  CHECK(ratio(rested) <= 1.25);
}

}  // namespace
}  // namespace hexad::testing
