#include "core/runs/run_mergers.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/job/job_scheduler.h"
#include "io/sim/sim_executor.h"
#include "tests/core/runs/catalogue_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;

constexpr int kFirst = 9;  // runs: one more than stay as they are

// A store's runs, and merges whose first stripe is held back as long as a test likes.
struct Fixture : testing::CatalogueWorld {
  Fixture() : CatalogueWorld({.profile = {}, .slab_units = 2049}) {
    merges = false;
    for (int i = 0; i < kFirst; ++i) add_run();
    devices[0]->fails = [this](const io::IoRequest& request) {
      if (request.op != io::IoOp::kWrite || request.cause != io::IoCause::kMerge) return false;
      if (++writes == 1) {
        while (held) sim.sleep_for(1'000'000);
      }
      return false;
    };
  }
  void add_run(int changes = 100) {
    lsn += 10;
    RunDraft draft = catalogue->begin();
    checkpoint(change(lsn, changes), lsn, std::move(draft));
  }
  // What a checkpoint does at its end, and whom it gave work.
  RunMerger* begin() {
    std::optional<RunMergers::Next> next = mergers.plan(catalogue->begin());
    if (!next.has_value()) return nullptr;
    next->by->start(std::move(next->plan));
    jobs.wake(*next->by);
    return next->by;
  }
  // The long merge, which then is held back.
  void begin_long() {
    REQUIRE(begin() == &mergers.any());
    while (writes == 0) sim.sleep_for(1'000'000);
  }
  void run(const std::function<void()>& body) {
    sim.run([&] {
      jobs.add_crew("merge", {&mergers.any()});
      jobs.add_crew("young", {&mergers.young()});
      REQUIRE(jobs.start().ok());
      body();
      held = false;
      jobs.stop();
    });
    CHECK(problem_of(catalogue->release()) == "");
    CHECK(difference(*catalogue) == "");
    CHECK(live() + space->counters().in_flight == internal());
  }
  // A checkpoint that takes in what `how` brings.
  bool install(const std::function<bool(RunDraft&)>& how) {
    lsn += 10;
    RunDraft draft = catalogue->begin();
    const bool any = how(draft);
    checkpoint(change(lsn), lsn, std::move(draft));
    return any;
  }
  std::size_t runs() { return catalogue->manifest().runs.size(); }

  io::SimExecutor sim{1};
  Lsn lsn = 0;
  bool held = true;
  int writes = 0;
  std::vector<std::string> told;
  RunMergers mergers{sim, *catalogue, preparer,
                     [this](const Status& status) { told.push_back(problem_of(status)); }};
  JobScheduler jobs{sim};
};

TEST_CASE("run mergers: the newest runs are merged beside a long merge, and both come in at once") {
  Fixture f;
  f.run([&] {
    f.begin_long();
    const std::size_t long_one = f.mergers.any().inputs().size();
    REQUIRE(f.begin() == nullptr);  // one new run, or none: not worth it
    int young = 0;
    while (f.begin() == nullptr) {
      f.add_run();
      REQUIRE(++young <= 8);
    }
    REQUIRE(f.mergers.young().busy());
    const std::vector<std::uint64_t> inputs = f.mergers.young().inputs();
    for (const std::uint64_t id : f.mergers.any().inputs()) {
      REQUIRE(std::find(inputs.begin(), inputs.end(), id) == inputs.end());
    }
    REQUIRE(f.begin() == nullptr);  // both have something
    f.mergers.young().finish();
    REQUIRE(f.mergers.any().units_to_come() > 0);  // which is still held back
    REQUIRE(f.mergers.finished());
    f.held = false;
    f.mergers.finish();
    REQUIRE(f.mergers.units_to_come() == 0);
    const std::size_t before = f.runs();
    REQUIRE(f.install([&](RunDraft& draft) { return f.mergers.install(draft); }));
    REQUIRE_FALSE(f.mergers.busy());
    REQUIRE(f.runs() == before + 1 - (inputs.size() - 1) - (long_one - 1));
  });
  CHECK(f.told == std::vector<std::string>{"", ""});
}

TEST_CASE("run mergers: runs stay few for as long as a long merge takes") {
  Fixture f;
  f.run([&] {
    f.begin_long();
    for (int i = 0; i < 60; ++i) {
      f.install([&](RunDraft& draft) { return f.mergers.install_until(draft, 16); });
      REQUIRE(f.runs() <= 17);
      f.begin();
    }
    REQUIRE(f.held);
    REQUIRE(f.mergers.any().units_to_come() > 0);
    REQUIRE_FALSE(f.told.empty());  // the others
  });
}

TEST_CASE("run mergers: who waits for few runs waits for the short merge, and no longer") {
  Fixture f;
  f.run([&] {
    f.begin_long();
    while (f.begin() == nullptr) f.add_run();
    const std::size_t before = f.runs();
    SECTION("the short one is enough") {
      REQUIRE(
          f.install([&](RunDraft& draft) { return f.mergers.install_until(draft, before - 1); }));
      REQUIRE(f.held);
      REQUIRE(f.mergers.any().units_to_come() > 0);
    }
    SECTION("it is not") {
      auto helper = f.sim.start("release", [&] {
        f.sim.sleep_for(500'000'000);
        f.held = false;
      });
      REQUIRE(f.install([&](RunDraft& draft) { return f.mergers.install_until(draft, 1); }));
      REQUIRE_FALSE(f.held);
      REQUIRE_FALSE(f.mergers.busy());
      helper->join();
    }
    SECTION("there are few enough") {
      REQUIRE_FALSE(
          f.install([&](RunDraft& draft) { return f.mergers.install_until(draft, before); }));
      REQUIRE(f.mergers.busy());
    }
  });
}

TEST_CASE("run mergers: what is given up gives its space back, both times") {
  Fixture f;
  f.run([&] {
    f.begin_long();
    while (f.begin() == nullptr) f.add_run();
    f.held = false;
    REQUIRE(f.mergers.give_up());
    REQUIRE_FALSE(f.mergers.busy());
    REQUIRE_FALSE(f.mergers.give_up());
    REQUIRE(f.live() + f.space->counters().in_flight == f.internal());
    // It begins anew, with all of them.
    REQUIRE(f.begin() == &f.mergers.any());
    f.mergers.stop();
    REQUIRE_FALSE(f.mergers.busy());
  });
}

TEST_CASE("run mergers: a checkpoint that is given up leaves the inputs of both as they were") {
  Fixture f;
  f.run([&] {
    f.begin_long();
    while (f.begin() == nullptr) f.add_run();
    f.held = false;
    f.mergers.finish();
    RunDraft draft = f.catalogue->begin();
    REQUIRE(f.mergers.install(draft));
    f.catalogue->discard(draft);
    REQUIRE_FALSE(f.mergers.busy());
    REQUIRE(f.difference(*f.catalogue) == "");
    REQUIRE(f.live() + f.space->counters().in_flight == f.internal());
  });
}

}  // namespace
}  // namespace hexad::core
