// A checkpoint that is refused by a file system makes no zones: what it lacks is no unit.
#include <catch2/catch.hpp>
#include <string>

#include "base/units.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::uint64_t free_in_zones(Store& store) {
  const SpaceUsage space = store.space().value();
  std::uint64_t bytes = 0;
  for (const FreeRuns& kind : space.free_runs) bytes += kind.bytes;
  return bytes;
}

TEST_CASE("checkpoints: one that a full file system refuses says so, and makes no zones") {
  SimPoolOptions options;
  options.device_size = 64_MiB;
  SimPool pool(options);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  std::uint64_t struck = 0;
  Status refused;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    for (int i = 0; i < 20; ++i) {
      if (!put(store, "o" + std::to_string(i), noise(20'000, i)).ok()) return "put";
    }
    pool.sleep(10'000'000'000);
    if (!put(store, "one more", noise(1'000, 1)).ok()) return "put";
    before = free_in_zones(store);
    io::SimDisk& disk = pool.disk(5);
    disk.inject({.kind = io::FaultKind::kWriteNoSpace,
                 .offset = 0,
                 .length = 16_MiB,
                 .times = io::Fault::kForever});
    refused = store.checkpoint();
    after = free_in_zones(store);
    struck = disk.struck(io::FaultKind::kWriteNoSpace);
    disk.clear_faults();
    return message_of(store.checkpoint());
  }) == "");
  CHECK(code_of(refused) == ErrorCode::kNoSpace);
  CHECK(after <= before);
  // No header of a zone was tried.
  CHECK(struck == 1);
}

}  // namespace
}  // namespace hexad::testing
