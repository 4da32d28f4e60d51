#include "core/commit/substitutes.h"

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

TEST_CASE("substitutes: a thread of its own does the rest, and join() waits for it") {
  io::SimSystem system{io::SimOptions{}};
  io::Mutex mutex(system.executor());
  io::CondVar changed(system.executor());
  core::Substitutes substitutes(system.executor(), mutex, changed);
  int done = 0;
  system.run([&] {
    for (int i = 0; i < 3; ++i) {
      const io::Nanos takes = 1000 * (i + 1);
      REQUIRE(substitutes.try_start([&, takes] {
        system.executor().sleep_for(takes);
        ++done;
      }));
    }
    REQUIRE(done == 0);
    REQUIRE_FALSE(substitutes.is_starting());
    system.executor().sleep_for(1500);
    REQUIRE(substitutes.try_start([&] { ++done; }));  // joins the first, which is over
    substitutes.join();
  });
  REQUIRE(done == 4);
}

TEST_CASE("substitutes: where the system refuses the thread, the caller does the rest") {
  io::SimSystem system{io::SimOptions{}};
  PipelineExecutor executor{system.executor()};
  io::Mutex mutex(executor);
  io::CondVar changed(executor);
  core::Substitutes substitutes(executor, mutex, changed);
  executor.refuses = true;
  system.run([&] {
    REQUIRE_FALSE(substitutes.try_start([] { FAIL("it was refused"); }));
    substitutes.join();
  });
}

}  // namespace
}  // namespace hexad::testing
