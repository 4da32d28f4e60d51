#include "kv/log/log_writer.h"

#include <catch2/catch.hpp>

#include "io/rng.h"
#include "tests/kv/log/log_model.h"

namespace hexad::kv {
namespace {

using testing::Copies;
using testing::kBlock;
using testing::put;

TEST_CASE("log_writer: blocks follow one another and go to every copy") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  PreparedBlock first = *put(writer, 0);
  PreparedBlock second = *put(writer, 1);
  writer.check_invariants();
  REQUIRE(first.block.header.previous_position == kNoPosition);
  REQUIRE(second.block.header.previous_position == first.point().position);
  REQUIRE(second.block.header.previous_crc == first.point().crc);
  REQUIRE(second.first_lsn() == 2);
  REQUIRE(second.requests.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(second.requests[i].device == copies.areas[i].device);
    REQUIRE(second.requests[i].offset == copies.areas[i].offset + kBlock);
    REQUIRE(second.requests[i].length == kBlock);
  }
}

TEST_CASE("log_writer: a full ring refuses users, keeps room for fences, and trim frees it") {
  Copies copies(1, 64);
  LogWriter writer = copies.writer();
  REQUIRE(writer.reserve() == 8 * kBlock);
  std::vector<LogPoint> points;
  for (;;) {
    Result<PreparedBlock> block = put(writer, 0);
    if (!block.ok()) {
      REQUIRE(block.error().code == ErrorCode::kNoSpace);
      break;
    }
    points.push_back(block->point());
  }
  REQUIRE(points.size() == 56);
  const Lsn next = writer.next_lsn();
  for (int i = 0; i < 7; ++i) REQUIRE(writer.empty_block(next - 1).ok());
  REQUIRE(writer.fence(writer.last(), 9).ok());
  REQUIRE(writer.empty_block(0).error().code == ErrorCode::kNoSpace);
  const LogPoint last = writer.last();
  REQUIRE(writer.fence(writer.last(), 10).error().code == ErrorCode::kNoSpace);
  REQUIRE(writer.last() == last);
  REQUIRE(writer.epoch() == 9);
  writer.trim(points[49]);
  REQUIRE(put(writer, 0).ok());
  writer.trim(points[10]);  // older: nothing
  REQUIRE(writer.trim_point() == points[49]);
  writer.check_invariants();
}

TEST_CASE("log_writer: the largest block fits an empty ring wherever the tail stands") {
  Copies copies(1, 64);
  for (int skip = 0; skip < 64; ++skip) {
    LogWriter writer = copies.writer();
    for (int i = 0; i < skip; ++i) writer.trim(put(writer, 0)->point());
    const std::uint64_t room = writer.max_block_size() - kLogHeaderSize - kLogTrailerSize - 4;
    CAPTURE(skip, room);
    REQUIRE(put(writer, 0, room).ok());
    REQUIRE(put(writer, 0, room + kBlock).error().code == ErrorCode::kTooBig);
    writer.check_invariants();
  }
}

TEST_CASE("log_writer: point_at names durable blocks alone") {
  Copies copies(1, 64);
  LogWriter writer = copies.writer();
  REQUIRE(writer.point_at(100) == kLogOrigin);
  const LogPoint one = put(writer, 0)->point();
  const LogPoint idle = writer.empty_block(1)->point();
  const LogPoint two = put(writer, 1)->point();
  REQUIRE(writer.point_at(0) == kLogOrigin);
  REQUIRE(writer.point_at(1) == one);  // the empty block may still be in flight
  REQUIRE(writer.point_at(2) == two);
  writer.durable(idle);
  REQUIRE(writer.point_at(1) == idle);
}

TEST_CASE("log_writer: a fence goes behind the blocks that it voids and gives their LSNs again") {
  Copies copies(1, 64);
  LogWriter writer = copies.writer();
  const PreparedBlock good = *put(writer, 0);
  const PreparedBlock failed = *put(writer, 0);
  const PreparedBlock later = *put(writer, 0);
  const PreparedBlock fence = *writer.fence(good.point(), 2);
  REQUIRE(fence.point().position == later.point().end);
  REQUIRE(fence.block.header.previous_position == good.point().position);
  REQUIRE(fence.block.header.fence_end_lsn == 1);
  REQUIRE(fence.block.header.watermark == 1);
  REQUIRE(writer.next_lsn() == failed.first_lsn());
  const PreparedBlock again = *put(writer, 1);
  REQUIRE(again.first_lsn() == failed.first_lsn());
  REQUIRE(again.block.header.epoch == 2);
  REQUIRE(writer.point_at(2) == again.point());
  REQUIRE(writer.point_at(1) == good.point());
  writer.check_invariants();
}

TEST_CASE("log_writer: with many small blocks trim points are 1/4096 of the ring apart") {
  Copies copies(1, 40000);
  LogWriter writer = copies.writer();
  for (int i = 0; i < 30000; ++i) REQUIRE(put(writer, 0).ok());
  for (Lsn lsn = 1; lsn <= 30000; lsn += 997) {
    const LogPoint point = writer.point_at(lsn);
    REQUIRE(point.lsn <= lsn);
    REQUIRE(point.lsn + 2 * 40000 / 4096 + 1 > lsn);
  }
  writer.check_invariants();
}

TEST_CASE("log_writer: random use never overlaps what is live") {
  const std::uint64_t seed = 5;
  CAPTURE(seed);
  io::Rng rng(seed);
  Copies copies(2, 100);
  LogWriter writer = copies.writer();
  std::vector<LogPoint> live;
  for (int step = 0; step < 20000; ++step) {
    if (rng.chance(1, 3) && !live.empty()) {
      const std::size_t keep = rng.below(live.size());
      writer.trim(live[keep]);
      live.erase(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(keep) + 1);
    }
    Result<PreparedBlock> block = put(writer, 0, rng.below(12 * kBlock));
    if (!block.ok()) {
      REQUIRE(block.error().code == ErrorCode::kNoSpace);
      continue;
    }
    const LogPoint point = block->point();
    REQUIRE(point.position % writer.capacity() + (point.end - point.position) <= writer.capacity());
    live.push_back(point);
    REQUIRE(point.end - live.front().position <= writer.capacity());
    writer.check_invariants();
  }
  REQUIRE(writer.tail() > 100 * writer.capacity());
}

TEST_CASE("log_writer: areas that cannot hold a log are refused") {
  Copies copies(2, 64);
  const auto code = [&](auto change) {
    LogWriterOptions options;
    options.block_size = kBlock;
    options.areas = copies.areas;
    change(options);
    const Result<LogWriter> writer = LogWriter::create(std::move(options));
    return writer.ok() ? ErrorCode::kUnknown : writer.error().code;
  };
  using Options = LogWriterOptions;
  REQUIRE(code([](Options&) {}) == ErrorCode::kUnknown);
  REQUIRE(code([](Options& o) { o.areas.clear(); }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.areas[1].size -= kBlock; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.areas[0].offset += 8 * kBlock; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.areas[0].device = nullptr; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.block_size = 700; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.block_size = 4096; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.tail = 65 * kBlock; }) == ErrorCode::kInvalidArgument);
  REQUIRE(code([](Options& o) { o.tail = 7; }) == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad::kv
