#include "tools/verbs/findings.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

StoreStatus status_of(const std::string& path) {
  StoreStatus status;
  status.devices.resize(2);
  status.devices[1].path = path;
  return status;
}

TEST_CASE("findings: torn cells are no damage, and in a snapshot nobody writes them again") {
  const std::string text = describe_torn(3, status_of("/dev/sda"));
  CHECK_THAT(text, Catch::StartsWith("3 cells of the last commits are not whole"));
  CHECK_THAT(text, Catch::EndsWith(": the next command that writes to the pool writes them again"));
  for (const char* const path : {"rbd:log/a@monday", "rbd:log/a@monday?id=reader"}) {
    CAPTURE(path);
    CHECK_THAT(
        describe_torn(3, status_of(path)),
        Catch::EndsWith(": they stay so in a snapshot; in the pool that it was taken of, its "
                        "writer or the next command that writes to it writes them"));
  }
}

TEST_CASE("findings: what programs are told of each") {
  const std::vector<Finding> found = {{"device 1", "is torn", true}, {"a/b", "is lost", false}};
  CHECK(findings_as_json(found).dump() ==
        R"([{"subject":"device 1","problem":"is torn","repaired":true},)"
        R"({"subject":"a/b","problem":"is lost","repaired":false}])");
}

}  // namespace
}  // namespace hexad::tools
