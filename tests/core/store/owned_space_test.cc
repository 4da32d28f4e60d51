// Space of small objects comes back whoever owns them by now: what was renamed, cloned, has got
// pages or lies in merged layers of omaps is found and moved (doc/invariants.md#owners). Before, a
// stripe with one such blob stayed for ever, so "write under another name, then rename" filled a
// store.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/store/settled_store.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kObject = 4096;
constexpr int kAtOnce = 25;
constexpr std::size_t kPage = 1_MiB;  // with more an object has pages

FormatOptions format_of(std::uint64_t device_size) {
  FormatOptions options = small_format();
  options.device_size = device_size;
  return options;
}

std::string name_of(int i) { return "o" + std::to_string(i); }

// Objects, and what they have to hold.
struct Content {
  explicit Content(Store& given) : store(given) {}

  void do_all(const std::vector<int>& which, const std::function<void(Transaction&, int)>& each) {
    for (std::size_t i = 0; i < which.size(); i += kAtOnce) {
      Transaction t;
      for (std::size_t j = i; j < std::min(which.size(), i + kAtOnce); ++j) each(t, which[j]);
      const Status done = store.commit(std::move(t)).status();
      CAPTURE(i, counter(store, "cleaned_stripes"), counter(store, "clean_unexplained"));
      REQUIRE(message_of(done) == "");
    }
  }
  std::string fresh() { return noise(kObject, ++made); }
  void check() {
    for (const auto& [name, bytes] : all) {
      CAPTURE(name);
      REQUIRE((get(store, name) == bytes));
    }
  }

  Store& store;
  io::Rng rng{11};
  int made = 0;
  std::map<std::string, std::string> all;
};

std::vector<int> up_to(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(i);
  return all;
}

TEST_CASE("owned space: objects that are written under another name and renamed, lap after lap",
          "[one-thread]") {
  StoreFixture fixture(format_of(16_MiB));
  Store store = fixture.open();
  Content content(store);
  const auto count = static_cast<int>(store.space()->capacity * 2 / 5 / kObject);
  const auto write = [&](Transaction& t, int i) {
    const std::string bytes = content.all["tmp" + name_of(i)] = content.fresh();
    t.put(kBucket, "tmp" + name_of(i), bytes);
  };
  const auto rename = [&](Transaction& t, int i) {
    t.remove(kBucket, name_of(i));
    t.rename(kBucket, "tmp" + name_of(i), kBucket, name_of(i));
    auto node = content.all.extract("tmp" + name_of(i));
    content.all[name_of(i)] = std::move(node.mapped());
  };
  content.do_all(up_to(count), [&](Transaction& t, int i) { t.touch(kBucket, name_of(i)); });
  // At once, and when a checkpoint has written what is renamed.
  const bool later = GENERATE(false, true);
  for (int done = 0; done < 5 * count; done += kAtOnce) {
    std::vector<int> some;
    for (int i = 0; i < kAtOnce; ++i) {
      const int one =
          done < count ? (done + i) % count : static_cast<int>(content.rng.below(count));
      if (std::find(some.begin(), some.end(), one) == some.end()) some.push_back(one);
    }
    content.do_all(some, write);
    if (later && done % (8 * kAtOnce) == 0) REQUIRE(message_of(store.checkpoint()) == "");
    content.do_all(some, rename);
  }
  // Where a list shows a blob no more, and its release is not counted yet, the stripe waits.
  CHECK(counter(store, "cleaned_stripes") > 10 * counter(store, "clean_unexplained"));
  content.check();
  REQUIRE(deep_findings(store) == "");
  REQUIRE(message_of(store.close()) == "");
}

// Makes owners in one of the ways, of objects that are small at first; then most of all that is
// there is removed, and the rest does not take more than it needs.
void check_space_of(const std::function<void(Content&, const std::vector<int>&)>& make_owners) {
  StoreFixture fixture(format_of(16_MiB));
  std::optional<Store> store = fixture.open();
  std::optional<Content> content(*store);
  const auto count = static_cast<int>(store->space()->capacity / 3 / kObject);
  const std::uint64_t empty = allocated_when_settled(*store);
  content->do_all(up_to(count), [&](Transaction& t, int i) {
    t.put(kBucket, name_of(i), content->all[name_of(i)] = content->fresh());
  });
  make_owners(*content, up_to(count));
  REQUIRE(deep_findings(*store) == "");
  const std::uint64_t full = allocated_when_settled(*store);
  std::vector<std::string> names;
  for (const auto& [name, bytes] : content->all) names.push_back(name);
  std::vector<int> gone;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (content->rng.below(20) != 0) gone.push_back(static_cast<int>(i));
  }
  content->do_all(gone, [&](Transaction& t, int i) {
    t.remove(kBucket, names[i]);
    content->all.erase(names[i]);
  });
  const std::uint64_t most = empty + (full - empty) / 4;
  wait_until_allocated(*store, most);
  content->check();
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(message_of(store->close()) == "");
  store.reset();
  store = fixture.open();
  Content again(*store);
  again.all = content->all;
  again.check();
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("owned space: what clones alone show, and what they share, is moved") {
  check_space_of([](Content& content, const std::vector<int>& all) {
    std::vector<int> some;
    for (const int i : all) {
      if (i % 3 == 0) some.push_back(i);
    }
    content.do_all(some, [&](Transaction& t, int i) {
      t.clone(kBucket, name_of(i), kBucket, "clone" + name_of(i));
      content.all["clone" + name_of(i)] = content.all[name_of(i)];
      if (i % 2 == 0) return;
      t.clone(kBucket, "clone" + name_of(i), kBucket, "copy" + name_of(i));
      content.all["copy" + name_of(i)] = content.all[name_of(i)];
    });
  });
}

TEST_CASE("owned space: what ranges of other objects show is moved") {
  check_space_of([](Content& content, const std::vector<int>& all) {
    content.do_all(all, [&](Transaction& t, int i) {
      if (i % 5 != 0 || i == 0) return;
      const std::string name = "range" + std::to_string(i % 40);
      std::string& bytes = content.all[name];
      const std::size_t at = bytes.size();
      t.clone_range(kBucket, name_of(i), 100, 3000, kBucket, name, at);
      bytes += content.all[name_of(i)].substr(100, 3000);
    });
  });
}

TEST_CASE("owned space: what an object shows that has got pages since, and was renamed, is moved") {
  check_space_of([](Content& content, const std::vector<int>& all) {
    std::vector<int> some;
    for (const int i : all) {
      if (i % 60 == 0) some.push_back(i);
    }
    content.do_all(some, [&](Transaction& t, int i) {
      const std::string end = content.fresh();
      std::string& bytes = content.all[name_of(i)];
      t.write(kBucket, name_of(i), kPage, as_bytes(end));
      bytes.resize(kPage);
      bytes += end;
    });
    content.do_all(some, [&](Transaction& t, int i) {
      t.rename(kBucket, name_of(i), kBucket, "large" + name_of(i));
      auto node = content.all.extract(name_of(i));
      content.all["large" + name_of(i)] = std::move(node.mapped());
    });
  });
}

// More clones in turn than an omap may have layers, so that these are merged, and beside each
// generation objects in the same stripes, which are removed in the end.
TEST_CASE("owned space: what merged layers of omaps show is moved") {
  constexpr int kGenerations = 40;
  constexpr int kKeys = 20;
  StoreFixture fixture(format_of(16_MiB));
  Store store = fixture.open();
  Content content(store);
  const std::uint64_t empty = allocated_when_settled(store);
  std::map<std::string, std::string> values;
  REQUIRE(put(store, "base", "x").ok());
  std::string newest = "base";
  std::vector<int> beside;
  for (int i = 0; i < kGenerations; ++i) {
    const std::string next = "clone" + std::to_string(i);
    REQUIRE(commit(store, [&](Transaction& t) {
              for (int j = 0; j < kKeys; ++j) {
                const std::string key = "k" + std::to_string(content.rng.below(5 * kKeys));
                t.omap_set(kBucket, newest, key, values[key] = content.fresh());
              }
              for (int j = 0; j < 5 * kKeys; ++j) {
                beside.push_back(static_cast<int>(beside.size()));
                t.put(kBucket, name_of(beside.back()), content.fresh());
              }
              t.clone(kBucket, newest, kBucket, next);
              t.remove(kBucket, newest);
            }).ok());
    newest = next;
  }
  REQUIRE(deep_findings(store) == "");
  const std::uint64_t full = allocated_when_settled(store);
  content.do_all(beside, [&](Transaction& t, int i) { t.remove(kBucket, name_of(i)); });
  const std::uint64_t most = empty + (full - empty) / 3;
  wait_until_allocated(store, most);
  for (const auto& [key, value] : values) {
    CAPTURE(key);
    const auto found = store.omap_get(kBucket, newest, key);
    REQUIRE(found.ok());
    REQUIRE(found->has_value());
    CHECK((std::string(as_text(**found)) == value));
  }
  REQUIRE(deep_findings(store) == "");
  REQUIRE(message_of(store.close()) == "");
}

}  // namespace
}  // namespace hexad::testing
