// Many threads on one store, with checkpoints and trims of a tiny log all the time.
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <thread>

#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr int kThreads = 8;
constexpr int kNames = 6;  // per thread
constexpr int kRounds = 60;

std::string name_of(int thread, std::uint64_t name) {
  return "t" + std::to_string(thread) + "/" + std::to_string(name);
}
// A value that says how long it is and whether it is whole.
std::string value_of(int thread, std::uint64_t round, io::Rng& rng) {
  const std::uint64_t size = rng.chance(1, 2) ? rng.below(300) : rng.below(40'000);
  return std::to_string(thread) + ":" + std::to_string(round) + ":" +
         noise(size, round * kThreads + thread);
}
bool is_whole(const std::string& value) {
  const std::size_t first = value.find(':');
  const std::size_t second = value.find(':', first + 1);
  if (second == std::string::npos) return false;
  const std::uint64_t seed =
      std::stoull(value.substr(first + 1)) * kThreads + std::stoull(value.substr(0, first));
  return value.substr(second + 1) == noise(value.size() - second - 1, seed);
}

FormatOptions tiny_log() {
  FormatOptions options = small_format();
  options.device_size = 16_MiB;
  return options;
}

// What one thread has committed to names of its own; the others only read them.
struct Own {
  std::map<std::string, std::string> values;
};

class Workers {
 public:
  explicit Workers(Store& store) : store_(store) {}

  void run(io::Executor& executor) {
    std::vector<std::unique_ptr<io::Thread>> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.push_back(executor.start("worker", [this, thread] { work(thread); }));
    }
    std::atomic<bool> stop{false};
    threads.push_back(executor.start("checkpoints", [this, &stop] {
      while (!stop) {
        check(store_.checkpoint().ok(), "checkpoint");
        checkpoints_ = counter(store_, "checkpoints");  // those that had something to write
      }
    }));
    for (int thread = 0; thread < kThreads; ++thread) threads[thread]->join();
    stop = true;
    threads.back()->join();
    while (pending_ > 0) std::this_thread::yield();
    const std::lock_guard<std::mutex> lock(mutex_);
    REQUIRE(problems_ == std::vector<std::string>());
  }

  void require_same(Store& store) {
    std::size_t objects = 0;
    for (int thread = 0; thread < kThreads; ++thread) {
      for (const auto& [name, value] : own_[thread].values) {
        CAPTURE(name);
        REQUIRE((get(store, name) == value));
        ++objects;
      }
    }
    REQUIRE(get(store, "shared").size() == static_cast<std::size_t>(appends_));
    ListOptions all;
    all.limit = 1'000'000;
    REQUIRE(store.list(kDefaultCollection, all)->entries.size() == objects + 1);
  }

 private:
  void work(int thread) {
    io::Rng rng(thread + 1);
    // However the machine divides its time, several checkpoints are made meanwhile.
    for (int round = 0; round < kRounds || checkpoints_ < 3; ++round) {
      switch (rng.below(8)) {
        case 0:
        case 1:
        case 2:
          change(thread, round, rng);
          break;
        case 3:
          submit(thread, round, rng);
          break;
        case 4:
          append();
          break;
        case 5:
          look(rng);
          break;
        case 6:
          list(rng);
          break;
        default:
          stream(thread, round, rng);
      }
    }
  }

  // Several objects in one transaction; the last letter of each says which.
  void change(int thread, int round, io::Rng& rng) {
    Transaction t;
    std::map<std::string, std::string> next = own_[thread].values;
    for (int i = 0; i < 3; ++i) {
      const std::string name = name_of(thread, rng.below(kNames));
      if (rng.chance(1, 4)) {
        t.remove(kDefaultCollection, name);
        next.erase(name);
      } else {
        const std::string value = value_of(thread, round, rng);
        t.put(kDefaultCollection, name, value);
        next[name] = value;
      }
    }
    const Result<Lsn> result = store_.commit(std::move(t));
    check(result.ok(), message_of(result.status()));
    if (!result.ok()) return;
    own_[thread].values = std::move(next);
    for (const auto& [name, value] : own_[thread].values) {
      if (rng.chance(1, 4)) check(get(store_, name) == value, "own write of " + name);
    }
  }

  // Without waiting; for a name that nothing else is written to until it is done.
  void submit(int thread, int round, io::Rng& rng) {
    const std::string name = name_of(thread, 100 + round);
    std::string value = value_of(thread, round, rng);
    Transaction t;
    t.put(kDefaultCollection, name, value);
    t.expect_absent(kDefaultCollection, name);
    ++pending_;
    store_.submit(std::move(t), [this](const Result<Lsn>& result) {
      check(result.ok(), "submit: " + message_of(result.status()));
      --pending_;
    });
    own_[thread].values[name] = std::move(value);
  }

  void append() {
    Transaction t;
    t.append(kDefaultCollection, "shared", as_bytes("x"));
    check(store_.commit(std::move(t)).ok(), "append");
    ++appends_;
  }

  void look(io::Rng& rng) {
    const std::string name = name_of(static_cast<int>(rng.below(kThreads)), rng.below(kNames));
    const Result<Bytes> found = store_.get(kDefaultCollection, name);
    if (!found.ok()) {
      check(found.error().code == ErrorCode::kNotFound, message_of(found.status()));
    } else {
      check(is_whole(text_of(found)), "torn: " + name);
    }
    check(store_.status().health == Health::kOk, "health");
    check(store_.space().ok(), "space");
    check(!store_.counters().empty(), "counters");
  }

  void list(io::Rng& rng) {
    ListOptions options;
    options.limit = 1 + rng.below(10);
    std::string last;
    for (int page = 0; page < 100; ++page) {
      const Result<ListPage> found = store_.list(kDefaultCollection, options);
      check(found.ok(), message_of(found.status()));
      if (!found.ok()) return;
      for (const ListEntry& entry : found->entries) {
        check(entry.name > last, "order");
        last = entry.name;
      }
      if (!found->next.has_value()) return;
      options.start_after = *found->next;
    }
  }

  void stream(int thread, int round, io::Rng& rng) {
    const std::string name = name_of(thread, 50);
    Result<std::unique_ptr<ObjectWriter>> writer = store_.open_writer(kDefaultCollection, name);
    check(writer.ok(), "open_writer");
    if (!writer.ok()) return;
    const std::string value = value_of(thread, round, rng);
    check((*writer)->append(as_bytes(value)).ok(), "append to a writer");
    if (rng.chance(1, 3)) return;  // abandoned
    const Result<Lsn> result = (*writer)->commit();
    check(result.ok(), message_of(result.status()));
    if (result.ok()) own_[thread].values[name] = value;
    Result<std::unique_ptr<ObjectReader>> reader = store_.open_reader(kDefaultCollection, name);
    check(reader.ok(), "open_reader");
    if (!reader.ok()) return;
    Bytes into(value.size() + 1);
    const Result<std::uint64_t> read = (*reader)->read(into);
    check(read.ok() && as_text(ByteView(into).first(*read)) == value, "reader");
  }

  void check(bool holds, const std::string& what) {
    if (holds) return;
    const std::lock_guard<std::mutex> lock(mutex_);
    problems_.push_back(what);
  }

  Store& store_;
  Own own_[kThreads];
  std::atomic<int> appends_{0};
  std::atomic<int> pending_{0};
  std::atomic<std::uint64_t> checkpoints_{0};
  std::mutex mutex_;
  std::vector<std::string> problems_;
};

TEST_CASE("store: eight threads that commit, read, list and delete while checkpoints run") {
  for (const bool clean : {true, false}) {
    StoreFixture fixture(tiny_log());
    std::optional<Store> store = fixture.open(Access::kReadWrite, busy_runtime());
    Workers workers(*store);
    workers.run(fixture.memory.executor());
    workers.require_same(*store);
    REQUIRE(deep_findings(*store) == "");
    REQUIRE(counter(*store, "checkpoints") > 2);
    if (clean) REQUIRE(message_of(store->close()) == "");
    store.reset();
    store = fixture.open();
    workers.require_same(*store);
    REQUIRE(deep_findings(*store) == "");
  }
}

TEST_CASE("store: listings and views go on while the index grows under them") {
  FormatOptions format = tiny_log();
  StoreFixture fixture(format);
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  std::atomic<bool> stop{false};
  std::atomic<int> problems{0};
  std::vector<std::unique_ptr<io::Thread>> readers;
  for (int i = 0; i < 3; ++i) {
    readers.push_back(fixture.memory.executor().start("reader", [&] {
      ListOptions options;
      options.limit = 100'000;
      while (!stop) {
        if (!store.list(kDefaultCollection, options).ok()) ++problems;
        store.get(kDefaultCollection, "0/1").status().ignore();
        if (!store.space().ok()) ++problems;
      }
    }));
  }
  // 8 MiB of metadata; the index is made with 4.
  for (int i = 0; i < 160; ++i) {
    Transaction t;
    for (int j = 0; j < 20; ++j) {
      const std::string name = std::to_string(i) + "/" + std::to_string(j);
      t.touch(kDefaultCollection, name);
      t.set_attr(kDefaultCollection, name, "large", noise(2500, i * 20 + j));
    }
    REQUIRE(store.commit(std::move(t)).ok());
  }
  stop = true;
  for (const auto& reader : readers) reader->join();
  REQUIRE(problems == 0);
}

TEST_CASE("store: transactions over two objects are never seen half") {
  StoreFixture fixture(tiny_log());
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  std::atomic<bool> stop{false};
  std::atomic<int> problems{0};
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (int i = 0; i < 3; ++i) {
    threads.push_back(fixture.memory.executor().start("pairs", [&] {
      // One listing is one state: both were changed by the same transaction.
      while (!stop) {
        const Result<ListPage> page = store.list(kDefaultCollection);
        if (!page.ok()) {
          ++problems;
        } else if (page->entries.size() == 2) {
          if (page->entries[0].version != page->entries[1].version) ++problems;
          if (page->entries[0].size != page->entries[1].size) ++problems;
        } else if (!page->entries.empty()) {
          ++problems;
        }
      }
    }));
  }
  threads.push_back(fixture.memory.executor().start("checkpoints", [&] {
    while (!stop) {
      if (!store.checkpoint().ok()) ++problems;
    }
  }));
  for (int i = 0; i < 400; ++i) {
    Transaction t;
    if (i % 7 == 6) {
      t.remove(kDefaultCollection, "left");
      t.remove(kDefaultCollection, "right");
    } else {
      t.put(kDefaultCollection, "left", noise(i, i));
      t.put(kDefaultCollection, "right", noise(i, i + 1));
    }
    REQUIRE(store.commit(std::move(t)).ok());
  }
  stop = true;
  for (const auto& thread : threads) thread->join();
  REQUIRE(problems == 0);
}

}  // namespace
}  // namespace hexad::testing
