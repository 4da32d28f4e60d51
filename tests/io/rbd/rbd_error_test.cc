#include "io/rbd/rbd_error.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "io/os_error.h"

using namespace hexad;
using namespace hexad::io;

TEST_CASE("rbd_error: the codes are those of files, and hints name what is Ceph's") {
  for (int number = 1; number < 140; ++number) {
    CAPTURE(number);
    const Error error = rbd_error(number, "rbd:log/a: write");
    REQUIRE(error.code == (number == ESHUTDOWN ? ErrorCode::kFenced : os_error(number, "x").code));
    REQUIRE(error.message.find("rbd:log/a: write") == 0);
  }
  CHECK(rbd_error(ENOSPC, "x").code == ErrorCode::kNoSpace);
  CHECK_THAT(rbd_error(ENOSPC, "x").hint, Catch::Contains("ceph df"));
  CHECK(rbd_error(EDQUOT, "x").code == ErrorCode::kNoSpace);
  CHECK(rbd_error(ENOENT, "x").code == ErrorCode::kNotFound);
  CHECK(rbd_error(EPERM, "x").code == ErrorCode::kInvalidArgument);
  CHECK_THAT(rbd_error(EPERM, "x").hint, Catch::Contains("capability"));
}

TEST_CASE("rbd_error: a lock that is lost is told from other failures") {
  CHECK(is_loss_of_lock(ESHUTDOWN));
  CHECK(is_loss_of_lock(EROFS));
  CHECK_FALSE(is_loss_of_lock(EIO));
  CHECK_FALSE(is_loss_of_lock(ENOSPC));
}
