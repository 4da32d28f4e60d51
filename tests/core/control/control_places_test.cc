#include "core/control/control_places.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "io/lines/line_service.h"

namespace hexad::core {
namespace {

TEST_CASE("control_places: beside the index first, then what the users' processes share") {
  Uuid store;
  store.bytes[0] = 0x0f;
  const std::vector<std::string> places =
      control_directories({"/fast/a", "/fast/b"}, store, {7, 8});
  REQUIRE(places.size() >= 3);
  CHECK(places.front() == "/fast/a/control");
  const std::string name = "-0f000000-0000-0000-0000-000000000000";
  CHECK(places.back() == "/tmp/hexad-8" + name);
  CHECK(std::find(places.begin(), places.end(), "/tmp/hexad-7" + name) != places.end());
}

TEST_CASE("control_places: whose a place is stands in its name, but beside the index") {
  for (const std::string& place : control_directories({"/hexad-3-/fast"}, {}, {7})) {
    CAPTURE(place);
    const bool shared = place != "/hexad-3-/fast/control";
    CHECK(user_of_place(place) == (shared ? std::optional<unsigned>(7) : std::nullopt));
  }
  CHECK_FALSE(user_of_place("/tmp/hexad-").has_value());
  CHECK_FALSE(user_of_place("/tmp/hexad-7").has_value());
  CHECK_FALSE(user_of_place("/tmp/hexad--7-").has_value());
  CHECK_FALSE(user_of_place("").has_value());
}

TEST_CASE("control_places: a store without a fast directory has the others") {
  const std::vector<std::string> places = control_directories({}, {}, {io::own_user()});
  REQUIRE_FALSE(places.empty());
  CHECK(places.size() == io::runtime_directories(io::own_user()).size());
}

}  // namespace
}  // namespace hexad::core
