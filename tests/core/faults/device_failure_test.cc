// Devices that fail while the store is open and many threads commit.
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "alloc/device_layout.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr int kThreads = 4;

class FailingFixture {
 public:
  FailingFixture() : faulty_(memory_of_), fixture(options(), &faulty_) {}

  Store open(Access access = Access::kReadWrite, const RuntimeOptions& options = busy_runtime()) {
    return fixture.open(access, options);
  }
  DeviceFault& fault(std::size_t device) { return faulty_.fault(fixture.device(device)); }
  DeviceFault& fault(const std::string& path) { return faulty_.fault(path); }
  void watch(FaultySystem::Watch watch) { faulty_.watch(std::move(watch)); }
  void set_failing(std::initializer_list<std::size_t> devices, bool failing) {
    for (const std::size_t device : devices) fault(device).writes = failing;
  }

 private:
  static FormatOptions options() {
    FormatOptions format = small_format();
    format.device_size = 16_MiB;
    return format;
  }
  io::MemorySystem memory_of_;
  FaultySystem faulty_;

 public:
  StoreFixture fixture;
};

// Devices lack what they missed until the test says otherwise.
RuntimeOptions asked() {
  RuntimeOptions options = busy_runtime();
  options.catch_up = CatchUp::kWhenAsked;
  return options;
}

// Commits from several threads until told to stop; keeps what was acknowledged.
class Load {
 public:
  Load(Store& store, io::Executor& executor) : store_(store) {
    for (int thread = 0; thread < kThreads; ++thread) {
      threads_.push_back(executor.start("load", [this, thread] { run(thread); }));
    }
  }
  ~Load() { stop(); }
  void stop() {
    stopping_ = true;
    for (const auto& thread : threads_) thread->join();
    threads_.clear();
  }
  // Waits for so many more acknowledgements, or failures.
  void wait_for(int acknowledged) {
    const int target = count_ + acknowledged;
    while (count_ < target && failures_ == 0) std::this_thread::yield();
  }
  int failures() const { return failures_; }
  // Devices too many have failed: the outcome of what was in flight is unknown, what had no place
  // in the order yet is refused, and so is whatever began when a thread knew.
  void require_stopped() {
    const std::lock_guard<std::mutex> lock(mutex_);
    REQUIRE_FALSE(codes_.empty());
    for (const ErrorCode code : codes_) {
      REQUIRE((code == ErrorCode::kUnknown || code == ErrorCode::kReadOnly));
    }
    REQUIRE(later_ == std::vector<std::optional<ErrorCode>>(codes_.size(), ErrorCode::kReadOnly));
  }
  // Every acknowledged value; where the last commit failed with kUnknown it may be there as well,
  // and nothing of one that was refused.
  void require_acknowledged(Store& store) {
    for (const auto& [name, value] : refused_) {
      const bool there = get(store, name) == value;
      CAPTURE(name);
      REQUIRE_FALSE(there);
    }
    for (int thread = 0; thread < kThreads; ++thread) {
      for (const auto& [name, values] : state_[thread]) {
        const std::string found = get(store, name);
        bool known = false;
        for (const std::string& value : values) known = known || found == value;
        CAPTURE(name, found.size(), values.size(), values.front().size(), found.substr(0, 200));
        REQUIRE(known);
      }
    }
  }

 private:
  void run(int thread) {
    io::Rng rng(thread + 1);
    auto& state = state_[thread];
    while (!stopping_) {
      // Two objects per transaction: they change together.
      const std::string name = std::to_string(thread) + "/" + std::to_string(rng.below(6));
      const std::string value = noise(rng.chance(1, 2) ? 100 : 1 + rng.below(30'000), rng.next());
      Transaction t;
      t.put(kDefaultCollection, name, value);
      t.put(kDefaultCollection, name + "-twin", value);
      const Result<Lsn> result = store_.commit(std::move(t));
      for (const std::string& written : {name, name + "-twin"}) {
        if (result.ok()) {
          state[written] = {value};
        } else if (result.error().code == ErrorCode::kUnknown && state.count(written) > 0) {
          state[written].push_back(value);
        }
      }
      if (result.ok()) {
        ++count_;
      } else {
        ++failures_;
        const ErrorCode code = result.error().code;
        const std::optional<ErrorCode> later = code_of(put(store_, name, "later"));
        const std::lock_guard<std::mutex> lock(mutex_);
        codes_.push_back(code);
        if (code == ErrorCode::kReadOnly) {
          refused_.emplace_back(name, value);
          refused_.emplace_back(name + "-twin", value);
        }
        later_.push_back(later);
        refused_.emplace_back(name, "later");
        return;
      }
    }
  }

  Store& store_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> count_{0};
  std::atomic<int> failures_{0};
  std::mutex mutex_;
  std::vector<ErrorCode> codes_;                 // of the commit with which each thread ended
  std::vector<std::optional<ErrorCode>> later_;  // of the one after it
  std::vector<std::pair<std::string, std::string>> refused_;  // name and value
  std::map<std::string, std::vector<std::string>> state_[kThreads];
  std::vector<std::unique_ptr<io::Thread>> threads_;
};

// A store under load, which has had some commits.
struct LoadedStore : FailingFixture {
  explicit LoadedStore(int commits = 50) { load.wait_for(commits); }

  // Opens it again: everything acknowledged is there, and nothing is wrong.
  Store reopen(Access access = Access::kReadWrite) {
    Store again = open(access, asked());
    load.require_acknowledged(again);
    REQUIRE(deep_findings(again) == "");
    return again;
  }

  std::optional<Store> store = open();
  Load load{*store, fixture.system->executor()};
};

TEST_CASE("store: one and then two devices stop taking writes, nobody notices but status") {
  for (const auto& [a, b] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 5}, {4, 2}}) {
    CAPTURE(a, b);
    LoadedStore loaded(100);
    loaded.fault(a).writes = true;
    loaded.load.wait_for(100);
    loaded.fault(b).writes = true;
    loaded.load.wait_for(100);
    loaded.load.stop();
    REQUIRE(loaded.load.failures() == 0);
    REQUIRE(state_of(*loaded.store, loaded.fixture.device(a)) == "failed");
    REQUIRE(state_of(*loaded.store, loaded.fixture.device(b)) == "failed");
    REQUIRE(loaded.store->status().health == Health::kDegraded);
    REQUIRE(loaded.store->status().faults_tolerated == 0);
    REQUIRE(counter(*loaded.store, "devices_lost") == 2);
    loaded.load.require_acknowledged(*loaded.store);
    REQUIRE(deep_findings(*loaded.store) == "");
    const bool close = a == 0;
    if (close) REQUIRE(message_of(loaded.store->close()) == "");
    loaded.store.reset();

    // They work again, and are known for what they are; an opening for writing takes them in.
    loaded.set_failing({a, b}, false);
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      Store again = loaded.reopen(access);
      for (const std::size_t device : {a, b}) {
        REQUIRE(state_of(again, loaded.fixture.device(device)) ==
                (access == Access::kReadOnly ? "away" : "behind"));
      }
    }
  }
}

TEST_CASE("store: a third device that fails stops commits, not reads, and the store opens again") {
  LoadedStore loaded;
  for (const std::size_t device : {0, 3, 5}) {
    loaded.fault(device).writes = true;
    loaded.load.wait_for(50);
  }
  loaded.load.stop();
  loaded.load.require_stopped();
  REQUIRE(loaded.store->status().read_only);
  REQUIRE(loaded.store->status().read_only_reason != "");
  REQUIRE(loaded.store->status().health == Health::kUnavailable);
  for (const std::size_t device : {0, 3, 5}) {
    REQUIRE(state_of(*loaded.store, loaded.fixture.device(device)) == "failed");
  }
  REQUIRE(code_of(put(*loaded.store, "new", "value")) == ErrorCode::kReadOnly);
  REQUIRE(code_of(loaded.store->checkpoint()) == ErrorCode::kReadOnly);
  REQUIRE(code_of(loaded.store->open_writer(kDefaultCollection, "new")) == ErrorCode::kReadOnly);
  loaded.load.require_acknowledged(*loaded.store);
  REQUIRE(loaded.store->list(kDefaultCollection).ok());
  loaded.store->close().ignore();
  loaded.store.reset();

  loaded.set_failing({0, 3, 5}, false);
  Store again = loaded.reopen();
  REQUIRE(message_of(put(again, "new", "value").status()) == "");
  REQUIRE(deep_findings(again) == "");
}

TEST_CASE("store: a third device that fails under a checkpoint turns the store read-only") {
  // Whoever meets it first: the run, for nothing rides in the log that would have to be packed; or
  // the pack.
  for (const std::size_t size : {5, 3000}) {
    CAPTURE(size);
    FailingFixture failing;
    // No checkpoints but those of the test: the log and the memtable have room.
    Store store = failing.fixture.open();
    failing.set_failing({0, 3}, true);
    REQUIRE(message_of(put(store, "a", "value").status()) == "");
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(counter(store, "devices_lost") == 2);
    const std::uint64_t ridden = counter(store, "log_first_blobs");
    REQUIRE(put(store, "b", noise(size, 1)).ok());
    REQUIRE((counter(store, "log_first_blobs") > ridden) == (size > 1000));
    failing.fault(5).writes = true;
    REQUIRE(code_of(store.checkpoint()) == ErrorCode::kUnknown);
    REQUIRE(store.status().read_only);
    REQUIRE(state_of(store, failing.fixture.device(5)) == "failed");
    REQUIRE(store.status().read_only_reason.find(failing.fixture.device(5)) != std::string::npos);
    REQUIRE(code_of(put(store, "b", "other")) == ErrorCode::kReadOnly);
    REQUIRE((get(store, "b") == noise(size, 1)));
  }
}

TEST_CASE("store: three devices that do not take a zone turn the store read-only") {
  FailingFixture failing;
  Store store = failing.fixture.open();
  for (const std::size_t device : {0, 3, 5}) failing.fault(device).slabs = true;
  // Cells go well, until no zone has room and there is none to be had. Then whoever wants one meets
  // the devices: a commit itself, which has no place in the order before it has its zone, or the
  // background, amid a commit that may have one.
  std::atomic<bool> met_here{false};
  failing.watch([&, here = std::this_thread::get_id()](const io::IoRequest& request) {
    if (FaultySystem::is_slab_header(request) && std::this_thread::get_id() == here)
      met_here = true;
  });
  std::optional<ErrorCode> code;
  std::string last;
  for (int i = 0; i < 1000 && !code.has_value(); ++i) {
    last = std::to_string(i);
    code = code_of(put(store, last, noise(100'000, i)));
  }
  failing.watch({});
  CAPTURE(met_here);
  REQUIRE((code == ErrorCode::kReadOnly || (code == ErrorCode::kUnknown && !met_here)));
  REQUIRE(code_of(store.get(kDefaultCollection, last)) == ErrorCode::kNotFound);
  REQUIRE(store.status().read_only);
  for (const std::size_t device : {0, 3, 5}) {
    REQUIRE(state_of(store, failing.fixture.device(device)) == "failed");
  }
  REQUIRE(code_of(put(store, "b", "value")) == ErrorCode::kReadOnly);
}

TEST_CASE("store: a device that does not take the root of a change of membership has left, too") {
  for (int checkpoints = 0; checkpoints < 2; ++checkpoints) {  // the root's slot differs
    CAPTURE(checkpoints);
    FailingFixture failing;
    std::optional<Store> store = failing.fixture.open();
    for (int i = 0; i <= checkpoints; ++i) {
      REQUIRE(put(*store, "a", noise(100, i)).ok());
      if (i > 0) REQUIRE(store->checkpoint().ok());
    }
    failing.fault(4).roots = 0;
    failing.fault(1).writes = true;
    REQUIRE(put(*store, "a", noise(30'000, 1)).ok());
    REQUIRE(counter(*store, "devices_lost") == 2);
    // The others have both roots: the one that has it live, and the one that does not.
    REQUIRE(put(*store, "b", noise(30'000, 2)).ok());
    store.reset();
    failing.fault(4).roots = -1;
    failing.fault(1).writes = false;
    Store again = failing.open(Access::kReadWrite, asked());
    for (const std::size_t device : {1, 4}) {
      REQUIRE(state_of(again, failing.fixture.device(device)) == "behind");
    }
    REQUIRE((get(again, "b") == noise(30'000, 2)));
    REQUIRE(deep_findings(again) == "");
  }
}

TEST_CASE("store: a device that does not take a root of an opening has left") {
  for (int roots = 0; roots < 3; ++roots) {
    CAPTURE(roots);
    FailingFixture failing;
    failing.open().close().ignore();
    failing.fault(4).roots = roots;
    {
      Store store = failing.fixture.open();
      REQUIRE(state_of(store, failing.fixture.device(4)) == (roots < 2 ? "failed" : "ok"));
      for (int i = 0; i < 4; ++i) REQUIRE(put(store, std::to_string(i), noise(30'000, i)).ok());
    }
    failing.fault(4).roots = -1;
    Store again = failing.open(Access::kReadWrite, asked());
    REQUIRE(state_of(again, failing.fixture.device(4)) == (roots < 2 ? "behind" : "ok"));
    REQUIRE(deep_findings(again) == "");
  }
}

TEST_CASE("store: devices that fail one by one under commits and checkpoints leave no damage") {
  for (int round = 0; round < 6; ++round) {
    LoadedStore loaded;
    std::atomic<bool> stopping{false};
    const auto checkpoints = loaded.fixture.system->executor().start("checkpoints", [&] {
      while (!stopping && loaded.store->checkpoint().ok()) continue;
    });
    for (const std::size_t device : {1, 4, 2}) {
      loaded.fault(device).writes = true;
      if (round % 2 == 0) loaded.load.wait_for(round);
    }
    loaded.load.wait_for(100'000);
    loaded.load.stop();
    stopping = true;
    checkpoints->join();
    loaded.load.require_stopped();
    REQUIRE(loaded.store->status().read_only);
    loaded.store.reset();
    loaded.set_failing({1, 2, 4}, false);
    loaded.reopen();
  }
}

TEST_CASE("store: three devices that fail at once lose nothing that was acknowledged") {
  LoadedStore loaded;
  loaded.set_failing({1, 2, 3}, true);
  loaded.load.wait_for(100'000);
  loaded.load.stop();
  loaded.load.require_acknowledged(*loaded.store);
  loaded.store.reset();
  loaded.set_failing({1, 2, 3}, false);
  REQUIRE(loaded.reopen().status().health == Health::kOk);
}

TEST_CASE("store: the log device that fails is replaced by others at once") {
  LoadedStore loaded;
  const std::string log = loaded.fixture.pool.fast_directories[0] + "/log";
  loaded.fault(log).writes = true;
  loaded.load.wait_for(100);
  loaded.fault(0).writes = true;
  loaded.load.wait_for(100);
  loaded.load.stop();
  REQUIRE(loaded.load.failures() == 0);
  REQUIRE(state_of(*loaded.store, log) == "failed");
  loaded.store.reset();
  loaded.fault(log).writes = false;
  loaded.fault(0).writes = false;
  loaded.reopen();
}

TEST_CASE("store: a device that cannot be read is read around") {
  FailingFixture failing;
  const std::string value = noise(500'000, 1);
  RuntimeOptions options = busy_runtime();
  options.cache_size = 0;  // every read asks the devices
  Store store = failing.open(Access::kReadWrite, options);
  REQUIRE(put(store, "a", value).ok());
  for (const auto& [a, b] : pairs_below(6)) {
    failing.fault(a).reads = true;
    failing.fault(b).reads = true;
    REQUIRE((get(store, "a") == value));
    std::size_t third = 0;
    while (third == a || third == b) ++third;
    failing.fault(third).reads = true;
    const Result<Bytes> lost = store.get(kDefaultCollection, "a");
    REQUIRE(code_of(lost) == ErrorCode::kUnavailable);
    for (std::size_t device = 0; device < 6; ++device) failing.fault(device).reads = false;
  }
  REQUIRE((get(store, "a") == value));
}

TEST_CASE("store: a device that fails under a stream is left out of it") {
  FailingFixture failing;
  Store store = failing.open();
  Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kDefaultCollection, "a");
  REQUIRE(writer.ok());
  const std::string value = noise(6'000'000, 1);
  for (int i = 0; i < 6; ++i) {
    if (i == 2) failing.fault(3).writes = true;
    if (i == 4) failing.fault(1).writes = true;
    REQUIRE(message_of((*writer)->append(as_bytes(value.substr(i * 1'000'000, 1'000'000)))) == "");
  }
  REQUIRE(message_of((*writer)->commit().status()) == "");
  REQUIRE((get(store, "a") == value));
  REQUIRE(state_of(store, failing.fixture.device(3)) == "failed");
  REQUIRE(deep_findings(store) == "");
}

// A write that failed may still come: the space that it goes to is used again only when its device
// has left, and nobody else might have noticed.
TEST_CASE("store: a device that fails under a stream that is let go of leaves all the same") {
  FailingFixture failing;
  Store store = failing.open();
  Result<std::unique_ptr<ObjectWriter>> writer = store.open_writer(kDefaultCollection, "a");
  REQUIRE(writer.ok());
  failing.fault(3).writes = true;
  REQUIRE(message_of((*writer)->append(as_bytes(noise(2'500'000, 1)))) == "");
  writer->reset();
  while (state_of(store, failing.fixture.device(3)) != "failed") std::this_thread::yield();
  REQUIRE(put(store, "b", "after").ok());
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: callbacks that commit and submit go on while devices fail") {
  FailingFixture failing;
  Store store = failing.open();
  std::atomic<int> running{8};
  std::atomic<int> failed{0};
  std::atomic<int> done{0};
  std::function<void(int, int)> next = [&](int chain, int left) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(chain), noise(5000, left));
    store.submit(std::move(t), [&, chain, left](const Result<Lsn>& result) {
      ++done;
      if (!result.ok()) ++failed;
      if (left % 3 == 0) {
        if (!put(store, "blocking" + std::to_string(chain), noise(3000, left)).ok()) ++failed;
      }
      if (left > 0) {
        next(chain, left - 1);
      } else {
        --running;
      }
    });
  };
  for (int chain = 0; chain < 8; ++chain) next(chain, 60);
  while (done < 100) std::this_thread::yield();
  failing.fault(2).writes = true;
  while (done < 250) std::this_thread::yield();
  failing.fault(4).writes = true;
  while (running > 0) std::this_thread::yield();
  REQUIRE(failed == 0);
  for (int chain = 0; chain < 8; ++chain) {
    REQUIRE((get(store, std::to_string(chain)) == noise(5000, 0)));
  }
}

}  // namespace
}  // namespace hexad::testing
