// Zones that are made because a commit, or a stream, has found no room: beside all other commits,
// since their headers go to devices, and there for others where the commit fails in the end.
#include <atomic>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "core/check/fsck.h"
#include "core/commit/sequencer.h"
#include "core/engine/engine.h"
#include "core/opening/opening.h"
#include "ec/profile.h"
#include "tests/base/thinned.h"
#include "tests/core/faulty_system.h"
#include "tests/core/log_order.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// Zones of 4 MiB of user data, many of them.
FormatOptions format() {
  FormatOptions format = small_format();
  format.device_size = 64_MiB;
  format.log_size = 4_MiB;
  format.slab_size = 1_MiB;
  return format;
}

// What goes to devices, and who sends it.
class Watched {
 public:
  explicit Watched(const FormatOptions& options = format())
      : faulty_(memory_), fixture(options, &faulty_) {
    faulty_.watch([this](const io::IoRequest& request) { see(request); });
  }
  // Of all that was sent while its thread held the sequencer's lock: how many of each cause.
  std::map<std::string, int> under_lock() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return under_lock_;
  }
  // Headers of slabs that this thread has written.
  int headers_here() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return headers_[std::this_thread::get_id()];
  }

 private:
  void see(const io::IoRequest& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (core::Sequencer::held_here()) {
      ++under_lock_["op " + std::to_string(static_cast<int>(request.op)) + ", cause " +
                    std::to_string(static_cast<int>(request.cause))];
    }
    if (FaultySystem::is_slab_header(request)) ++headers_[std::this_thread::get_id()];
  }

  std::mutex mutex_;
  std::map<std::string, int> under_lock_;
  std::map<std::thread::id, int> headers_;
  io::MemorySystem memory_;
  FaultySystem faulty_;

 public:
  StoreFixture fixture;
};

constexpr std::size_t kLarge = 9'500'000;  // more than two zones hold

TEST_CASE("waiting zones: nothing goes to a device under the sequencer's lock") {
  Watched watched;
  Store store = watched.fixture.open();
  std::atomic<int> headers{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 2; ++i) {
        const std::string name = std::to_string(thread) + "/" + std::to_string(i);
        if (!put(store, name, noise(kLarge, static_cast<std::uint64_t>(10 * thread + i))).ok()) {
          ++failed;
        }
        for (int small = 0; small < 20; ++small) {
          if (!put(store, name + "/" + std::to_string(small), noise(5'000, 1)).ok()) ++failed;
        }
      }
      headers += watched.headers_here();
    });
  }
  threads.emplace_back([&] {
    auto writer = store.open_writer(kBucket, "stream");
    const std::string piece = noise(1'000'000, 99);
    for (int i = 0; i < 10 && writer.ok(); ++i) {
      if (!(*writer)->append(as_bytes(piece)).ok()) ++failed;
    }
    if (!writer.ok() || !(*writer)->commit().ok()) ++failed;
  });
  for (std::thread& thread : threads) thread.join();
  REQUIRE(failed == 0);
  // At least the second zone that a transaction alone needs is made by nobody else.
  CHECK(headers >= 6);
  REQUIRE(counter(store, "checkpoints") == 0);
  CHECK(watched.under_lock() == std::map<std::string, int>{});
  for (int thread = 0; thread < 3; ++thread) {
    const std::string name = std::to_string(thread) + "/1";
    CHECK((get(store, name) == noise(kLarge, static_cast<std::uint64_t>(10 * thread + 1))));
  }
  CHECK(deep_findings(store) == "");
}

struct Opened {
  explicit Opened(StoreFixture& fixture)
      : engine(core::open_parts(fixture.pool, {}, fixture.system).value()) {
    REQUIRE(engine.start().ok());
  }
  ~Opened() { engine.close().ignore(); }
  std::size_t zones() { return engine.space().zone_ids().size(); }

  core::Engine engine;
};

TEST_CASE("waiting zones: one that its commit does not use after all is there for the next") {
  StoreFixture fixture(format());
  std::size_t zones = 0;
  {
    Opened opened(fixture);
    Transaction refused;
    refused.expect_exists(kBucket, "nothing of that name");
    refused.put(kBucket, "a", noise(kLarge, 1));
    REQUIRE(code_of(opened.engine.commit(std::move(refused))) == ErrorCode::kConflict);
    REQUIRE(opened.zones() >= 3);
    const core::Space::Room room = opened.engine.space().room();
    CHECK(room.units.live == room.internal);  // the manifest's
    CHECK(room.units.in_flight == 0);
    CHECK(opened.engine.fsck().run({true, false})->findings.empty());
    // After closing: until then the background may make one that it wanted amid the commit.
    REQUIRE(opened.engine.close().ok());
    zones = opened.zones();
  }
  {
    Opened opened(fixture);
    REQUIRE(opened.zones() == zones);
    Transaction t;
    t.put(kBucket, "a", noise(kLarge, 1));
    REQUIRE(opened.engine.commit(std::move(t)).ok());
    CHECK(opened.zones() <= zones + 1);  // the background may want one ahead by now
    CHECK(opened.engine.fsck().run({true, false})->findings.empty());
  }
  Store store = fixture.open();
  CHECK((get(store, "a") == noise(kLarge, 1)));
}

TEST_CASE("waiting zones: what no zone holds in one piece is cut for zones to come") {
  for (const std::uint32_t k : {1, 4}) {
    CAPTURE(k);
    FormatOptions small = format();
    small.profile = ec::parse_profile(k == 1 ? "1+1" : "4+2").value();
    small.slab_size = 64_KiB;  // 15 units in a row
    StoreFixture fixture(small);
    Store store = fixture.open();
    // A cell of 400,000 bytes has 98 units, or 25; that of a page of the large one 256 or 64.
    REQUIRE(code_of(put(store, "a", noise(400'000, 1))) == std::nullopt);
    REQUIRE(code_of(put(store, "b", noise(5'000'000, 2))) == std::nullopt);
    auto writer = store.open_writer(kBucket, "stream");
    REQUIRE(writer.ok());
    REQUIRE((*writer)->append(as_bytes(noise(3'000'000, 3))).ok());
    REQUIRE((*writer)->commit().ok());
    CHECK(counter(store, "alloc_pieces_cut") >= 9);
    CHECK((get(store, "a") == noise(400'000, 1)));
    CHECK((get(store, "b") == noise(5'000'000, 2)));
    CHECK((get(store, "stream") == noise(3'000'000, 3)));
    CHECK(deep_findings(store) == "");
  }
}

TEST_CASE("waiting zones: devices that do not take a header leave, and the commit gets its zone") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(format(), &faulty);
  Store store = fixture.open();
  // Behind the first zone, which the opening makes.
  REQUIRE(put(store, "a", noise(100'000, 1)).ok());
  for (const std::size_t device : {1, 4}) faulty.fault(fixture.device(device)).slabs = true;
  REQUIRE(put(store, "b", noise(kLarge, 2)).ok());
  CHECK(counter(store, "devices_lost") == 2);
  CHECK((get(store, "b") == noise(kLarge, 2)));
  CHECK(deep_findings(store) == "");
  // Too many: nothing has happened of a commit that waits for its zone, and no zone is half made.
  faulty.fault(fixture.device(2)).slabs = true;
  CHECK(code_of(put(store, "c", noise(kLarge, 3))) == ErrorCode::kReadOnly);
  CHECK(store.status().read_only);
  CHECK(code_of(store.get(kBucket, "c")) == ErrorCode::kNotFound);
}

// A disk that is written all over: what waits for the next group takes its places when that is
// sealed, and zones have been made since. `size` decides how full the last zone is by then.
LogOrder write_disk(std::uint64_t size) {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  FormatOptions options;
  options.device_size = 64_MiB;
  StoreFixture fixture(options, &faulty);
  core::StoreParts parts = core::open_parts(fixture.pool, {}, fixture.system).value();
  LogOrder log(parts.shape->record);
  std::mutex mutex;
  faulty.watch([&](const io::IoRequest& request) {
    if (request.op != io::IoOp::kWrite || request.cause != io::IoCause::kLog) return;
    const std::lock_guard<std::mutex> lock(mutex);
    log.see({request.data, request.length});
  });
  core::Engine engine(std::move(parts));
  REQUIRE(engine.start().ok());
  Transaction whole;  // at once, so that the zone to go on in is the last
  whole.put(kBucket, "disk", noise(size, 1));
  REQUIRE(engine.commit(std::move(whole)).ok());
  const std::string piece = noise(8_KiB, 2);
  for (std::uint64_t offset = 100; offset + 32_KiB <= size / 2; offset += 32_KiB) {
    Transaction t;
    t.write(kBucket, "disk", offset, as_bytes(piece));
    REQUIRE(engine.commit(std::move(t), {Durability::kBuffered}).ok());
  }
  REQUIRE(engine.close().ok());
  return log;
}

TEST_CASE("waiting zones: A10 nothing lies in a zone that no earlier block of the log names") {
  for (std::uint64_t size = 20_MiB; size <= 28_MiB; size += kThinned * 512_KiB) {
    CAPTURE(size);
    const LogOrder log = write_disk(size);
    CHECK(log.zones() > 4);  // how many more depends on when old pieces come back
    CHECK(log.group_stripes() > 2);
    CHECK(log.problem() == "");
  }
}

}  // namespace
}  // namespace hexad::testing
