// Devices that fail under the log's scan, its healing and its formatting.
#include <catch2/catch.hpp>

#include "kv/log/log_scan.h"
#include "kv/log/log_writer.h"
#include "tests/kv/log/failing_device.h"

namespace hexad::kv {
namespace {

using testing::FailingDevice;

struct World {
  std::uint32_t block;
  testing::FailingQueue queue;
  std::vector<std::unique_ptr<FailingDevice>> devices;
  std::vector<LogArea> areas;
  std::vector<LogPoint> points;

  explicit World(std::uint32_t block_size = 512) : block(block_size) {
    for (int i = 0; i < 2; ++i) {
      devices.push_back(std::make_unique<FailingDevice>(66 * block, queue));
      areas.push_back({devices.back().get(), 2 * block, 64 * block});
    }
    LogWriterOptions options;
    options.block_size = block;
    options.areas = areas;
    LogWriter writer = std::move(*LogWriter::create(std::move(options)));
    const std::string_view records[] = {"record"};
    for (Lsn lsn = 1; lsn <= 40; ++lsn) {
      const PreparedBlock prepared = std::move(*writer.prepare(lsn, records, lsn - 1));
      for (const io::IoRequest& request : prepared.requests) {
        REQUIRE(request.device->write(request.offset, {request.data, request.length}).ok());
      }
      points.push_back(prepared.point());
    }
  }
  // Reads that touch block `index` of the area fail on `device`.
  void fail_reads(std::size_t device, std::uint64_t index) {
    const std::uint64_t from = (2 + index) * block;
    devices[device]->fails = [from, this](const io::IoRequest& request) {
      return request.op == io::IoOp::kRead && request.offset < from + block &&
             request.offset + request.length > from;
    };
  }
  Result<LogScan> scan() const {
    LogScanOptions options;
    options.block_size = block;
    return scan_log(areas, options);
  }
};

TEST_CASE("log_scan: an unreadable sector costs its neighbourhood in one copy, nothing in all") {
  for (const std::uint32_t block : {512u, 4096u, 18u * 1024}) {
    World world(block);
    world.fail_reads(0, 11);
    const Result<LogScan> scan = world.scan();
    CAPTURE(block);
    REQUIRE(scan.ok());
    REQUIRE(check_log_scan(*scan).ok());
    REQUIRE(scan->blocks.size() == 40);
    REQUIRE(scan->blocks[11].copies == 2);
    REQUIRE(scan->blocks[20].copies == 3);
    REQUIRE(scan->copies[0].unreadable_bytes >= block);
    REQUIRE(scan->copies[0].unreadable_bytes <= 8 * block);
    REQUIRE_FALSE(scan->copies[0].status.ok());
    REQUIRE(scan->copies[1].status.ok());
  }
}

// R7.
TEST_CASE("log_scan: the end is not known where no copy can be read") {
  constexpr std::uint32_t block = 4096;
  const auto end_of = [](const World& world) { return check_log_end(world.scan().value()); };
  {
    World world(block);
    REQUIRE(end_of(world).ok());
    world.fail_reads(0, 40);  // behind the last one
    REQUIRE(end_of(world).ok());
    world.fail_reads(1, 40);
    const Status unknown = end_of(world);
    REQUIRE(unknown.error().code == ErrorCode::kUnavailable);
    REQUIRE(unknown.error().message.find("LSN 40") != std::string::npos);
    REQUIRE(unknown.error().message.find("byte " + std::to_string(42 * block)) !=
            std::string::npos);
  }
  {
    World world(block);
    world.fail_reads(0, 39);  // the last one
    world.fail_reads(1, 39);
    REQUIRE(world.scan()->end.lsn == 39);
    REQUIRE_FALSE(end_of(world).ok());
  }
  {
    World world(block);
    world.fail_reads(0, 41);  // not where the next one begins
    world.fail_reads(1, 41);
    REQUIRE(end_of(world).ok());
  }
  {
    World world(block);
    world.fail_reads(0, 0);  // where the next lap begins, of which there is none yet
    world.fail_reads(1, 40);
    REQUIRE(end_of(world).ok());
  }
  {
    World world(block);
    world.fail_reads(0, 39);
    world.devices[1]->fails = [](const io::IoRequest&) { return true; };
    REQUIRE_FALSE(end_of(world).ok());
  }
}

TEST_CASE("log_scan: the end is not known where the next block's body cannot be read") {
  World world(4096);
  const std::string body(10'000, 'x');
  LogWriterOptions options;
  options.block_size = world.block;
  options.areas = world.areas;
  options.tail = world.points.back().end;
  options.last = world.points.back();
  options.live = world.points;
  LogWriter writer = std::move(*LogWriter::create(std::move(options)));
  const std::string_view records[] = {body};
  const PreparedBlock prepared = std::move(*writer.prepare(41, records, 39));
  for (const io::IoRequest& request : prepared.requests) {
    REQUIRE(request.device->write(request.offset, {request.data, request.length}).ok());
  }
  REQUIRE(world.scan()->end.lsn == 41);
  world.fail_reads(0, 41);
  REQUIRE(world.scan()->end.lsn == 41);
  world.fail_reads(1, 42);
  REQUIRE(world.scan()->end.lsn == 40);
  REQUIRE_FALSE(check_log_end(world.scan().value()).ok());
}

TEST_CASE("log_scan: a block that is not read at first is asked for again") {
  World world(4096);
  for (std::size_t i = 0; i < 2; ++i) {
    int left = 2;
    world.fail_reads(i, 39);
    world.devices[i]->fails = [left, touches = world.devices[i]->fails,
                               &world](const io::IoRequest& request) mutable {
      return touches(request) && (request.length > world.block || left-- > 0);
    };
  }
  const Result<LogScan> scan = world.scan();
  REQUIRE(scan->end.lsn == 40);
  REQUIRE(scan->copies[0].unreadable_bytes == 0);
  REQUIRE(check_log_end(*scan).ok());
}

TEST_CASE("log_scan: one dead device leaves the other copy, two leave an error") {
  World world;
  const auto dead = [](const io::IoRequest&) { return true; };
  world.devices[0]->fails = dead;
  REQUIRE(world.scan()->blocks.size() == 40);
  world.devices[1]->fails = dead;
  REQUIRE(world.scan().error().code == ErrorCode::kIo);
}

TEST_CASE("log_scan: healing names the device that did not take it and finishes the others") {
  World world;
  const LogScan scan = *world.scan();
  for (const io::IoOp op : {io::IoOp::kWrite, io::IoOp::kFlush}) {
    world.devices[1]->fails = [op](const io::IoRequest& request) { return request.op == op; };
    std::uint64_t failed = 0;
    REQUIRE(run_log_rewrite(scan, plan_log_rewrite(scan), &failed).ok());
    REQUIRE(failed == 2);
  }
}

TEST_CASE("log_scan: a write of healing that is refused is no fault of its device") {
  World world;
  const LogScan scan = *world.scan();
  world.devices[1]->fails = [](const io::IoRequest& request) {
    return request.op == io::IoOp::kWrite;
  };
  for (const ErrorCode code : {ErrorCode::kExhausted, ErrorCode::kNoSpace}) {
    world.devices[1]->code = code;
    std::uint64_t failed = 0;
    REQUIRE(run_log_rewrite(scan, plan_log_rewrite(scan), &failed).error().code == code);
    REQUIRE(failed == 0);
  }
}

TEST_CASE("log_scan: a block is loaded from the copy that still reads") {
  World world;
  const LogScan scan = *world.scan();
  world.fail_reads(0, 5);
  REQUIRE(load_log_block(scan, 5)->block.records[0].lsn == 6);
  world.fail_reads(1, 5);
  REQUIRE(load_log_block(scan, 5).error().code == ErrorCode::kIo);
  REQUIRE(load_log_block(scan, 6).ok());
}

TEST_CASE("log_area: formatting leaves zeros, reports failures and keeps to its bounds") {
  World world;
  REQUIRE(format_log_area(world.areas[0]).ok());
  REQUIRE(world.scan()->blocks[0].copies == 2);
  for (const io::IoOp op : {io::IoOp::kWrite, io::IoOp::kFlush}) {
    world.devices[0]->fails = [op](const io::IoRequest& request) { return request.op == op; };
    REQUIRE(format_log_area(world.areas[0]).error().code == ErrorCode::kIo);
  }
  LogArea outside = world.areas[0];
  outside.offset += 512;
  REQUIRE(format_log_area(outside).error().code == ErrorCode::kInvalidArgument);
  outside.offset = ~std::uint64_t{0} - 511;
  REQUIRE(format_log_area(outside).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(format_log_area({}).error().code == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad::kv
