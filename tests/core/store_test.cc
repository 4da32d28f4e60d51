#include "core/store.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

FormatOptions larger_format() {
  FormatOptions format = small_format();
  format.device_size = 16_MiB;
  return format;
}

TEST_CASE("store: what was put is read back, before and after closing") {
  StoreFixture fixture(larger_format());
  const std::string large = noise(3'000'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "small", "hello").ok());
    REQUIRE(put(store, "middle", noise(5000, 2)).ok());
    REQUIRE(put(store, "large", large).ok());
    REQUIRE(get(store, "small") == "hello");
    REQUIRE(get(store, "middle") == noise(5000, 2));
    REQUIRE(get(store, "large") == large);
    REQUIRE(store.close().ok());
  }
  Store store = fixture.open();
  REQUIRE(get(store, "small") == "hello");
  REQUIRE(get(store, "middle") == noise(5000, 2));
  REQUIRE(get(store, "large") == large);
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: a store that was not closed recovers what was acknowledged") {
  StoreFixture fixture(larger_format());
  {
    Store store = fixture.open();
    for (int i = 0; i < 50; ++i) {
      REQUIRE(put(store, "object" + std::to_string(i), noise(100 * i, i)).ok());
    }
    REQUIRE(store.checkpoint().ok());
    for (int i = 25; i < 75; ++i) {
      REQUIRE(put(store, "object" + std::to_string(i), noise(120 * i, i + 1000)).ok());
    }
  }
  Store store = fixture.open();
  for (int i = 0; i < 25; ++i) {
    REQUIRE(get(store, "object" + std::to_string(i)) == noise(100 * i, i));
  }
  for (int i = 25; i < 75; ++i) {
    REQUIRE(get(store, "object" + std::to_string(i)) == noise(120 * i, i + 1000));
  }
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
