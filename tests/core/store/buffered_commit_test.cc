// Buffered commits (R15): what is visible when, what a crash may take, and what a store says that
// could not make them durable.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/base/thinned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr CommitOptions kBuffered{Durability::kBuffered};
constexpr io::Nanos kFlushTime = 20'000'000;
// Inline, with others in a stripe, in a stripe of its own, and in several pages.
constexpr std::size_t kSizes[] = {100, 5000, 400'000, 2'500'000};

Result<Lsn> put_buffered(Store& store, std::string_view name, std::string_view value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return store.commit(std::move(t), kBuffered);
}

std::string crowd_name(int i) { return "crowd" + std::to_string(i); }

SimPoolOptions slow_flushes(std::uint64_t seed) {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  options.fast_size = 8_MiB;
  options.log_size = 4_MiB;
  options.sim.seed = seed;
  options.sim.latency.flush = kFlushTime;
  return options;
}

struct World : SimPool {
  explicit World(std::uint64_t seed = 1) : SimPool(slow_flushes(seed)) {}
};

TEST_CASE("buffered: a commit is answered without any I/O, and everybody reads it") {
  for (std::uint64_t seed = 1; seed <= (kThinned > 1 ? 2 : 6); ++seed) {
    const std::uint64_t cache = seed % 2 == 0 ? 0 : 64_MiB;
    World world(seed);
    RuntimeOptions options;
    options.cache_size = cache;
    std::vector<std::string> wrong;
    io::Nanos took = 0;
    bool visible_before_durable = false;
    REQUIRE(world.with_store(
                [&](Store& store) {
                  const auto look = [&](const std::string& when) {
                    for (const std::size_t size : kSizes) {
                      const std::string name = std::to_string(size);
                      if (get(store, name) != noise(size, size)) wrong.push_back(when + name);
                      const Result<ObjectStat> stat = store.stat(kDefaultCollection, name);
                      if (!stat.ok() || stat->size != size) wrong.push_back(when + name + " stat");
                      // A part out of the middle, one cell of which it is.
                      Bytes part(50);
                      const auto read = store.read(kDefaultCollection, name, size / 2, part);
                      if (!read.ok() || as_text(part) != noise(size, size).substr(size / 2, 50)) {
                        wrong.push_back(when + name + " part");
                      }
                    }
                    const Result<ListPage> page = store.list(kDefaultCollection);
                    if (!page.ok() || page->entries.size() != 4) wrong.push_back(when + "list");
                  };
                  // Zones are made ahead of need; the first commits would wait for the first ones.
                  world.sleep(10 * kFlushTime);
                  const io::Nanos begin = world.now();
                  Lsn last = 0;
                  for (const std::size_t size : kSizes) {
                    const auto lsn = put_buffered(store, std::to_string(size), noise(size, size));
                    if (!lsn.ok()) wrong.push_back(lsn.error().to_string());
                    if (lsn.ok()) last = *lsn;
                  }
                  took = world.now() - begin;
                  visible_before_durable = store.status().last_lsn < last;
                  look("at once: ");
                  // Sealed, its writes and flushes under way.
                  for (int i = 0; i < 30; ++i) {
                    world.sleep(1'000'000);
                    look("after " + std::to_string(i) + " ms: ");
                  }
                  if (!store.sync().ok()) wrong.push_back("sync");
                  if (store.status().last_lsn < last) wrong.push_back("not durable after sync");
                  look("after sync: ");
                  if (!store.checkpoint().ok()) wrong.push_back("checkpoint");
                  look("after the checkpoint: ");
                },
                options) == "");
    REQUIRE(wrong == std::vector<std::string>());
    REQUIRE(took < 1'000'000);
    REQUIRE(visible_before_durable);
  }
}

TEST_CASE("buffered: durable by itself after a short time") {
  World world;
  bool before = true;
  bool after = false;
  REQUIRE(world.with_store([&](Store& store) {
    const Result<Lsn> lsn = put_buffered(store, "a", noise(5000, 1));
    if (!lsn.ok()) return;
    before = store.status().last_lsn >= *lsn;
    world.sleep(12'000'000 + 3 * kFlushTime);
    after = store.status().last_lsn >= *lsn;
  }) == "");
  REQUIRE_FALSE(before);
  REQUIRE(after);
}

TEST_CASE("buffered: many small commits become few groups") {
  World world;
  std::uint64_t groups = 0;
  bool good = true;
  REQUIRE(world.with_store([&](Store& store) {
    const std::uint64_t before = counter(store, "commit_groups");
    for (int i = 0; i < 100; ++i) good = good && put_buffered(store, crowd_name(i), "x").ok();
    good = good && store.sync().ok();
    groups = counter(store, "commit_groups") - before;
  }) == "");
  REQUIRE(good);
  REQUIRE(groups <= 2);
}

TEST_CASE("buffered: a large open group is sealed before its time") {
  World world;
  std::uint64_t written = 0;
  REQUIRE(world.with_store([&](Store& store) {
    const std::uint64_t before = counter(store, "commit_groups");
    for (int i = 0; i < 3; ++i)
      put_buffered(store, crowd_name(i), noise(900'000, i)).status().ignore();
    written = counter(store, "commit_groups") - before;
  }) == "");
  REQUIRE(written >= 1);
}

// What is left after a power failure must be the first so many commits.
void require_prefix(World& world, int commits, int promised) {
  int present = 0;
  bool gap = false;
  std::string findings = "fsck failed";
  REQUIRE(world.with_store([&](Store& store) {
    for (int i = 0; i < commits; ++i) {
      const bool there = get(store, crowd_name(i)) == noise(3000 + i, i);
      if (there && present < i) gap = true;
      if (there) present = i + 1;
    }
    findings = deep_findings(store);
  }) == "");
  CAPTURE(present, promised);
  REQUIRE_FALSE(gap);
  REQUIRE(present >= promised);
  REQUIRE(findings == "");
}

TEST_CASE("buffered: a crash takes a suffix, and nothing before the last durable commit") {
  const std::uint64_t first = GENERATE(range(1, 1 + 20 / static_cast<int>(kThinned)));
  World world(first);
  io::Rng rng(first);
  int done = 0;
  int promised = 0;
  bool good = true;
  REQUIRE(world.with_store([&](Store& store) {
    const int commits = 5 + static_cast<int>(rng.below(40));
    for (; done < commits && good; ++done) {
      Transaction t;
      t.put(kDefaultCollection, crowd_name(done), noise(3000 + done, done));
      const bool durable = rng.chance(1, 12);
      good = durable ? store.commit(std::move(t)).ok() : store.commit(std::move(t), kBuffered).ok();
      if (durable) promised = done + 1;
      if (rng.chance(1, 15)) {
        good = good && store.sync().ok();
        promised = done + 1;
      }
      if (rng.chance(1, 4)) world.sleep(static_cast<io::Nanos>(rng.below(15'000'000)));
      if (rng.chance(1, 20)) good = good && store.checkpoint().ok();
    }
    world.system().power_cut();
  }) == "");
  CAPTURE(first);
  REQUIRE(good);
  require_prefix(world, done, promised);
}

TEST_CASE("buffered: a guard that fails is answered at once, on state that may be lost") {
  World world;
  io::Nanos took = 0;
  std::optional<ErrorCode> code;
  bool called = false;
  REQUIRE(world.with_store([&](Store& store) {
    put_buffered(store, "a", "1").status().ignore();
    const io::Nanos begin = world.now();
    Transaction t;
    t.expect_absent(kDefaultCollection, "a");
    t.put(kDefaultCollection, "a", "2");
    code = code_of(store.commit(std::move(t), kBuffered));
    Transaction again;
    again.expect_absent(kDefaultCollection, "a");
    again.put(kDefaultCollection, "a", "3");
    store.submit(
        std::move(again),
        [&](const Result<Lsn>& lsn) { called = code_of(lsn) == ErrorCode::kConflict; }, kBuffered);
    world.sleep(1);
    took = world.now() - begin;
  }) == "");
  REQUIRE(code == ErrorCode::kConflict);
  REQUIRE(called);
  REQUIRE(took < 1'000'000);
}

TEST_CASE("buffered: a durable commit that fails on buffered state makes that durable first") {
  World world;
  std::optional<ErrorCode> code;
  Lsn durable = 0;
  Lsn depends_on = 1;
  REQUIRE(world.with_store([&](Store& store) {
    const Result<Lsn> lsn = put_buffered(store, "a", "1");
    depends_on = lsn.ok() ? *lsn : kMaxLsn;
    Transaction t;
    t.expect_absent(kDefaultCollection, "a");
    t.put(kDefaultCollection, "a", "2");
    code = code_of(store.commit(std::move(t)));
    durable = store.status().last_lsn;
  }) == "");
  REQUIRE(code == ErrorCode::kConflict);
  REQUIRE(durable >= depends_on);  // R14
}

TEST_CASE("buffered: payloads are the caller's again when it is answered") {
  World world;
  std::string back;
  REQUIRE(world.with_store([&](Store& store) {
    std::string bytes = noise(400'000, 7);
    Transaction t;
    t.put(kDefaultCollection, "a", bytes);
    if (!store.commit(std::move(t), kBuffered).ok()) return;
    bytes.assign(bytes.size(), 'x');
    back = get(store, "a");
    store.sync().ignore();
    if (back == noise(400'000, 7)) back = get(store, "a");
  }) == "");
  REQUIRE((back == noise(400'000, 7)));
}

TEST_CASE("buffered: bytes in flight are bounded, and waiting for them seals what is buffered") {
  World world;
  RuntimeOptions options;
  options.max_transaction = 100'000;
  options.max_in_flight = 100'000;
  io::Nanos took = 0;
  bool good = true;
  REQUIRE(world.with_store(
              [&](Store& store) {
                good = put_buffered(store, "a", noise(90'000, 1)).ok();
                const io::Nanos begin = world.now();
                good = good && put_buffered(store, "b", noise(90'000, 2)).ok();
                took = world.now() - begin;
              },
              options) == "");
  REQUIRE(good);
  REQUIRE(took > 0);
  REQUIRE(took < 3 * kFlushTime);
}

TEST_CASE("buffered: one that cannot be made durable turns the store read-only, and is told") {
  StoreFixture fixture;
  FaultySystem faulty(fixture.memory);
  fixture.system = &faulty;
  std::optional<Store> store(fixture.open());
  REQUIRE(put(*store, "durable", "1").ok());
  REQUIRE(put(*store, "other", noise(20'000, 1)).ok());
  // From the first cell of the next commit on: what the background writes before, a zone ahead of
  // need say, goes well.
  faulty.watch([&](const io::IoRequest& request) {
    if (request.op != io::IoOp::kWrite || request.cause != io::IoCause::kUser) return;
    for (int i = 0; i < 4; ++i) faulty.fault(fixture.device(i)).writes = true;
  });
  const std::string value = noise(20'000, 3);
  REQUIRE(message_of(put_buffered(*store, "buffered", value).status()) == "");
  // It has been answered; sync() finds out.
  REQUIRE(code_of(store->sync()) == ErrorCode::kIo);
  REQUIRE(store->status().read_only);
  // Nobody misses the news: it is the answer to every durable commit and sync() from now on.
  REQUIRE(code_of(store->sync()) == ErrorCode::kIo);
  const Result<Lsn> next = put(*store, "next", "2");
  REQUIRE(code_of(next) == ErrorCode::kIo);
  CHECK(next.error().message.find("may be lost") != std::string::npos);
  std::optional<ErrorCode> told;
  std::atomic<bool> answered{false};
  Transaction t;
  t.put(kDefaultCollection, "next", "2");
  store->submit(std::move(t), [&](const Result<Lsn>& lsn) {
    told = code_of(lsn);
    answered = true;
  });
  while (!answered) std::this_thread::yield();
  REQUIRE(told == ErrorCode::kIo);
  REQUIRE(code_of(put_buffered(*store, "next", "2")) == ErrorCode::kReadOnly);
  // A reader does not go back in time.
  REQUIRE(get(*store, "durable") == "1");
  REQUIRE((get(*store, "buffered") == value));
  REQUIRE(code_of(store->close()) == ErrorCode::kIo);
  store.reset();
  for (int i = 0; i < 4; ++i) faulty.fault(fixture.device(i)).writes = false;
  Store again = fixture.open();
  REQUIRE(get(again, "durable") == "1");
  REQUIRE(again.sync().ok());
  REQUIRE(deep_findings(again) == "");
}

TEST_CASE("buffered: the loss of devices that the profile survives is nobody's loss") {
  StoreFixture fixture;
  FaultySystem faulty(fixture.memory);
  fixture.system = &faulty;
  Store store = fixture.open();
  faulty.fault(fixture.device(1)).writes = true;
  const std::string value = noise(20'000, 3);
  REQUIRE(put_buffered(store, "a", value).ok());
  REQUIRE((get(store, "a") == value));
  REQUIRE(store.sync().ok());
  REQUIRE((get(store, "a") == value));
  REQUIRE(state_of(store, fixture.device(1)) == "failed");
}

TEST_CASE("sync: with nothing buffered it is no I/O") {
  World world;
  bool good = true;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  REQUIRE(world.with_store([&](Store& store) {
    good = put(store, "a", "1").ok();
    // The background makes a zone ahead of need, and that is a group, too.
    world.sleep(100'000'000);
    before = counter(store, "commit_groups");
    good = good && store.sync().ok();
    after = counter(store, "commit_groups");
  }) == "");
  REQUIRE(good);
  REQUIRE(before > 0);
  REQUIRE(after == before);
}

TEST_CASE("sync: read-only and closed stores") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put(store, "a", "1").ok());
    REQUIRE(store.sync().ok());
    REQUIRE(store.close().ok());
    REQUIRE(code_of(store.sync()) == ErrorCode::kClosed);
  }
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE(store.sync().ok());
  REQUIRE(code_of(put_buffered(store, "a", "2")) == ErrorCode::kReadOnly);
}

TEST_CASE("buffered: close() makes it durable") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    REQUIRE(put_buffered(store, "a", noise(9000, 1)).ok());
    REQUIRE(counter(store, "txc_buffered_count") == 1);
    REQUIRE(store.close().ok());
  }
  Store store = fixture.open();
  REQUIRE((get(store, "a") == noise(9000, 1)));
}

// A value that says its number, of a size that goes with it.
std::string numbered(std::uint64_t number) {
  const std::size_t sizes[] = {40, 3000, 30'000, 150'000};
  std::string value = std::to_string(number) + ":";
  value.resize(sizes[number % 4], static_cast<char>('a' + number % 26));
  return value;
}

TEST_CASE("buffered: readers see whole values that never go back, whoever writes how") {
  FormatOptions format = small_format();
  format.device_size = 32_MiB;
  StoreFixture fixture(format);
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  REQUIRE(put(store, "shared", numbered(0)).ok());
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> written{0};
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      std::uint64_t newest = 0;
      while (!stop) {
        const std::uint64_t before = written;
        const std::string value = get(store, "shared");
        const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
        // What was answered before the read began is seen by it.
        if (value != numbered(number) || number < newest || number < before) ++wrong;
        newest = number;
      }
    });
  }
  threads.emplace_back([&] {
    while (!stop) {
      if (!store.sync().ok()) ++wrong;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  threads.emplace_back([&] {
    while (!stop) {
      if (!store.checkpoint().ok()) ++wrong;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  io::Rng rng(3);
  for (std::uint64_t number = 1; number <= 200; ++number) {
    Transaction t;
    t.put(kDefaultCollection, "shared", numbered(number));
    const bool buffered = !rng.chance(1, 5);
    const Result<Lsn> lsn =
        buffered ? store.commit(std::move(t), kBuffered) : store.commit(std::move(t));
    if (!lsn.ok()) ++wrong;
    written = number;
    if (get(store, "shared") != numbered(number)) ++wrong;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  REQUIRE(store.sync().ok());
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
