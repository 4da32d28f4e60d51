#include "core/commit/group_requests.h"

#include <map>
#include <utility>

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::CommitGroup;
using core::GroupRequests;

// A group of one transaction with a stripe.
std::unique_ptr<CommitGroup> make_group(PipelineWorld& world, LogDurability durability,
                                        std::uint64_t unproven) {
  kv::LogWriterOptions options;
  options.uuid = world.shape.uuid;
  options.areas = world.areas({PipelineWorld::kDisks, 0, 1});
  kv::LogWriter log = kv::LogWriter::create(std::move(options)).value();
  const GroupRequests requests(world.shape, *world.space, *world.members, world.counters,
                               durability);
  std::vector<core::Submission> members;
  members.push_back(world.make({.stripe = 20'000}));
  const std::vector<std::string_view> records{members.front().encoded};
  kv::PreparedBlock block = log.prepare(1, records, 0).value();
  auto made = requests.make(std::move(block), std::move(members), unproven);
  world.give_up(made->members.front());
  return made;
}

TEST_CASE("group_requests: cells go out with the log block, or before it") {
  PipelineWorld world;
  SECTION("together") {
    const auto made = make_group(world, LogDurability::kFull, 0);
    REQUIRE(made->ahead.batch.requests.empty());
    REQUIRE(made->main.batch.requests.size() == 6 + 3);
    REQUIRE(made->unproven > 0);
  }
  SECTION("data first") {
    const auto made = make_group(world, LogDurability::kDataFirst, 0);
    REQUIRE(made->ahead.batch.requests.size() == 6);
    REQUIRE(made->main.batch.requests.size() == 3);
    REQUIRE(made->unproven == 0);
  }
  SECTION("where too much would be unproven") {  // C7
    const auto made = make_group(world, LogDurability::kFull, core::kMaxUnproven);
    REQUIRE(made->ahead.batch.requests.size() == 6);
    REQUIRE(made->unproven == 0);
  }
  SECTION("slow copies of the log behind") {
    const auto made = make_group(world, LogDurability::kFast, 0);
    REQUIRE(made->main.batch.requests.size() == 6 + 1);
    REQUIRE(made->behind.batch.requests.size() == 2);
  }
}

TEST_CASE("group_requests: the only write to a flush domain carries its own flush") {
  SECTION("without caches there is none") {
    PipelineWorld world;
    const auto made = make_group(world, LogDurability::kFull, 0);
    for (const io::IoRequest& request : made->main.batch.requests) {
      REQUIRE(request.mode == io::WriteMode::kCached);
    }
  }
  SECTION("with caches of their own") {
    PipelineWorld world({.volatile_cache = true, .own_caches = true});
    std::map<io::Device*, int> writes;
    const auto made = make_group(world, LogDurability::kFull, 0);
    for (const io::IoRequest& request : made->main.batch.requests) ++writes[request.device];
    for (const io::IoRequest& request : made->main.batch.requests) {
      REQUIRE((request.mode == io::WriteMode::kDurable) == (writes[request.device] == 1));
    }
  }
}

}  // namespace
}  // namespace hexad::testing
