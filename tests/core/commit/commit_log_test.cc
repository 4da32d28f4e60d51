// Room that is set aside in the log (C4); more of it in commit_pipeline_room_test.
#include "core/commit/commit_log.h"

#include <utility>

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitLog;

kv::LogWriter make_writer(const PipelineWorld& world) {
  kv::LogWriterOptions options;
  options.uuid = world.shape.uuid;
  options.areas = world.areas({PipelineWorld::kDisks, 0, 1});
  return kv::LogWriter::create(std::move(options)).value();
}

TEST_CASE("commit_log: what is set aside is nobody else's, and the reserve is left alone") {
  PipelineWorld world;
  CommitLog log(make_writer(world), world.log_blobs, world.shape.record);
  const std::uint64_t room = log.room_for(log.record_limit());
  std::uint64_t taken = 0;
  for (; log.has_room(room); taken += room) log.set_aside(room);
  REQUIRE(taken > 0);
  const std::uint64_t small = log.room_for(1);
  for (; log.has_room(small); taken += small) log.set_aside(small);
  REQUIRE(taken <= log.writer().capacity() - log.writer().reserve());
  REQUIRE(log.has_room(small, core::LogRoom::kPacking));
  REQUIRE(log.check_reserve(2).ok());  // a watermark
  log.take(small);
  REQUIRE(log.has_room(small));
}

TEST_CASE("commit_log: watermarks end where fences still fit") {
  PipelineWorld world;
  CommitLog log(make_writer(world), world.log_blobs, world.shape.record);
  log.set_aside(log.writer().capacity() - log.writer().reserve());
  while (log.check_reserve(2).ok()) log.set_aside(log.writer().block_size());
  REQUIRE(log.check_reserve(2).error().code == ErrorCode::kNoSpace);
  REQUIRE(log.check_reserve(1).ok());
}

TEST_CASE(
    "commit_log: payloads ride in the log while half of it is free and a checkpoint allows it") {
  PipelineWorld world;
  CommitLog log(make_writer(world), world.log_blobs, world.shape.record);
  std::vector<core::Submission> members;
  members.push_back(world.make({.unplaced = 3000}));
  SECTION("room for it") {
    const CommitLog::PayloadRoom room = log.hold_payload_room(members);
    REQUIRE(room.payload == 3000);
    REQUIRE(room.held > 2 * room.payload);
    log.take(room.held);
  }
  SECTION("during a checkpoint") {
    log.pause_payloads();
    REQUIRE(log.hold_payload_room(members).payload == 0);
    log.resume_payloads();
    REQUIRE(log.hold_payload_room(members).payload == 3000);
  }
  SECTION("half of the log in use") {
    log.set_aside(log.writer().capacity() / 2);
    const CommitLog::PayloadRoom room = log.hold_payload_room(members);
    REQUIRE(room.payload == 0);
    REQUIRE(room.held == 0);
  }
  SECTION("no payloads") {
    members.front().unplaced.clear();
    REQUIRE(log.hold_payload_room(members).payload == 0);
  }
  world.space->release(core::PromisedUnits(1));
}

}  // namespace
}  // namespace hexad::testing
