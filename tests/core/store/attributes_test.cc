// Several attributes at once: what they leave, what they count, when they fail.
#include <catch2/catch.hpp>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

TEST_CASE("attributes: several are set at once, beside the ones that are there") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  REQUIRE(put(*store, "a", "data").ok());
  const Attributes expected = {{"kept", "1"}, {"new", ""}, {"replaced", "after"}};
  REQUIRE(commit(*store, [](Transaction& t) {
            t.set_attrs(kBucket, "a", {{"kept", "1"}, {"replaced", "before"}});
            t.set_attrs(kBucket, "a", {{"new", ""}, {"replaced", "after"}});
          }).ok());
  for (int round = 0; round < 2; ++round) {
    REQUIRE(*store->attributes(kBucket, "a") == expected);
    REQUIRE(get(*store, "a") == "data");
    store.reset();
    store = fixture.open();
  }
}

TEST_CASE("attributes: none to set changes nothing, but wants the object") {
  StoreFixture fixture;
  Store store = fixture.open();
  const Result<Lsn> made = put(store, "a", "data");
  REQUIRE(commit(store, [](Transaction& t) { t.set_attrs(kBucket, "a", {}); }).ok());
  REQUIRE(store.stat(kBucket, "a")->version == *made);
  const auto refused = [&](const Build& build) { return code_of(commit(store, build)); };
  CHECK(refused([](Transaction& t) { t.set_attrs(kBucket, "b", {}); }) == ErrorCode::kNotFound);
  CHECK(refused([](Transaction& t) {
          t.set_attrs(kBucket, "b", {{"k", "v"}});
        }) == ErrorCode::kNotFound);
  CHECK(refused([](Transaction& t) {
          t.set_attrs("none", "a", {{"k", "v"}});
        }) == ErrorCode::kNotFound);
  CHECK(refused([](Transaction& t) {
          t.create(kBucket, "c");
          t.set_attrs(kBucket, "c", {{"k", "v"}});
          t.remove(kBucket, "c");
          t.set_attrs(kBucket, "c", {{"k", "v"}});
        }) == ErrorCode::kNotFound);
  CHECK(store.attributes(kBucket, "a")->empty());
}

TEST_CASE("attributes: all are removed at once, and a missing object is tolerated") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", "data").ok());
  REQUIRE(commit(store, [](Transaction& t) {
            t.set_attrs(kBucket, "a", {{"k", "1"}, {"l", "2"}});
          }).ok());
  const Result<Lsn> removed = commit(store, [](Transaction& t) {
    t.remove_attrs(kBucket, "a");
    t.remove_attrs(kBucket, "missing");
  });
  REQUIRE(removed.ok());
  CHECK(store.attributes(kBucket, "a")->empty());
  CHECK(get(store, "a") == "data");
  CHECK(store.stat(kBucket, "a")->version == *removed);
  CHECK(code_of(store.stat(kBucket, "missing")) == ErrorCode::kNotFound);
  // Where there are none it is no change.
  REQUIRE(commit(store, [](Transaction& t) { t.remove_attrs(kBucket, "a"); }).ok());
  CHECK(store.stat(kBucket, "a")->version == *removed);
  REQUIRE(commit(store, [](Transaction& t) {
            t.set_attr(kBucket, "a", "k", "1");
            t.remove_attrs(kBucket, "a");
            t.set_attr(kBucket, "a", "m", "3");
          }).ok());
  CHECK(*store.attributes(kBucket, "a") == Attributes{{"m", "3"}});
  CHECK(code_of(commit(store, [](Transaction& t) { t.remove_attrs("none", "a"); })) ==
        ErrorCode::kNotFound);
}

TEST_CASE("attributes: what they have together is limited at the end of each op") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(put(store, "a", "data").ok());
  const std::string half(kMaxAttributeBytes / 2 - 1, 'x');
  REQUIRE(commit(store, [&](Transaction& t) {
            t.set_attrs(kBucket, "a", {{"k", half}, {"l", half}});
          }).ok());
  // To the byte.
  CHECK(code_of(commit(store, [](Transaction& t) {
          t.set_attrs(kBucket, "a", {{"m", ""}});
        })) == ErrorCode::kTooBig);
  // Large ones change places: only the sum of all counts, not the order.
  REQUIRE(commit(store, [&](Transaction& t) {
            t.set_attrs(kBucket, "a", {{"a", half}, {"k", ""}, {"l", half.substr(2)}});
          }).ok());
  const Result<Lsn> result = commit(store, [&](Transaction& t) {
    t.set_attrs(kBucket, "a", {{"k", half}});
    t.remove_attrs(kBucket, "a");
  });
  CHECK(code_of(result) == ErrorCode::kTooBig);
  CHECK(store.attributes(kBucket, "a")->size() == 3);
}

}  // namespace
}  // namespace hexad::testing
