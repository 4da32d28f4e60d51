// Crash states of one world, opened one after the other: what the sweeps over small scripts have in
// common.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

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

// One script, run with more and fewer checkpoints.
struct CheckpointSweep {
  std::uint64_t seed = 0;    // with the one of the campaign and `every` that of a run
  std::vector<int> every;    // how many transactions lie between two checkpoints, of each run
  std::uint64_t one_in = 1;  // crash states that are opened, other ones for each seed
  io::CrashOptions crash;    // but for its seed
};

// Runs the script of `world` once for each number of transactions between checkpoints, calls `ran`
// with the world, and opens its crash states.
CrashSweep sweep_checkpoints(const CheckpointSweep& sweep, CrashWorldOptions world,
                             const std::function<void(CrashWorld&)>& ran = nullptr);

}  // namespace hexad::testing
