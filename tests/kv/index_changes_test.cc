#include "kv/index_changes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

namespace hexad::kv {
namespace {

bool refused(const Status& status) {
  return !status.ok() && status.error().code == ErrorCode::kInvalidArgument;
}

TEST_CASE("index_changes: a key has from 1 to kMaxIndexKey bytes") {
  REQUIRE(refused(check_index_key("")));
  REQUIRE(check_index_key(std::string(1, '\0')).ok());
  REQUIRE(check_index_key(std::string(kMaxIndexKey, 'k')).ok());
  REQUIRE(refused(check_index_key(std::string(kMaxIndexKey + 1, 'k'))));
}

TEST_CASE("index_changes: keys ascend, bytewise") {
  const auto check = [](const std::vector<std::string>& keys) {
    std::vector<IndexChange> changes;
    for (const std::string& key : keys) changes.push_back({key, std::nullopt});
    return check_index_changes(0, 0, changes);
  };
  REQUIRE(check({}).ok());
  REQUIRE(check({"a", "a\x01", "aa", "b", "\xff"}).ok());
  REQUIRE(refused(check({"b", "a"})));
  REQUIRE(refused(check({"a", "a"})));
  REQUIRE(refused(check({"\xff", "a"})));
  REQUIRE(refused(check({"a", ""})));
}

TEST_CASE("index_changes: the LSN stays or goes up") {
  REQUIRE(check_index_changes(5, 5, {}).ok());
  REQUIRE(check_index_changes(5, 6, {}).ok());
  const Status back = check_index_changes(5, 4, {});
  REQUIRE(refused(back));
  REQUIRE(back.error().message == "index: LSN 4 is before the applied 5");
}

TEST_CASE("index_changes: a value has at most kMaxIndexValue bytes") {
  std::string value(kMaxIndexValue, 'v');
  REQUIRE(check_index_changes(0, 1, std::vector<IndexChange>{{"a", value}}).ok());
  value += 'v';
  REQUIRE(refused(check_index_changes(0, 1, std::vector<IndexChange>{{"a", value}})));
}

}  // namespace
}  // namespace hexad::kv
