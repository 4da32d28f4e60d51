#include "tools/cli/interrupt.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("interrupt: the second signal kills, as it would have without us") {
  for (const int signal : {SIGINT, SIGTERM}) {
    CAPTURE(signal);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      watch_interrupts();
      raise(signal);
      if (!interrupted()) _exit(1);
      raise(signal);
      _exit(2);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == signal);
  }
}

TEST_CASE("interrupt: a pipe without a reader is an error value, not a death") {
  watch_interrupts();
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  close(ends[0]);
  REQUIRE(write(ends[1], "x", 1) == -1);
  close(ends[1]);
  REQUIRE_FALSE(reader_gone());  // whoever sees it says so
  set_reader_gone();
  REQUIRE(reader_gone());
}

TEST_CASE("interrupt: the first signal is a question that is answered with yes from then on") {
  watch_interrupts();
  REQUIRE_FALSE(interrupted());
  raise(SIGTERM);
  REQUIRE(interrupted());
  REQUIRE(interrupted());
  REQUIRE(interrupted_error().code == ErrorCode::kClosed);
}

}  // namespace
}  // namespace hexad::tools
