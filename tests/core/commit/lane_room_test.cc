// Room in the log: for records, for payloads and for packing them (C4).
#include <algorithm>
#include <string>
#include <utility>

#include "core/commit/lane.h"
#include "tests/core/commit/lane_world.h"

namespace hexad::testing {
namespace {

using core::Lane;

// Others take all the room that they get, and still records find room that give every payload a
// place; then all that has a reservation is sealed without a trim.
void require_room_to_pack(LaneWorld& world) {
  Lane& lane = world.lane();
  world.fill_log();
  REQUIRE_FALSE(world.submit());
  core::Submission packing = world.make({});
  const std::uint64_t places = world.log_blobs.packing_bytes();
  packing.encoded.resize(std::max<std::size_t>(packing.encoded.size(), places));
  REQUIRE(lane.try_reserve(packing, core::LogRoom::kPacking).value());
  lane.enqueue(std::move(packing));
  lane.pump();
  world.settle();
  REQUIRE(lane.durable() == lane.next_lsn() - 1);
  REQUIRE(world.answers.size() == lane.durable());
  require_good(world);
}

TEST_CASE("lane: a record up to max_record goes, one byte more is told so") {
  LaneWorld world;
  Lane& lane = world.lane();
  for (const std::uint64_t over : {1, 0}) {
    core::Submission submission = world.make({});
    submission.encoded.resize(submission.encoded.size() + over + lane.max_record() -
                              lane.record_bound(submission));
    const Result<bool> room = lane.try_reserve(submission);
    if (over > 0) {
      REQUIRE(room.error().code == ErrorCode::kTooBig);
      continue;
    }
    REQUIRE(room.value());
    lane.enqueue(std::move(submission));
  }
  lane.pump();
  world.settle();
  REQUIRE(world.answered() == up_to(1));
}

TEST_CASE("lane: a record is never longer than was set aside for it") {
  LaneWorld world;
  world.lane().pause_payloads();
  for (const std::size_t bytes : {1, 255, 4096, 16'384, 16'385, 70'000, 300'000}) {
    CAPTURE(bytes);
    core::Submission submission = world.make({.stripe = 5000, .young = bytes});
    const std::uint64_t bound = world.lane().record_bound(submission);
    REQUIRE(world.lane().try_reserve(submission).value());
    world.lane().enqueue(std::move(submission));
    world.lane().pump();
    world.settle();
    // Framing: a length and an LSN.
    REQUIRE(world.scan().blocks.back().header.body_length <= bound + 20);
  }
  require_good(world);
}

TEST_CASE("lane: C4 all that has a reservation is sealed without a trim") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    LaneWorld world({.log_size = 512_KiB, .seed = seed});
    Lane& lane = world.lane();
    io::Rng rng(seed);
    std::size_t enqueued = 0;
    // Reservations are for the worst case, so that there is room again when all is sealed; until
    // there is none.
    for (bool full = false; !full;) {
      full = true;
      for (;;) {
        core::Submission submission = world.make({.metadata = rng.below(12'000)});
        const bool fits = lane.has_room_for(lane.record_bound(submission));
        REQUIRE(lane.try_reserve(submission).value() == fits);
        if (!fits) break;
        full = false;
        ++enqueued;
        lane.enqueue(std::move(submission));
        if (rng.chance(1, 2)) lane.pump();
      }
      auto drained = world.start([&] { return lane.drain(); });
      world.settle();
      REQUIRE(drained->value().ok());
    }
    REQUIRE(world.answers.size() == enqueued);
    REQUIRE(lane.log_capacity() == 512_KiB);
    REQUIRE(lane.log_used() <= lane.log_capacity() - lane.log().reserve());
    REQUIRE(world.logged() == LaneWorld::keys_up_to(enqueued));
    // What is not the users' is still there: a watermark fits. And a trim gives the rest back.
    auto recorded = world.start([&] { return lane.record_watermark(); });
    world.settle();
    REQUIRE(recorded->value().ok());
    REQUIRE(lane.recorded() == enqueued);
    lane.trim(lane.point_at(lane.durable()));
    REQUIRE(lane.log_used() <= 8192);
    REQUIRE(world.submit({.metadata = 12'000}));
  }
}

// Fences and watermarks have no room set aside. They took it from what was, and a group that had
// its place found none: an assertion.
TEST_CASE("lane: C4 what has room set aside is sealed although fences have come meanwhile") {
  // Its reserve has to be larger than what is kept for packing, or that is taken and not the
  // reserve.
  LaneWorld world({.log_size = 2_MiB});
  Lane& lane = world.lane();
  REQUIRE(lane.log().reserve() == 128_KiB);
  lane.pause_payloads();
  core::Submission last = world.make({.metadata = 100});
  for (;;) {
    REQUIRE(lane.try_reserve(last).value());
    if (!lane.has_room_for(lane.record_bound(last))) break;
    lane.enqueue(std::move(last));
    lane.pump();
    world.settle();
    last = world.make({.metadata = 100});
  }
  lane.pause();
  Epoch epoch = lane.epoch();
  while (lane.begin_epoch(world.areas({LaneWorld::kDisks, 0, 1}), epoch + 1).ok()) {
    ++epoch;
    REQUIRE(epoch < 100);
  }
  REQUIRE(epoch > 4);
  lane.resume();
  const Lsn lsn = last.lsn;
  lane.enqueue(std::move(last));
  lane.pump();
  world.settle();
  REQUIRE(lane.durable() == lsn);
  // Openings still find room for theirs.
  REQUIRE(lane.log_used() + 2 * 4096 <= lane.log_capacity());
}

// --- payloads ---

// Blobs that ride in the log together, with units of so many bytes: more than what is set aside
// for their record and for packing them.
constexpr std::uint64_t kUnit = 16_KiB;
constexpr Want kRiding{.young = 3200, .youngs = 20};

TEST_CASE("lane: when the log has no room left, packing what rides in it has") {
  LaneWorld world({.log_size = 512_KiB});
  while (world.submit({.young = 3000})) {
    world.lane().pump();
    world.settle();
  }
  REQUIRE(world.log_blobs.payload_bytes() > 0);
  require_room_to_pack(world);
}

TEST_CASE("lane: C4 nobody takes the room of payloads while their group is being sealed") {
  int filled = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    LaneWorld world({.unit = kUnit, .seed = seed});
    REQUIRE(world.submit(kRiding));
    world.at_once({[&] { world.lane().pump(); },
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

TEST_CASE("lane: C4 payloads that a change of membership puts back keep their room") {
  int once = 0;
  int twice = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    LaneWorld world({.unit = kUnit, .seed = seed});
    Lane& lane = world.lane();
    REQUIRE(world.submit(kRiding));
    world.at_once({[&] { lane.pump(); }, [&] { lane.pause(); }});
    const bool first = world.groups() == 0 && world.log_blobs.payload_bytes() > 0;
    const std::uint64_t before = world.log_blobs.payload_bytes();
    REQUIRE(world.submit(kRiding));  // what was put back is in its group
    world.at_once({[&] { lane.resume(); }, [&] { lane.pause(); }});
    const bool second = world.groups() == 0 && world.log_blobs.payload_bytes() > before;
    once += first != second ? 1 : 0;
    twice += first && second ? 1 : 0;
    world.fill_log();
    world.begin_epoch(2);
    lane.resume();
    world.settle();
    require_room_to_pack(world);
  }
  REQUIRE(once > 0);
  REQUIRE(twice > 0);
}

}  // namespace
}  // namespace hexad::testing
