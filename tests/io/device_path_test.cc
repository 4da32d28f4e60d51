#include "io/device_path.h"

#include <catch2/catch.hpp>

using namespace hexad::io;

TEST_CASE("device_path: an address begins with its kind, and whatever else is a path") {
  CHECK(is_address("rbd:log/a"));
  CHECK(is_address("reserved:/dev/sda"));
  CHECK(is_reserved_path("reserved:/dev/sda"));
  CHECK_FALSE(is_rbd_path("reserved:/dev/sda"));
  CHECK(disk_of("reserved:/dev/sda") == "/dev/sda");
  CHECK(disk_of("/dev/sda") == "/dev/sda");
  CHECK(is_rbd_path("rbd:"));
  for (const char* path : {"", "/dev/sda", "./rbd:log/a", "/x/rbd:log/a", "rbd", "RBD:log/a"}) {
    CAPTURE(path);
    CHECK_FALSE(is_address(path));
  }
}

TEST_CASE("device_path: a snapshot is one of an image, and named before its keys") {
  CHECK(is_snapshot_path("rbd:log/a@monday"));
  CHECK(is_snapshot_path("rbd:log/a@monday?id=x"));
  for (const char* path : {"rbd:log/a", "rbd:log/a?conf=/x@y", "/dev/a@b", "./rbd:log/a@b"}) {
    CAPTURE(path);
    CHECK_FALSE(is_snapshot_path(path));
  }
}
