#include "io/rbd/rbd_library.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::io;

TEST_CASE("rbd_library: who lacks it learns which package has it") {
  const auto loaded = RbdLibrary::load("libno-such-rados.so.2", "libno-such-rbd.so.1");
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(loaded.error().message, Catch::Contains("libno-such-rados.so.2"));
  CHECK(loaded.error().hint == "apt-get install librbd1");
}

TEST_CASE("rbd_library: a library without what is needed is refused by the function's name") {
  const auto loaded = RbdLibrary::load("libc.so.6", "libc.so.6");
  REQUIRE_FALSE(loaded.ok());
  CHECK(loaded.error().code == ErrorCode::kUnsupported);
  CHECK_THAT(loaded.error().message, Catch::Contains("rados_create"));
}
