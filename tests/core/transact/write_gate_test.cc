#include "core/transact/write_gate.h"

#include "tests/core/commit/commit_pipeline_world.h"

namespace hexad::testing {
namespace {

using core::WriteGate;

struct GateWorld {
  PipelineWorld world;
  core::Closing closing{world.executor};
  WriteGate gate{&world.pipeline(), closing, *world.members};
};

const Error kReadOnly{ErrorCode::kReadOnly, "the store has turned read-only", ""};
const Error kUnknown{ErrorCode::kUnknown, "nobody knows", ""};

TEST_CASE("write_gate: why a store takes no commits") {
  GateWorld it;
  REQUIRE(it.gate.check().ok());
  SECTION("it is open for reading only") {
    const WriteGate reader(nullptr, it.closing, *it.world.members);
    REQUIRE(reader.check().error().code == ErrorCode::kReadOnly);
    REQUIRE(reader.told(kReadOnly, Durability::kDurable).code == ErrorCode::kReadOnly);
  }
  SECTION("it is closed") {
    it.closing.close();
    REQUIRE(it.gate.is_closed());
    REQUIRE(it.gate.check().error().code == ErrorCode::kClosed);
  }
  SECTION("it has stopped") {
    it.world.pipeline().stop(kGone);
    const Status check = it.gate.check();
    REQUIRE(check.error().code == ErrorCode::kReadOnly);
    REQUIRE(check.error().message.find("the devices are gone") != std::string::npos);
  }
}

// Whoever has no LSN is told that nothing has happened, whatever becomes of those it waited for.
TEST_CASE("write_gate: an outcome that is unknown is not that of what has no LSN") {
  GateWorld it;
  REQUIRE(it.gate.unsequenced(ok_status()).ok());
  REQUIRE(it.gate.unsequenced(kUnknown).error().code == ErrorCode::kUnknown);
  it.world.pipeline().stop(kUnknown);
  REQUIRE(it.gate.unsequenced(kUnknown).error().code == ErrorCode::kReadOnly);
  REQUIRE(it.gate.unsequenced(Error{ErrorCode::kNoSpace, "full", ""}).error().code ==
          ErrorCode::kNoSpace);
  REQUIRE(it.gate.unsequenced(ok_status()).ok());
}

TEST_CASE("write_gate: a durable commit learns of buffered ones that are lost") {  // R15
  GateWorld it;
  REQUIRE(it.world.submit({.durability = Durability::kBuffered}));
  REQUIRE(it.gate.lost_buffered().ok());
  it.world.pipeline().stop(kGone);
  REQUIRE(it.gate.lost_buffered().error().code == ErrorCode::kIo);
  REQUIRE(it.gate.told(kReadOnly, Durability::kDurable).code == ErrorCode::kIo);
  REQUIRE(it.gate.told(kReadOnly, Durability::kBuffered).code == ErrorCode::kReadOnly);
  REQUIRE(it.gate.told(Error{ErrorCode::kConflict, "", ""}, Durability::kDurable).code ==
          ErrorCode::kConflict);
}

TEST_CASE("write_gate: where nothing is lost, a durable commit is told what happened") {
  GateWorld it;
  it.world.pipeline().stop(kGone);
  REQUIRE(it.gate.lost_buffered().ok());
  REQUIRE(it.gate.told(kReadOnly, Durability::kDurable).code == ErrorCode::kReadOnly);
}

}  // namespace
}  // namespace hexad::testing
