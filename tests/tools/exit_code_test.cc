#include "tools/cli/exit_code.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("exit_code: the documented codes are what scripts see") {
  CHECK(exit_code(ErrorCode::kNotFound) == 1);
  CHECK(exit_code(ErrorCode::kAlreadyExists) == 1);
  CHECK(exit_code(ErrorCode::kNotEmpty) == 1);
  CHECK(exit_code(ErrorCode::kConflict) == 1);
  CHECK(exit_code(ErrorCode::kInvalidArgument) == 2);
  CHECK(exit_code(ErrorCode::kTooBig) == 2);
  CHECK(exit_code(ErrorCode::kUnsupported) == 2);
  CHECK(exit_code(ErrorCode::kCorruption) == 3);
  CHECK(exit_code(ErrorCode::kUnavailable) == 4);
  CHECK(exit_code(ErrorCode::kBusy) == 5);
  CHECK(exit_code(ErrorCode::kNoSpace) == 6);
  CHECK(exit_code(ErrorCode::kIo) == 7);
}

TEST_CASE("exit_code: no error ends in success") {
  for (int value = 0; value < 256; ++value) {
    CAPTURE(value);
    const int code = exit_code(static_cast<ErrorCode>(value));
    CHECK(code >= 1);
    CHECK(code <= 7);
  }
}

}  // namespace
}  // namespace hexad::tools
