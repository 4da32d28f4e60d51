// Ctrl-C, SIGTERM and a pipe without a reader as questions, so that loops can put things in order.
#pragma once

#include "base/error.h"

namespace hexad::tools {

// The first signal only sets a flag; the second one kills as usual (which a store survives).
void watch_interrupts();
bool interrupted();
// For returning from a loop; the command line sees interrupted(), says so and exits with 130.
Error interrupted_error();

// Whether some write found nobody reading any more (EPIPE): the work ends, quietly. Set by
// write_all().
bool reader_gone();
void set_reader_gone();

}  // namespace hexad::tools
