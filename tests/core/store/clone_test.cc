// Clones: objects and omaps that share what is stored until one of them changes.
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

std::optional<ErrorCode> change(Store& store, const Build& build) {
  return code_of(commit(store, build));
}

std::map<std::string, std::string> omap_of(Store& store, const std::string& name) {
  std::map<std::string, std::string> content;
  OmapOptions options;
  for (;;) {
    const OmapPage page = store.omap_list(kBucket, name, options).value();
    for (const OmapEntry& entry : page.entries) content[entry.key] = as_text(entry.value);
    if (page.next.empty()) return content;
    options.start_after = page.next;
  }
}

// Removes all and waits for the background: no unit is left.
void require_no_leak(Store& store) {
  REQUIRE(change(store, [](Transaction& t) { t.remove_range(kBucket, "", ""); }) == std::nullopt);
  REQUIRE(message_of(store.checkpoint()) == "");
  for (;;) {
    const SpaceUsage space = store.space().value();
    if (space.allocated == 0 && space.user_bytes == 0) break;
    std::this_thread::yield();
  }
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("clone: all parts of the source, and a version of its own") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string data = noise(200'000, 1);
  REQUIRE(change(store, [&](Transaction& t) {
            t.create_collection("second");
            t.put(kBucket, "a", as_bytes(data), Hint::kCompressible);
            t.set_attr(kBucket, "a", "colour", "red");
            t.omap_set(kBucket, "a", "k", "v");
            t.omap_set_header(kBucket, "a", as_bytes("header"));
            t.put(kBucket, "there", noise(5000, 2));
            t.set_attr(kBucket, "there", "old", "1");
            t.omap_set(kBucket, "there", "old", "1");
          }) == std::nullopt);
  const ObjectStat before = store.stat(kBucket, "a").value();
  for (const std::string to : {"new", "there"}) {
    const Lsn lsn =
        commit(store, [&](Transaction& t) { t.clone(kBucket, "a", kBucket, to); }).value();
    CHECK(get(store, to) == data);
    CHECK(store.attributes(kBucket, to).value() == Attributes{{"colour", "red"}});
    CHECK(omap_of(store, to) == std::map<std::string, std::string>{{"k", "v"}});
    CHECK(text_of(store.omap_header(kBucket, to)) == "header");
    CHECK(store.stat(kBucket, to)->version == lsn);
    CHECK(store.stat(kBucket, to)->hint == Hint::kCompressible);
  }
  CHECK(store.stat(kBucket, "a")->version == before.version);
  CHECK(store.stat(kBucket, "a")->mtime == before.mtime);
  REQUIRE(change(store, [](Transaction& t) { t.clone(kBucket, "a", "second", "a"); }) ==
          std::nullopt);
  CHECK(text_of(store.get("second", "a")) == data);
  CHECK(store.collection("second")->bytes == data.size());
  CHECK(deep_findings(store) == "");
  REQUIRE(change(store, [](Transaction& t) {
            t.remove_collection("second", Contents::kRemoved);
          }) == std::nullopt);
  require_no_leak(store);
}

TEST_CASE("clone: space is counted once, and comes back with the last that shows it") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string data = noise(3 * kMiB, 1);
  REQUIRE(put(store, "a", data).ok());
  REQUIRE(message_of(store.checkpoint()) == "");
  const std::uint64_t once = store.space()->allocated;
  for (int i = 0; i < 20; ++i) {
    REQUIRE(change(store, [&](Transaction& t) {
              t.clone(kBucket, "a", kBucket, "copy" + std::to_string(i));
            }) == std::nullopt);
  }
  const SpaceUsage space = store.space().value();
  CHECK(space.allocated == once);
  CHECK(space.user_bytes == 21 * data.size());
  REQUIRE(remove(store, "a").ok());
  for (int i = 0; i < 19; ++i) REQUIRE(remove(store, "copy" + std::to_string(i)).ok());
  CHECK(store.space()->allocated == once);
  CHECK((get(store, "copy19") == data));
  CHECK(deep_findings(store) == "");
  require_no_leak(store);
}

TEST_CASE("clone: either side changes alone, whatever the blobs are in, and after a crash") {
  const std::uint64_t size = GENERATE(100, 5000, 70'000, 300'000, 2'500'000);
  const bool checkpoint = GENERATE(false, true);
  CAPTURE(size, checkpoint);
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  std::string a = noise(size, 1);
  REQUIRE(put(*store, "a", a).ok());
  if (checkpoint) REQUIRE(message_of(store->checkpoint()) == "");
  REQUIRE(change(*store, [](Transaction& t) { t.clone(kBucket, "a", kBucket, "b"); }) ==
          std::nullopt);
  std::string b = a;
  store.reset();
  store = fixture.open();
  REQUIRE(deep_findings(*store) == "");
  const std::string piece = noise(size / 3, 2);
  REQUIRE(change(*store, [&](Transaction& t) {
            t.write(kBucket, "a", size / 2, as_bytes(piece));
          }) == std::nullopt);
  a.replace(size / 2, piece.size(), piece);
  CHECK((get(*store, "a") == a));
  CHECK((get(*store, "b") == b));
  REQUIRE(change(*store, [&](Transaction& t) { t.truncate(kBucket, "b", size / 5); }) ==
          std::nullopt);
  b.resize(size / 5);
  if (checkpoint) REQUIRE(message_of(store->checkpoint()) == "");
  store.reset();
  store = fixture.open();
  CHECK((get(*store, "a") == a));
  CHECK((get(*store, "b") == b));
  REQUIRE(remove(*store, "a").ok());
  CHECK((get(*store, "b") == b));
  REQUIRE(deep_findings(*store) == "");
  require_no_leak(*store);
}

TEST_CASE("clone: unplaced blobs are shared across sealing, packing and checkpoints") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string data = noise(5000, 1);
  // Source and clone in one transaction: the place is not known to either.
  REQUIRE(change(*store, [&](Transaction& t) {
            t.put(kBucket, "a", as_bytes(data));
            t.clone(kBucket, "a", kBucket, "b");
          }) == std::nullopt);
  // Rewritten after the group was sealed, and so by another name than the other's.
  REQUIRE(change(*store, [](Transaction& t) { t.set_attr(kBucket, "a", "k", "v"); }) ==
          std::nullopt);
  REQUIRE(change(*store, [](Transaction& t) { t.clone(kBucket, "b", kBucket, "c"); }) ==
          std::nullopt);
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(message_of(store->checkpoint()) == "");
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(remove(*store, "b").ok());
  store.reset();
  store = fixture.open();
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(remove(*store, "a").ok());
  CHECK((get(*store, "c") == data));
  REQUIRE(deep_findings(*store) == "");
  require_no_leak(*store);
}

TEST_CASE("clone_range: creates, extends, cuts and refuses as documented") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string data = noise(3 * kMiB, 1);
  REQUIRE(put(store, "a", data).ok());
  const auto range = [&](std::uint64_t from, std::uint64_t length, const std::string& to,
                         std::uint64_t at) {
    return change(
        store, [&](Transaction& t) { t.clone_range(kBucket, "a", from, length, kBucket, to, at); });
  };
  CHECK(range(100, 0, "empty", 500) == std::nullopt);
  CHECK(get(store, "empty") == "");
  CHECK(range(700'000, 2'000'000, "b", 123'457) == std::nullopt);
  CHECK((get(store, "b") == std::string(123'457, '\0') + data.substr(700'000, 2'000'000)));
  CHECK(range(0, 1000, "b", 500'000) == std::nullopt);
  std::string b = std::string(123'457, '\0') + data.substr(700'000, 2'000'000);
  b.replace(500'000, 1000, data, 0, 1000);
  CHECK((get(store, "b") == b));
  CHECK(range(0, data.size() + 1, "b", 0) == ErrorCode::kInvalidArgument);
  CHECK(range(data.size() + 1, 0, "b", 0) == ErrorCode::kInvalidArgument);
  CHECK(range(0, 1, "b", kMaxObjectSize) == ErrorCode::kTooBig);
  CHECK(range(0, 1000, "a", 999) == ErrorCode::kInvalidArgument);
  CHECK(range(0, 1000, "a", 1000) == std::nullopt);
  CHECK(change(store, [](Transaction& t) { t.clone(kBucket, "a", kBucket, "a"); }) ==
        ErrorCode::kInvalidArgument);
  CHECK(change(store, [](Transaction& t) { t.clone(kBucket, "none", kBucket, "b"); }) ==
        ErrorCode::kNotFound);
  CHECK((get(store, "b") == b));
  CHECK(deep_findings(store) == "");
  require_no_leak(store);
}

TEST_CASE("clone_range: pages full of small pieces are written anew rather than overfilled") {
  StoreFixture fixture;
  Store store = fixture.open();
  std::map<std::string, std::string> expected;
  for (const std::string name : {"a", "b"}) {
    std::string& data = expected[name];
    data = std::string(50'000, '\0');
    const std::uint64_t from = name == "a" ? 0 : 10'000;
    for (std::uint64_t i = 0; i < 20; ++i) {
      const std::string piece = noise(200, from + i);
      data.replace(from + i * 400, 200, piece);
      REQUIRE(change(store, [&](Transaction& t) {
                t.write(kBucket, name, from + i * 400, as_bytes(piece));
              }) == std::nullopt);
    }
    REQUIRE(change(store, [&](Transaction& t) { t.truncate(kBucket, name, 50'000); }) ==
            std::nullopt);
  }
  REQUIRE(change(store, [](Transaction& t) {
            t.clone_range(kBucket, "a", 0, 10'000, kBucket, "b", 0);
          }) == std::nullopt);
  expected["b"].replace(0, 10'000, expected["a"], 0, 10'000);
  CHECK((get(store, "a") == expected["a"]));
  CHECK((get(store, "b") == expected["b"]));
  CHECK(deep_findings(store) == "");
}

TEST_CASE("clone: an omap of 100,000 keys is shared, at the cost of one small record",
          "[one-thread]") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(change(store, [](Transaction& t) { t.create(kBucket, "a"); }) == std::nullopt);
  for (int i = 0; i < 100'000; i += 2000) {
    REQUIRE(change(store, [&](Transaction& t) {
              for (int j = i; j < i + 2000; ++j) {
                t.omap_set(kBucket, "a", std::to_string(100'000 + j), "v");
              }
            }) == std::nullopt);
  }
  const std::uint64_t before = counter(store, "device_log_bytes");
  REQUIRE(change(store, [](Transaction& t) { t.clone(kBucket, "a", kBucket, "b"); }) ==
          std::nullopt);
  CHECK(counter(store, "device_log_bytes") - before <= 3 * 8192);
  REQUIRE(change(store, [](Transaction& t) {
            t.omap_set(kBucket, "b", "100001", "mine");
            t.omap_remove(kBucket, "b", "100002");
            t.omap_set(kBucket, "a", "100003", "theirs");
            t.omap_remove_range(kBucket, "a", "100004", "100006");
          }) == std::nullopt);
  const auto a = omap_of(store, "a");
  const auto b = omap_of(store, "b");
  CHECK(a.size() == 100'000 - 2);
  CHECK(b.size() == 100'000 - 1);
  CHECK(a.at("100001") == "v");
  CHECK(a.at("100003") == "theirs");
  CHECK(b.at("100001") == "mine");
  CHECK(b.at("100003") == "v");
  CHECK(store.collection_usage(kBucket)->omap_entries == a.size() + b.size());
  CHECK(deep_findings(store) == "");
}

TEST_CASE("clone: guards and ops of one transaction see through the layers of an omap") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(change(store, [](Transaction& t) {
            t.create(kBucket, "a");
            t.omap_set(kBucket, "a", "k", "old");
            t.omap_set(kBucket, "a", "l", noise(5000, 1));
            t.clone(kBucket, "a", kBucket, "b");
            t.omap_set(kBucket, "a", "k", "new");
            t.omap_remove(kBucket, "b", "l");
          }) == std::nullopt);
  CHECK(change(store, [](Transaction& t) {
          t.expect_omap(kBucket, "a", "k", as_bytes("new"));
          t.expect_omap(kBucket, "b", "k", as_bytes("old"));
          t.expect_omap(kBucket, "a", "l", as_bytes(noise(5000, 1)));
          t.expect_omap_absent(kBucket, "b", "l");
          t.omap_set_header(kBucket, "b", {});
        }) == std::nullopt);
  CHECK(change(store, [](Transaction& t) { t.expect_omap_absent(kBucket, "b", "k"); }) ==
        ErrorCode::kConflict);
  const Lsn version = store.stat(kBucket, "b")->version;
  REQUIRE(change(store, [](Transaction& t) { t.omap_remove(kBucket, "b", "l"); }) == std::nullopt);
  CHECK(store.stat(kBucket, "b")->version == version);  // it was gone already
  REQUIRE(change(store, [](Transaction& t) {
            t.omap_set(kBucket, "b", "l", "again");
            t.clone(kBucket, "b", kBucket, "c");
            t.omap_clear(kBucket, "b");
          }) == std::nullopt);
  CHECK(omap_of(store, "b").empty());
  CHECK(omap_of(store, "c") == std::map<std::string, std::string>{{"k", "old"}, {"l", "again"}});
  CHECK(deep_findings(store) == "");
  require_no_leak(store);
}

TEST_CASE("clone: chains of any length keep their contents, and layers stay few") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open(Access::kReadWrite, busy_runtime());
  std::map<std::string, std::map<std::string, std::string>> model;
  REQUIRE(change(*store, [](Transaction& t) { t.create(kBucket, "0"); }) == std::nullopt);
  model["0"];
  io::Rng rng(1);
  for (int i = 1; i <= 60; ++i) {
    const std::string from = std::to_string(i - 1);
    const std::string to = std::to_string(i);
    std::map<std::string, std::string>& content = model[from];
    REQUIRE(change(*store, [&](Transaction& t) {
              for (int j = 0; j < 5; ++j) {
                const std::string key = "k" + std::to_string(rng.below(100));
                if (rng.chance(1, 3)) {
                  t.omap_remove(kBucket, from, key);
                  content.erase(key);
                } else {
                  const std::uint64_t sizes[] = {3, 300, 20'000, 1'100'000};
                  const std::string value =
                      noise(sizes[rng.below(i % 10 == 0 ? 4 : 3)], rng.next());
                  t.omap_set(kBucket, from, key, value);
                  content[key] = value;
                }
              }
            }) == std::nullopt);
    REQUIRE(change(*store, [&](Transaction& t) { t.clone(kBucket, from, kBucket, to); }) ==
            std::nullopt);
    model[to] = content;
    if (i > 8) {
      const std::string old = std::to_string(i - 8);
      REQUIRE(remove(*store, old).ok());
      model.erase(old);
    }
    if (i % 13 == 0) {
      store.reset();
      store = fixture.open(Access::kReadWrite, busy_runtime());
    }
    if (i % 10 != 0) continue;
    for (const auto& [name, expected] : model) REQUIRE((omap_of(*store, name) == expected));
    REQUIRE(deep_findings(*store) == "");
  }
  require_no_leak(*store);
}

TEST_CASE("clone: large objects and collections go in the background, and clones of them stay") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string data = noise(kMiB, 1);
  REQUIRE(change(*store, [&](Transaction& t) {
            t.create_collection("second");
            t.put("second", "large", as_bytes(data));
            t.write("second", "large", 70 * kMiB, as_bytes(data));
            t.omap_set("second", "large", "k", noise(5000, 2));
            t.put("second", "small", noise(5000, 3));
          }) == std::nullopt);
  REQUIRE(change(*store, [](Transaction& t) {
            t.clone("second", "large", kBucket, "large");
            t.clone("second", "small", kBucket, "small");
            t.remove("second", "large");
          }) == std::nullopt);
  REQUIRE(change(*store, [](Transaction& t) {
            t.remove_collection("second", Contents::kRemoved);
          }) == std::nullopt);
  store.reset();
  store = fixture.open();
  REQUIRE(message_of(store->checkpoint()) == "");
  REQUIRE(deep_findings(*store) == "");
  CHECK((get(*store, "large") == data + std::string(69 * kMiB, '\0') + data));
  CHECK((get(*store, "small") == noise(5000, 3)));
  CHECK((omap_of(*store, "large").at("k") == noise(5000, 2)));
  require_no_leak(*store);
}

TEST_CASE("clone: a range that outgrows the log is refused, and a whole object is not",
          "[one-thread]") {
  StoreFixture fixture;
  Store store = fixture.open();
  REQUIRE(change(store, [](Transaction& t) { t.create(kBucket, "a"); }) == std::nullopt);
  // Pages of many small blobs, so that the record is large and the data is not.
  for (std::uint64_t page = 0; page < 80; ++page) {
    REQUIRE(change(store, [&](Transaction& t) {
              for (std::uint64_t i = 0; i < 240; ++i) {
                t.write(kBucket, "a", page * kMiB + i * 1000, as_bytes(noise(257, i)));
              }
            }) == std::nullopt);
  }
  const Result<Lsn> refused = commit(
      store, [](Transaction& t) { t.clone_range(kBucket, "a", 0, 79 * kMiB, kBucket, "b", 0); });
  REQUIRE(code_of(refused) == ErrorCode::kTooBig);
  CHECK(refused.error().message.find("the log takes at most") != std::string::npos);
  CHECK(store.exists(kBucket, "b").value() == false);
  for (std::uint64_t page = 0; page < 80; page += 10) {
    REQUIRE(change(store, [&](Transaction& t) {
              t.clone_range(kBucket, "a", page * kMiB, 5 * kMiB, kBucket, "b", page * kMiB);
            }) == std::nullopt);
  }
  REQUIRE(change(store, [](Transaction& t) { t.clone(kBucket, "a", kBucket, "c"); }) ==
          std::nullopt);
  CHECK((get(store, "c") == get(store, "a")));
  CHECK(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
