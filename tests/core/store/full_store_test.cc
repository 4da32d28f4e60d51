// A store without space: what still works, and that nothing leaks on the way there and back.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <string>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kSize = 150'000;

// Puts objects until one does not fit. Returns how many there are.
int fill(Store& store, std::uint64_t seed) {
  for (int i = 0;; ++i) {
    const Result<Lsn> result = put(store, std::to_string(i), noise(kSize, seed + i));
    if (result.ok()) continue;
    REQUIRE(code_of(result) == ErrorCode::kNoSpace);
    REQUIRE(result.error().message != "");
    return i;
  }
}

TEST_CASE("full: the transaction that finds no space leaves nothing, everything else goes on") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const int count = fill(*store, 1);
  REQUIRE(count > 100);
  {
    Transaction t;
    t.put(kDefaultCollection, "small", "inline fits always");
    t.remove(kDefaultCollection, "0");
    t.set_attr(kDefaultCollection, "1", "colour", "red");
    t.put(kDefaultCollection, "large", noise(3'000'000, 5));
    REQUIRE(code_of(store->commit(std::move(t))) == ErrorCode::kNoSpace);
  }
  for (int round = 0; round < 2; ++round) {
    REQUIRE(code_of(store->get(kDefaultCollection, "small")) == ErrorCode::kNotFound);
    REQUIRE(code_of(store->get(kDefaultCollection, "large")) == ErrorCode::kNotFound);
    REQUIRE(store->attributes(kDefaultCollection, "1")->empty());
    for (int i = 0; i < count; ++i) {
      REQUIRE((get(*store, std::to_string(i)) == noise(kSize, 1 + i)));
    }
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(message_of(store->checkpoint()) == "");
    if (round == 0) REQUIRE(message_of(store->close()) == "");
    store.reset();
    store = fixture.open();
  }
  // What takes no space works at once, and what needs some after a delete. After two: runs have
  // grown by what was in the log when the store was full, and the reserve, which has room for a
  // merge of all of them, has grown with them (core/space/reserve.h, 5).
  REQUIRE(put(*store, "small", "inline").ok());
  REQUIRE(remove(*store, "6").ok());
  REQUIRE(remove(*store, "7").ok());
  REQUIRE(message_of(put(*store, "7", noise(kSize, 99)).status()) == "");
  REQUIRE((get(*store, "7") == noise(kSize, 99)));
  REQUIRE(remove(*store, "8").ok());
  REQUIRE(message_of(put(*store, "9", noise(kSize, 98)).status()) == "");  // an overwrite
  REQUIRE((get(*store, "9") == noise(kSize, 98)));
  REQUIRE(deep_findings(*store) == "");
}

TEST_CASE("full: filling and emptying again and again loses no unit", "[one-thread]") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::uint64_t before = unused(*store);
  int first = 0;
  for (int cycle = 0; cycle < 20; ++cycle) {
    CAPTURE(cycle);
    const int count = fill(*store, cycle * 1000);
    if (cycle == 0) first = count;
    // The runs are now a bit longer, now a bit shorter.
    REQUIRE(std::abs(count - first) <= 5);
    REQUIRE((get(*store, std::to_string(count - 1)) == noise(kSize, cycle * 1000 + count - 1)));
    if (cycle % 5 == 1) REQUIRE(deep_findings(*store) == "");
    if (cycle % 3 == 0) {
      if (cycle % 2 == 0) REQUIRE(store->close().ok());
      store.reset();
      store = fixture.open();
    }
    if (cycle % 2 == 0) {
      for (int i = 0; i < count; ++i) REQUIRE(remove(*store, std::to_string(i)).ok());
    } else {
      Transaction t;
      for (int i = 0; i < count; ++i) t.remove(kDefaultCollection, std::to_string(i));
      REQUIRE(store->commit(std::move(t)).ok());
    }
    REQUIRE(unused(*store) == before);
    REQUIRE(store->space()->allocated == 0);
    if (cycle % 7 == 3) {
      store.reset();
      store = fixture.open();
      REQUIRE(unused(*store) == before);
    }
  }
  REQUIRE(deep_findings(*store) == "");
}

// One of them had a block written that says that what was removed is free; the others saw that it
// was on its way, and were refused.
TEST_CASE("full: what was removed comes back for all who wait for it") {
  constexpr int kCallers = 8;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    CAPTURE(seed);
    SimPoolOptions options;
    options.sim.seed = seed;
    SimPool pool(options);
    std::string refused;
    const std::string problem = pool.with_store([&](Store& store) -> std::string {
      int count = 0;
      for (;; ++count) {
        const Result<Lsn> result = put(store, std::to_string(count), noise(kSize, count));
        if (result.ok()) continue;
        if (code_of(result) != ErrorCode::kNoSpace) return message_of(result.status());
        break;
      }
      if (count < 2 * kCallers) return "room for " + std::to_string(count);
      // The reserve grows with the runs: two are removed for each that comes. By one transaction,
      // so that no block behind it says yet that it is durable.
      const Result<Lsn> removed = commit(store, [&](Transaction& t) {
        for (int i = 0; i < 2 * kCallers; ++i) t.remove(kDefaultCollection, std::to_string(i));
      });
      if (!removed.ok()) return message_of(removed.status());
      std::vector<std::unique_ptr<io::Thread>> threads;
      for (int i = 0; i < kCallers; ++i) {
        threads.push_back(pool.system().executor().start("caller", [&, i] {
          const Status status = put(store, std::to_string(i), noise(kSize, 1000 + i)).status();
          if (!status.ok()) refused += std::to_string(i) + ": " + message_of(status) + "\n";
        }));
      }
      for (const auto& thread : threads) thread->join();
      for (int i = 0; i < kCallers; ++i) {
        if (get(store, std::to_string(i)) != noise(kSize, 1000 + i)) return std::to_string(i);
      }
      return deep_findings(store);
    });
    REQUIRE(refused == "");
    REQUIRE(problem == "");
  }
}

TEST_CASE("full: several threads at the edge get space or an error, and nothing in between") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  std::vector<std::unique_ptr<io::Thread>> threads;
  std::atomic<int> bad{0};
  std::atomic<int> refused{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.push_back(fixture.memory.executor().start("edge", [&, thread] {
      io::Rng rng(thread);
      std::map<std::string, std::string> own;
      for (int i = 0; i < 150; ++i) {
        const std::string name = std::to_string(thread) + "/" + std::to_string(rng.below(60));
        if (rng.chance(1, 4)) {
          if (!remove(store, name).ok()) ++bad;
          own.erase(name);
          continue;
        }
        const std::string value = noise(kSize, rng.next());
        const Result<Lsn> result = put(store, name, value);
        if (result.ok()) {
          own[name] = value;
        } else {
          ++refused;
          if (result.error().code != ErrorCode::kNoSpace) ++bad;
        }
      }
      for (const auto& [name, value] : own) {
        if (get(store, name) != value) ++bad;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  REQUIRE(bad == 0);
  REQUIRE(refused > 0);
  REQUIRE(deep_findings(store) == "");
}

constexpr std::size_t kSmall = 4096;  // of such a size objects ride in the log

SimPoolOptions packing_pool() {
  SimPoolOptions options;
  options.device_size = 12_MiB;
  options.log_size = 4_MiB;
  return options;
}

// Objects 0 to `count` - 1, many at once, which then have their places.
Status put_small(Store& store, std::size_t count) {
  constexpr std::size_t kAtOnce = 50;
  for (std::size_t i = 0; i < count; i += kAtOnce) {
    Transaction t;
    for (std::size_t j = i; j < std::min(count, i + kAtOnce); ++j) {
      t.put(kBucket, std::to_string(j), noise(kSmall, j));
    }
    HEXAD_TRY(store.commit(std::move(t)).status());
  }
  return store.checkpoint();
}

// It has to be made for many, since each fills stripes as far as it has objects for them: a commit
// gets its space back from what is dead in others, too. Where little rides in the log was reason
// enough, five were packed at a time; half of a longest stripe holds 51.
TEST_CASE("full: a checkpoint that is made for space packs many objects") {
  SimPool pool(packing_pool());
  REQUIRE(pool.with_store([](Store& store) -> std::string {
    const std::size_t count = store.room_for(kSmall).value().usable / kSmall * 9 / 10;
    if (Status made = put_small(store, count); !made.ok()) return message_of(made);
    const std::uint64_t checkpoints = counter(store, "checkpoints");
    const std::uint64_t packed = counter(store, "log_blobs_packed");
    io::Rng rng(7);
    for (std::size_t i = 0; i < count; ++i) {
      const Status put_one =
          put(store, std::to_string(rng.below(count)), noise(kSmall, count + i)).status();
      if (!put_one.ok()) return std::to_string(i) + ": " + message_of(put_one);
    }
    const std::uint64_t made = counter(store, "checkpoints") - checkpoints;
    const std::uint64_t of_them = counter(store, "log_blobs_packed") - packed;
    if (counter(store, "cleaned_stripes") == 0) return "nothing had to come back";
    if (of_them < 16 * made) {
      return std::to_string(made) + " checkpoints packed " + std::to_string(of_them) + " objects";
    }
    return deep_findings(store);
  }) == "");
}

// A unit is promised to each while it rides there, and four of them take one.
TEST_CASE("full: no put is refused while anything rides in the log, and one checkpoint finds out") {
  SimPool pool(packing_pool());
  REQUIRE(pool.with_store([](Store& store) -> std::string {
    const std::uint64_t usable = store.room_for(kSmall).value().usable;
    // Nothing of it dies, so that there is nothing to move.
    if (Status made = put_small(store, usable / kSmall * 9 / 10); !made.ok()) {
      return message_of(made);
    }
    const auto riding = [&] {
      return counter(store, "log_first_blobs") - counter(store, "log_blobs_packed");
    };
    std::size_t more = 0;
    for (;; ++more) {
      const Status put_one =
          put(store, "more" + std::to_string(more), noise(kSmall, more)).status();
      if (put_one.ok()) continue;
      if (code_of(put_one) != ErrorCode::kNoSpace) return message_of(put_one);
      break;
    }
    if (riding() != 0) return std::to_string(riding()) + " objects still rode in the log";
    const std::uint64_t checkpoints = counter(store, "checkpoints");
    for (int i = 0; i < 3; ++i) {
      if (code_of(put(store, "one", noise(kSmall, 1))) != ErrorCode::kNoSpace) return "it was put";
    }
    if (counter(store, "checkpoints") != checkpoints) return "refusals made checkpoints";
    return deep_findings(store);
  }) == "");
}

TEST_CASE("full: a log of one MiB takes any number of changes") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  for (int i = 0; i < 400; ++i) {
    Transaction t;
    t.touch(kDefaultCollection, "a");
    t.set_attr(kDefaultCollection, "a", "large", noise(30'000, i));
    REQUIRE(message_of(store->commit(std::move(t)).status()) == "");
  }
  REQUIRE(counter(*store, "checkpoints") > 5);
  store.reset();
  store = fixture.open();
  REQUIRE((store->attributes(kDefaultCollection, "a")->at("large") == noise(30'000, 399)));
  REQUIRE(deep_findings(*store) == "");
}

}  // namespace
}  // namespace hexad::testing
