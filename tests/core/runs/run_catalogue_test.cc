#include "core/runs/run_catalogue.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/core/runs/catalogue_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;
using Fixture = testing::CatalogueWorld;

TEST_CASE("run catalogue: what a manifest names is found again through its address alone") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 60; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.internal());
  const std::uint64_t units = f.internal();

  f.catalogue.reset();
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 60)) == "");
  CHECK(f.difference(*f.catalogue) == "");
  REQUIRE(problem_of(f.catalogue->mark_used()) == "");
  CHECK(f.live() == units);
  CHECK(f.internal() == units);
  // And it goes on.
  f.checkpoint(f.change(70), 70);
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.internal());
}

TEST_CASE(
    "run catalogue: nothing is there before the first manifest, and one of another LSN is "
    "refused") {
  Fixture f;
  REQUIRE(f.catalogue->load({}, 0).ok());
  CHECK(f.catalogue->set()->lsn() == 0);
  CHECK(f.catalogue->set()->runs().empty());
  CHECK(f.catalogue->owned().empty());
  f.checkpoint(f.change(10), 10);
  f.catalogue.reset();
  f.reopen();
  const Status status = f.make()->load(f.address, 11);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kCorruption);
  CHECK_THAT(status.error().message,
             Catch::Contains("as of LSN 10") && Catch::Contains("the root names LSN 11"));
}

TEST_CASE("run catalogue: a draft that is discarded has taken nothing, and named nothing") {
  Fixture f;
  f.checkpoint(f.change(10), 10);
  const std::uint64_t live = f.live();
  const std::uint64_t free = f.space->counters().free;
  {
    RunDraft draft = f.catalogue->begin();
    REQUIRE(problem_of(f.try_write(draft, f.change(20), 20)) == "");
    CHECK(f.space->counters().free < free);
    CHECK(f.internal() > live);
    f.catalogue->discard(draft);
  }
  CHECK(f.internal() == live);
  CHECK(f.live() == live);
  CHECK(f.space->counters().free == free);
  CHECK(f.difference(*f.catalogue) == "");
  f.checkpoint(f.change(30), 30);
  CHECK(f.difference(*f.catalogue) == "");
}

TEST_CASE("run catalogue: runs are merged, and their stripes wait for whoever reads them") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 40; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::map<std::string, std::string> then = f.expected;
  std::shared_ptr<const kv::RunSet> old = f.catalogue->set();
  const std::unique_ptr<kv::IndexReader> reading = old->snapshot(old);
  std::size_t most = 0;
  for (Lsn lsn = 50; lsn <= 400; lsn += 10) {
    f.checkpoint(f.change(lsn), lsn);
    most = std::max(most, f.catalogue->manifest().runs.size());
    REQUIRE(f.live() == f.internal());
  }
  CHECK(most <= 9);
  CHECK(f.counters.since_open(CounterId::kRunsMerged) > 0);
  CHECK(f.difference(*f.catalogue) == "");
  for (const auto& [key, value] : then) REQUIRE(*reading->get(key).value() == value);
  // Each unit is somebody's, once.
  std::map<std::uint32_t, std::string> owner;
  std::uint64_t owned = 0;
  for (const RunCatalogue::Owned& each : f.catalogue->owned()) {
    std::vector<alloc::Extent> stripes = each.stripes;
    for (const Extent& piece : each.pieces) stripes.push_back(piece.blob.where);
    for (const alloc::Extent& stripe : stripes) {
      for (std::uint32_t unit = stripe.unit; unit < stripe.end(); ++unit) {
        REQUIRE(owner.emplace(unit, each.owner).second);
        ++owned;
      }
    }
  }
  CHECK(owned == f.live());
}

TEST_CASE(
    "run catalogue: a merge goes on while checkpoints add runs, and comes in with a later one") {
  Fixture f;
  f.merges = false;
  for (Lsn lsn = 10; lsn <= 90; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::optional<RunMerge> plan = f.catalogue->plan_merge(f.catalogue->begin());
  REQUIRE(plan.has_value());
  const std::size_t inputs = plan->inputs.size();
  Lsn lsn = 100;
  std::set<DeviceId> failed;
  Result<MergedRun> merged = f.catalogue->merge(*plan, f.preparer, failed, [&]() -> Status {
    f.checkpoint(f.change(lsn), lsn);
    lsn += 10;
    return {};
  });
  REQUIRE(problem_of(merged.status()) == "");
  REQUIRE(lsn > 100);
  const std::size_t runs = f.catalogue->manifest().runs.size();
  REQUIRE(f.internal() == f.live() + units_of({merged->run}));
  const std::string before = f.difference(*f.catalogue);
  CHECK(before == "");

  RunDraft draft = f.catalogue->begin();
  REQUIRE(f.catalogue->install(draft, *merged));
  f.checkpoint(f.change(lsn), lsn, std::move(draft));
  CHECK(f.catalogue->manifest().runs.size() == runs - inputs + 1 + 1);
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.internal());
  CHECK(f.counters.since_open(CounterId::kRunsMerged) == inputs);
}

TEST_CASE(
    "run catalogue: a merge whose inputs are gone is not installed, and gives its space back") {
  Fixture f;
  f.merges = false;
  for (Lsn lsn = 10; lsn <= 90; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::optional<RunMerge> plan = f.catalogue->plan_merge(f.catalogue->begin());
  std::set<DeviceId> failed;
  MergedRun merged = f.catalogue->merge(*plan, f.preparer, failed).value();
  f.merges = true;
  f.checkpoint(f.change(100), 100);  // has merged them itself
  const std::uint64_t free = f.space->counters().free;
  RunDraft draft = f.catalogue->begin();
  REQUIRE_FALSE(f.catalogue->install(draft, merged));
  f.catalogue->drop(merged);
  CHECK(f.space->counters().free == free + units_of({merged.run}));
  f.checkpoint(f.change(110), 110, std::move(draft));
  CHECK(f.difference(*f.catalogue) == "");
  CHECK(f.live() == f.internal());
}

TEST_CASE("run catalogue: a merge that is ended between two steps leaves nothing behind") {
  Fixture f;
  f.merges = false;
  for (Lsn lsn = 10; lsn <= 90; lsn += 10) f.checkpoint(f.change(lsn, 400), lsn);
  const std::optional<RunMerge> plan = f.catalogue->plan_merge(f.catalogue->begin());
  const std::uint64_t free = f.space->counters().free;
  std::set<DeviceId> failed;
  int steps = 0;
  const Result<MergedRun> merged = f.catalogue->merge(*plan, f.preparer, failed, [&]() -> Status {
    return ++steps < 2 ? Status() : Status(Error{ErrorCode::kBusy, "enough", ""});
  });
  CHECK(merged.error().message == "enough");
  CHECK(f.space->counters().free == free);
  CHECK(f.internal() == f.live());
  f.merges = true;
  f.checkpoint(f.change(100), 100);
  CHECK(f.difference(*f.catalogue) == "");
}

TEST_CASE("run catalogue: stripes of runs that nobody reads any more are free again") {
  Fixture f;
  f.checkpoint(f.change(10), 10);
  std::shared_ptr<const kv::RunSet> old = f.catalogue->set();
  for (Lsn lsn = 20; lsn <= 100; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  const std::uint64_t kept = f.internal();
  old.reset();
  REQUIRE(f.catalogue->release().ok());
  CHECK(f.internal() < kept);
  CHECK(f.live() == f.internal());
}

TEST_CASE("run catalogue: after a crash what the manifest names is live, and nothing else is") {
  const bool read = GENERATE(false, true);
  CAPTURE(read);
  Fixture f;
  f.checkpoint(f.change(10), 10);
  std::shared_ptr<const kv::RunSet> old = read ? f.catalogue->set() : nullptr;
  for (Lsn lsn = 20; lsn <= 100; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  old.reset();
  f.catalogue.reset();
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 100)) == "");
  for (const auto& [zone, image] : f.images) REQUIRE(problem_of(f.space->load_zone(image)) == "");
  REQUIRE(problem_of(f.catalogue->mark_used()) == "");
  CHECK(f.live() == f.internal());
  f.space->reclaim(100);
  CHECK(f.space->counters().deferred == 0);
  CHECK(problem_of(f.space->check_invariants()) == "");
}

TEST_CASE("run catalogue: any m cells may be lost, and devices that fail are told") {
  Fixture f;
  for (Lsn lsn = 10; lsn <= 30; lsn += 10) f.checkpoint(f.change(lsn), lsn);
  f.devices[1]->fail(io::IoOp::kWrite);
  RunDraft draft = f.catalogue->begin();
  REQUIRE(problem_of(f.try_write(draft, f.change(40), 40)) == "");
  CHECK(draft.failed == std::set<DeviceId>{1});
  f.catalogue->discard(draft);
  f.devices[1]->fail(io::IoOp::kRead);
  f.devices[4]->fail(io::IoOp::kRead);
  f.reopen();
  f.catalogue = f.make();
  REQUIRE(problem_of(f.catalogue->load(f.address, 30)) == "");
  CHECK(f.difference(*f.catalogue) == "");
}

}  // namespace
}  // namespace hexad::core
