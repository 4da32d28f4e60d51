// Slabs move, devices come, go and are replaced, under real threads: commits, streams and reads
// beside them.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "core/store.h"
#include "tests/core/faulty_system.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

FormatOptions format_of_seven() {
  FormatOptions format = small_format();
  format.devices.clear();
  for (int i = 0; i < 7; ++i) format.devices.push_back("d" + std::to_string(i));
  format.device_size = 16_MiB;
  format.slab_size = 1_MiB;
  return format;
}

// Threads that write, stream and read, for as long as it lives.
class Load {
 public:
  Load(Store& store, io::Executor& executor) : store_(store) {
    REQUIRE(put(store_, "kept", kept_).ok());
    writer_ = executor.start("writer", [this] {
      for (std::uint64_t i = 0; !over_; ++i) {
        Transaction t;
        t.put(kBucket, "w" + std::to_string(i % 5), noise(i % 4 == 0 ? 200'000 : 900, i));
        if (!store_.commit(std::move(t)).ok()) ++wrong_;
      }
    });
    streamer_ = executor.start("streamer", [this] {
      const std::string value = noise(500'000, 2);
      while (!over_) {
        Result<std::unique_ptr<ObjectWriter>> stream = store_.open_writer(kBucket, "stream");
        if (!stream.ok() || !(*stream)->append(as_bytes(value)).ok() || !(*stream)->commit().ok()) {
          ++wrong_;
        }
        if (get(store_, "stream") != value) ++wrong_;
      }
    });
    reader_ = executor.start("reader", [this] {
      while (!over_) {
        if (get(store_, "kept") != kept_) ++wrong_;
      }
    });
  }
  ~Load() { end(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void end() {
    if (over_.exchange(true)) return;
    writer_->join();
    streamer_->join();
    reader_->join();
  }
  void require_right() {
    end();
    REQUIRE(wrong_ == 0);
    REQUIRE(get(store_, "kept") == kept_);
    REQUIRE(deep_findings(store_) == "");
  }

 private:
  Store& store_;
  const std::string kept_ = noise(700'000, 1);
  std::atomic<bool> over_{false};
  std::atomic<std::uint64_t> wrong_{0};
  std::unique_ptr<io::Thread> writer_;
  std::unique_ptr<io::Thread> streamer_;
  std::unique_ptr<io::Thread> reader_;
};

std::uint32_t used_on(Store& store, DeviceId id) {
  for (const DeviceStatus& device : store.status().devices) {
    if (device.id == id) return device.slabs_used;
  }
  return 0;
}

// Until the slabs have moved, and no longer.
void move_all(Store& store, DeviceId drained) {
  MoveOptions until_empty;
  until_empty.progress = [](const MoveReport& report) {
    return report.slabs_moved == 0 || report.slabs_left > 0;
  };
  for (int i = 0; i < 1000 && used_on(store, drained) > 0; ++i) {
    REQUIRE(store.move_slabs(until_empty).ok());
  }
  REQUIRE(used_on(store, drained) == 0);
}

TEST_CASE("device changes: slabs move under threads that write, stream and read") {
  StoreFixture fixture(format_of_seven());
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  Load load(store, fixture.memory.executor());
  for (const DeviceId drained : {DeviceId{2}, DeviceId{5}, DeviceId{0}}) {
    CAPTURE(drained);
    REQUIRE(store.drain_device(drained).ok());
    move_all(store, drained);
    REQUIRE(store.undrain_device(drained).ok());
  }
  REQUIRE(store.add_device("d7").ok());
  REQUIRE(store.drain_device(1).ok());
  move_all(store, 1);
  REQUIRE(store.remove_device(1).ok());
  load.require_right();
  REQUIRE(store.close().ok());
}

void lose(FaultySystem& faulty, Store& store, const std::string& path) {
  faulty.fault(path).writes = true;
  for (int i = 0; i < 1000 && state_of(store, path) != "failed"; ++i) {
    REQUIRE(put(store, "p", noise(5000, i)).ok());
  }
  REQUIRE(state_of(store, path) == "failed");
}

TEST_CASE("device changes: devices are replaced, and fast ones come and go, under the same") {
  io::MemorySystem memory;
  FaultySystem faulty(memory);
  StoreFixture fixture(format_of_seven(), &faulty);
  RuntimeOptions runtime = busy_runtime();
  runtime.returns = Returns::kWhenAsked;
  Store store = fixture.open(Access::kReadWrite, runtime);
  Load load(store, memory.executor());
  const std::string first = fixture.pool.fast_directories.front();
  // One that answers, then one that is lost, which is brought back in between.
  REQUIRE(message_of(store.replace_device({2, "new2"}).status()) == "");
  lose(faulty, store, "d4");
  faulty.fault("d4").writes = false;
  REQUIRE(message_of(store.bring_back_device(4)) == "");
  REQUIRE(message_of(store.catch_up().status()) == "");
  lose(faulty, store, "d4");
  REQUIRE(message_of(store.replace_device({4, "new4"}).status()) == "");
  REQUIRE(message_of(store.catch_up().status()) == "");
  // Fast ones: a second one, the first goes, the second gives its place to a third.
  const Result<DeviceId> second = store.add_fast_device(first + "-second");
  REQUIRE(message_of(second.status()) == "");
  REQUIRE(message_of(store.remove_device(7)) == "");
  REQUIRE(message_of(store.replace_device({*second, first + "-third"}).status()) == "");
  REQUIRE(store.status().faults_tolerated == 2);
  load.require_right();
  REQUIRE(store.close().ok());
}

}  // namespace
}  // namespace hexad::testing
