#include "tests/crash/crash_sweep.h"

#include <catch2/catch.hpp>

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

}  // namespace hexad::testing
