#include "io/fork_mark.h"

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using hexad::io::ForkMark;

namespace {

template <typename Check>
bool holds_in_child(const Check& check) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(check() ? 0 : 1);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return status == 0;
}

}  // namespace

TEST_CASE("fork_mark: a child knows what was made before it, and what it has made itself") {
  const ForkMark mark;
  REQUIRE_FALSE(mark.in_child());
  REQUIRE(holds_in_child([&] {
    const ForkMark own;
    return mark.in_child() && !own.in_child() &&
           holds_in_child([&] { return mark.in_child() && own.in_child(); });
  }));
  REQUIRE_FALSE(mark.in_child());
}
