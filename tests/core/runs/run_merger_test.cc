#include "core/runs/run_merger.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "core/job/job_scheduler.h"
#include "io/sim/sim_executor.h"
#include "tests/core/runs/catalogue_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;

constexpr io::Nanos kWrite = 20'000'000;  // a write takes so long

// Runs that are to be merged, in a simulation where writes take their time.
struct Fixture : testing::CatalogueWorld {
  Fixture() : CatalogueWorld({.profile = {}, .slab_units = 2049}) {
    merges = false;
    for (Lsn lsn = 10; lsn <= 90; lsn += 10) checkpoint(change(lsn, 400), lsn);
    inputs = plan().inputs.size();
    // One of the cells of a stripe is on it, always.
    devices[0]->fails = [this](const io::IoRequest& request) {
      const bool merge = request.op == io::IoOp::kWrite && request.cause == io::IoCause::kMerge;
      if (merge) sim.sleep_for(kWrite);
      if (merge) ++writes;
      return merge && failing;
    };
  }
  void start(RunMerge wanted) {
    if (!begun) {
      jobs.add_crew("merge", {&merger});
      REQUIRE(jobs.start().ok());
    }
    begun = true;
    merger.start(std::move(wanted));
    jobs.wake(merger);
  }
  RunMerge plan() { return catalogue->plan_merge(catalogue->begin()).value(); }
  // What a checkpoint does with it.
  void install(Lsn lsn) {
    RunDraft draft = catalogue->begin();
    merger.install(draft);
    failed = draft.failed;
    checkpoint(change(lsn), lsn, std::move(draft));
    CHECK(difference(*catalogue) == "");
    CHECK(live() + space->counters().in_flight - kept == internal());
  }
  io::Nanos now() { return sim.clock().now(); }
  std::uint64_t free() { return space->counters().free; }

  io::SimExecutor sim{1};
  std::size_t inputs = 0;  // of the first plan
  std::uint64_t kept = 0;  // units that have been given up and are not free (V3)
  bool failing = false;
  int writes = 0;
  std::vector<std::string> told;
  std::set<DeviceId> failed;
  bool begun = false;
  RunMerger merger{
      sim, *catalogue, preparer, {"merge", "merging runs"}, [this](const Status& status) {
        told.push_back(problem_of(status));
      }};
  JobScheduler jobs{sim};
};

TEST_CASE("run merger: what was merged beside is in the next draft") {
  Fixture f;
  f.sim.run([&] {
    REQUIRE_FALSE(f.merger.busy());
    REQUIRE(f.merger.inputs().empty());
    const RunMerge plan = f.plan();
    f.start(plan);
    REQUIRE(f.merger.busy());
    REQUIRE(f.merger.inputs().size() == f.inputs);
    REQUIRE(f.merger.inputs().front() == plan.inputs.front().id);
    REQUIRE(f.merger.units_to_come() == units_of(plan.inputs));
    f.sim.sleep_for(kWrite / 2);
    REQUIRE(f.writes == 0);  // it is still at it
    f.install(100);
    REQUIRE(f.merger.busy());
    REQUIRE(f.catalogue->manifest().runs.size() == 10);
    f.merger.finish();
    REQUIRE(f.merger.busy());
    REQUIRE(f.merger.inputs().size() == f.inputs);
    REQUIRE(f.merger.units_to_come() == 0);  // they are taken
    f.install(110);
    REQUIRE_FALSE(f.merger.busy());
    REQUIRE(f.merger.inputs().empty());
    REQUIRE(f.catalogue->manifest().runs.size() == 11 - f.inputs + 1);
    f.jobs.stop();
  });
  CHECK(f.told == std::vector<std::string>{""});
  CHECK(f.failed.empty());
}

TEST_CASE("run merger: what is given up gives its space back, under way or finished") {
  for (const io::Nanos after : {io::Nanos{0}, kWrite / 2, 100 * kWrite}) {
    CAPTURE(after);
    Fixture f;
    const std::uint64_t free = f.free();
    f.sim.run([&] {
      REQUIRE_FALSE(f.merger.give_up());
      for (int i = 0; i < 3; ++i) {
        f.start(f.plan());
        f.sim.sleep_for(after);
        REQUIRE(f.merger.give_up());
        REQUIRE_FALSE(f.merger.busy());
        REQUIRE(f.free() == free);
      }
      f.install(100);
      f.start(f.plan());
      f.merger.finish();
      f.install(110);
      f.jobs.stop();
    });
    CHECK(f.told.size() == (after > kWrite ? 4 : 1));
  }
}

TEST_CASE(
    "run merger: who gives up does not wait for a merge that begins when the first has ended") {
  Fixture f;
  const std::uint64_t free = f.free();
  bool another = false;
  f.sim.run([&] {
    f.start(f.plan());
    f.sim.sleep_for(kWrite / 2);
    // Hears first that it has ended.
    auto starter = f.sim.start("starter", [&] {
      f.merger.finish();
      f.start(f.plan());
      another = true;
    });
    f.sim.sleep_for(1);
    REQUIRE(f.merger.give_up());
    REQUIRE(another);
    REQUIRE(f.told.empty());
    REQUIRE_FALSE(f.merger.busy());
    REQUIRE(f.free() == free);
    starter->join();
    // The next one is wanted.
    f.start(f.plan());
    f.merger.finish();
    REQUIRE(f.merger.finished());
    f.install(100);
    f.jobs.stop();
  });
  CHECK(f.told == std::vector<std::string>{""});
}

TEST_CASE("run merger: once it is stopped, nothing is under way and nothing begins") {
  Fixture f;
  const std::uint64_t free = f.free();
  f.sim.run([&] {
    f.start(f.plan());
    f.sim.sleep_for(kWrite / 2);
    f.jobs.stop();
    REQUIRE_FALSE(f.merger.busy());
    REQUIRE(f.free() == free);
    f.start(f.plan());
    REQUIRE_FALSE(f.merger.busy());
    f.jobs.stop();
    f.install(100);
  });
  CHECK(f.told.empty());
}

TEST_CASE("run merger: devices that do not take a cell are told with the draft") {
  Fixture f;
  f.failing = true;
  SECTION("one of them: the others are enough") {
    f.sim.run([&] {
      f.start(f.plan());
      f.merger.finish();
      f.install(100);
      f.jobs.stop();
    });
    CHECK(f.told == std::vector<std::string>{""});
    CHECK(f.failed == std::set<DeviceId>{0});
    CHECK(f.catalogue->manifest().runs.size() == 10 - f.inputs + 1);
  }
  SECTION("more than the profile survives: the runs stay as they are") {
    for (const int i : {1, 2}) {
      f.devices[i]->fails = [](const io::IoRequest& request) {
        return request.cause == io::IoCause::kMerge;
      };
    }
    const std::uint64_t free = f.free();
    f.sim.run([&] {
      f.start(f.plan());
      f.merger.finish();
      REQUIRE_FALSE(f.merger.busy());
      // What those devices may still write to is kept back until they have left (V3).
      REQUIRE(f.space->suspects() == std::set<DeviceId>{0, 1, 2});
      f.kept = free - f.free();
      REQUIRE(f.kept > 0);
      f.install(100);
      f.jobs.stop();
      const std::uint64_t before = f.free();
      for (const DeviceId id : f.space->suspects()) f.members->mark_failed(id, "told to fail");
      f.space->free_kept_back();
      REQUIRE(f.free() == before + f.kept);
    });
    CHECK(f.told.size() == 1);
    CHECK(f.told[0].find("cells could be written") != std::string::npos);
    CHECK(f.failed == std::set<DeviceId>{0, 1, 2});
    CHECK(f.catalogue->manifest().runs.size() == 10);
  }
}

TEST_CASE("run merger: it rests as long as it works, unless somebody waits") {
  const auto time = [](bool hurry) {
    Fixture f;
    // Enough for several stripes, and steps between them.
    for (Lsn lsn = 100; lsn <= 130; lsn += 10) {
      testing::CatalogueWorld::Change large;
      for (int i = 0; i < 300; ++i) {
        large["large" + std::to_string(1000 * lsn + i)] = f.noise(6000);
      }
      f.checkpoint(large, lsn);
    }
    const RunDraft draft = f.catalogue->begin();
    io::Nanos took = 0;
    f.sim.run([&] {
      const io::Nanos begun = f.now();
      f.start({draft.manifest.runs, draft.readers, true});
      if (hurry) {
        f.merger.finish();
      } else {
        while (f.told.empty()) f.sim.sleep_for(kWrite / 10);
      }
      took = f.now() - begun;
      f.install(140);
      f.jobs.stop();
    });
    REQUIRE(f.writes >= 3);
    return took / f.writes;
  };
  CHECK(time(true) == kWrite);
  CHECK(time(false) > kWrite * 13 / 10);
  CHECK(time(false) < kWrite * 23 / 10);
}

}  // namespace
}  // namespace hexad::core
