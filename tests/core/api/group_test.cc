// What needs no cluster; tests/ceph/rbd_snapshot_test.py has the rest.
#include "core/api/group.h"

#include <catch2/catch.hpp>

namespace hexad {
namespace {

TEST_CASE("group: what can be no group stays as it is, and nobody is asked") {
  const std::vector<std::string> several = {"rbd:log/a?conf=/none", "rbd:log/b?conf=/none"};
  for (const auto& devices : {std::vector<std::string>{"/dev/sda"}, several}) {
    const PoolDescription same = expand_group({devices, {"/fast"}}).value();
    CHECK(same.devices == devices);
    CHECK(same.fast_directories == std::vector<std::string>{"/fast"});
  }
  CHECK(expand_group({{"rbd:log"}, {}}).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("group: snapshots are refused of what are no images of one pool") {
  const auto refused = [](const std::vector<std::string>& devices, const std::string& name) {
    const Status taken = take_snapshot({devices, {}}, name, "store").status();
    REQUIRE_FALSE(taken.ok());
    CHECK(taken.error().code == ErrorCode::kInvalidArgument);
    return taken.error().message;
  };
  CHECK_THAT(refused({"/dev/sda", "/dev/sdb"}, "one"),
             Catch::Contains("/dev/sda is no image of a Ceph cluster"));
  CHECK_THAT(refused({"rbd:log/a", "rbd:meta/b"}, "one"), Catch::Contains("not in one pool"));
  CHECK_THAT(refused({"rbd:log/a", "rbd:log/b?id=x"}, "one"), Catch::Contains("not in one pool"));
  CHECK_THAT(refused({"rbd:log/a@x", "rbd:log/b"}, "one"), Catch::Contains("is a snapshot itself"));
  for (const char* name : {"", "a/b", "a@b", "a b"}) {
    CHECK_THAT(refused({"rbd:log/a", "rbd:log/b"}, name),
               Catch::Contains("cannot be the name of a snapshot"));
  }
}

}  // namespace
}  // namespace hexad
