#include "base/refused_memory.h"

#include <catch2/catch.hpp>
#include <limits>

using namespace hexad;

TEST_CASE("refused memory: what a call returns comes back, an error of its own too") {
  REQUIRE(without_bad_alloc([] { return Result<int>(3); }).value() == 3);
  const Status own = without_bad_alloc([]() -> Status {
    return Error{ErrorCode::kConflict, "of its own", ""};
  });
  REQUIRE(own.error().code == ErrorCode::kConflict);
}

TEST_CASE("refused memory: what it throws for want of memory is its error") {
  const Result<int> refused = without_bad_alloc([]() -> Result<int> { throw std::bad_alloc(); });
  REQUIRE(refused.error().code == ErrorCode::kExhausted);
  REQUIRE_FALSE(refused.error().message.empty());
  REQUIRE(refused.error().hint.find("ulimit -v") != std::string::npos);
}

TEST_CASE("refused memory: what else it throws is not its affair") {
  REQUIRE_THROWS_AS(without_bad_alloc([]() -> Status { throw 1; }), int);
}

TEST_CASE("refused memory: bytes are zeros, or the error names how many there were to be") {
  const Result<Bytes> some = make_bytes(1000, "its content");
  REQUIRE(some->size() == 1000);
  REQUIRE(is_zero(*some));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they end the program
  // More than any process has addresses for.
  constexpr std::uint64_t kTooMany = std::uint64_t{1} << 60;
  const Result<Bytes> none = make_bytes(kTooMany, "its content");
  REQUIRE(none.error().code == ErrorCode::kExhausted);
  REQUIRE(none.error().message.find("its content") == 0);
  REQUIRE(none.error().message.find(std::to_string(kTooMany)) != std::string::npos);
#endif
}
