// Slabs move, devices come and go, under real threads: commits, streams and reads beside them.
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>

#include "core/store.h"
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

TEST_CASE("slab_moves: under threads that write, stream and read") {
  StoreFixture fixture(format_of_seven());
  const std::string kept = noise(700'000, 1);
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  REQUIRE(put(store, "kept", kept).ok());
  std::atomic<bool> over{false};
  std::atomic<std::uint64_t> wrong{0};
  io::Executor& executor = fixture.memory.executor();
  const auto writer = executor.start("writer", [&] {
    for (std::uint64_t i = 0; !over; ++i) {
      Transaction t;
      t.put(kBucket, "w" + std::to_string(i % 5), noise(i % 4 == 0 ? 200'000 : 900, i));
      if (!store.commit(std::move(t)).ok()) ++wrong;
    }
  });
  const auto streamer = executor.start("streamer", [&] {
    const std::string value = noise(500'000, 2);
    while (!over) {
      Result<std::unique_ptr<ObjectWriter>> stream = store.open_writer(kBucket, "stream");
      if (!stream.ok() || !(*stream)->append(as_bytes(value)).ok() || !(*stream)->commit().ok()) {
        ++wrong;
      }
      if (get(store, "stream") != value) ++wrong;
    }
  });
  const auto reader = executor.start("reader", [&] {
    while (!over) {
      if (get(store, "kept") != kept) ++wrong;
    }
  });
  for (const DeviceId drained : {DeviceId{2}, DeviceId{5}, DeviceId{0}}) {
    CAPTURE(drained);
    CHECK(store.drain_device(drained).ok());
    move_all(store, drained);
    CHECK(store.undrain_device(drained).ok());
  }
  const Result<DeviceId> added = store.add_device("d7");
  CHECK(added.ok());
  CHECK(store.drain_device(1).ok());
  move_all(store, 1);
  CHECK(store.remove_device(1).ok());
  over = true;
  writer->join();
  streamer->join();
  reader->join();
  CHECK(wrong == 0);
  CHECK(get(store, "kept") == kept);
  const Result<FsckReport> fsck = store.fsck({.deep = true});
  REQUIRE(fsck.ok());
  CHECK(fsck->findings.empty());
  CHECK(store.close().ok());
}

}  // namespace
}  // namespace hexad::testing
