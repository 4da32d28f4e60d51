// C15: threads that are called back while they wait for a commit. The fibers of the simulation
// share a thread, so for as long as a call may be called back the others see that, too.
#include <optional>

#include "core/commit/commit_pipeline.h"
#include "io/recall.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::LsnWaiters;
using io::IoOp;
using io::SimOp;

// Wanted from the beginning, so that it comes with the first ask.
class Wanted final : public io::Recall {
 private:
  bool is_wanted() noexcept override { return true; }
};

struct Outcome {
  std::optional<ErrorCode> code;  // nothing: it went well
};

// What becomes of a thread that waits for `lsn` and is wanted.
auto call_back(PipelineWorld& world, Lsn lsn) {
  return world.start([&world, lsn] {
    Wanted recall;
    const io::Recall::Scope scope(recall);
    const Status status = world.pipeline().wait_durable(lsn);
    Outcome outcome;
    if (!status.ok()) outcome.code = status.error().code;
    return outcome;
  });
}

void require_left(const std::optional<Outcome>& outcome) {
  REQUIRE(outcome.has_value());
  REQUIRE(outcome->code == ErrorCode::kUnavailable);
}

bool is_write(const SimOp& op) { return op.op == IoOp::kWrite; }
bool is_flush(const SimOp& op) { return op.op == IoOp::kFlush; }

// Another commit is durable, and nothing is under way.
void require_going_on(PipelineWorld& world) {
  const Lsn last = world.pipeline().next_lsn();
  world.submit_and_pump({.stripe = 20'000, .unplaced = 3000});
  const auto idle = world.start([&] {
    world.pipeline().wait_idle();
    return true;
  });
  world.settle();
  REQUIRE(world.pipeline().durable() == last);
  REQUIRE(world.answered() == up_to(last));
  REQUIRE(idle->has_value());
  REQUIRE(world.logged() == PipelineWorld::keys_up_to(last));
}

TEST_CASE(
    "commit_pipeline: a leader that is called back leaves its writes, and the commits go on") {
  const LogDurability kWays[] = {LogDurability::kFull, LogDurability::kFast,
                                 LogDurability::kDataFirst};
  for (const LogDurability durability : kWays) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(static_cast<int>(durability), seed);
      PipelineWorld world({.durability = durability, .seed = seed});
      world.hold(is_write);
      REQUIRE(world.submit({.stripe = 20'000}));
      REQUIRE(world.submit({.unplaced = 3000}));
      const auto leader = call_back(world, 2);
      world.settle();
      require_left(*leader);
      const auto follower = world.start([&] { return world.pipeline().wait_durable(1).ok(); });
      world.settle();
      REQUIRE_FALSE(follower->has_value());
      REQUIRE(world.answers.empty());
      REQUIRE(world.pipeline().durable() == 0);
      REQUIRE(world.groups() == 1);
      const int log_writes = world.log_writes;
      world.release();
      world.settle();
      REQUIRE(*follower == true);
      REQUIRE(world.groups() == 1);
      if (durability != LogDurability::kDataFirst) REQUIRE(world.log_writes == log_writes);
      require_going_on(world);
      if (durability != LogDurability::kFast) require_good(world);
    }
  }
}

TEST_CASE(
    "commit_pipeline: a leader that is called back leaves its flushes, and none is sent twice") {
  for (const bool own_caches : {false, true}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(own_caches, seed);
      PipelineWorld world({.volatile_cache = true, .own_caches = own_caches, .seed = seed});
      world.hold(is_flush);
      REQUIRE(world.submit({.stripe = 20'000, .stripes = 2}));
      const auto leader = call_back(world, 1);
      world.settle();
      require_left(*leader);
      REQUIRE(world.flushes == (own_caches ? 6 : 1));
      REQUIRE(world.answers.empty());
      REQUIRE(world.pipeline().durable() == 0);
      const auto idle = world.start([&] {
        world.pipeline().wait_idle();
        return true;
      });
      world.settle();
      REQUIRE_FALSE(idle->has_value());
      world.release();
      world.settle();
      REQUIRE(world.flushes == (own_caches ? 6 : 1));
      REQUIRE(world.pipeline().durable() == 1);
      REQUIRE(idle->has_value());
      require_going_on(world);
      require_good(world);
    }
  }
}

// The first to answer are those that the substitute waits for last, and the other way round.
TEST_CASE("commit_pipeline: of several flushes that were left all have to end") {
  for (std::uint32_t last = 0; last < PipelineWorld::kDisks; ++last) {
    CAPTURE(last);
    PipelineWorld world({.volatile_cache = true, .own_caches = true});
    world.hold(is_flush);
    REQUIRE(world.submit({.stripe = 20'000, .stripes = 2}));
    const auto leader = call_back(world, 1);
    world.settle();
    require_left(*leader);
    for (std::uint32_t i = 0; i < PipelineWorld::kDisks; ++i) {
      if (i != last) world.system.disk(PipelineWorld::disk_name(i)).release_hung();
    }
    world.settle();
    REQUIRE(world.answers.empty());
    REQUIRE(world.pipeline().durable() == 0);
    world.release();
    world.settle();
    require_going_on(world);
    require_good(world);
  }
}

TEST_CASE("commit_pipeline: a follower that is called back takes nothing away") {
  PipelineWorld world;
  world.hold([&](const SimOp& op) { return world.is_log(op); });
  world.submit_and_pump({.stripe = 20'000});
  REQUIRE(world.submit());
  const auto waits = world.start([&] { return world.pipeline().wait_durable(1).ok(); });
  world.settle();
  const auto follower = call_back(world, 1);
  world.settle();
  require_left(*follower);
  REQUIRE_FALSE(waits->has_value());
  world.release();
  world.settle();
  REQUIRE(*waits == true);
  require_going_on(world);
  require_good(world);
}

// It is the one that would have sealed the group, and nobody else is there.
TEST_CASE(
    "commit_pipeline: what nobody has sealed goes out though its thread has been called back "
    "before") {
  PipelineWorld world;
  REQUIRE(world.submit({.stripe = 20'000}));
  const auto left = world.start([&] {
    Wanted recall;
    const io::Recall::Scope scope(recall);
    io::Recall::comes();
    const Status status = world.pipeline().wait_durable(1, LsnWaiters::Until::kAnswered);
    return !status.ok() && status.error().code == ErrorCode::kUnavailable;
  });
  world.settle();
  REQUIRE(*left == true);
  REQUIRE(world.groups() == 1);
  REQUIRE(world.answered() == up_to(1));
  require_going_on(world);
  require_good(world);
}

TEST_CASE("commit_pipeline: what is durable by then is no commit that was left") {
  PipelineWorld world;
  world.submit_and_pump();
  world.settle();
  const auto outcome = call_back(world, 1);
  world.settle();
  REQUIRE_FALSE((*outcome)->code.has_value());
}

TEST_CASE(
    "commit_pipeline: a stop while a substitute waits answers with its reason, and the pipeline "
    "ends") {
  for (const bool flush : {false, true}) {
    CAPTURE(flush);
    PipelineWorld world({.volatile_cache = flush});
    world.hold(flush ? is_flush : is_write);
    REQUIRE(world.submit({.stripe = 20'000}));
    const auto leader = call_back(world, 1);
    world.settle();
    require_left(*leader);
    world.pipeline().stop(kGone);
    world.settle();
    REQUIRE(world.answers.size() == 1);
    require_failed(world, ErrorCode::kIo);
    const auto idle = world.start([&] {
      world.pipeline().wait_idle();
      return true;
    });
    world.settle();
    REQUIRE_FALSE(idle->has_value());
    world.release();
    world.settle();
    REQUIRE(idle->has_value());
    REQUIRE(world.pipeline().durable() == 0);
    REQUIRE(world.answers.size() == 1);
  }
}

TEST_CASE(
    "commit_pipeline: a device that fails what was left has a repair before anything is answered") {
  PipelineWorld world;
  world.strike([&](const SimOp& op) -> std::optional<io::FaultKind> {
    if (world.is_log(op)) return io::FaultKind::kHang;
    if (world.is_cell(op) && op.disk == "dev4") return io::FaultKind::kWriteErrorBefore;
    return std::nullopt;
  });
  REQUIRE(world.submit({.stripe = 20'000}));
  const auto leader = call_back(world, 1);
  world.settle();
  require_left(*leader);
  REQUIRE(world.repairs == 0);
  world.release();
  world.settle();
  REQUIRE(world.repairs == 1);
  REQUIRE(world.answers.empty());
  REQUIRE(world.pipeline().durable() == 0);
}

TEST_CASE(
    "commit_pipeline: where the system refuses the thread, the leader stays until the answer") {
  for (const bool flush : {false, true}) {
    CAPTURE(flush);
    PipelineWorld world({.volatile_cache = flush, .own_caches = true});
    world.executor.refuses = true;
    world.hold(flush ? is_flush : is_write);
    REQUIRE(world.submit({.stripe = 20'000, .stripes = 2}));
    const auto leader = call_back(world, 1);
    world.settle();
    REQUIRE_FALSE(leader->has_value());
    world.release();
    world.settle();
    REQUIRE(leader->has_value());
    REQUIRE_FALSE((*leader)->code.has_value());  // it was durable when it came to look
    REQUIRE((*leader)->code != ErrorCode::kUnavailable);
    require_going_on(world);
    require_good(world);
  }
}

// Each leaves a thread, of which those that are over are joined by the next one.
TEST_CASE("commit_pipeline: one commit after the other can be left") {
  PipelineWorld world({.volatile_cache = true});
  for (Lsn lsn = 1; lsn <= 20; ++lsn) {
    CAPTURE(lsn);
    world.hold(lsn % 2 == 0 ? is_flush : is_write);
    REQUIRE(world.submit({.stripe = 20'000}));
    const auto leader = call_back(world, lsn);
    world.settle();
    require_left(*leader);
    world.release();
    world.settle();
    REQUIRE(world.pipeline().durable() == lsn);
  }
  require_going_on(world);
  require_good(world);
}

}  // namespace
}  // namespace hexad::testing
