#include "core/space/log_set.h"

#include <catch2/catch.hpp>
#include <set>

#include "io/rng.h"
#include "tests/core/device_table.h"

namespace hexad::core {
namespace {

using hexad::testing::DeviceTable;
using hexad::testing::TableDevice;

constexpr std::uint64_t kLogSize = 256 << 10;
constexpr std::uint64_t kLogOffset = 8 << 10;

alloc::DeviceLayout layout_with_log(std::uint64_t log_size) {
  alloc::DeviceLayout layout;
  layout.device_size = 320 << 10;
  layout.log_offset = kLogOffset;
  layout.log_size = log_size;
  return layout;
}

// By device: two fast ones at the ends, as ids that grew with the pool may have it.
constexpr std::size_t kCount = 7;
bool is_fast(std::size_t id) { return id == 0 || id == 6; }

// Devices whose log areas have these sizes in KiB, those in `usable` usable.
std::unique_ptr<Members> members_with(io::Executor& executor, DeviceTable& table,
                                      const std::vector<std::uint64_t>& sizes,
                                      std::uint32_t usable) {
  for (std::size_t i = 0; i < kCount; ++i) {
    table.add(is_fast(i) ? alloc::DeviceRole::kLog : alloc::DeviceRole::kData,
              layout_with_log(sizes[i] << 10));
  }
  auto members = std::make_unique<Members>(executor, std::move(table.rows));
  for (std::size_t i = 0; i < kCount; ++i) {
    if ((usable >> i & 1) == 0) members->mark_failed(static_cast<DeviceId>(i), "told to");
  }
  return members;
}

TEST_CASE("log_set: fast devices first, then data devices, m+1 of either and of one size") {
  const std::vector<std::vector<std::uint64_t>> sizes = {
      {64, 64, 64, 64, 64, 64, 64},
      {64, 64, 128, 64, 0, 64, 64},
      {0, 64, 64, 64, 64, 64, 128},
      {128, 64, 128, 64, 128, 64, 0},
  };
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  for (const std::vector<std::uint64_t>& size : sizes) {
    for (std::uint32_t usable = 0; usable < 1 << kCount; ++usable) {
      DeviceTable table;
      const std::unique_ptr<Members> members = members_with(*executor, table, size, usable);
      // The size of the copies that count.
      std::uint64_t wanted_size = 0;
      for (const std::size_t id : {1, 2, 3, 4, 5, 0, 6}) {
        if ((usable >> id & 1) != 0 && wanted_size == 0) wanted_size = size[id];
      }
      for (std::uint32_t m = 0; m < 4; ++m) {
        CAPTURE(usable, m);
        std::vector<DeviceId> wanted;
        for (const bool fast : {true, false}) {
          std::uint32_t count = 0;
          for (std::size_t id = 0; id < kCount && count <= m; ++id) {
            const bool counts = is_fast(id) == fast && (usable >> id & 1) != 0;
            if (!counts || size[id] == 0 || size[id] != wanted_size) continue;
            wanted.push_back(static_cast<DeviceId>(id));
            ++count;
          }
        }
        REQUIRE(choose_log_devices(*members, m) == wanted);
      }
    }
  }
}

TEST_CASE("log_set: any m data devices and the whole fast tier leave a copy") {
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  for (std::uint32_t usable = 0; usable < 1 << kCount; ++usable) {
    DeviceTable table;
    const std::vector<std::uint64_t> size(kCount, 64);
    const std::unique_ptr<Members> members = members_with(*executor, table, size, usable);
    std::uint32_t data = 0;
    for (std::size_t id = 0; id < kCount; ++id) {
      data += !is_fast(id) && (usable >> id & 1) != 0 ? 1 : 0;
    }
    for (std::uint32_t m = 0; m < 4; ++m) {
      CAPTURE(usable, m);
      std::uint32_t copies = 0;
      for (const DeviceId id : choose_log_devices(*members, m)) copies += is_fast(id) ? 0 : 1;
      REQUIRE(copies == std::min(m + 1, data));
    }
  }
}

TEST_CASE("log_set: whatever the profile survives of failure domains leaves a copy") {
  // Data devices 1 to 5: three on one shelf, two on another, two cells of a stripe on each.
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  for (std::uint32_t domain_cells = 1; domain_cells <= 2; ++domain_cells) {
    for (std::uint32_t usable = 0; usable < 1 << kCount; ++usable) {
      DeviceTable table;
      for (std::size_t i = 0; i < kCount; ++i) {
        table.add(is_fast(i) ? alloc::DeviceRole::kLog : alloc::DeviceRole::kData,
                  layout_with_log(64 << 10));
        if (!is_fast(i)) table.rows.back().domain = i < 4 ? "A" : "B";
      }
      Members members(*executor, std::move(table.rows), FlushSharing::kWhereSafe, domain_cells);
      std::set<DeviceId> left;
      for (std::size_t i = 0; i < kCount; ++i) {
        if ((usable >> i & 1) == 0) members.mark_failed(static_cast<DeviceId>(i), "told to");
        if ((usable >> i & 1) != 0 && !is_fast(i)) left.insert(static_cast<DeviceId>(i));
      }
      for (std::uint32_t m = 0; m < 4; ++m) {
        CAPTURE(domain_cells, usable, m);
        std::set<DeviceId> copies;
        for (const DeviceId id : choose_log_devices(members, m)) {
          if (!is_fast(id)) copies.insert(id);
        }
        // More than may be lost, or all that there are, and none for nothing.
        REQUIRE(members.cells_on(copies) == std::min(m + 1, members.cells_on(left)));
        REQUIRE(copies.size() == members.cells_on(copies));
      }
    }
  }
}

// Four devices with a log area each; blocks are written to the first two.
struct Fixture {
  Fixture() {
    for (int i = 0; i < 4; ++i) {
      table.add(alloc::DeviceRole::kData, layout_with_log(kLogSize));
      ids.push_back(static_cast<DeviceId>(i));
    }
    members = std::make_unique<Members>(*executor, std::move(table.rows));
    uuid.bytes.fill(9);
    kv::LogWriterOptions options;
    options.uuid = uuid;
    options.areas = areas({0, 1});
    log.emplace(kv::LogWriter::create(std::move(options)).value());
  }

  TableDevice& device(std::size_t index) { return *table.devices[index]; }
  std::vector<kv::LogArea> areas(const std::vector<DeviceId>& which) const {
    std::vector<kv::LogArea> result;
    for (const DeviceId id : which) result.push_back(members->find(id)->log_area());
    return result;
  }

  // A block of one record, to its areas but those in `except`.
  kv::LogPoint write(std::size_t size, const std::set<DeviceId>& except = {}) {
    const std::string record(size, static_cast<char>('a' + log->next_lsn() % 26));
    const std::vector<std::string_view> records = {record};
    kv::PreparedBlock block = log->prepare(log->next_lsn(), records, log->next_lsn() - 1).value();
    for (const io::IoRequest& request : block.requests) {
      if (except.count(members->owner(request.device)->id) > 0) continue;
      REQUIRE(request.device->write(request.offset, {request.data, request.length}).ok());
    }
    const kv::LogPoint point = block.point();
    log->durable(point);
    return point;
  }
  Result<kv::LogScan> scan(const std::vector<DeviceId>& which,
                           const kv::LogPoint& trim = kv::kLogOrigin) const {
    kv::LogScanOptions options;
    options.uuid = uuid;
    options.trim = trim;
    return kv::scan_log(areas(which), options);
  }
  // The blocks that one copy alone gives.
  std::vector<kv::LogPoint> chain(DeviceId id, const kv::LogPoint& trim = kv::kLogOrigin) const {
    const kv::LogScan found = scan({id}, trim).value();
    REQUIRE(found.damage.empty());
    return found.points();
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  DeviceTable table;
  std::vector<DeviceId> ids;
  std::unique_ptr<Members> members;
  Uuid uuid;
  Counters counters;
  std::optional<kv::LogWriter> log;
};

bool any(const io::IoRequest&) { return true; }

TEST_CASE("log_set: a device that joins gets every block since the trim point") {
  Fixture f;
  std::vector<kv::LogPoint> points;
  for (int i = 0; i < 6; ++i)
    points.push_back(
        f.write(100 + 3000 * i, i == 3 ? std::set<DeviceId>{1} : std::set<DeviceId>{}));
  f.log->trim(points[1]);
  points.erase(points.begin(), points.begin() + 2);
  std::set<DeviceId> failed;
  REQUIRE(resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed).ok());
  REQUIRE(failed.empty());
  for (const DeviceId id : {0u, 1u, 2u}) REQUIRE(f.chain(id, f.log->trim_point()) == points);
  REQUIRE(f.device(2).count(io::IoOp::kFlush) > 0);
  REQUIRE(f.device(3).asked.empty());
}

TEST_CASE("log_set: devices that do not take the log are named, the others have it all") {
  const std::uint32_t bad = GENERATE(range(0, 8));
  const io::IoOp op = GENERATE(io::IoOp::kWrite, io::IoOp::kFlush);
  CAPTURE(bad, static_cast<int>(op));
  Fixture f;
  std::vector<kv::LogPoint> points;
  for (int i = 0; i < 4; ++i) points.push_back(f.write(500));
  // Every copy lacks something, so each of them is written.
  std::set<DeviceId> wanted;
  for (DeviceId id = 0; id < 3; ++id) {
    if (id != 2) fill_zero(MutByteView(f.device(id).bytes).subspan(kLogOffset + id * 4096, 4096));
    if ((bad >> id & 1) == 0) continue;
    f.device(id).fail(op);
    wanted.insert(id);
  }
  std::set<DeviceId> failed;
  REQUIRE(resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed).ok());
  REQUIRE(failed == wanted);
  for (const DeviceId id : {0u, 1u, 2u}) {
    if (wanted.count(id) == 0) REQUIRE(f.chain(id) == points);
  }
}

TEST_CASE("log_set: a log whose last block is on no device left is not passed on") {
  Fixture f;
  f.write(100);
  f.write(100);
  f.write(100, {0});
  std::set<DeviceId> failed;
  const Status status = resync_log_copies(f.areas({0, 2}), {0, 2}, *f.log, f.uuid, failed);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kUnknown);
  CHECK(status.error().message ==
        "the log ends at LSN 2 on the devices left, LSN 3 was written last");
  CHECK(f.device(2).count(io::IoOp::kWrite) == 0);
  // The copy that has it is enough.
  REQUIRE(resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed).ok());
  REQUIRE(f.chain(2).size() == 3);
}

TEST_CASE("log_set: what is to be read alone is neither written nor flushed") {
  Fixture f;
  f.write(100);
  f.write(100, {0});
  std::set<DeviceId> failed;
  REQUIRE(resync_log_copies(f.areas({0, 2, 1}), {0, 2}, *f.log, f.uuid, failed).ok());
  CHECK(f.chain(0).size() == 2);
  CHECK(f.chain(2).size() == 2);
  CHECK(f.device(1).count(io::IoOp::kWrite) == 2);  // those of the blocks
  CHECK(f.device(1).count(io::IoOp::kFlush) == 0);
}

// R18: who waits until it is taken calls it again, and finds the log as it should be.
TEST_CASE("log_set: what a device refuses is an error, and no device has failed") {
  const io::IoOp op = GENERATE(io::IoOp::kRead, io::IoOp::kWrite);
  const DeviceId refuses = GENERATE(0u, 1u, 2u);
  CAPTURE(static_cast<int>(op), refuses);
  Fixture f;
  f.write(100);
  f.write(100);
  // Without this device's copy the log ends too early.
  f.write(100, {refuses == 0 ? 1u : 0u});
  f.device(refuses).fail(op);
  f.device(refuses).failure = ErrorCode::kExhausted;
  std::set<DeviceId> failed;
  const Status status = resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kExhausted);
  CHECK(failed.empty());
  f.device(refuses).fails = [](const io::IoRequest&) { return false; };
  REQUIRE(resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed).ok());
  CHECK(failed.empty());
  for (const DeviceId id : {0u, 1u, 2u}) CHECK(f.chain(id).size() == 3);
}

TEST_CASE("log_set: a log that nobody can read is an error, and nothing is written") {
  Fixture f;
  f.write(100);
  for (const std::size_t i : {0, 1, 2}) f.device(i).fail(io::IoOp::kRead);
  std::set<DeviceId> failed;
  const Status status = resync_log_copies(f.areas({0, 1, 2}), {0, 1, 2}, *f.log, f.uuid, failed);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().code == ErrorCode::kIo);
  CHECK(f.device(2).count(io::IoOp::kWrite) == 0);
}

TEST_CASE("log_set: at opening every copy gets the chain, also one that was not scanned") {
  Fixture f;
  std::vector<kv::LogPoint> points;
  for (int i = 0; i < 8; ++i) {
    points.push_back(f.write(700, i == 2   ? std::set<DeviceId>{0}
                                  : i == 5 ? std::set<DeviceId>{1}
                                           : std::set<DeviceId>{}));
  }
  const kv::LogScan scan = f.scan({0, 1}).value();
  REQUIRE(scan.points() == points);
  std::set<DeviceId> failed;
  // In another order than scanned, and one that is new.
  REQUIRE(copy_chain(scan, f.areas({3, 1, 0}), {3, 1, 0}, f.counters, failed).ok());
  REQUIRE(failed.empty());
  for (const DeviceId id : {0u, 1u, 3u}) REQUIRE(f.chain(id) == points);
  REQUIRE(f.counters.since_open(CounterId::kRecoveryLogCopiesHealed) == 2);
  REQUIRE(f.device(2).asked.empty());
}

TEST_CASE("log_set: at opening the devices that fail are named, whether scanned or new") {
  const std::uint32_t bad = GENERATE(range(0, 8));
  CAPTURE(bad);
  Fixture f;
  std::vector<kv::LogPoint> points;
  for (int i = 0; i < 5; ++i) {
    points.push_back(f.write(700, {static_cast<DeviceId>(i % 2)}));
  }
  const kv::LogScan scan = f.scan({0, 1}).value();
  const std::vector<DeviceId> ids = {3, 1, 0};
  std::set<DeviceId> wanted;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if ((bad >> i & 1) == 0) continue;
    wanted.insert(ids[i]);
    f.device(ids[i]).fail(io::IoOp::kWrite);
  }
  std::set<DeviceId> failed;
  REQUIRE(copy_chain(scan, f.areas(ids), ids, f.counters, failed).ok());
  REQUIRE(failed == wanted);
  for (const DeviceId id : ids) {
    if (wanted.count(id) == 0) REQUIRE(f.chain(id) == points);
  }
}

TEST_CASE("log_set: a fence is durable on every copy that does not fail") {
  for (std::uint32_t bad = 0; bad < 16; ++bad) {
    CAPTURE(bad);
    Fixture f;
    f.write(100);
    REQUIRE(f.log->set_areas(f.areas({0, 1, 2, 3})).ok());
    std::set<DeviceId> wanted;
    for (DeviceId id = 0; id < 4; ++id) {
      if ((bad >> id & 1) == 0) continue;
      wanted.insert(id);
      f.device(id).fails = any;
    }
    kv::PreparedBlock fence = f.log->fence(f.log->last(), 2).value();
    const auto again = [](io::IoBatch&) { return Status(); };
    REQUIRE(write_fence(fence, *f.members, again).value() == wanted);
    for (DeviceId id = 0; id < 4; ++id) {
      const io::IoRequest& last = f.device(id).asked.back();
      REQUIRE(last.op == io::IoOp::kWrite);
      REQUIRE(last.mode == io::WriteMode::kDurable);
      const ByteView written =
          ByteView(f.device(id).bytes).subspan(last.offset, fence.block.bytes.size());
      REQUIRE(std::equal(written.begin(), written.end(), fence.block.bytes.bytes().begin()) ==
              (wanted.count(id) == 0));
    }
  }
}

}  // namespace
}  // namespace hexad::core
