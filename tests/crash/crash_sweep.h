// Crash states of one world, opened one after the other: what the sweeps over small scripts have in
// common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "io/sim/crash_states.h"
#include "tests/crash/crash_world.h"

namespace hexad::testing {

// Of all worlds of a test.
struct CrashSweep {
  std::uint64_t states = 0;
  std::uint64_t violations = 0;  // the test fails with each; five end a sweep
};

// Opens each state of the run that is `chosen`, by its number, and checks it against the model.
// `subject`: which world it is, for the message of a failure.
void sweep_crashes(CrashWorld& world, const io::CrashOptions& crash,
                   const std::function<bool(std::uint64_t number)>& chosen,
                   const std::string& subject, CrashSweep& totals);

}  // namespace hexad::testing
