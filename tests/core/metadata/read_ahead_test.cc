#include "core/metadata/read_ahead.h"

#include <catch2/catch.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "kv/walk.h"

using hexad::core::ReadAhead;
using hexad::kv::KeyValue;

TEST_CASE("read ahead: each time twice as much, and not without end") {
  ReadAhead<KeyValue> ahead;
  for (const std::size_t most : {4, 8, 16, 32, 64, 64}) {
    ahead.refill(4);
    CHECK(ahead.most() == most);
  }
  ahead.restart();
  ahead.refill(1);
  CHECK(ahead.most() == 1);
}

TEST_CASE("read ahead: it ends with the entries that are inside") {
  ReadAhead<KeyValue> ahead;
  CHECK(ahead.wants_more());
  std::vector<KeyValue>& entries = ahead.refill(4);
  for (const char* key : {"a", "b", "c", "d"}) entries.push_back({key, ""});
  CHECK_FALSE(ahead.empty());
  ahead.keep([](std::string_view key) { return key < "e"; });
  CHECK_FALSE(ahead.ends());
  ahead.keep([](std::string_view key) { return key < "c"; });
  CHECK(ahead.ends());
  CHECK(ahead.front().key == "a");
  ahead.pop();
  const std::span<const KeyValue> rest = ahead.take_rest();
  REQUIRE(rest.size() == 1);
  CHECK(rest.front().key == "b");
  CHECK(ahead.empty());
  CHECK_FALSE(ahead.wants_more());
  ahead.restart();
  CHECK(ahead.wants_more());
}
