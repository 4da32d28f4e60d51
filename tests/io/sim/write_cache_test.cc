#include "io/sim/write_cache.h"

#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "base/units.h"
#include "io/rng.h"

using namespace hexad;
using namespace hexad::io;

namespace {

using Kind = Survival::Kind;
constexpr Survival kWhole{Kind::kWhole, 0, 0};

std::shared_ptr<const Bytes> filled(std::uint64_t length, int value) {
  return std::make_shared<const Bytes>(length, static_cast<std::byte>(value));
}

class Cache {
 public:
  explicit Cache(std::uint64_t size = 64_KiB) : cache(std::make_shared<CowImage>(size), 4096) {}
  void write(OpId op, std::uint64_t offset, std::uint64_t length, int value,
             WriteMode mode = WriteMode::kCached) {
    cache.submit_write(op, offset, length, filled(length, value), mode);
    cache.complete_write(op);
  }
  int durable_at(std::uint64_t offset) const { return at(*cache.durable(), offset); }
  static int at(const CowImage& image, std::uint64_t offset) {
    Bytes one(1);
    image.read(offset, one);
    return static_cast<int>(one[0]);
  }
  // The image with exactly the pending writes of `kept`.
  CowImage crash(const std::set<OpId>& kept, Survival survival = kWhole) const {
    CowImage image(cache.durable());
    for (const PendingWrite& write : cache.pending()) {
      if (kept.count(write.op) != 0) cache.apply(image, write, survival);
    }
    return image;
  }
  WriteCache cache;
};

}  // namespace

TEST_CASE("write_cache: a completed write is pending until a flush submitted after it succeeds") {
  Cache it;
  it.cache.submit_write(1, 0, 512, filled(512, 1), WriteMode::kCached);
  const auto too_early = it.cache.begin_flush();
  it.cache.complete_write(1);
  it.cache.complete_flush(too_early);
  REQUIRE(it.durable_at(0) == 0);
  REQUIRE(it.cache.pending().size() == 1);
  it.cache.complete_flush(it.cache.begin_flush());
  REQUIRE(it.durable_at(0) == 1);
  REQUIRE(it.cache.pending().empty());
}

TEST_CASE("write_cache: a durable write is durable when complete and speaks for no other") {
  Cache it;
  it.write(1, 0, 512, 1);
  it.cache.submit_write(2, 512, 512, filled(512, 2), WriteMode::kDurable);
  REQUIRE(it.durable_at(512) == 0);
  it.cache.complete_write(2);
  REQUIRE(it.durable_at(512) == 2);
  REQUIRE(it.durable_at(0) == 0);
  REQUIRE(it.cache.pending().size() == 1);
}

TEST_CASE("write_cache: W1 any version of a sector may survive, the newest kept one wins") {
  Cache it;
  it.cache.submit_write(1, 0, 512, filled(512, 1), WriteMode::kCached);
  it.cache.submit_write(2, 0, 512, filled(512, 2), WriteMode::kCached);
  it.cache.complete_write(2);
  it.cache.complete_write(1);  // completes last, so it is the newest
  REQUIRE(Cache::at(it.crash({}), 0) == 0);
  REQUIRE(Cache::at(it.crash({1}), 0) == 1);
  REQUIRE(Cache::at(it.crash({2}), 0) == 2);
  REQUIRE(Cache::at(it.crash({1, 2}), 0) == 1);
}

TEST_CASE("write_cache: W2 an older pending write gives up what a newer one made durable") {
  Cache it;
  it.write(1, 0, 2048, 1);
  it.write(2, 512, 512, 2, WriteMode::kDurable);
  const CowImage kept = it.crash({1});
  REQUIRE(Cache::at(kept, 0) == 1);
  REQUIRE(Cache::at(kept, 512) == 2);
  REQUIRE(Cache::at(kept, 1024) == 1);
  REQUIRE_FALSE(it.cache.pending()[0].untouched());
  it.write(3, 0, 4096, 3, WriteMode::kDurable);
  REQUIRE(it.cache.pending().empty());
}

TEST_CASE("write_cache: W3 what a failed flush should have covered is never covered again") {
  Cache it;
  it.write(1, 0, 512, 1);
  it.cache.fail_flush(it.cache.begin_flush());
  it.write(2, 1024, 512, 2);
  it.cache.complete_flush(it.cache.begin_flush());
  REQUIRE(it.durable_at(0) == 0);
  REQUIRE(it.durable_at(1024) == 2);
  REQUIRE(it.cache.pending().size() == 1);
  REQUIRE(Cache::at(it.crash({1}), 0) == 1);
  it.write(3, 0, 512, 3);
  it.cache.complete_flush(it.cache.begin_flush());
  REQUIRE(it.cache.pending().empty());
  REQUIRE(it.durable_at(0) == 3);
}

TEST_CASE("write_cache: torn writes leave what their form says") {
  Cache it;
  it.write(1, 1024, 4096, 1);
  const CowImage prefix = it.crash({1}, {Kind::kPrefix, 1024, 0});
  REQUIRE(Cache::at(prefix, 2047) == 1);
  REQUIRE(Cache::at(prefix, 2048) == 0);
  const CowImage suffix = it.crash({1}, {Kind::kSuffix, 1024, 0});
  REQUIRE(Cache::at(suffix, 2047) == 0);
  REQUIRE(Cache::at(suffix, 2048) == 1);
  bool mixed = false;
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    const CowImage sectors = it.crash({1}, {Kind::kSectors, 0, seed});
    int kept = 0;
    for (std::uint64_t at = 1024; at < 5120; at += 512) kept += Cache::at(sectors, at);
    mixed = mixed || (kept > 0 && kept < 8);
  }
  REQUIRE(mixed);
  REQUIRE(it.crash({1}, {Kind::kLost, 0, 0}).hash() == it.cache.durable()->hash());
}

TEST_CASE("write_cache: a garbled block takes its old neighbours with it") {
  Cache it;
  it.write(1, 0, 64_KiB, 7, WriteMode::kDurable);
  it.write(2, 2048, 4096, 1);
  const Bytes found = it.crash({2}, {Kind::kGarbled, 2048, 5}).flatten();
  // The cut is at 4096: the whole block [4096, 8192) is noise, also beyond the write's end.
  REQUIRE(std::all_of(found.begin() + 2048, found.begin() + 4096,
                      [](std::byte byte) { return byte == std::byte{1}; }));
  REQUIRE(std::count(found.begin() + 4096, found.begin() + 8192, std::byte{7}) < 200);
  REQUIRE(std::all_of(found.begin() + 8192, found.end(),
                      [](std::byte byte) { return byte == std::byte{7}; }));
}

TEST_CASE("write_cache: a change of size is pending like a write") {
  Cache it(4096);
  it.cache.resize(1, 8192);
  it.write(2, 4096, 512, 2);
  REQUIRE(it.crash({}).size() == 4096);
  REQUIRE(it.crash({1}).size() == 8192);
  REQUIRE(it.crash({2}).size() == 4608);
  it.cache.complete_flush(it.cache.begin_flush());
  REQUIRE(it.cache.durable()->size() == 8192);
  REQUIRE(it.durable_at(4096) == 2);
}

TEST_CASE("write_cache: a dropped write never lands, a discard lands as zeros") {
  Cache it;
  it.write(1, 0, 512, 1, WriteMode::kDurable);
  it.cache.submit_write(2, 0, 512, filled(512, 2), WriteMode::kCached);
  it.cache.drop_write(2);
  REQUIRE(it.cache.pending().empty());
  it.cache.submit_write(3, 0, 512, nullptr, WriteMode::kDurable);
  it.cache.complete_write(3);
  REQUIRE(it.durable_at(0) == 0);
}

TEST_CASE("write_cache: images that somebody holds are not changed") {
  Cache it;
  const std::shared_ptr<const CowImage> before = it.cache.durable();
  it.write(1, 0, 512, 1, WriteMode::kDurable);
  REQUIRE(Cache::at(*before, 0) == 0);
  REQUIRE(it.durable_at(0) == 1);
}

// The naive model keeps, for every sector, all versions in order of completion; a version is
// possible after a crash if nothing newer than it is durable.
TEST_CASE("write_cache: agrees with a model of sector versions under random operations") {
  constexpr std::uint64_t kSectors = 8;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    Cache it(kSectors * 512);
    struct Version {
      int value;
      OpId op;
      bool durable;
      bool orphaned;
    };
    std::vector<std::vector<Version>> model(kSectors, {{0, 0, true, false}});
    std::vector<OpId> flush;
    bool flushing = false;
    for (OpId op = 1; op < 40; ++op) {
      const std::uint64_t choice = rng.below(6);
      if (choice < 3) {
        const std::uint64_t first = rng.below(kSectors);
        const std::uint64_t count = 1 + rng.below(kSectors - first);
        const WriteMode mode = rng.chance(1, 4) ? WriteMode::kDurable : WriteMode::kCached;
        it.write(op, first * 512, count * 512, static_cast<int>(op), mode);
        for (std::uint64_t i = first; i < first + count; ++i) {
          model[i].push_back({static_cast<int>(op), op, mode == WriteMode::kDurable, false});
        }
      } else if (choice == 3 && !flushing) {
        flush = it.cache.begin_flush();
        flushing = true;
      } else if (flushing) {
        const bool success = rng.chance(3, 4);
        if (success) {
          it.cache.complete_flush(flush);
        } else {
          it.cache.fail_flush(flush);
        }
        for (auto& versions : model) {
          for (Version& version : versions) {
            if (std::count(flush.begin(), flush.end(), version.op) == 0) continue;
            if (success && !version.orphaned) version.durable = true;
            if (!success && !version.durable) version.orphaned = true;
          }
        }
        flushing = false;
      }
      for (std::uint64_t i = 0; i < kSectors; ++i) {
        std::set<int> possible;
        for (const Version& version : model[i]) {
          if (version.durable) possible.clear();
          possible.insert(version.value);
        }
        std::set<int> seen = {it.durable_at(i * 512)};
        for (const PendingWrite& write : it.cache.pending()) {
          seen.insert(Cache::at(it.crash({write.op}), i * 512));
        }
        REQUIRE(seen == possible);
      }
    }
  }
}
