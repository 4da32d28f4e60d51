#include "core/jobs/deletion_job.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "core/record/keys.h"
#include "core/record/record.h"
#include "io/sim/sim_executor.h"
#include "tests/core/jobs/metadata_in_memory.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kMany = 2500;  // more than go with one record

struct World {
  void add_pages(BodyId body, std::uint32_t count) {
    for (std::uint32_t page = 0; page < count; ++page) {
      metadata.map[page_key(body, page)] = encode_page({}, shape);
    }
  }
  std::size_t pages_of(BodyId body) {
    std::size_t count = 0;
    const auto visit = [&](std::string_view, std::string_view) -> Result<bool> {
      ++count;
      return true;
    };
    REQUIRE(metadata.scan(page_prefix(body), visit).ok());
    return count;
  }
  // A large object that was removed: what it shows, and the key that says that it goes.
  void remove(BodyId body, std::uint32_t pages) {
    add_pages(body, pages);
    metadata.map[writer_key(body)] = "";
  }

  io::SimExecutor sim{3};
  RecordShape shape;
  LogBlobs log_blobs{sim, shape};
  testing::MetadataInMemory metadata;
  int wakes = 0;
  DeletionJob job{{metadata, log_blobs, shape, sim, [this] { ++wakes; }}};
};

TEST_CASE("deletion job: what is scheduled is deleted, in records of bounded size") {
  World w;
  w.remove(7, kMany);
  w.remove(8, 1);
  w.add_pages(9, 2);
  CHECK(w.job.due() == std::nullopt);
  CHECK_FALSE(w.job.step().value());
  w.job.schedule({{7}, {}});
  CHECK(w.wakes == 1);
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.metadata.commits == 3);
  CHECK(w.pages_of(7) == 0);
  CHECK_FALSE(w.metadata.map.contains(writer_key(7)));
  // Others keep what they have.
  CHECK(w.pages_of(8) == 1);
  CHECK(w.metadata.map.contains(writer_key(8)));
  CHECK(w.pages_of(9) == 2);
}

TEST_CASE("deletion job: objects of a removed collection go a record's worth at a time") {
  World w;
  const NameRange names{5, "", ""};
  for (std::uint32_t i = 0; i < kMany; ++i) {
    w.metadata.map[object_key(5, std::to_string(i))] = encode_object({}, w.shape);
  }
  w.metadata.map[object_key(6, "other")] = encode_object({}, w.shape);
  w.metadata.map[deletion_key(names.space, names.from)] = encode_deletion(names.end);
  w.job.schedule({{}, {names}});
  int steps = 0;
  for (; w.job.due().has_value(); ++steps) REQUIRE(w.job.step().value());
  CHECK(steps == 3);
  CHECK(w.metadata.map.size() == 1);
  CHECK(w.metadata.map.contains(object_key(6, "other")));
}

TEST_CASE("deletion job: of a body that is cut, marked pages go and the others stay") {
  World w;
  w.add_pages(7, kMany);
  w.metadata.map[cut_key(7)] = encode_cuts({{3, 5}, {10, kMany}});
  SECTION("by steps") {
    w.job.schedule({{}, {}, {7}});
    w.job.schedule({{}, {}, {7}});  // which is pending already
    int steps = 0;
    for (; w.job.due().has_value(); ++steps) REQUIRE(w.job.step().value());
    CHECK(steps == 3);
  }
  SECTION("at once, for a transaction that waits") { REQUIRE(w.job.reclaim_cuts(7).ok()); }
  CHECK_FALSE(w.metadata.map.contains(cut_key(7)));
  CHECK(w.pages_of(7) == 8);
  CHECK(w.metadata.map.contains(page_key(7, 5)));
  CHECK_FALSE(w.metadata.map.contains(page_key(7, 3)));
}

TEST_CASE("deletion job: what fails is tried again after a pause, and nothing is lost") {
  World w;
  w.remove(7, 1);
  w.job.schedule({{7}, {}});
  w.metadata.outcome = Error{ErrorCode::kIo, "told to fail", ""};
  CHECK(w.job.step().error().code == ErrorCode::kIo);
  CHECK(w.job.due() == PendingDeletions::kFirstPause);
  // Whoever needs space finds none here before that.
  CHECK_FALSE(w.job.step().value());
  w.metadata.outcome = {};
  w.sim.run([&] { w.sim.sleep_for(PendingDeletions::kFirstPause); });
  CHECK(w.job.step().value());
  CHECK(w.metadata.map.empty());
}

TEST_CASE("deletion job: what an earlier opening left is found by its keys, and said") {
  World w;
  w.remove(7, 1);
  w.add_pages(8, 4);
  w.metadata.map[cut_key(8)] = encode_cuts({{1, 4}});
  const NameRange names{5, "", ""};
  w.metadata.map[deletion_key(5, "")] = encode_deletion(names.end);
  Counters counters;
  std::vector<std::string> notes;
  REQUIRE(w.job.schedule_found(counters, notes).ok());
  CHECK(notes.size() == 3);
  CHECK(counters.since_open(CounterId::kWritersAbandoned) == 1);
  for (int steps = 0; w.job.due().has_value(); ++steps) {
    REQUIRE(steps < 10);
    REQUIRE(w.job.step().value());
  }
  CHECK(w.metadata.map.size() == 1);  // the first page of 8
  CHECK(w.pages_of(8) == 1);
}

}  // namespace
}  // namespace hexad::core
