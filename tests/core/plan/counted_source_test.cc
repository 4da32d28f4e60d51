#include "core/plan/counted_source.h"

#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "tests/core/plan/planner_world.h"

namespace hexad::core {
namespace {

TEST_CASE("counted_source: every key that is looked up or walked over counts") {
  testing::MapSource map;
  for (const char* key : {"a1", "a2", "a3", "b1"}) map.map[key] = "x";
  map.pages.put(1, 2, std::make_unique<KnownPage>());
  CountedSource source(map);
  REQUIRE(source.get("a1").value() == "x");
  REQUIRE_FALSE(source.get("none").value().has_value());
  REQUIRE(source.keys() == 2);
  const auto all = [](std::string_view, std::string_view) -> Result<bool> { return true; };
  const auto first = [](std::string_view, std::string_view) -> Result<bool> { return false; };
  REQUIRE(source.scan("a", all).ok());
  REQUIRE(source.keys() == 5);
  REQUIRE(source.scan_from("a", "a2", all).ok());
  REQUIRE(source.keys() == 7);
  REQUIRE(source.scan("a", first).ok());
  REQUIRE(source.keys() == 8);
  std::unique_ptr<KnownPage> page = source.take_page(1, 2);
  REQUIRE(page != nullptr);
  REQUIRE(source.take_page(1, 2) == nullptr);
  source.give_page_back(1, 2, std::move(page));
  REQUIRE(source.take_page(1, 2) != nullptr);
  map.fails = true;
  REQUIRE(source.get("a1").error().code == ErrorCode::kIo);
  REQUIRE(source.scan("a", all).error().code == ErrorCode::kIo);
}

}  // namespace
}  // namespace hexad::core
