// Space of small objects comes back: what is alive in stripes that are mostly dead is moved.
// Before, a store that was a quarter full died of two laps of overwrites, and removing nineteen of
// twenty small objects gave nothing back.
#include <algorithm>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/core/store/settled_store.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

FormatOptions format_of(std::uint64_t device_size) {
  FormatOptions options = small_format();
  options.device_size = device_size;
  return options;
}

constexpr std::size_t kObject = 4096;
constexpr int kAtOnce = 50;

std::string name_of(int i) { return "o" + std::to_string(i); }

// Objects of one size in their newest versions, and a store that has the same.
struct Objects {
  explicit Objects(Store& given) : store(given) {}

  Status write(const std::vector<int>& which) {
    Transaction t;
    for (const int i : which) {
      const int now = ++made;
      versions.resize(std::max(versions.size(), static_cast<std::size_t>(i) + 1));
      versions[i] = now;
      t.put(kBucket, name_of(i), noise(kObject, now));
    }
    return store.commit(std::move(t)).status();
  }
  void fill(int count) {
    for (int i = 0; i < count; i += kAtOnce) {
      std::vector<int> which;
      for (int j = i; j < std::min(count, i + kAtOnce); ++j) which.push_back(j);
      REQUIRE(message_of(write(which)) == "");
    }
  }
  // Every object there is, on average, so often.
  void overwrite(int laps) {
    const auto count = static_cast<int>(versions.size());
    for (int i = 0; i < laps * count; i += kAtOnce) {
      std::vector<int> which;
      while (which.size() < kAtOnce) which.push_back(static_cast<int>(rng.below(count)));
      const Status written = write(which);
      CAPTURE(i, count, counter(store, "cleaned_stripes"), counter(store, "clean_unexplained"),
              counter(store, "clean_unreadable"), counter(store, "clean_no_gain"),
              counter(store, "checkpoints"));
      REQUIRE(message_of(written) == "");
    }
  }
  void check() {
    for (std::size_t i = 0; i < versions.size(); ++i) {
      if (versions[i] == 0) continue;
      REQUIRE((get(store, name_of(static_cast<int>(i))) == noise(kObject, versions[i])));
    }
  }

  Store& store;
  io::Rng rng{7};
  int made = 0;
  std::vector<int> versions;  // 0: none
};

TEST_CASE("cleaning: a store that is half full is overwritten at random, lap after lap") {
  StoreFixture fixture(format_of(16_MiB));
  std::optional<Store> store = fixture.open();
  const std::uint64_t capacity = store->space()->capacity;
  Objects objects(*store);
  objects.fill(static_cast<int>(capacity / 2 / kObject));
  objects.overwrite(kThinned > 1 ? 2 : 6);
  CHECK(counter(*store, "cleaned_stripes") > 0);
  CHECK(counter(*store, "cleaned_bytes") >= counter(*store, "cleaned_blobs") * kObject);
  objects.check();
  REQUIRE(deep_findings(*store) == "");
  REQUIRE(message_of(store->close()) == "");
  store.reset();
  Store again = fixture.open();
  Objects same(again);
  same.versions = objects.versions;
  same.check();
  REQUIRE(deep_findings(again) == "");
}

TEST_CASE("cleaning: what most small objects took that are removed at random comes back",
          "[one-thread]") {
  StoreFixture fixture(format_of(32_MiB));
  Store store = fixture.open();
  const auto count = static_cast<int>(store.space()->capacity * 7 / 10 / kObject);
  Objects objects(store);
  objects.fill(count);
  REQUIRE(message_of(store.checkpoint()) == "");
  const std::uint64_t full = store.space()->allocated;
  for (int i = 0; i < count; i += kAtOnce) {
    Transaction t;
    for (int j = i; j < std::min(count, i + kAtOnce); ++j) {
      if (objects.rng.below(20) == 0) continue;
      objects.versions[j] = 0;
      t.remove(kBucket, name_of(j));
    }
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
  }
  // As much as 90 % of what the removed ones took; it takes the cleaner's thread a while.
  const std::uint64_t most = full - full * 95 / 100 * 90 / 100;
  CHECK(allocated_below(store, most) <= most);
  objects.check();
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("cleaning: blobs that clones share, and those of pages and omaps, are where they were",
          "[one-thread]") {
  StoreFixture fixture(format_of(16_MiB));
  Store store = fixture.open();
  const std::uint64_t capacity = store.space()->capacity;
  Objects objects(store);
  objects.fill(static_cast<int>(capacity / 3 / kObject));
  std::string large = noise(3_MiB, 1);
  REQUIRE(put(store, "large", large).ok());
  for (int i = 0; i < 200; ++i) {
    const std::string piece = noise(kObject, 10'000 + i);
    const std::size_t at = objects.rng.below(large.size() - piece.size());
    std::copy(piece.begin(), piece.end(), large.begin() + static_cast<std::ptrdiff_t>(at));
    REQUIRE(commit(store, [&](Transaction& t) {
              t.write(kBucket, "large", at, as_bytes(piece));
              t.omap_set(kBucket, "large", "k" + std::to_string(i), noise(2000, i));
              if (i % 20 == 0)
                t.clone(kBucket, "o" + std::to_string(i), kBucket, "clone" + std::to_string(i));
            }).ok());
  }
  std::vector<int> at_clone(200, 0);
  for (int i = 0; i < 200; i += 20) at_clone[i] = objects.versions[i];
  objects.overwrite(5);
  CHECK(counter(store, "cleaned_stripes") > 0);
  objects.check();
  CHECK((get(store, "large") == large));
  for (int i = 0; i < 200; i += 20) {
    CHECK((get(store, "clone" + std::to_string(i)) == noise(kObject, at_clone[i])));
  }
  REQUIRE(deep_findings(store) == "");
}

// CL6: a stripe that all devices have must not become one that a device lacks.
TEST_CASE("cleaning: while a device is away only a commit that finds no space has any done",
          "[one-thread]") {
  StoreFixture fixture(format_of(16_MiB));
  std::optional<Store> store = fixture.open();
  const auto count = static_cast<int>(store->space()->capacity / 2 / kObject);
  std::vector<int> versions;
  {
    Objects objects(*store);
    objects.fill(count);
    versions = objects.versions;
  }
  REQUIRE(message_of(store->close()) == "");
  store.reset();
  fixture.take_away(4);
  store = fixture.open();
  Objects objects(*store);
  objects.versions = versions;
  objects.made = count;
  for (int i = 0; i < count; i += kAtOnce) {
    Transaction t;
    for (int j = i; j < std::min(count, i + kAtOnce); ++j) {
      if (j % 10 == 0) continue;
      objects.versions[j] = 0;
      t.remove(kBucket, name_of(j));
    }
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  }
  for (int i = 0; i < 5; ++i) allocated_when_settled(*store);
  CHECK(counter(*store, "cleaned_stripes") == 0);
  objects.fill(count);
  objects.overwrite(3);
  CHECK(counter(*store, "cleaned_stripes") > 0);
  objects.check();
  REQUIRE(deep_findings(*store) == "");
}

}  // namespace
}  // namespace hexad::testing
