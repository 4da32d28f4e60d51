#include "tests/core/log_order.h"

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/record/keys.h"
#include "tests/core/sample_records.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using core::LogRecord;

const core::RecordShape kShape;  // 4+2

LogRecord naming(alloc::ZoneId zone) {
  LogRecord record;
  record.zones.push_back(
      {zone, 64, {{0, zone}, {1, zone}, {2, zone}, {3, zone}, {4, zone}, {5, zone}}});
  return record;
}

// The first of a group, with a place for a blob of `lsn` in a stripe that it may share.
LogRecord placing(alloc::ZoneId zone, Lsn lsn) {
  LogRecord record;
  record.group.allocated.push_back({{zone, 8, 1}, 4096, false, {1, 2, 3, 4, 5, 6}, 100});
  record.group.placed = {core::packed_place({lsn, 0}, 100, {zone, 8, 0}, {0, 0})};
  return record;
}

LogRecord taking(alloc::ZoneId zone) {
  LogRecord record;
  record.allocated.push_back({{zone, 9, 1}, 4096, false, {1, 2, 3, 4, 5, 6}, 0});
  return record;
}

LogRecord freeing(alloc::ZoneId zone) {
  LogRecord record;
  record.freed.push_back({zone, 9, 1});
  return record;
}

LogRecord dropping(alloc::ZoneId zone) {
  LogRecord record;
  record.packed_releases.push_back({zone, 8, 100});
  return record;
}

LogRecord killing(Lsn lsn) {
  LogRecord record;
  record.unplaced_releases.push_back({lsn, 0});
  return record;
}

LogRecord carrying(Lsn lsn) {
  LogRecord record;
  record.group.payloads.push_back({{lsn, 0}, core::object_key(1, "a"), 0, "bytes"});
  return record;
}

// Blocks, one behind the other from LSN 1 on; `epoch` and `at`, in blocks, of the first.
struct Log {
  explicit Log(Epoch which = 1, kv::LogPosition at = 0) : epoch(which), position(at * 4096) {}

  Log& block(const std::vector<LogRecord>& records) {
    std::vector<std::string> encoded;
    for (const LogRecord& record : records) encoded.push_back(encode_log_record(record, kShape));
    kv::LogBlockHeader header;
    header.epoch = epoch;
    header.position = position;
    header.first_lsn = next;
    const std::vector<std::string_view> views(encoded.begin(), encoded.end());
    blocks.push_back(kv::encode_log_block(header, views, 4096));
    position += blocks.back().header.length;
    next += records.size();
    return *this;
  }
  // Of these blocks, the last first.
  std::string problem() const {
    LogOrder order(kShape);
    show(order);
    return order.problem();
  }
  void show(LogOrder& order) const {
    for (auto at = blocks.rbegin(); at != blocks.rend(); ++at) order.see(at->bytes.bytes());
  }

  Epoch epoch;
  kv::LogPosition position;
  Lsn next = 1;
  std::vector<kv::EncodedLogBlock> blocks;
};

TEST_CASE("log_order: a zone is named in an earlier block, or older than the log") {
  CHECK(Log().block({naming(3)}).block({placing(3, 2), taking(3)}).problem() == "");
  CHECK(Log().block({placing(3, 1), taking(3), freeing(3), dropping(3)}).problem() == "");
  CHECK(Log().block({naming(3)}).block({freeing(3), naming(4)}).block({taking(4)}).problem() == "");
}

TEST_CASE("log_order: what a zone is used for before its record is told") {
  const std::vector<LogRecord> all = {placing(3, 1), taking(3), freeing(3), dropping(3)};
  const std::size_t which = GENERATE(0, 1, 2, 3);
  CAPTURE(which);
  const LogRecord& early = all[which];
  // In the same block, whichever comes first there, and in the one before.
  CHECK(Log().block({early, naming(3)}).problem() != "");
  CHECK(Log().block({naming(4), naming(3), early}).problem() != "");
  CHECK(Log().block({early}).block({naming(3)}).problem() != "");
  CHECK(Log().block({early}).block({naming(2)}).block({naming(3)}).problem() != "");
  CHECK(Log().block({naming(3)}).block({early}).problem() == "");
  CHECK(Log().block({early}).block({naming(3)}).problem() ==
        Log().block({early}).block({naming(3)}).block({naming(5)}).problem());
}

TEST_CASE("log_order: blobs are of transactions at or before what is said of them") {
  CHECK(Log().block({placing(3, 2), taking(3)}).problem() == "");
  CHECK(Log().block({taking(3)}).block({placing(3, 1)}).problem() == "");
  CHECK(Log().block({placing(3, 3), taking(3)}).problem() != "");
  CHECK(Log().block({killing(1)}).problem() == "");
  CHECK(Log().block({killing(2), taking(3)}).problem() != "");
  CHECK(Log().block({carrying(2), taking(3)}).problem() == "");
  CHECK(Log().block({carrying(3), taking(3)}).problem() != "");
  CHECK(Log().block({taking(3)}).block({carrying(1)}).problem() != "");
}

TEST_CASE("log_order: a later epoch comes behind, wherever it goes on") {
  LogOrder order(kShape);
  Log(1).block({taking(1)}).block({taking(2)}).block({naming(3)}).show(order);
  Log later(2, 1);
  later.next = 2;
  later.block({freeing(3)}).block({naming(4)}).block({taking(4)});
  later.show(order);
  CHECK(order.problem() == "");
  Log(3, 2).block({taking(5)}).block({naming(5)}).show(order);
  CHECK(order.problem() != "");
}

TEST_CASE("log_order: two contents of one place are told, copies of one are not") {
  LogOrder order(kShape);
  Log log;
  log.block({naming(3)}).block({taking(3)});
  log.show(order);
  log.show(order);
  CHECK(order.problem() == "");
  CHECK(order.blocks() == 2);
  Log().block({naming(3)}).block({freeing(3)}).show(order);
  CHECK(order.problem() != "");
}

TEST_CASE("log_order: what is no block, or is torn, is passed over") {
  LogOrder order(kShape);
  Log log;
  log.block({killing(9)});
  const ByteView whole = log.blocks[0].bytes.bytes();
  Bytes torn(whole.begin(), whole.end());
  torn[kv::kLogHeaderSize] ^= std::byte{1};
  order.see(torn);
  order.see({});
  CHECK(order.blocks() == 0);
  CHECK(order.problem() == "");
}

TEST_CASE("log_order: a device's log is found by its label") {
  SimPool pool;
  REQUIRE(pool.with_store([](Store& store) {
    for (int i = 0; i < 3; ++i) {
      put(store, std::to_string(i), noise(100'000, 1)).status().ignore();
    }
    store.close().ignore();
  }) == "");
  for (const std::string& disk : {pool.log(), pool.disks()[0]}) {
    LogOrder order;
    order.see_device([&](std::uint64_t offset, std::uint64_t length) {
      return pool.system().disk(disk).peek(offset, length);
    });
    CHECK(order.blocks() >= 4);
    CHECK(order.zones() >= 1);
    CHECK(order.problem() == "");
  }
  LogOrder order;
  order.see_device([](std::uint64_t, std::uint64_t length) { return Bytes(length); });
  CHECK(order.blocks() == 0);
}

}  // namespace
}  // namespace hexad::testing
