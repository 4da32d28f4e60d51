#include "core/job/closing.h"

#include <catch2/catch.hpp>
#include <memory>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

std::optional<Error> never() { return std::nullopt; }

TEST_CASE("closing: whoever closes first starts the work and gets its outcome") {
  io::SimExecutor sim{3};
  Closing closing(sim);
  CHECK_FALSE(closing.is_closed());
  REQUIRE(closing.close() == Closing::Caller::kFirst);
  CHECK(closing.is_closed());
  CHECK(closing.close() == Closing::Caller::kLater);
  sim.run([&] {
    std::unique_ptr<io::Thread> worker;
    const Status status = closing.wait(
        Closing::Caller::kFirst,
        [&] {
          worker = sim.start("worker", [&] {
            sim.sleep_for(5'000'000'000);
            closing.finish(Error{ErrorCode::kIo, "told to fail", ""});
          });
        },
        never);
    worker->join();
    CHECK(status.error().message == "told to fail");
    // A second close has nothing to say.
    int started = 0;
    CHECK(closing
              .wait(
                  Closing::Caller::kLater, [&] { ++started; }, never)
              .ok());
    CHECK(started == 0);
  });
  CHECK(closing.may_end());
}

TEST_CASE("closing: whoever leaves for a silent device may come back, and nothing ends before") {
  io::SimExecutor sim{3};
  Closing closing(sim);
  REQUIRE(closing.close() == Closing::Caller::kFirst);
  sim.run([&] {
    int started = 0;
    int asked = 0;
    const auto start = [&] { ++started; };
    const Status left = closing.wait(Closing::Caller::kFirst, start, [&]() -> std::optional<Error> {
      if (++asked < 3) return std::nullopt;
      return Error{ErrorCode::kUnavailable, "silent", ""};
    });
    CHECK(left.error().code == ErrorCode::kUnavailable);
    CHECK(asked == 3);
    CHECK_FALSE(closing.may_end());
    closing.finish({});
    CHECK(closing.may_end());
    CHECK(closing.wait(closing.close(), start, never).ok());
    CHECK(started == 2);
  });
}

}  // namespace
}  // namespace hexad::core
