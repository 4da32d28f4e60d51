#include "tests/crash/crash_sweep.h"

#include <catch2/catch.hpp>

#include "tests/base/campaign.h"

namespace hexad::testing {

void sweep_crashes(CrashWorld& world, const io::CrashOptions& crash,
                   const std::function<bool(std::uint64_t number)>& chosen,
                   const std::string& subject, CrashSweep& totals) {
  const io::CrashStates all(world.recorder(), crash);
  all.for_each([&](const io::CrashState& state) {
    if (!chosen(state.number())) return true;
    ++totals.states;
    const auto problem = world.reopen(
        state, nullptr, [&](Store& store) { return world.check(store, state.position()); });
    if (problem.has_value()) {
      ++totals.violations;
      CAPTURE(subject, state.describe());
      CHECK(*problem == "");
    }
    return totals.violations < 5;
  });
}

CrashSweep sweep_checkpoints(const CheckpointSweep& sweep, CrashWorldOptions world,
                             const std::function<void(CrashWorld&)>& ran) {
  CrashSweep totals;
  for (const int every : sweep.every) {
    world.seed = campaign_seed_of(sweep.seed + static_cast<std::uint64_t>(every));
    world.checkpoint_every = every;
    CrashWorld run(world);
    run.run();
    if (ran) {
      CAPTURE(every);
      ran(run);
    }
    io::CrashOptions crash = sweep.crash;
    crash.seed = world.seed;
    sweep_crashes(
        run, crash,
        [&](std::uint64_t number) { return (number + campaign_seed()) % sweep.one_in == 0; },
        "checkpoint every " + std::to_string(every), totals);
  }
  return totals;
}

}  // namespace hexad::testing
