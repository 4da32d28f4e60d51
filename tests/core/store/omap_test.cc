// Omaps: ordered maps that belong to objects.
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <thread>

#include "io/rng.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr const char* kBucket = kDefaultCollection;
constexpr const char* kName = "o";

using Content = std::map<std::string, std::string>;

std::optional<ErrorCode> commit(Store& store, const std::function<void(Transaction&)>& build) {
  Transaction t;
  build(t);
  return code_of(store.commit(std::move(t)));
}

// All pages of `limit` entries, and each key looked up.
Content content_of(Store& store, const std::string& name = kName, std::uint64_t limit = 1000) {
  Content content;
  OmapOptions options;
  options.limit = limit;
  for (;;) {
    const OmapPage page = store.omap_list(kBucket, name, options).value();
    REQUIRE(page.entries.size() <= limit);
    for (const OmapEntry& entry : page.entries) {
      REQUIRE((content.empty() || content.rbegin()->first < entry.key));
      REQUIRE(entry.size == entry.value.size());
      content[entry.key] = as_text(entry.value);
      const std::optional<Bytes> value = store.omap_get(kBucket, name, entry.key).value();
      REQUIRE((value == entry.value));
    }
    if (page.next.empty()) return content;
    options.start_after = page.next;
  }
}

std::string header_of(Store& store, const std::string& name = kName) {
  return text_of(store.omap_header(kBucket, name));
}

// The background has taken back what nobody names: the objects, their omaps and no more are left.
void wait_until_stored_is(Store& store, std::uint64_t bytes) {
  const auto stored = [&store] {
    const SpaceUsage space = store.space(SpaceDetail::kBreakdown).value();
    return space.user_bytes + space.omap_bytes;
  };
  while (stored() != bytes) std::this_thread::yield();
}

TEST_CASE("omap: keys come in bytewise order, with values of every size, also after reopening") {
  StoreFixture fixture;
  Content expected = {{std::string(1, '\0'), "zero"},
                      {"a", ""},
                      {"ab", noise(256, 1)},
                      {"b", noise(257, 2)},
                      {std::string(kMaxOmapKey, 'b'), noise(5000, 3)},
                      {"c", noise(300'000, 4)},
                      {"\xff", noise(2'500'000, 5)},
                      {std::string(kMaxOmapKey, '\xff'), "last"}};
  {
    Store store = fixture.open();
    REQUIRE(commit(store, [&](Transaction& t) {
              t.create(kBucket, kName);
              for (const auto& [key, value] : expected) t.omap_set(kBucket, kName, key, value);
              t.omap_set_header(kBucket, kName, as_bytes("the header"));
            }) == std::nullopt);
    REQUIRE((content_of(store) == expected));
    REQUIRE(store.close().ok());
  }
  for (const std::uint64_t limit : {1, 3, 1000}) {
    Store store = fixture.open();
    REQUIRE((content_of(store, kName, limit) == expected));
    REQUIRE(header_of(store) == "the header");
    REQUIRE(store.stat(kBucket, kName)->size == 0);
    REQUIRE(store.collection_usage(kBucket)->omap_entries == expected.size() + 1);
    REQUIRE(deep_findings(store) == "");
  }
  fixture.take_away(1);
  fixture.take_away(4);
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE((content_of(store) == expected));
}

TEST_CASE("omap: pages have bounds, may leave out values, and never show the header") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(commit(store, [](Transaction& t) {
            t.create(kBucket, kName);
            t.omap_set_header(kBucket, kName, as_bytes("header"));
            for (const char* key : {"a", "b", "c", "d"}) t.omap_set(kBucket, kName, key, "of it");
          }) == std::nullopt);
  const auto keys = [&](const OmapOptions& options) {
    std::string found;
    const OmapPage page = store.omap_list(kBucket, kName, options).value();
    for (const OmapEntry& entry : page.entries) found += entry.key;
    return found + (page.next.empty() ? "" : ">" + page.next);
  };
  CHECK(keys({}) == "abcd");
  CHECK(keys({"a", "", 1000, true}) == "bcd");
  CHECK(keys({"a", "d", 1000, true}) == "bc");
  CHECK(keys({"", "c", 1, true}) == "a>a");
  CHECK(keys({"b", "c", 5, true}) == "");
  CHECK(keys({"c", "b", 5, true}) == "");
  CHECK(keys({"d", "", 5, true}) == "");
  CHECK(keys({"", "", 0, true}) == "");
  const OmapPage without = store.omap_list(kBucket, kName, {"", "", 1, false}).value();
  CHECK(without.entries.at(0) == OmapEntry{"a", 5, {}});
  const std::string long_key(kMaxOmapKey + 1, 'k');
  CHECK(code_of(store.omap_list(kBucket, kName, {long_key, "", 1, true})) ==
        ErrorCode::kInvalidArgument);
  CHECK(code_of(store.omap_list(kBucket, "none", {})) == ErrorCode::kNotFound);
  const std::vector<std::string> wanted = {"d", "none", "a", "d"};
  const auto some = store.omap_get(kBucket, kName, wanted).value();
  CHECK(some.size() == 2);
  CHECK(as_text(some.at("d")) == "of it");
}

TEST_CASE("omap: every change is one of the object, and moves with it") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(commit(store, [](Transaction& t) { t.put(kBucket, kName, "data"); }) == std::nullopt);
  Lsn version = store.stat(kBucket, kName)->version;
  const auto changes = [&](const std::function<void(Transaction&)>& build) {
    REQUIRE(commit(store, build) == std::nullopt);
    const Lsn before = std::exchange(version, store.stat(kBucket, kName)->version);
    return version > before;
  };
  CHECK(changes([](Transaction& t) { t.omap_set(kBucket, kName, "a", "1"); }));
  CHECK(changes([](Transaction& t) { t.omap_set(kBucket, kName, "a", "1"); }));
  CHECK_FALSE(changes([](Transaction& t) { t.omap_remove(kBucket, kName, "b"); }));
  CHECK_FALSE(changes([](Transaction& t) { t.omap_remove_range(kBucket, kName, "b", ""); }));
  CHECK(changes([](Transaction& t) { t.omap_set_header(kBucket, kName, as_bytes("h")); }));
  // What replaces the data leaves the omap.
  CHECK(changes([](Transaction& t) { t.put(kBucket, kName, noise(100'000, 1)); }));
  CHECK(content_of(store) == Content{{"a", "1"}});
  REQUIRE(commit(store, [](Transaction& t) { t.rename(kBucket, kName, kBucket, "moved"); }) ==
          std::nullopt);
  CHECK(content_of(store, "moved") == Content{{"a", "1"}});
  CHECK(header_of(store, "moved") == "h");
  // A new object of the old name has none of it.
  REQUIRE(commit(store, [](Transaction& t) { t.create(kBucket, kName); }) == std::nullopt);
  CHECK(content_of(store).empty());
  CHECK(header_of(store).empty());
  CHECK(deep_findings(store) == "");
}

TEST_CASE("omap: ops of one transaction see each other, in order") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(commit(store, [](Transaction& t) {
            t.create(kBucket, kName);
            for (const char* key : {"a", "b", "c", "d"}) {
              t.omap_set(kBucket, kName, key, noise(5000, key[0]));
            }
            t.omap_set(kBucket, kName, "b", "again");
            t.omap_remove_range(kBucket, kName, "c", "d");
            t.omap_set_header(kBucket, kName, as_bytes("h"));
          }) == std::nullopt);
  CHECK((content_of(store) ==
         Content{{"a", noise(5000, 'a')}, {"b", "again"}, {"d", noise(5000, 'd')}}));
  REQUIRE(commit(store, [](Transaction& t) {
            t.omap_set(kBucket, kName, "e", "gone");
            t.omap_clear(kBucket, kName);
            t.omap_set(kBucket, kName, "f", "kept");
          }) == std::nullopt);
  CHECK(content_of(store) == Content{{"f", "kept"}});
  CHECK(header_of(store).empty());
  REQUIRE(commit(store, [](Transaction& t) {
            t.omap_set(kBucket, kName, "g", noise(5000, 1));
            t.remove(kBucket, kName);
            t.create(kBucket, "other");
            t.omap_set(kBucket, "other", "g", "x");
            t.remove(kBucket, "other");
          }) == std::nullopt);
  wait_until_stored_is(store, 0);
  CHECK(deep_findings(store) == "");
  CHECK(store.space()->allocated == 0);
}

TEST_CASE("omap: what is refused leaves nothing behind") {
  StoreFixture fixture;
  Store store = fixture.open();
  const auto set = [](const char* name, const std::string& key) {
    return [=](Transaction& t) { t.omap_set(kBucket, name, key, "v"); };
  };
  CHECK(commit(store, set("none", "a")) == ErrorCode::kNotFound);
  CHECK(commit(store, [](Transaction& t) { t.omap_remove(kBucket, "none", "a"); }) ==
        ErrorCode::kNotFound);
  CHECK(commit(store, [](Transaction& t) { t.omap_remove_range(kBucket, "none", "", ""); }) ==
        ErrorCode::kNotFound);
  CHECK(commit(store, [](Transaction& t) { t.omap_set_header(kBucket, "none", {}); }) ==
        ErrorCode::kNotFound);
  CHECK(commit(store, [](Transaction& t) { t.omap_clear(kBucket, "none"); }) == std::nullopt);
  REQUIRE(commit(store, [](Transaction& t) { t.create(kBucket, kName); }) == std::nullopt);
  CHECK(commit(store, set(kName, "")) == ErrorCode::kInvalidArgument);
  CHECK(commit(store, set(kName, std::string(kMaxOmapKey + 1, 'k'))) ==
        ErrorCode::kInvalidArgument);
  CHECK(commit(store, [](Transaction& t) {
          t.omap_set(kBucket, kName, "k", Bytes(kMaxOmapValue + 1));
        }) == ErrorCode::kTooBig);
  CHECK(content_of(store).empty());

  for (std::uint64_t i = 0; i <= kMaxRangeRemovals; i += 500) {
    REQUIRE(commit(store, [&](Transaction& t) {
              for (std::uint64_t j = i; j < i + 500; ++j) {
                t.omap_set(kBucket, kName, std::to_string(10'000 + j), "v");
              }
            }) == std::nullopt);
  }
  const Content before = content_of(store);
  CHECK(commit(store, [](Transaction& t) { t.omap_remove_range(kBucket, kName, "", ""); }) ==
        ErrorCode::kTooBig);
  CHECK((content_of(store) == before));
  CHECK(commit(store, [](Transaction& t) {
          t.omap_remove_range(kBucket, kName, "1", std::to_string(10'000 + kMaxRangeRemovals));
        }) == std::nullopt);
  CHECK(content_of(store).size() == before.size() - kMaxRangeRemovals);
  CHECK(commit(store, [](Transaction& t) { t.omap_clear(kBucket, kName); }) == std::nullopt);
  CHECK(content_of(store).empty());
  wait_until_stored_is(store, 0);
  CHECK(deep_findings(store) == "");
}

TEST_CASE("omap: guards compare values, large ones too, and see the state before") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string large = noise(1'500'000, 1);
  REQUIRE(commit(store, [&](Transaction& t) {
            t.create(kBucket, kName);
            t.omap_set(kBucket, kName, "small", "value");
            t.omap_set(kBucket, kName, "large", large);
            t.omap_set(kBucket, kName, "empty", "");
          }) == std::nullopt);
  const auto expect = [&](const std::string& key, const std::string& value) {
    return commit(store, [&](Transaction& t) {
      t.omap_set(kBucket, kName, "small", "value");  // the guard does not see it
      t.expect_omap(kBucket, kName, key, as_bytes(value));
    });
  };
  CHECK(expect("small", "value") == std::nullopt);
  CHECK(expect("large", large) == std::nullopt);
  CHECK(expect("empty", "") == std::nullopt);
  CHECK(expect("small", "Value") == ErrorCode::kConflict);
  CHECK(expect("small", "") == ErrorCode::kConflict);
  CHECK(expect("empty", "x") == ErrorCode::kConflict);
  CHECK(expect("none", "") == ErrorCode::kConflict);
  std::string other = large;
  other[1'400'000] ^= 1;
  CHECK(expect("large", other) == ErrorCode::kConflict);
  CHECK(commit(store, [](Transaction& t) {
          t.expect_omap_absent(kBucket, kName, "none");
          t.omap_set(kBucket, kName, "none", "now");
        }) == std::nullopt);
  CHECK(commit(store, [](Transaction& t) { t.expect_omap_absent(kBucket, kName, "none"); }) ==
        ErrorCode::kConflict);
  CHECK(commit(store, [](Transaction& t) { t.expect_omap_absent(kBucket, "gone", "none"); }) ==
        ErrorCode::kConflict);
}

TEST_CASE("omap: random changes agree with plain maps, checkpoints and reopening in between") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    CAPTURE(seed);
    StoreFixture fixture;
    std::optional<Store> store = fixture.open(Access::kReadWrite, busy_runtime());
    io::Rng rng(seed);
    std::map<std::string, Content> model;
    const std::string names[] = {"x", "y", "z"};
    for (int round = 0; round < 300; ++round) {
      std::map<std::string, Content> next = model;
      Transaction t;
      for (std::uint64_t op = 0, ops = 1 + rng.below(6); op < ops; ++op) {
        const std::string& name = names[rng.below(3)];
        const std::string key = "k" + std::to_string(rng.below(40));
        Content& content = next[name];
        t.touch(kBucket, name);
        switch (rng.below(12)) {
          case 10:
          case 11: {
            const std::string& to = names[rng.below(3)];
            if (to == name) break;
            t.clone(kBucket, name, kBucket, to);
            Content copy = content;
            next[to] = std::move(copy);
            break;
          }
          case 0:
            t.omap_clear(kBucket, name);
            content.clear();
            break;
          case 1:
            t.omap_remove_range(kBucket, name, key, "k3");
            if (key < "k3") content.erase(content.lower_bound(key), content.lower_bound("k3"));
            break;
          case 2:
            t.omap_remove(kBucket, name, key);
            content.erase(key);
            break;
          case 3:
            t.remove(kBucket, name);
            next.erase(name);
            break;
          default: {
            const std::uint64_t sizes[] = {0, 10, 256, 300, 4000, 20'000};
            const std::string value = noise(sizes[rng.below(6)], rng.next());
            t.omap_set(kBucket, name, key, value);
            content[key] = value;
          }
        }
      }
      REQUIRE(code_of(store->commit(std::move(t))) == std::nullopt);
      model = std::move(next);
      if (rng.chance(1, 30)) {
        if (rng.chance(1, 2)) REQUIRE(store->close().ok());
        store.reset();
        store = fixture.open(Access::kReadWrite, busy_runtime());
      }
      if (round % 20 != 0) continue;
      REQUIRE(store->list(kBucket)->entries.size() == model.size());
      for (const auto& [name, content] : model) REQUIRE((content_of(*store, name) == content));
      REQUIRE(deep_findings(*store) == "");
    }
  }
}

}  // namespace
}  // namespace hexad::testing
