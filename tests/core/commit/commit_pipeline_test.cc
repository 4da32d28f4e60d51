#include "core/commit/commit_pipeline.h"

#include <algorithm>
#include <utility>

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitPipeline;
using core::CounterId;
using io::IoOp;
using io::SimOp;

// --- acknowledgement ---

TEST_CASE(
    "commit_pipeline: groups are published and answered in order, whichever request is held back") {
  // The six cells of the first group, then its three copies of the log.
  for (int nth = 0; nth < 9; ++nth) {
    CAPTURE(nth);
    PipelineWorld world;
    int seen = 0;
    world.hold([&](const SimOp&) { return seen++ == nth; });
    for (int i = 0; i < 3; ++i) world.submit_and_pump({.stripe = 64 << 10});
    world.settle();
    REQUIRE(world.groups() == 3);
    REQUIRE(world.answers.empty());
    REQUIRE(world.pipeline().durable() == 0);
    REQUIRE(world.pipeline().visible() == 0);
    REQUIRE(world.cells.size() == 3);
    world.release();
    world.settle();
    REQUIRE(world.answered() == up_to(3));
    require_good(world);
    REQUIRE(world.pipeline().durable() == 3);
    REQUIRE(world.pipeline().visible() == 3);
    REQUIRE(world.cells.size() == 0);
    REQUIRE(world.logged() == PipelineWorld::keys_up_to(3));
  }
}

TEST_CASE("commit_pipeline: what comes while four groups are in flight shares the next one") {
  PipelineWorld world;
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  for (int i = 0; i < 7; ++i) world.submit_and_pump();
  world.settle();
  REQUIRE(world.groups() == 4);
  world.release();
  world.settle();
  REQUIRE(world.groups() == 5);
  REQUIRE(world.answers.size() == 7);
  require_good(world);
  std::vector<std::uint32_t> members;
  Lsn watermark = 0;
  for (const kv::ScannedBlock& block : world.scan().blocks) {
    members.push_back(block.header.record_count);
    REQUIRE(block.header.watermark >= watermark);
    watermark = block.header.watermark;
  }
  REQUIRE(members == std::vector<std::uint32_t>{1, 1, 1, 1, 3});
  REQUIRE(watermark > 0);
  REQUIRE(world.counters.since_open(CounterId::kGroupsOf1) == 4);
  REQUIRE(world.counters.since_open(CounterId::kGroupsOf2) == 1);
  REQUIRE(world.counters.since_open(CounterId::kTransactions) == 7);
}

TEST_CASE(
    "commit_pipeline: eight groups are in flight where each is large, and a small one waits for "
    "four") {
  PipelineWorld world;
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  const Want large{.stripe = 700 << 10};
  for (int i = 0; i < 3; ++i) world.submit_and_pump(large);
  world.submit_and_pump();
  world.submit_and_pump();
  REQUIRE(world.groups() == 4);
  // It takes the small one along that waits.
  for (int i = 0; i < 6; ++i) world.submit_and_pump(large);
  world.settle();
  REQUIRE(world.groups() == 8);
  world.release();
  world.settle();
  REQUIRE(world.answered() == up_to(11));
  require_good(world);
}

TEST_CASE(
    "commit_pipeline: more groups than four only as long as their cells may go out with the log "
    "(C7)") {
  PipelineWorld world({.slab_units = 4096});
  world.hold([&](const SimOp& op) { return world.is_log(op) || world.is_cell(op); });
  // 12 MiB of cells each: five are 60 of 64 MiB.
  for (int i = 0; i < 7; ++i) world.submit_and_pump({.stripe = 1 << 20, .stripes = 8});
  REQUIRE(world.groups() == 5);
  world.release();
  world.settle();
  REQUIRE(world.answered() == up_to(7));
  require_good(world);
}

TEST_CASE("commit_pipeline: the copies of the log have the same bytes") {
  PipelineWorld world;
  for (int i = 0; i < 5; ++i) world.submit_and_pump({.stripe = 20'000, .unplaced = 3000});
  world.settle();
  const auto points = world.scan().points();
  REQUIRE(points.size() == world.groups());
  for (const DeviceId copy : {DeviceId{0}, DeviceId{1}})
    REQUIRE(world.scan(copy).points() == points);
  REQUIRE(world.scan(2).blocks.empty());
}

TEST_CASE(
    "commit_pipeline: nothing is answered before a flush that began behind the last write has "
    "ended") {
  PipelineWorld world({.volatile_cache = true});
  const std::uint64_t before = world.completed_writes();
  std::uint64_t written = 0;
  world.hold([&](const SimOp& op) {
    if (op.op == IoOp::kFlush) written = world.completed_writes() - before;
    return op.op == IoOp::kFlush;
  });
  world.submit_and_pump({.stripe = 64 << 10});
  world.settle();
  REQUIRE(written == 9);
  REQUIRE(world.flushes == 1);
  REQUIRE(world.answers.empty());
  world.release();
  world.settle();
  REQUIRE(world.answered() == up_to(1));
  REQUIRE(world.flushes == 1);
}

TEST_CASE("commit_pipeline: whoever waits leads the group himself and returns when it is durable") {
  PipelineWorld world;
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  REQUIRE(world.submit());
  REQUIRE(world.submit());
  auto first = world.start([&] { return world.pipeline().wait_durable(1); });
  auto second = world.start([&] { return world.pipeline().wait_durable(2); });
  auto past = world.start([&] { return world.pipeline().wait_durable(0); });
  world.settle();
  REQUIRE(world.log_writes == 3);  // one group, though nobody pumped
  REQUIRE_FALSE(first->has_value());
  REQUIRE_FALSE(second->has_value());
  REQUIRE(past->value().ok());
  world.release();
  world.settle();
  REQUIRE(first->value().ok());
  REQUIRE(second->value().ok());
  REQUIRE(world.pipeline().durable() == 2);
}

TEST_CASE("commit_pipeline: when_durable seals up to there, and calls when that is durable") {
  PipelineWorld world;
  std::vector<std::pair<Lsn, bool>> called;
  const auto call = [&](Lsn lsn) {
    return [&called, lsn](const Status& status) { called.emplace_back(lsn, status.ok()); };
  };
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  REQUIRE(world.submit({.durability = Durability::kBuffered}));
  REQUIRE(world.submit({.durability = Durability::kBuffered}));
  world.pipeline().when_durable(0, call(0));
  world.pipeline().when_durable(2, call(2));
  REQUIRE(called.empty());  // never on the caller's stack
  world.settle();
  REQUIRE(called == std::vector<std::pair<Lsn, bool>>{{0, true}});
  world.release();
  world.settle();
  REQUIRE(called == std::vector<std::pair<Lsn, bool>>{{0, true}, {2, true}});
  REQUIRE(world.pipeline().durable() == 2);
}

TEST_CASE(
    "commit_pipeline: progress is told when durable has moved, with the pipeline's lock free") {
  PipelineWorld world;
  Lsn seen = 0;
  world.pipeline().set_progress_handler([&] { seen = world.pipeline().durable(); });
  world.submit_and_pump();
  world.settle();
  REQUIRE(seen == 1);
}

// --- unplaced blobs ---

TEST_CASE(
    "commit_pipeline: a small blob rides in the log, unless a checkpoint wants no more of them") {
  for (const bool allowed : {true, false}) {
    CAPTURE(allowed);
    PipelineWorld world;
    if (!allowed) world.pipeline().pause_payloads();
    REQUIRE(world.submit({.unplaced = 3000}));
    // Readable from before anybody can learn of it.
    const auto before = world.log_blobs.find({1, 0});
    REQUIRE(before.has_value());
    REQUIRE(before->stored.size() == 3000);
    world.pipeline().pump();
    world.settle();
    const auto found = world.log_blobs.find({1, 0});
    REQUIRE(found.has_value());
    REQUIRE(found->place.has_value() == !allowed);
    REQUIRE(world.counters.since_open(CounterId::kLogFirstBlobs) == (allowed ? 1 : 0));
    REQUIRE(world.cell_writes == (allowed ? 0 : 6));
    REQUIRE(world.space->reserved() == (allowed ? 1 : 0));
    require_good(world);
  }
}

TEST_CASE(
    "commit_pipeline: unplaced blobs of one group share a stripe, which the first record accounts "
    "for") {
  PipelineWorld world;
  world.pipeline().pause_payloads();
  for (int i = 0; i < 8; ++i) REQUIRE(world.submit({.unplaced = 4000}));
  world.pipeline().pump();
  world.settle();
  REQUIRE(world.groups() == 1);
  REQUIRE(world.cell_writes == 6);
  REQUIRE(world.answered() == up_to(8));
  require_good(world);
  REQUIRE(world.space->packs(1).size() == 1);
  REQUIRE(world.space->packs(1)[0].live == 8 * 4000);
  REQUIRE(world.space->reserved() == 0);
  REQUIRE(world.space->check_invariants().ok());
}

// --- buffered commits ---

TEST_CASE(
    "commit_pipeline: a buffered commit is visible at once and durable when somebody wants it") {
  enum class Who { kDurable, kRequestDurable, kWaiter };
  for (const Who who : {Who::kDurable, Who::kRequestDurable, Who::kWaiter}) {
    CAPTURE(static_cast<int>(who));
    PipelineWorld world;
    CommitPipeline& pipeline = world.pipeline();
    world.submit_and_pump({.stripe = 64 << 10, .durability = Durability::kBuffered});
    world.submit_and_pump({.durability = Durability::kBuffered});
    world.settle();
    REQUIRE(pipeline.visible() == 2);
    REQUIRE(pipeline.durable() == 0);
    REQUIRE(world.log_writes + world.cell_writes == 0);
    REQUIRE(world.cells.size() == 1);  // read from memory
    if (who == Who::kDurable) world.submit_and_pump();
    if (who == Who::kRequestDurable) pipeline.request_durable();
    if (who == Who::kWaiter) world.start([&] { return pipeline.wait_durable(2); });
    world.settle();
    REQUIRE(world.groups() == 1);
    REQUIRE(pipeline.durable() == pipeline.next_lsn() - 1);
    REQUIRE(world.answered() == up_to(pipeline.durable()));
    require_good(world);
  }
}

TEST_CASE(
    "commit_pipeline: buffered commits that are large together are sealed without anybody's wish") {
  PipelineWorld world;
  for (int i = 0; i < 3; ++i) {
    world.submit_and_pump({.stripe = 256 << 10, .durability = Durability::kBuffered});
    world.settle();
    // Each is 384 KiB of cells; a MiB is due.
    REQUIRE(world.groups() == (i == 2 ? 1 : 0));
  }
  REQUIRE(world.pipeline().durable() == 3);
}

TEST_CASE("commit_pipeline: pump_beside seals as pump does, on another thread") {
  PipelineWorld world;
  world.pipeline().pump_beside();  // nothing to seal
  REQUIRE(world.submit({.durability = Durability::kBuffered}));
  world.pipeline().pump_beside();  // nobody wants it
  world.settle();
  REQUIRE(world.groups() == 0);
  REQUIRE(world.submit({.stripe = 1 << 20, .durability = Durability::kBuffered}));
  world.pipeline().pump_beside();
  world.pipeline().pump_beside();
  REQUIRE(world.groups() == 0);
  world.settle();
  REQUIRE(world.groups() == 1);
  // And again, when its task has run.
  REQUIRE(world.submit({.stripe = 1 << 20}));
  world.pipeline().pump_beside();
  world.settle();
  REQUIRE(world.groups() == 2);
  REQUIRE(world.answered() == up_to(3));
  require_good(world);
}

TEST_CASE(
    "commit_pipeline: A10 wait_in_log returns with a place in the log, and waits for no write") {
  PipelineWorld w;
  w.hold([&](const io::SimOp& op) { return w.is_log(op); });
  REQUIRE(w.submit({.durability = Durability::kBuffered}));
  REQUIRE(w.submit({.durability = Durability::kBuffered}));
  const auto placed = w.start([&] { return w.pipeline().wait_in_log(2); });
  w.settle();
  REQUIRE(placed->has_value());
  REQUIRE((*placed)->ok());
  CHECK(w.pipeline().durable() == 0);
  // A group that is sealed later stands behind it, wherever its cells lie.
  for (int i = 0; i < 3; ++i) w.submit_and_pump();
  REQUIRE(w.groups() == 4);
  // All groups that may be in flight are: now it has to wait for one of them.
  REQUIRE(w.submit({.durability = Durability::kBuffered}));
  const auto late = w.start([&] { return w.pipeline().wait_in_log(6); });
  w.settle();
  REQUIRE_FALSE(late->has_value());
  w.release();
  w.settle();
  REQUIRE(late->has_value());
  REQUIRE((*late)->ok());
  // And for a change of membership, or the end.
  w.pipeline().pause();
  REQUIRE(w.submit({.durability = Durability::kBuffered}));
  const auto paused = w.start([&] { return w.pipeline().wait_in_log(7); });
  w.settle();
  REQUIRE_FALSE(paused->has_value());
  w.pipeline().stop(Error{ErrorCode::kReadOnly, "told to", ""});
  w.settle();
  REQUIRE(paused->has_value());
  CHECK((*paused)->error().code == ErrorCode::kReadOnly);
  w.pipeline().resume();
}

TEST_CASE(
    "commit_pipeline: a durable commit is visible when it is durable, or when somebody may read "
    "it") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  for (int i = 0; i < 3; ++i) world.submit_and_pump();
  world.settle();
  REQUIRE(pipeline.visible() == 0);
  REQUIRE(pipeline.make_visible(2).ok());
  REQUIRE(pipeline.visible() == 2);
  REQUIRE(pipeline.make_visible(1).ok());
  REQUIRE(pipeline.visible() == 2);  // never goes back
  pipeline.stop(kGone);
  REQUIRE(pipeline.visible() == 2);
  REQUIRE(pipeline.make_visible(2).ok());
  REQUIRE(pipeline.make_visible(3).error().code == ErrorCode::kIo);
  REQUIRE(pipeline.visible() == 2);
}

// --- draining ---

TEST_CASE("commit_pipeline: drain returns when everything that has an LSN is durable") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  auto nothing = world.start([&] { return pipeline.drain(); });
  world.settle();
  REQUIRE(nothing->value().ok());
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump({.stripe = 20'000});
  REQUIRE(world.submit({.unplaced = 2000, .durability = Durability::kBuffered}));
  auto drained = world.start([&] { return pipeline.drain(); });
  world.settle();
  REQUIRE_FALSE(drained->has_value());
  world.release();
  world.settle();
  REQUIRE(drained->value().ok());
  REQUIRE(pipeline.durable() == 2);
  REQUIRE(world.answered() == up_to(2));
}

TEST_CASE("commit_pipeline: wait_idle returns when every posted task has run") {
  PipelineWorld world;
  bool ran = false;
  world.pipeline().post([&] {
    world.system.executor().sleep_for(1'000'000);
    ran = true;
  });
  auto idle = world.start([&] {
    world.pipeline().wait_idle();
    return ran;
  });
  world.settle();
  REQUIRE(idle->value());
}

// --- all together ---

TEST_CASE("commit_pipeline: random commits of several threads keep C1 to C6") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.volatile_cache = seed % 2 == 0, .seed = seed});
    CommitPipeline& pipeline = world.pipeline();
    io::Executor& executor = world.system.executor();
    io::Mutex sequencer(executor);
    std::string problem;
    Lsn seen = 0;
    const auto check = [&] {
      const Lsn recorded = pipeline.recorded();
      const Lsn durable = pipeline.durable();
      const Lsn visible = pipeline.visible();
      if (visible < std::exchange(seen, visible)) problem = "C6: visible went back";
      if (recorded > durable) problem = "C3";
      if (durable > visible || visible >= pipeline.next_lsn()) problem = "C6";
    };
    io::Rng rng(seed);
    for (int thread = 0; thread < 4; ++thread) {
      world.start([&] {
        for (int i = 0; i < 10; ++i) {
          Want want;
          if (rng.chance(1, 3)) want.stripe = 1 + rng.below(100'000);
          if (rng.chance(1, 3)) want.unplaced = 1 + rng.below(20'000);
          if (rng.chance(1, 3)) want.durability = Durability::kBuffered;
          Lsn lsn = 0;
          {
            const io::Lock lock(sequencer);
            lsn = pipeline.next_lsn();
            if (!world.submit(want)) problem = "no room";
            if (rng.chance(1, 12) && !pipeline.drain().ok()) problem = "drain";
          }
          check();
          if (want.durability == Durability::kDurable && rng.chance(1, 2)) {
            if (!pipeline.wait_durable(lsn).ok() || pipeline.durable() < lsn)
              problem = "wait_durable";
          } else if (rng.chance(1, 2)) {
            pipeline.pump();
          } else {
            pipeline.pump_beside();
          }
          if (rng.chance(1, 8) && !pipeline.record_watermark().ok()) problem = "record_watermark";
          if (rng.chance(1, 8)) {
            pipeline.pause();
            executor.sleep_for(static_cast<io::Nanos>(rng.below(300'000)));
            pipeline.resume();
          }
          check();
        }
        return true;
      });
    }
    world.settle();
    pipeline.request_durable();
    world.settle();
    check();
    REQUIRE(problem == "");
    REQUIRE(pipeline.durable() == 40);
    REQUIRE(pipeline.visible() == 40);
    std::vector<Lsn> lsns = world.answered();
    std::sort(lsns.begin(), lsns.end());
    REQUIRE(lsns == up_to(40));  // C2
    require_good(world);
    REQUIRE(world.repairs == 0);
    REQUIRE(world.logged() == PipelineWorld::keys_up_to(40));
    REQUIRE(world.scan().damage.empty());
    REQUIRE(world.cells.size() == 0);
    REQUIRE(world.space->check_invariants().ok());
  }
}

}  // namespace
}  // namespace hexad::testing
