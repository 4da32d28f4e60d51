// Waits in simulated time until something has happened.
#pragma once

#include <functional>

#include "io/sim/sim_system.h"

namespace hexad::testing {

// Looks each second. False: not within `limit`.
inline bool await(io::SimSystem& system, io::Nanos limit, const std::function<bool()>& ready) {
  constexpr io::Nanos kStep = 1'000'000'000;
  for (io::Nanos waited = 0; !ready(); waited += kStep) {
    if (waited >= limit) return false;
    system.executor().sleep_for(kStep);
  }
  return true;
}

}  // namespace hexad::testing
