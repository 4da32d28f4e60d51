// Pauses of the pipeline while the membership changes, and its end.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/commit/commit_pipeline.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitPipeline;
using io::FaultKind;
using io::IoOp;
using io::SimOp;

// --- pauses, and changes of membership ---

TEST_CASE("commit_pipeline: nothing is sealed before every pause is over") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  pipeline.pause();
  pipeline.pause();
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  pipeline.resume();
  world.settle();
  REQUIRE(world.groups() == 0);
  pipeline.resume();
  world.settle();
  REQUIRE(world.answered() == up_to(1));
  require_good(world);
}

TEST_CASE("commit_pipeline: what completes during a pause is answered after it") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump();
  pipeline.pause();
  auto quiet = world.start([&] {
    pipeline.wait_quiet();
    return true;
  });
  world.settle();
  REQUIRE_FALSE(quiet->has_value());
  world.release();
  world.settle();
  REQUIRE(quiet->has_value());
  REQUIRE(world.answers.empty());
  REQUIRE(pipeline.durable() == 0);
  REQUIRE(pipeline.failed_devices().empty());
  REQUIRE(world.repairs == 0);
  pipeline.resume();
  world.settle();
  REQUIRE(world.answered() == up_to(1));
  REQUIRE(pipeline.durable() == 1);
}

TEST_CASE("commit_pipeline: members that a pause meets between taking and sealing are put back") {
  int interrupted = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.seed = seed});
    CommitPipeline& pipeline = world.pipeline();
    pipeline.pause_payloads();
    REQUIRE(world.submit({.unplaced = 60'000}));
    REQUIRE(world.submit({.stripe = 20'000}));
    world.at_once({[&] { pipeline.pump(); }, [&] { pipeline.pause(); }});
    if (world.groups() == 0) {
      REQUIRE(world.answers.empty());
      REQUIRE(world.log_writes + world.cell_writes == 0);
      // Its place is decided, once for all.
      interrupted += world.log_blobs.find({1, 0})->place.has_value() ? 1 : 0;
    }
    REQUIRE(world.submit({.unplaced = 5000}));
    pipeline.resume();
    world.settle();
    REQUIRE(pipeline.durable() == 3);
    REQUIRE(world.answers.size() == 3);
    require_good(world);
    REQUIRE(world.logged() == PipelineWorld::keys_up_to(3));
    REQUIRE(world.cells.size() == 0);
    REQUIRE(world.space->reserved() == 0);
    REQUIRE(world.space->check_invariants().ok());
  }
  REQUIRE(interrupted > 0);
}

TEST_CASE("commit_pipeline: a failed request pauses until the membership has changed") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.strike([&](const SimOp& op) -> std::optional<FaultKind> {
    if (world.is_cell(op) && op.disk == "dev3") return FaultKind::kWriteErrorBefore;
    return std::nullopt;
  });
  world.submit_and_pump({.stripe = 64 << 10});
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  REQUIRE(world.repairs == 1);  // once, though two groups failed
  REQUIRE(world.answers.empty());
  REQUIRE(pipeline.failed_devices() == std::set<DeviceId>{3});
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  REQUIRE(world.groups() == 2);

  world.members->mark_failed(3, "told to");
  // Of another size than the others.
  std::vector<kv::LogArea> short_areas = world.areas({0});
  short_areas[0].size /= 2;
  REQUIRE(pipeline.begin_epoch(short_areas, 2).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(pipeline.epoch() == 1);
  world.begin_epoch(2);
  REQUIRE(world.answers.empty());
  pipeline.repaired();
  world.settle();
  REQUIRE(world.answers.size() == 3);
  require_good(world);
  REQUIRE(pipeline.epoch() == 2);
  REQUIRE(pipeline.durable() == 3);
  REQUIRE(world.repairs == 1);
  // Four units of each of the three stripes.
  REQUIRE(world.space->counters().missing == 12);
  const kv::LogScan scan = world.scan();
  REQUIRE(scan.damage.empty());
  REQUIRE(world.logged() == PipelineWorld::keys_up_to(3));
  REQUIRE(scan.max_epoch == 2);

  // The next failure is told again.
  world.strike([&](const SimOp& op) -> std::optional<FaultKind> {
    if (world.is_log(op) && op.disk == "dev1") return FaultKind::kWriteErrorAfter;
    return std::nullopt;
  });
  world.submit_and_pump();
  world.settle();
  REQUIRE(world.repairs == 2);
  REQUIRE(pipeline.failed_devices() == std::set<DeviceId>{1});
}

TEST_CASE("commit_pipeline: a failed flush fails every device of its domain") {
  PipelineWorld world({.volatile_cache = true});
  bool struck = false;
  world.strike([&](const SimOp& op) -> std::optional<FaultKind> {
    if (op.op == IoOp::kFlush && !std::exchange(struck, true)) return FaultKind::kFlushError;
    return std::nullopt;
  });
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  REQUIRE(struck);
  REQUIRE(world.repairs == 1);
  REQUIRE(world.answers.empty());
  REQUIRE(world.pipeline().failed_devices() == std::set<DeviceId>{0, 1, 2, 3, 4, 5, 6});
  world.pipeline().stop(Error{ErrorCode::kUnknown, "too few devices are left", ""});
  world.settle();
  REQUIRE(world.answered() == up_to(1));
  require_failed(world, ErrorCode::kUnknown);
}

// --- the end ---

TEST_CASE("commit_pipeline: stop fails all that is not durable, once, and what is visible stays") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  REQUIRE_FALSE(pipeline.stopped().has_value());
  std::vector<ErrorCode> called;
  const auto call = [&](const Status& status) { called.push_back(status.error().code); };
  world.submit_and_pump();
  world.settle();
  world.answers.clear();

  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump({.stripe = 20'000});                                       // 2
  REQUIRE(world.submit({.stripe = 20'000, .durability = Durability::kBuffered}));  // 3
  core::Submission late = world.make({.stripe = 20'000});                          // 4
  REQUIRE(pipeline.try_reserve(late).value());
  pipeline.when_durable(3, call);
  world.settle();
  auto waits = world.start([&] { return pipeline.wait_durable(3); });
  auto drains = world.start([&] { return pipeline.drain(); });
  world.settle();
  REQUIRE_FALSE(pipeline.lost_buffered().has_value());
  pipeline.stop(kGone);
  pipeline.stop(Error{ErrorCode::kUnknown, "later", ""});  // the first reason stays
  REQUIRE(world.answers.empty());                          // not on the caller's stack
  REQUIRE(called.empty());
  pipeline.enqueue(std::move(late));
  world.settle();
  REQUIRE(world.answers.size() == 3);
  require_failed(world, ErrorCode::kIo);
  REQUIRE(waits->value().error().code == ErrorCode::kIo);
  REQUIRE(drains->value().error().code == ErrorCode::kIo);
  REQUIRE(called == std::vector<ErrorCode>{ErrorCode::kIo});

  REQUIRE(pipeline.stopped()->code == ErrorCode::kIo);
  REQUIRE(pipeline.visible() == 3);
  REQUIRE(pipeline.lost_buffered().has_value());
  REQUIRE(pipeline.lost_buffered()->first == 2);
  REQUIRE(pipeline.lost_buffered()->last == 3);
  REQUIRE(world.cells.size() == 3);  // the cells stay where they can be read
  // And everybody who comes now is told.
  core::Submission more = world.make({});
  REQUIRE(pipeline.try_reserve(more).error().code == ErrorCode::kIo);
  pipeline.when_durable(4, call);
  pipeline.when_durable(1, [](const Status& status) { HEXAD_ASSERT(status.ok()); });
  auto watermark = world.start([&] { return pipeline.record_watermark(); });
  world.release();
  world.settle();
  REQUIRE(called.size() == 2);
  REQUIRE(watermark->value().error().code == ErrorCode::kIo);
  REQUIRE(pipeline.durable() == 1);  // though its requests have completed by now
  REQUIRE(world.answers.size() == 3);
}

TEST_CASE(
    "commit_pipeline: a stop between taking and sealing fails the members once and keeps their "
    "cells") {
  int interrupted = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.seed = seed});
    CommitPipeline& pipeline = world.pipeline();
    pipeline.pause_payloads();
    world.hold([&](const SimOp& op) { return world.is_log(op); });
    REQUIRE(world.submit({.unplaced = 60'000, .durability = Durability::kBuffered}));
    REQUIRE(world.submit({.stripe = 20'000}));
    world.at_once({[&] { pipeline.pump(); }, [&] { pipeline.stop(kGone); }});
    const bool placed = world.log_blobs.find({1, 0})->place.has_value();
    interrupted += placed && world.groups() == 0 ? 1 : 0;
    REQUIRE(world.answers.size() == 2);
    require_failed(world, ErrorCode::kIo);
    // What is visible can be read: from where its group has placed it, or as it came.
    REQUIRE(pipeline.visible() == 1);
    REQUIRE(world.cells.size() == (placed ? 2 : 1));
  }
  REQUIRE(interrupted > 0);
}

// Somebody takes units that others have reserved.
void take_all_units(PipelineWorld& world) {
  const core::PromisedUnits others(static_cast<std::uint32_t>(world.space->reserved()));
  world.space->release(others);
  while (world.space->allocate(1).ok()) continue;
  world.space->reserve(others);
}

TEST_CASE(
    "commit_pipeline: a group that finds no place stops the pipeline, and what is visible stays "
    "readable") {
  for (const Durability durability : {Durability::kBuffered, Durability::kDurable}) {
    const bool buffered = durability == Durability::kBuffered;
    CAPTURE(buffered);
    PipelineWorld world;
    CommitPipeline& pipeline = world.pipeline();
    pipeline.pause_payloads();
    world.submit_and_pump();
    world.settle();
    world.answers.clear();

    world.hold([&](const SimOp& op) { return world.is_log(op); });
    world.submit_and_pump({.stripe = 20'000});                                       // 2
    REQUIRE(world.submit({.unplaced = 60'000, .durability = durability}));           // 3
    REQUIRE(world.submit({.stripe = 20'000, .durability = Durability::kBuffered}));  // 4
    core::Submission late = world.make({});                                          // 5
    REQUIRE(pipeline.try_reserve(late).value());
    const std::string bytes(as_text(world.log_blobs.find({3, 0})->stored.bytes()));
    pipeline.pause();
    std::vector<ErrorCode> called;
    pipeline.when_durable(4, [&](const Status& status) { called.push_back(status.error().code); });
    auto waits = world.start([&] { return pipeline.wait_durable(3); });
    auto drains = world.start([&] { return pipeline.drain(); });
    world.settle();
    REQUIRE_FALSE(waits->has_value());
    take_all_units(world);
    pipeline.resume();  // seals
    pipeline.enqueue(std::move(late));
    pipeline.pump();
    world.settle();
    // And with its members all that is in flight, and all behind.
    std::vector<Lsn> lsns = world.answered();
    std::sort(lsns.begin(), lsns.end());
    REQUIRE(lsns == std::vector<Lsn>{2, 3, 4, 5});
    require_failed(world, ErrorCode::kUnknown);
    REQUIRE(called == std::vector<ErrorCode>{ErrorCode::kUnknown});
    REQUIRE(waits->value().error().code == ErrorCode::kUnknown);
    REQUIRE(drains->value().error().code == ErrorCode::kUnknown);
    REQUIRE_THAT(pipeline.stopped()->message, Catch::Contains("could not be sealed"));

    // Nothing more is taken, and nothing of the group is on its way.
    core::Submission more = world.make({});
    REQUIRE(pipeline.try_reserve(more).error().code == ErrorCode::kUnknown);
    world.release();
    world.settle();
    REQUIRE(world.answers.size() == 4);
    REQUIRE(world.groups() == 2);
    REQUIRE(world.log_writes == 2 * 3);
    REQUIRE(pipeline.durable() == 1);
    REQUIRE(world.repairs == 0);

    REQUIRE(pipeline.visible() == 4);
    REQUIRE(pipeline.lost_buffered()->first == 2);
    REQUIRE(pipeline.lost_buffered()->last == 4);
    const auto found = world.log_blobs.find({3, 0});
    REQUIRE(found.has_value());
    REQUIRE_FALSE(found->place.has_value());
    REQUIRE(as_text(found->stored.bytes()) == bytes);
    REQUIRE(world.cells.size() == 2);
  }
}

TEST_CASE(
    "commit_pipeline: members that find no place are failed once, also when the pipeline stops or "
    "pauses") {
  std::set<ErrorCode> codes;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const bool stops : {false, true}) {
      CAPTURE(seed, stops);
      PipelineWorld world({.seed = seed});
      CommitPipeline& pipeline = world.pipeline();
      pipeline.pause_payloads();
      REQUIRE(world.submit({.unplaced = 60'000, .durability = Durability::kBuffered}));
      REQUIRE(world.submit({.stripe = 20'000}));
      take_all_units(world);
      if (stops) {
        world.at_once({[&] { pipeline.pump(); }, [&] { pipeline.stop(kGone); }});
      } else {
        world.at_once({[&] { pipeline.pump(); }, [&] { pipeline.pause(); }});
        pipeline.resume();
        world.settle();
        REQUIRE(pipeline.stopped()->code == ErrorCode::kUnknown);
      }
      const ErrorCode code = pipeline.stopped()->code;
      if (stops) codes.insert(code);
      REQUIRE(world.answers.size() == 2);
      require_failed(world, code);
      REQUIRE(world.groups() == 0);
      REQUIRE(world.log_writes + world.cell_writes == 0);
      REQUIRE(pipeline.visible() == 1);
      REQUIRE(world.log_blobs.find({1, 0})->stored.size() == 60'000);
      REQUIRE(world.cells.size() == 1);
    }
  }
  REQUIRE(codes == std::set<ErrorCode>{kGone.code, ErrorCode::kUnknown});
}

}  // namespace
}  // namespace hexad::testing
