#include "io/os_error.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>

using namespace hexad;
using namespace hexad::io;

TEST_CASE("os_error: what happened decides the code, for every errno there is") {
  const std::map<int, ErrorCode> expected = {
      {ENOENT, ErrorCode::kNotFound},
      {ENOTDIR, ErrorCode::kNotFound},
      {ENODEV, ErrorCode::kNotFound},
      {ENXIO, ErrorCode::kNotFound},
      {ENOSPC, ErrorCode::kNoSpace},
      {EDQUOT, ErrorCode::kNoSpace},
      {EFBIG, ErrorCode::kNoSpace},
      {EROFS, ErrorCode::kReadOnly},
      {EBUSY, ErrorCode::kBusy},
      {ETXTBSY, ErrorCode::kBusy},
      {EOPNOTSUPP, ErrorCode::kUnsupported},
      {ENOSYS, ErrorCode::kUnsupported},
      {EACCES, ErrorCode::kInvalidArgument},
      {EPERM, ErrorCode::kInvalidArgument},
      {ENAMETOOLONG, ErrorCode::kInvalidArgument},
      {EISDIR, ErrorCode::kInvalidArgument},
  };
  for (int number = 1; number < 140; ++number) {
    CAPTURE(number);
    const auto named = expected.find(number);
    REQUIRE(os_error(number, "x").code ==
            (named == expected.end() ? ErrorCode::kIo : named->second));
  }
}

TEST_CASE("os_error: the text names subject and cause") {
  REQUIRE(os_error(EIO, "/dev/sdb: flush").message == "/dev/sdb: flush: Input/output error");
  REQUIRE(os_error(ENOSPC, "x").message == "x: No space left on device");
  REQUIRE(os_error(99999, "x").message.find("99999") != std::string::npos);
}

TEST_CASE("os_error: whoever can do something about it is told what") {
  for (const int number : {ENOENT, ENOSPC, EROFS, EBUSY, EACCES, EISDIR, EMFILE, ENFILE}) {
    CAPTURE(number);
    REQUIRE_FALSE(os_error(number, "x").hint.empty());
  }
  REQUIRE(os_error(EMFILE, "x").hint.find("ulimit -n") != std::string::npos);
  REQUIRE(os_error(EIO, "x").hint.empty());
}
