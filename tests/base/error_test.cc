#include "base/error.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>

using namespace hexad;

namespace {

Result<int> half(int number) {
  if (number % 2 != 0) return Error{ErrorCode::kInvalidArgument, "odd", "Pass an even number."};
  return number / 2;
}

Result<int> quarter(int number) {
  HEXAD_TRY_ASSIGN(const int once, half(number));
  int twice = 0;
  HEXAD_TRY_ASSIGN(twice, half(once));
  return twice;
}

Status divisible_by_four(int number) {
  HEXAD_TRY(quarter(number).status());
  return {};
}

}  // namespace

TEST_CASE("error: every code has words of its own") {
  std::set<std::string_view> words;
  for (int code = 1; code <= static_cast<int>(ErrorCode::kFenced); ++code) {
    const std::string_view text = to_string(static_cast<ErrorCode>(code));
    REQUIRE(text != "unnamed error");
    REQUIRE(words.insert(text).second);
  }
  REQUIRE(to_string(static_cast<ErrorCode>(250)) == "unnamed error");
}

TEST_CASE("error: the text has message, code and hint, and context goes in front") {
  const Error error{ErrorCode::kNoSpace, "device 3 has 0 B left", "Add a device."};
  REQUIRE(error.to_string() == "device 3 has 0 B left (no space). Add a device.");
  REQUIRE(error.with_context("put").to_string() ==
          "put: device 3 has 0 B left (no space). Add a device.");
  REQUIRE(Error{ErrorCode::kIo, "bad", ""}.to_string() == "bad (input/output error)");
}

TEST_CASE("error: the macros pass values on and return the first failure") {
  REQUIRE(quarter(12).value() == 3);
  REQUIRE(quarter(7).error().message == "odd");
  REQUIRE(quarter(6).error().message == "odd");
  REQUIRE(divisible_by_four(8).ok());
  REQUIRE(divisible_by_four(2).error().code == ErrorCode::kInvalidArgument);
  REQUIRE_FALSE(static_cast<bool>(divisible_by_four(2)));
  REQUIRE(ok_status().ok());
}

TEST_CASE("error: a result may hold what only moves") {
  Result<std::unique_ptr<int>> made = std::make_unique<int>(5);
  REQUIRE(**made == 5);
  std::unique_ptr<int> taken = std::move(made).value();
  REQUIRE(*taken == 5);
  const Result<std::string> text = std::string("abc");
  REQUIRE(text.status().ok());
  REQUIRE(text.value().size() == 3);
}
