// Bytes that change behind the store's back, thousands at a time, on as many devices as the profile
// survives: no read gives a wrong byte, and what was damaged is put right, again and again on other
// devices. Bits flip, blocks are noise, zeros, what lies elsewhere on the device (misdirected), or
// what lay there before (a write that was lost).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/device_layout.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/base/thinned.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kDevices = 6;

// Everything that a user has put there.
struct Content {
  std::map<std::string, std::string> objects;
  std::map<std::string, std::map<std::string, std::string>> omaps;
};

// What is read otherwise than it was written; empty: nothing.
std::string difference(Store& store, const Content& content) {
  const Result<ListPage> page = store.list(kBucket);  // all of them
  if (!page.ok()) return "list: " + page.error().to_string();
  if (page->entries.size() != content.objects.size()) {
    return std::to_string(page->entries.size()) + " objects are listed";
  }
  for (const auto& [name, value] : content.objects) {
    if (get(store, name) == value) continue;
    const std::string found = get(store, name);
    return name + (found.starts_with("error: ") ? ", " + found : " is wrong");
  }
  for (const auto& [name, entries] : content.omaps) {
    for (const auto& [key, value] : entries) {
      const Result<std::optional<Bytes>> found = store.omap_get(kBucket, name, key);
      if (!found.ok()) return name + "/" + key + ", " + found.error().to_string();
      if (!found->has_value() || as_text(**found) != value) return name + "/" + key + " is wrong";
    }
  }
  return "";
}

// Commits of all placements, some of which replace what was there.
void churn(Store& store, Content& content, io::Rng& rng, int count) {
  for (int i = 0; i < count; ++i) {
    const std::string name = "o" + std::to_string(rng.below(60));
    constexpr std::size_t kSizes[] = {40, 900, 5000, 17'000, 70'000, 150'000};
    std::string value = noise(kSizes[rng.below(std::size(kSizes))] + rng.below(300), rng.next());
    if (rng.chance(1, 4)) std::fill(value.begin(), value.end(), 'c');  // is compressed
    Transaction t;
    t.put(kBucket, name, value);
    if (rng.chance(1, 3)) {
      const std::string with_omap = "m" + std::to_string(rng.below(5));
      const std::string key = std::to_string(rng.below(20));
      const std::string entry = noise(rng.below(200), rng.next());
      if (content.objects.emplace(with_omap, "").second) t.put(kBucket, with_omap, "");
      t.omap_set(kBucket, with_omap, key, entry);
      content.omaps[with_omap][key] = entry;
    }
    REQUIRE(message_of(store.commit(std::move(t)).status()) == "");
    content.objects[name] = std::move(value);
    if (rng.chance(1, 12)) REQUIRE(message_of(store.checkpoint()) == "");
  }
}

// Which part of a device is damaged: all of it, or what lies between its ends, so that it is found
// to be a device of the store.
enum class Part : std::uint8_t { kAll, kBetweenEnds };

class Corrupter {
 public:
  Corrupter(StoreFixture& fixture, io::Rng& rng) : fixture_(fixture), rng_(rng) {}

  // What lies on the devices now is what lay there before, for the corruptions to come.
  void remember() {
    for (std::size_t i = 0; i < kDevices; ++i) before_[i] = read_media(*fixture_.media(i));
  }
  void corrupt(std::size_t device, Part part, std::uint64_t count) {
    io::MemoryMedia& media = *fixture_.media(device);
    const std::uint64_t first = part == Part::kAll ? 0 : alloc::kHeadEnd;
    const std::uint64_t end = part == Part::kAll
                                  ? media.size()
                                  : alloc::header_offset(alloc::DeviceEnd::kTail, media.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      Bytes bytes(std::min<std::uint64_t>(length(), end - first));
      const std::uint64_t at = place(first, end - bytes.size());
      media.read(at, bytes);
      const Bytes was = bytes;
      change(media, device, at, bytes);
      if (bytes == was) continue;
      media.write(at, bytes);
      ++injected;
    }
  }

  std::uint64_t injected = 0;  // that have changed a byte

 private:
  std::uint64_t length() {
    constexpr std::uint64_t kLengths[] = {1, 16, 512, 4096, 4096, 16'384};
    return kLengths[rng_.below(std::size(kLengths))];
  }
  // Most devices write whole blocks.
  std::uint64_t place(std::uint64_t first, std::uint64_t last) {
    const std::uint64_t at = first + rng_.below(last - first + 1);
    return rng_.chance(1, 2) ? std::max(first, at / 4096 * 4096) : at;
  }
  void change(io::MemoryMedia& media, std::size_t device, std::uint64_t at, Bytes& bytes) {
    switch (rng_.below(6)) {
      case 0:
        bytes[rng_.below(bytes.size())] ^= static_cast<std::byte>(1U << rng_.below(8));
        break;
      case 1:
        for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng_.next());
        break;
      case 2:
        std::fill(bytes.begin(), bytes.end(), std::byte{0});
        break;
      case 3:
        std::fill(bytes.begin(), bytes.end(), std::byte{0xff});
        break;
      case 4:
        media.read(place(0, media.size() - bytes.size()), bytes);
        break;
      default:
        std::copy_n(before_[device].begin() + static_cast<std::ptrdiff_t>(at), bytes.size(),
                    bytes.begin());
    }
  }

  StoreFixture& fixture_;
  io::Rng& rng_;
  std::map<std::size_t, Bytes> before_;
};

struct Tally {
  std::uint64_t injected = 0;
  std::uint64_t healed = 0;
};

RuntimeOptions as_asked() {
  RuntimeOptions options;
  options.catch_up = CatchUp::kWhenAsked;
  return options;
}

std::pair<std::size_t, std::size_t> draw_pair(io::Rng& rng) {
  const std::size_t a = rng.below(kDevices);
  return {a, (a + 1 + rng.below(kDevices - 1)) % kDevices};
}

// Reads of a store whose devices are put back behind each round: anything may be damaged.
Tally read_rounds(std::uint64_t seed, int rounds) {
  io::Rng rng(seed);
  StoreFixture fixture;
  Content content;
  Corrupter corrupter(fixture, rng);
  {
    Store store = fixture.open(Access::kReadWrite, as_asked());
    // Without an index the runs answer, which are damaged like all else.
    if (seed % 2 == 0) REQUIRE(message_of(store.remove_device(6)) == "");
    churn(store, content, rng, 40);
    corrupter.remember();
    churn(store, content, rng, 40);
    // Else the last commits are in the log alone.
    if (seed % 3 == 0) REQUIRE(message_of(store.close()) == "");
  }
  if (seed % 2 == 0) fixture.pool.fast_directories.clear();
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const auto [a, b] = draw_pair(rng);
    std::map<std::size_t, Bytes> whole;
    for (const std::size_t device : {a, b}) {
      whole[device] = read_media(*fixture.media(device));
      corrupter.corrupt(device, Part::kAll, 20 + rng.below(2000));
    }
    {
      Store store = fixture.open(Access::kReadOnly);
      REQUIRE(difference(store, content) == "");
    }
    for (const std::size_t device : {a, b}) fixture.media(device)->write(0, whole[device]);
  }
  return {corrupter.injected, 0};
}

// What is damaged is put right by a scrub, while the store is written to, and then two other
// devices are damaged.
Tally mended_rounds(std::uint64_t seed, int rounds) {
  io::Rng rng(seed);
  StoreFixture fixture;
  Content content;
  Corrupter corrupter(fixture, rng);
  Tally tally;
  {
    Store store = fixture.open(Access::kReadWrite, as_asked());
    if (seed % 2 == 0) REQUIRE(message_of(store.remove_device(6)) == "");
    churn(store, content, rng, 40);
    REQUIRE(message_of(store.close()) == "");
  }
  if (seed % 2 == 0) fixture.pool.fast_directories.clear();
  corrupter.remember();
  for (int round = 0; round < rounds; ++round) {
    CAPTURE(round);
    const auto [a, b] = draw_pair(rng);
    for (const std::size_t device : {a, b}) {
      corrupter.corrupt(device, Part::kBetweenEnds, 20 + rng.below(1500));
    }
    Store store = fixture.open(Access::kReadWrite, as_asked());
    if (rng.chance(1, 2)) REQUIRE(difference(store, content) == "");
    if (rng.chance(1, 2)) churn(store, content, rng, 5);
    const Result<ScrubReport> scrub = store.scrub();
    REQUIRE(message_of(scrub.status()) == "");
    REQUIRE(scrub->errors() == 0);  // all of them were put right
    REQUIRE(deep_findings(store) == "");
    REQUIRE(store.status().faults_tolerated == 2);
    corrupter.remember();
    churn(store, content, rng, 5);
    REQUIRE(difference(store, content) == "");
    tally.healed += counter(store, "cells_healed");
    REQUIRE(message_of(store.close()) == "");
  }
  tally.injected = corrupter.injected;
  return tally;
}

TEST_CASE("corruptions: no read gives a wrong byte, whatever changes on two devices") {
  const std::uint64_t seeds = campaign_is_thorough() ? 24 : 3;
  const int rounds = campaign_is_thorough() ? 20 : static_cast<int>(10 / kThinned);
  Tally tally;
  for (std::uint64_t i = 1; i <= seeds; ++i) {
    const std::uint64_t seed = campaign_seed_of(i);
    CAPTURE(seed);
    tally.injected += read_rounds(seed, rounds).injected;
  }
  std::printf("name=corruptions-read runs=%d injected=%llu violations=0\n", static_cast<int>(seeds),
              static_cast<unsigned long long>(tally.injected));
  CHECK(tally.injected > 1000);
}

TEST_CASE("corruptions: what changes on two devices is put right, round after round") {
  const std::uint64_t seeds = campaign_is_thorough() ? 12 : 2;
  const int rounds = campaign_is_thorough() ? 20 : static_cast<int>(10 / kThinned);
  Tally tally;
  for (std::uint64_t i = 1; i <= seeds; ++i) {
    const std::uint64_t seed = campaign_seed_of(100 + i);
    CAPTURE(seed);
    const Tally one = mended_rounds(seed, rounds);
    tally.injected += one.injected;
    tally.healed += one.healed;
  }
  std::printf("name=corruptions-mended runs=%d injected=%llu healed=%llu violations=0\n",
              static_cast<int>(seeds), static_cast<unsigned long long>(tally.injected),
              static_cast<unsigned long long>(tally.healed));
  CHECK(tally.injected > 1000);
  CHECK(tally.healed > 100);
}

}  // namespace
}  // namespace hexad::testing
