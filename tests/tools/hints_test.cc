#include "tools/cli/hints.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

Error error_of(const std::vector<std::string>& words) {
  const Result<Hint> hints = parse_hints(words);
  REQUIRE_FALSE(hints.ok());
  CHECK(hints.error().code == ErrorCode::kInvalidArgument);
  CHECK_FALSE(hints.error().hint.empty());
  return hints.error();
}

TEST_CASE("hints: every hint has a name, and the name means the hint") {
  for (unsigned bit = 0; bit < 10; ++bit) {
    CAPTURE(bit);
    const Hint hint = static_cast<Hint>(1 << bit);
    const std::vector<std::string> names = hint_names(hint);
    REQUIRE(names.size() == 1);
    CHECK(parse_hints(names).value() == hint);
    CHECK_THAT(known_hints(), Catch::Contains(names[0]));
  }
  CHECK_FALSE(is_valid(static_cast<Hint>(1 << 10)));  // there are no more
}

TEST_CASE("hints: several are said in one word or in several") {
  const Hint both = Hint::kCompressible | Hint::kAppendOnly;
  CHECK(parse_hints({"compressible,append-only"}).value() == both);
  CHECK(parse_hints({"append-only", "compressible"}).value() == both);
  CHECK(parse_hints({"append-only", "append-only,compressible"}).value() == both);
  CHECK(hint_names(both) == std::vector<std::string>{"compressible", "append-only"});
}

TEST_CASE("hints: none is what nobody says, and can be said") {
  CHECK(parse_hints({}).value() == Hint::kNone);
  CHECK(parse_hints({"none"}).value() == Hint::kNone);
  CHECK(parse_hints({"none", "none"}).value() == Hint::kNone);
  CHECK(hint_names(Hint::kNone).empty());
}

TEST_CASE("hints: what is no hint is named") {
  for (const std::string word : {"", "Compressible", "compressible,", ",", "append only"}) {
    CAPTURE(word);
    CHECK_THAT(error_of({word}).message, Catch::Contains("is not a hint"));
  }
  CHECK_THAT(error_of({"shiny"}).message, Catch::Contains("\"shiny\""));
  CHECK_THAT(error_of({"shiny"}).hint, Catch::Contains("append-only"));
  CHECK_THAT(error_of({"\x1b"}).message, Catch::Contains("\\x1b"));
}

TEST_CASE("hints: those that exclude each other are refused, however they are said") {
  CHECK_THAT(error_of({"compressible,incompressible"}).message,
             Catch::Contains("compressible and incompressible"));
  CHECK_THAT(error_of({"long-lived", "short-lived"}).message,
             Catch::Contains("short-lived and long-lived"));
  CHECK_THAT(error_of({"none", "immutable"}).message, Catch::Contains("none and immutable"));
  CHECK_THAT(error_of({"immutable,none"}).message, Catch::Contains("none and immutable"));
}

}  // namespace
}  // namespace hexad::tools
