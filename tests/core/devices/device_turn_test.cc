#include "core/devices/device_turn.h"

#include <memory>
#include <optional>

#include "io/bounded_reads.h"
#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::DeviceTurn;
using core::Openings;

struct TurnWorld {
  PipelineWorld world;
  core::SilentDevices silent{
      {world.executor, world.shape, *world.members, *world.space, nullptr, nullptr, 0, [] {}}};
  DeviceTurn turn{world.executor, silent};
};

TEST_CASE("device_turn: one has it at a time, for as long as that takes") {
  TurnWorld it;
  it.world.system.run([&] {
    std::unique_ptr<io::Thread> other;
    bool taken = false;
    {
      REQUIRE(it.turn.take().ok());
      const io::Lock mine(it.turn.mutex(), std::adopt_lock);
      other = it.world.executor.start("other", [&] {
        REQUIRE(it.turn.take().ok());
        const io::Lock its_own(it.turn.mutex(), std::adopt_lock);
        taken = true;
      });
      it.world.executor.sleep_for(2 * io::kReadPatience);
      REQUIRE_FALSE(taken);
    }
    other->join();
    REQUIRE(taken);
  });
}

TEST_CASE("device_turn: who waits for one who is in a call that does not come back is refused") {
  TurnWorld it;
  it.world.system.run([&] {
    REQUIRE(it.turn.take().ok());
    const io::Lock mine(it.turn.mutex(), std::adopt_lock);
    const Openings::Call call(it.turn.openings(), "/gone", Openings::Turn::kHeld);
    std::optional<Error> refused;
    const io::Nanos began = it.world.executor.clock().now();
    const auto other = it.world.executor.start("other", [&] {
      const Status taken = it.turn.take();
      if (!taken.ok()) refused = taken.error();
    });
    other->join();
    REQUIRE(refused.has_value());
    REQUIRE(refused->code == ErrorCode::kUnavailable);
    REQUIRE(it.world.executor.clock().now() - began >= io::kReadPatience);
  });
}

TEST_CASE("device_turn: the end of the store waits for calls, and not for ever") {
  TurnWorld it;
  it.world.system.run([&] {
    REQUIRE(it.turn.outlast_openings());
    std::optional<Openings::Call> call;
    call.emplace(it.turn.openings(), "/gone", Openings::Turn::kFree);
    REQUIRE_FALSE(it.turn.outlast_openings());
    const auto other = it.world.executor.start("other", [&] {
      it.world.executor.sleep_for(io::kReadPatience / 2);
      call.reset();
    });
    REQUIRE(it.turn.outlast_openings());
    other->join();
  });
}

}  // namespace
}  // namespace hexad::testing
