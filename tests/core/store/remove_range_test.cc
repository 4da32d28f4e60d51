// Removing every object of a range of names.
#include <catch2/catch.hpp>
#include <thread>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using Names = std::vector<std::string>;

Names names_in(Store& store, const std::string& collection = kBucket) {
  ListOptions options;
  options.limit = 100'000;
  const ListPage page = store.list(collection, options).value();
  Names names;
  for (const ListEntry& entry : page.entries) names.emplace_back(entry.name);
  return names;
}

Result<Lsn> make(Store& store, const Names& names, const std::string& collection = kBucket) {
  Transaction t;
  for (const std::string& name : names) t.put(collection, name, "of " + name);
  return store.commit(std::move(t));
}

Result<Lsn> remove_range(Store& store, std::string_view from, std::string_view to) {
  Transaction t;
  t.remove_range(kBucket, from, to);
  return store.commit(std::move(t));
}

std::string numbered(int number) { return "n" + std::to_string(100'000 + number); }

TEST_CASE("remove_range: takes what is at or behind the beginning and before the end") {
  const std::string longest(kMaxNameSize, 'c');
  const Names all = {std::string(1, '\0'),
                     "a",
                     "a/",
                     "a/b",
                     "b",
                     longest,
                     "c/d",
                     "\xff",
                     std::string(kMaxNameSize, '\xff')};
  struct Case {
    std::string from;
    std::string to;
    Names left;
  };
  const std::vector<Case> cases = {
      {"", "", {}},
      {"", std::string(1, '\0'), all},
      {"", "a", Names(all.begin() + 1, all.end())},
      {"a", "a", all},
      {"b", "a", all},
      {"a", "b", {all[0], "b", all[5], "c/d", all[7], all[8]}},
      {"a", "a/b", {all[0], "a/b", "b", all[5], "c/d", all[7], all[8]}},
      {std::string("a\0", 2), "a/b", {all[0], "a", "a/b", "b", all[5], "c/d", all[7], all[8]}},
      {longest, "c/d", {all[0], "a", "a/", "a/b", "b", all[5], "c/d", all[7], all[8]}},
      {longest, longest + "x", {}},  // refused below: the bound is too long
      {"c", "\xff", {all[0], "a", "a/", "a/b", "b", all[7], all[8]}},
      {"\xff", "", {all[0], "a", "a/", "a/b", "b", all[5], "c/d"}},
      {std::string(kMaxNameSize, '\xff'), "", Names(all.begin(), all.end() - 1)},
      {"z", "zz", all},
  };
  for (const Case& one : cases) {
    CAPTURE(printable(one.from, 16), printable(one.to, 16));
    StoreFixture fixture;
    Store store = fixture.open();
    Transaction other;
    other.create_collection("other");
    REQUIRE(store.commit(std::move(other)).ok());
    REQUIRE(make(store, all).ok());
    REQUIRE(make(store, all, "other").ok());
    if (one.from.size() % 2 == 0) REQUIRE(store.checkpoint().ok());
    Names sorted = all;
    std::sort(sorted.begin(), sorted.end(),
              [](const std::string& a, const std::string& b) { return a.compare(b) < 0; });
    const Result<Lsn> removed = remove_range(store, one.from, one.to);
    if (one.to.size() > kMaxNameSize) {
      REQUIRE(code_of(removed) == ErrorCode::kInvalidArgument);
      REQUIRE(names_in(store) == sorted);
      continue;
    }
    REQUIRE(removed.ok());
    Names left;
    for (const std::string& name : sorted) {
      const bool inside = name >= one.from && (one.to.empty() || name < one.to);
      if (!inside) left.push_back(name);
    }
    REQUIRE(names_in(store) == left);
    REQUIRE(names_in(store, "other") == sorted);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("remove_range: sees what earlier ops of its transaction have made and removed") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(make(store, {"a", "b", "c", "d"}).ok());
  Transaction t;
  t.put(kBucket, "bb", "made here");
  t.remove(kBucket, "c");
  t.rename(kBucket, "d", kBucket, "b2");
  t.append(kBucket, "b", as_bytes("more"));
  t.remove_range(kBucket, "b", "d");
  t.put(kBucket, "bb", "made again");
  t.create(kBucket, "b");
  t.expect_exists(kBucket, "b");
  REQUIRE(store.commit(std::move(t)).ok());
  REQUIRE(names_in(store) == Names{"a", "b", "bb"});
  REQUIRE(get(store, "b") == "");
  REQUIRE(get(store, "bb") == "made again");
  REQUIRE(deep_findings(store) == "");

  // A collection is empty behind it.
  Transaction drop;
  drop.remove_range(kBucket, "", "");
  drop.remove_collection(kBucket);
  REQUIRE(store.commit(std::move(drop)).ok());
  REQUIRE(code_of(remove_range(store, "", "")) == ErrorCode::kNotFound);
  REQUIRE(code_of(remove_range(store, "b", "a")) == ErrorCode::kNotFound);
}

TEST_CASE("remove_range: more objects than the limit are refused as a whole") {
  StoreFixture fixture;
  Store store = fixture.open();
  constexpr int kLimit = static_cast<int>(kMaxRangeRemovals);
  Names names;
  for (int i = 0; i <= kLimit; ++i) names.push_back(numbered(i));
  REQUIRE(make(store, names).ok());
  Result<Lsn> result = remove_range(store, "", "");
  REQUIRE(code_of(result) == ErrorCode::kTooBig);
  REQUIRE_THAT(result.error().message,
               Catch::Contains(std::to_string(kLimit)) && Catch::Contains("collection default"));
  REQUIRE_FALSE(result.error().hint.empty());
  // All ranges of the transaction count together, and so do objects that it has made.
  Transaction two;
  two.remove_range(kBucket, "", numbered(kLimit / 2));
  two.remove_range(kBucket, numbered(kLimit / 2), "");
  REQUIRE(code_of(store.commit(std::move(two))) == ErrorCode::kTooBig);
  Transaction made;
  made.put(kBucket, "a", "one more");
  made.remove_range(kBucket, "", numbered(kLimit));
  REQUIRE(code_of(store.commit(std::move(made))) == ErrorCode::kTooBig);
  REQUIRE(names_in(store).size() == names.size());

  REQUIRE(remove_range(store, "", numbered(kLimit)).ok());
  REQUIRE(names_in(store) == Names{numbered(kLimit)});
  // What is there no more does not count.
  REQUIRE(remove_range(store, "", "").ok());
  REQUIRE(names_in(store).empty());
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("remove_range: objects of many pages give their space back") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::uint64_t free = unused(*store);
  for (int i = 0; i < 30; ++i) {
    Transaction t;
    for (const std::uint64_t at : {0, 1 << 20, 59 << 20}) {
      t.write(kBucket, numbered(i), at, as_bytes(noise(700, at + i)));
    }
    REQUIRE(store->commit(std::move(t)).ok());
  }
  // Some changed before they go, one taken out of the range.
  Transaction t;
  t.write(kBucket, numbered(3), 5 << 20, as_bytes(noise(900, 1)));
  t.truncate(kBucket, numbered(4), 100);
  t.put(kBucket, numbered(5), "short");
  t.rename(kBucket, numbered(6), kBucket, "kept");
  t.remove_range(kBucket, "n", "o");
  REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  REQUIRE(names_in(*store) == Names{"kept"});
  REQUIRE(store->stat(kBucket, "kept")->size == (59 << 20) + 700);
  REQUIRE(::hexad::testing::remove(*store, "kept").ok());
  // The background may still be at work; the next opening finds what it has not done.
  REQUIRE(store->close().ok());
  store.reset();
  store = fixture.open();
  while (unused(*store) != free) std::this_thread::yield();
  REQUIRE(deep_findings(*store) == "");
}

}  // namespace
}  // namespace hexad::testing
