#include "kv/run/run_filter.h"

#include <catch2/catch.hpp>

namespace hexad::kv {
namespace {

TEST_CASE("run_filter: it knows every key it was given, and few others") {
  const auto [bits, most_wrong] = GENERATE(
      table<RunFilterBits, int>({{RunFilterBits::kOfLargest, 150}, {RunFilterBits::kUsual, 20}}));
  for (const int count : {0, 1, 2, 100, 13000}) {
    CAPTURE(count, static_cast<int>(bits));
    RunFilterBuilder builder(bits);
    for (int i = 0; i < count; ++i) builder.add("key" + std::to_string(i));
    REQUIRE(builder.count() == static_cast<std::size_t>(count));
    const std::string bytes = builder.finish();
    REQUIRE(builder.count() == 0);
    REQUIRE(bytes.size() >= 8);
    REQUIRE(bytes.size() <= 8u + count * static_cast<int>(bits) / 8 + 1);
    const RunFilter filter = RunFilter::parse(bytes).value();
    for (int i = 0; i < count; ++i) REQUIRE(filter.may_contain("key" + std::to_string(i)));
    int wrong = 0;
    for (int i = 0; i < 10000; ++i)
      wrong += filter.may_contain("other" + std::to_string(i)) ? 1 : 0;
    // One of 8 bytes has few steps to tell keys apart by.
    REQUIRE(wrong <= (count < 100 ? 150 : most_wrong));
  }
}

TEST_CASE("run_filter: any bytes but none are a filter") {
  REQUIRE_FALSE(RunFilter::parse("").ok());
  REQUIRE(RunFilter::parse("x")->may_contain("a") == RunFilter::parse("x")->may_contain("a"));
  REQUIRE(RunFilter::parse(std::string(3, '\xff'))->may_contain("a"));
  REQUIRE_FALSE(RunFilter::parse(std::string(3, '\0'))->may_contain("a"));
}

}  // namespace
}  // namespace hexad::kv
