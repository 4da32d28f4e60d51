// The read cache becomes larger and smaller while it is used.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>

#include "base/units.h"
#include "core/cache/read_cache.h"

namespace hexad::core {
namespace {

using Count = ReadCache::Count;

struct Fixture {
  explicit Fixture(std::uint64_t capacity) : cache(*executor, capacity) {}

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  ReadCache cache;

  std::shared_ptr<CachedRecord> record(Lsn version) {
    auto record = std::make_shared<CachedRecord>();
    record->serial = cache.new_serial();
    record->as_of = version;
    record->exists = true;
    record->object.version = version;
    return record;
  }
  ReadCache::Ticket ticket(const std::string& name) {
    return cache.find_object("c", name, kMaxLsn, Count::kNothing).ticket;
  }
  void learn(const std::string& name, Lsn version) { insert(ticket(name), name, version); }
  void insert(const ReadCache::Ticket& at, const std::string& name, Lsn version) {
    cache.insert_collection(at, "c", {7, {}}, 1);
    cache.insert_object(at, 7, name, record(version));
  }
  bool has(const std::string& name) {
    return cache.find_object("c", name, kMaxLsn, Count::kBoth).record != nullptr;
  }
  std::uint64_t blocks(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) cache.insert_block({1, 0, i}, Bytes(8000));
    return cache.usage().blocks;
  }
};

TEST_CASE("cache size: one that kept nothing keeps something from now on, and nothing again") {
  Fixture f(0);
  f.learn("a", 1);
  REQUIRE_FALSE(f.cache.enabled());
  REQUIRE_FALSE(f.has("a"));
  f.cache.set_capacity(8_MiB);
  REQUIRE(f.cache.enabled());
  REQUIRE(f.cache.capacity() == 8_MiB);
  f.learn("a", 1);
  REQUIRE(f.has("a"));
  REQUIRE(f.blocks(4000) > 6_MiB);
  f.cache.check_invariants();
  f.cache.set_capacity(0);
  REQUIRE_FALSE(f.cache.enabled());
  REQUIRE_FALSE(f.has("a"));
  REQUIRE(f.cache.usage().total == 0);
  f.cache.check_invariants();
}

TEST_CASE("cache size: more is used at once, and nothing of what was kept is lost") {
  Fixture f(64_MiB);
  f.learn("a", 1);
  for (int i = 0; i < 4; ++i) REQUIRE(f.has("a"));
  const std::uint64_t before = f.blocks(20'000);
  REQUIRE(before <= 64_MiB);
  REQUIRE(f.has("a"));
  f.cache.set_capacity(256_MiB);
  REQUIRE(f.has("a"));
  REQUIRE(f.cache.usage().blocks == before);
  REQUIRE(f.blocks(20'000) > 150_MiB);
}

TEST_CASE("cache size: of less what is asked for again stays, and all is within it on return") {
  Fixture f(256_MiB);
  f.learn("a", 1);
  for (int i = 0; i < 4; ++i) REQUIRE(f.has("a"));
  REQUIRE(f.blocks(20'000) > 150_MiB);
  REQUIRE(f.has("a"));
  f.cache.set_capacity(64_MiB);
  REQUIRE(f.cache.usage().total <= 64_MiB);
  REQUIRE(f.cache.usage().total > 48_MiB);
  REQUIRE(f.has("a"));
  f.cache.check_invariants();
}

TEST_CASE("cache size: where the number of shards changes, no ticket of before is good (N9)") {
  for (const std::uint64_t next : {2_MiB, 64_MiB, std::uint64_t{0}}) {
    Fixture f(8_MiB);
    f.learn("a", 1);
    const ReadCache::Ticket before = f.ticket("b");
    f.cache.set_capacity(next);
    REQUIRE_FALSE(f.has("a"));
    f.insert(before, "b", 1);
    REQUIRE_FALSE(f.has("b"));
    // And there and back again.
    f.cache.set_capacity(8_MiB);
    f.insert(before, "b", 1);
    REQUIRE_FALSE(f.has("b"));
    f.learn("b", 2);
    REQUIRE(f.has("b"));
  }
}

TEST_CASE("cache size: a ticket of a time without a cache is none") {
  Fixture f(0);
  const ReadCache::Ticket none = f.ticket("a");
  f.cache.set_capacity(1_MiB);
  f.insert(none, "a", 1);
  REQUIRE_FALSE(f.has("a"));
}

// Tables are large where a cache is: they must not be all that a small one has room for.
TEST_CASE("cache size: one that was large is of use when it is small") {
  Fixture f(1_GiB);
  for (int i = 0; i < 200'000; ++i) f.learn(std::to_string(i), 1);
  f.cache.set_capacity(64_MiB);
  f.cache.set_capacity(1_GiB);
  f.cache.set_capacity(64_MiB);
  f.learn("a", 1);
  REQUIRE(f.has("a"));
  REQUIRE(f.blocks(20'000) > 32_MiB);
  REQUIRE(f.cache.usage().total <= 64_MiB);
  f.cache.check_invariants();
}

// One changes "a" as Metadata::apply() and the pipeline do (N1), one reads it as StoreReader does
// (N2), and what is found is never older than what was visible before (N3).
TEST_CASE("cache size: changed by one thread while others read, learn and change") {
  Fixture f(8_MiB);
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> applied{1};
  std::atomic<std::uint64_t> visible{1};
  std::atomic<std::uint64_t> stale{0};
  std::thread writer([&] {
    for (std::uint64_t version = 2; !stop; ++version) {
      applied.store(version);
      f.cache.invalidate(object_key(7, "a"));
      visible.store(version);
      std::this_thread::yield();
    }
  });
  std::thread reader([&] {
    while (!stop) {
      const std::uint64_t seen = visible.load();
      const ReadCache::Found here = f.cache.find_object("c", "a", kMaxLsn, Count::kBoth);
      if (here.record != nullptr) {
        if (here.record->object.version < seen) ++stale;
      } else if (applied.load() == seen) {
        f.insert(here.ticket, "a", seen);
      }
    }
  });
  for (int i = 0; i < 300; ++i) {
    f.cache.set_capacity(i % 9 == 0 ? 0 : (std::uint64_t{1} << (i % 8)) * 1_MiB);
  }
  stop = true;
  writer.join();
  reader.join();
  REQUIRE(stale == 0);
  f.cache.check_invariants();
}

TEST_CASE("cache size: of look-ups that are answered one of many is timed") {
  Fixture f(1_MiB);
  f.learn("a", 1);
  f.cache.take_tally();
  for (std::uint64_t i = 0; i < 4 * ReadCache::kTimedOneOf; ++i) REQUIRE(f.has("a"));
  const ReadCache::Tally tally = f.cache.take_tally();
  REQUIRE(tally.record_hits == 4 * ReadCache::kTimedOneOf);
  REQUIRE(tally.records.count == 4);
  REQUIRE(f.cache.take_tally().records.count == 0);
}

}  // namespace
}  // namespace hexad::core
