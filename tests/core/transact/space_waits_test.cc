// Waits for reads that hold what was freed.
#include "core/transact/space_waits.h"

#include "core/cache/read_pins.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::Attempt;
using core::ReadPins;

constexpr io::Nanos kSecond = 1'000'000'000;

struct WaitsWorld {
  PipelineWorld world;
  core::Closing closing{world.executor};
  core::WriteGate gate{&world.pipeline(), closing, *world.members};
  ReadPins pins{world.executor};
  core::Reclaimer reclaimer{world.pipeline(), pins, *world.space, world.log_blobs};
  core::SpaceWaits waits{
      {world.executor, gate, world.pipeline(), *world.space, reclaimer, [] { return Status(); }}};

  // Two of three commits have their watermark in the log.
  WaitsWorld() {
    for (int i = 0; i < 3; ++i) {
      world.submit_and_pump();
      world.settle();
    }
    REQUIRE(world.pipeline().recorded() == 2);
  }
};

TEST_CASE("reclaimer: it stops where a read looks that has just begun") {
  WaitsWorld it;
  REQUIRE(it.reclaimer.reclaim() == 2);
  {
    const ReadPins::Pin newer = it.pins.pin([] { return Lsn{3}; });
    REQUIRE(it.reclaimer.reclaim() == 2);
  }
}

TEST_CASE("reclaimer: a read from before holds what was freed since") {
  WaitsWorld it;
  {
    const ReadPins::Pin older = it.pins.pin([] { return Lsn{1}; });
    REQUIRE(it.reclaimer.reclaim() == 1);
  }
  REQUIRE(it.reclaimer.reclaim() == 2);
}

TEST_CASE("space_waits: a commit waits for reads that are under way, up to its patience") {
  WaitsWorld it;
  io::Nanos patience = kSecond / 2;
  Attempt attempt;
  attempt.patience = &patience;
  attempt.free_units = it.world.space->counters().free;
  auto pin = std::make_unique<ReadPins::Pin>(it.pins.pin([] { return Lsn{1}; }));
  SECTION("which is over") {
    const auto more = it.world.start([&] { return it.waits.outlast_reads(attempt); });
    it.world.settle();
    REQUIRE(more->has_value());
    REQUIRE_FALSE(**more);
    REQUIRE(patience == 0);
  }
  SECTION("or until they end") {
    const auto more = it.world.start([&] { return it.waits.outlast_reads(attempt); });
    it.world.system.run([&] {
      it.world.executor.sleep_for(kSecond / 10);
      pin.reset();
    });
    it.world.settle();
    REQUIRE(more->has_value());
    REQUIRE(patience > kSecond / 4);
  }
  SECTION("or until there is more") {
    attempt.free_units -= 1;
    const auto more = it.world.start([&] { return it.waits.outlast_reads(attempt); });
    it.world.settle();
    REQUIRE(**more);
    REQUIRE(patience > kSecond / 4);
  }
}

TEST_CASE("space_waits: where no slabs are about to be left, nobody waits for them") {
  WaitsWorld it;
  Attempt attempt;
  attempt.free_units = it.world.space->counters().free;
  const auto more = it.world.start([&] { return it.waits.outlast_moves(attempt); });
  it.world.settle();
  REQUIRE(more->has_value());
  REQUIRE_FALSE(**more);
}

}  // namespace
}  // namespace hexad::testing
