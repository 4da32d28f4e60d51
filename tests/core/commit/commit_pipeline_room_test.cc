// Room in the log: for records, for payloads and for packing them (C4).
#include <algorithm>
#include <string>
#include <utility>

#include "core/commit/commit_pipeline.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitPipeline;

// Others take all the room that they get, and still records find room that give every payload a
// place; then all that has a reservation is sealed without a trim.
void require_room_to_pack(PipelineWorld& world) {
  CommitPipeline& pipeline = world.pipeline();
  world.fill_log();
  REQUIRE_FALSE(world.submit());
  core::Submission packing = world.make({});
  const std::uint64_t places = world.log_blobs.packing_bytes();
  packing.encoded.resize(std::max<std::size_t>(packing.encoded.size(), places));
  REQUIRE(pipeline.try_reserve(packing, core::LogRoom::kPacking).value());
  pipeline.enqueue(std::move(packing));
  pipeline.pump();
  world.settle();
  REQUIRE(pipeline.durable() == pipeline.next_lsn() - 1);
  REQUIRE(world.answers.size() == pipeline.durable());
  require_good(world);
}

TEST_CASE("commit_pipeline: a record up to max_record goes, one byte more is told so") {
  PipelineWorld world;
  CommitPipeline& pipeline = world.pipeline();
  for (const std::uint64_t over : {1, 0}) {
    core::Submission submission = world.make({});
    submission.encoded.resize(submission.encoded.size() + over + pipeline.max_record() -
                              pipeline.record_bound(submission));
    const Result<bool> room = pipeline.try_reserve(submission);
    if (over > 0) {
      REQUIRE(room.error().code == ErrorCode::kTooBig);
      continue;
    }
    REQUIRE(room.value());
    pipeline.enqueue(std::move(submission));
  }
  pipeline.pump();
  world.settle();
  REQUIRE(world.answered() == up_to(1));
}

TEST_CASE("commit_pipeline: a record is never longer than was set aside for it") {
  PipelineWorld world;
  world.pipeline().pause_payloads();
  for (const std::size_t bytes : {1, 255, 4096, 16'384, 16'385, 70'000, 300'000}) {
    CAPTURE(bytes);
    core::Submission submission = world.make({.stripe = 5000, .unplaced = bytes});
    const std::uint64_t bound = world.pipeline().record_bound(submission);
    REQUIRE(world.pipeline().try_reserve(submission).value());
    world.pipeline().enqueue(std::move(submission));
    world.pipeline().pump();
    world.settle();
    // Framing: a length and an LSN.
    REQUIRE(world.scan().blocks.back().header.body_length <= bound + 20);
  }
  require_good(world);
}

TEST_CASE("commit_pipeline: C4 all that has a reservation is sealed without a trim") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.log_size = 512_KiB, .seed = seed});
    CommitPipeline& pipeline = world.pipeline();
    io::Rng rng(seed);
    std::size_t enqueued = 0;
    // Reservations are for the worst case, so that there is room again when all is sealed; until
    // there is none.
    for (bool full = false; !full;) {
      full = true;
      for (;;) {
        core::Submission submission = world.make({.metadata = rng.below(12'000)});
        const bool fits = pipeline.has_room_for(pipeline.record_bound(submission));
        REQUIRE(pipeline.try_reserve(submission).value() == fits);
        if (!fits) break;
        full = false;
        ++enqueued;
        pipeline.enqueue(std::move(submission));
        if (rng.chance(1, 2)) pipeline.pump();
      }
      auto drained = world.start([&] { return pipeline.drain(); });
      world.settle();
      REQUIRE(drained->value().ok());
    }
    REQUIRE(world.answers.size() == enqueued);
    REQUIRE(pipeline.log_capacity() == 512_KiB);
    REQUIRE(pipeline.log_used() <= pipeline.log_capacity() - pipeline.log().reserve());
    REQUIRE(world.logged() == PipelineWorld::keys_up_to(enqueued));
    // What is not the users' is still there: a watermark fits. And a trim gives the rest back.
    auto recorded = world.start([&] { return pipeline.record_watermark(); });
    world.settle();
    REQUIRE(recorded->value().ok());
    REQUIRE(pipeline.recorded() == enqueued);
    pipeline.trim(pipeline.point_at(pipeline.durable()));
    REQUIRE(pipeline.log_used() <= 8192);
    REQUIRE(world.submit({.metadata = 12'000}));
  }
}

// Fences and watermarks have no room set aside. They took it from what was, and a group that had
// its place found none: an assertion.
TEST_CASE(
    "commit_pipeline: C4 what has room set aside is sealed although fences have come meanwhile") {
  // Its reserve has to be larger than what is kept for packing, or that is taken and not the
  // reserve.
  PipelineWorld world({.log_size = 2_MiB});
  CommitPipeline& pipeline = world.pipeline();
  REQUIRE(pipeline.log().reserve() == 128_KiB);
  pipeline.pause_payloads();
  core::Submission last = world.make({.metadata = 100});
  for (;;) {
    REQUIRE(pipeline.try_reserve(last).value());
    if (!pipeline.has_room_for(pipeline.record_bound(last))) break;
    pipeline.enqueue(std::move(last));
    pipeline.pump();
    world.settle();
    last = world.make({.metadata = 100});
  }
  pipeline.pause();
  Epoch epoch = pipeline.epoch();
  while (pipeline.begin_epoch(world.areas({PipelineWorld::kDisks, 0, 1}), epoch + 1).ok()) {
    ++epoch;
    REQUIRE(epoch < 100);
  }
  REQUIRE(epoch > 4);
  pipeline.resume();
  const Lsn lsn = last.lsn;
  pipeline.enqueue(std::move(last));
  pipeline.pump();
  world.settle();
  REQUIRE(pipeline.durable() == lsn);
  // Openings still find room for theirs.
  REQUIRE(pipeline.log_used() + 2 * 4096 <= pipeline.log_capacity());
}

// --- payloads ---

// Blobs that ride in the log together, with units of so many bytes: more than what is set aside
// for their record and for packing them.
constexpr std::uint64_t kUnit = 16_KiB;
constexpr Want kRiding{.unplaced = 3200, .unplaced_blobs = 20};

TEST_CASE("commit_pipeline: when the log has no room left, packing what rides in it has") {
  PipelineWorld world({.log_size = 512_KiB});
  while (world.submit({.unplaced = 3000})) {
    world.pipeline().pump();
    world.settle();
  }
  REQUIRE(world.log_blobs.payload_bytes() > 0);
  require_room_to_pack(world);
}

TEST_CASE(
    "commit_pipeline: C4 nobody takes the room of payloads while their group is being sealed") {
  int filled = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.unit = kUnit, .seed = seed});
    REQUIRE(world.submit(kRiding));
    world.at_once({[&] { world.pipeline().pump(); },
                   [&] {
                     world.fill_log();
                     const bool sealing =
                         world.groups() == 0 && world.log_blobs.payload_bytes() > 0;
                     filled += sealing ? 1 : 0;
                   }});
    REQUIRE(world.groups() == 1);
    require_room_to_pack(world);
  }
  REQUIRE(filled > 0);  // when its blobs rode in the log, and before it had a block there
}

TEST_CASE("commit_pipeline: C4 payloads that a change of membership puts back keep their room") {
  int once = 0;
  int twice = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    PipelineWorld world({.unit = kUnit, .seed = seed});
    CommitPipeline& pipeline = world.pipeline();
    REQUIRE(world.submit(kRiding));
    world.at_once({[&] { pipeline.pump(); }, [&] { pipeline.pause(); }});
    const bool first = world.groups() == 0 && world.log_blobs.payload_bytes() > 0;
    const std::uint64_t before = world.log_blobs.payload_bytes();
    REQUIRE(world.submit(kRiding));  // what was put back is in its group
    world.at_once({[&] { pipeline.resume(); }, [&] { pipeline.pause(); }});
    const bool second = world.groups() == 0 && world.log_blobs.payload_bytes() > before;
    once += first != second ? 1 : 0;
    twice += first && second ? 1 : 0;
    world.fill_log();
    world.begin_epoch(2);
    pipeline.resume();
    world.settle();
    require_room_to_pack(world);
  }
  REQUIRE(once > 0);
  REQUIRE(twice > 0);
}

}  // namespace
}  // namespace hexad::testing
