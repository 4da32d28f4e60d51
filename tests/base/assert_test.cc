#include "base/assert.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <functional>
#include <string>

namespace {

struct Ending {
  int status = 0;      // as of waitpid()
  std::string errors;  // what it printed to standard error
};

Ending run_in_child(const std::function<void()>& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);  // the test framework has a handler of its own
    dup2(ends[1], STDERR_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  Ending ending;
  char part[256];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
    ending.errors.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  REQUIRE(waitpid(child, &ending.status, 0) == child);
  return ending;
}

}  // namespace

TEST_CASE("assert: a condition that holds is evaluated once and does nothing") {
  int calls = 0;
  HEXAD_ASSERT(++calls == 1);
  REQUIRE(calls == 1);
}

TEST_CASE("assert: a broken one names file, line and condition, and aborts") {
  int line = 0;
  const Ending ending = run_in_child([&] { HEXAD_ASSERT(2 + 2 == 5); });
  line = __LINE__ - 1;
  REQUIRE(WIFSIGNALED(ending.status));
  REQUIRE(WTERMSIG(ending.status) == SIGABRT);
  REQUIRE(ending.errors.find("assert_test.cc:" + std::to_string(line) +
                             ": hexad: assertion failed: 2 + 2 == 5\n") != std::string::npos);
}

TEST_CASE("assert: whatever converts to a truth value may be asserted") {
  const int one = 1;
  HEXAD_ASSERT(&one);
  REQUIRE(WIFSIGNALED(run_in_child([] { HEXAD_ASSERT(static_cast<int*>(nullptr)); }).status));
}
