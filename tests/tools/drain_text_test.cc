#include "tools/verbs/drain_text.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("drain text: how much is left is said of what is being drained alone") {
  DeviceStatus device;
  device.state = "ok";
  device.slabs = 40;
  device.slabs_used = 12;
  CHECK(describe_drain(device).empty());
  CHECK_FALSE(has_slabs_to_move(device));
  device.state = "draining";
  device.draining = true;
  CHECK(describe_drain(device) == "is being drained: 12 of 40 slabs left");
  CHECK(has_slabs_to_move(device));
  device.slabs_used = 0;
  CHECK(describe_drain(device) == "is drained: nothing is left on it");
  CHECK_FALSE(has_slabs_to_move(device));
  // As its root says, which does not count them.
  device.slabs = 0;
  CHECK(describe_drain(device) == "is being drained");
  CHECK(has_slabs_to_move(device));
}

}  // namespace
}  // namespace hexad::tools
