#include "io/no_unwinding.h"

#include <unistd.h>

#include <cstdio>

namespace hexad::io {

namespace {

// Scopes of either kind that this thread is in.
thread_local int nobody_else = 0;
thread_local int simulations = 0;

int& count_of(UnwindingAllowed::Because why) {
  return why == UnwindingAllowed::Because::kSimulation ? simulations : nobody_else;
}

[[noreturn]] void end_process(const char* what) noexcept {
  // No memory is asked for: there is none.
  char line[400];
  const int length = std::snprintf(
      line, sizeof line,
      "hexad: an exception (memory was refused, if it is std::bad_alloc) would leave %s half done. "
      "The process ends here, as in a crash: what was acknowledged is there at the next opening.\n",
      what);
  if (length > 0) {
    const ssize_t written = ::write(STDERR_FILENO, line, static_cast<std::size_t>(length));
    static_cast<void>(written);
  }
  std::terminate();
}

}  // namespace

void stop_unwinding(const char* what) noexcept {
  if (nobody_else == 0 && simulations == 0) end_process(what);
}

void stop_unwinding_in_flight(const char* what) noexcept {
  if (simulations == 0) end_process(what);
}

UnwindingAllowed::UnwindingAllowed(Because why) : why_(why) { ++count_of(why_); }
UnwindingAllowed::~UnwindingAllowed() { --count_of(why_); }

}  // namespace hexad::io
