#include "kv/log/log_scan.h"

#include <catch2/catch.hpp>

#include "io/rng.h"
#include "tests/kv/log/log_model.h"

namespace hexad::kv {
namespace {

using testing::Copies;
using testing::kBlock;
using testing::put;

// A few blocks on all copies; the watermark follows three behind.
std::vector<PreparedBlock> fill(Copies& copies, LogWriter& writer, int count,
                                std::uint64_t size = 10) {
  std::vector<PreparedBlock> blocks;
  for (int i = 0; i < count; ++i) {
    const Lsn next = writer.next_lsn();
    Result<PreparedBlock> block = put(writer, next > 3 ? next - 3 : 0, size);
    REQUIRE(block.ok());
    copies.write(*block);
    blocks.push_back(std::move(*block));
  }
  return blocks;
}

// Another writer to the same copies, which goes on where this one is.
LogWriter another(const Copies& copies, const LogWriter& writer, Epoch epoch = 1) {
  LogWriterOptions options;
  options.last = writer.last();
  options.tail = writer.tail();
  options.epoch = epoch;
  return copies.writer(std::move(options));
}

// Found by fuzzing whole disks: the root says where the log begins, and a fence was to follow a
// block that began behind its end.
TEST_CASE("log_scan: a trim point that no block can have is damage") {
  const Copies copies(1, 64);
  const auto scan = [&](const LogPoint& trim) {
    LogScanOptions options;
    options.uuid = copies.uuid;
    options.block_size = kBlock;
    options.trim = trim;
    return scan_log(copies.areas, options);
  };
  const LogPoint good{7 * kBlock, 9 * kBlock, 77, 3, 40};
  REQUIRE(scan(good).ok());
  REQUIRE(scan(kLogOrigin).ok());
  std::vector<LogPoint> bad(6, good);
  bad[0].position = 9 * kBlock;
  bad[1].position += 1;
  bad[2].end += 8;
  bad[3].end = bad[3].position + kMaxLogBlock + kBlock;
  bad[4].position = kNoPosition;
  bad[5] = kLogOrigin;
  bad[5].lsn = 1;
  for (const LogPoint& trim : bad) {
    CAPTURE(trim.position, trim.end);
    REQUIRE(scan(trim).status().error().code == ErrorCode::kCorruption);
  }
}

TEST_CASE("log_scan: an empty log ends where it was trimmed") {
  Copies copies(3, 64);
  const LogScan scan = copies.scan();
  REQUIRE(scan.blocks.empty());
  REQUIRE(scan.end == kLogOrigin);
  REQUIRE(check_log_scan(scan).ok());
  const LogPoint trim{7 * kBlock, 9 * kBlock, 77, 3, 40};
  REQUIRE(copies.scan(trim).end == trim);
  REQUIRE(copies.scan(trim).fresh == 9 * kBlock);
  REQUIRE(copies.scan(kLogOrigin, 5).damage.find("LSN 1 missing") != std::string::npos);
}

TEST_CASE("log_scan: all blocks are found, in order, with their bytes") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  const std::vector<PreparedBlock> blocks = fill(copies, writer, 9, 1800);
  const LogScan scan = copies.scan();
  REQUIRE(scan.blocks.size() == 9);
  REQUIRE(scan.end == writer.last());
  REQUIRE(scan.fresh == writer.tail());
  REQUIRE(scan.max_watermark == 6);
  REQUIRE(check_log_scan(scan).ok());
  for (std::size_t i = 0; i < 9; ++i) {
    REQUIRE(scan.blocks[i].header == blocks[i].block.header);
    REQUIRE(scan.blocks[i].copies == 7);
    const Result<LoadedLogBlock> loaded = load_log_block(scan, i);
    REQUIRE(loaded.ok());
    REQUIRE(as_text(loaded->bytes) == as_text(blocks[i].block.bytes));
    REQUIRE(loaded->block.records.size() == 1);
  }
  // From any trim point on.
  for (std::size_t i = 0; i < 9; ++i) {
    const LogScan later = copies.scan(blocks[i].point());
    REQUIRE(later.blocks.size() == 8 - i);
    REQUIRE(later.end == writer.last());
  }
}

TEST_CASE("log_scan: a block in one copy of three is kept and rewritten to the others") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  fill(copies, writer, 5);
  PreparedBlock lone = *put(writer, 3);
  copies.write(lone, 4);
  LogScan scan = copies.scan();
  REQUIRE(scan.blocks.size() == 6);
  REQUIRE(scan.blocks[5].copies == 4);
  const std::vector<LogRewriteStep> plan = plan_log_rewrite(scan);
  // Everything above the watermark goes everywhere: LSNs 4, 5, 6.
  REQUIRE(plan.size() == 3);
  REQUIRE(plan[2].block == 5);
  REQUIRE(plan[2].copies == 7);
  std::uint64_t failed = 0;
  REQUIRE(run_log_rewrite(scan, plan, &failed).ok());
  REQUIRE(failed == 0);
  for (const ScannedBlock& block : copies.scan().blocks) REQUIRE(block.copies == 7);
}

TEST_CASE("log_scan: a replacement area gets the tail") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  fill(copies, writer, 12, 1800);
  std::vector<LogArea> all = copies.areas;
  REQUIRE(format_log_area(all[2]).ok());
  copies.areas = {all[0], all[1]};
  const LogScan scan = copies.scan();
  REQUIRE(copy_log(scan, 4, all[2]).ok());
  copies.areas = {all[2]};
  const LogScan copy = copies.scan(scan.blocks[3].point());
  REQUIRE(copy.blocks.size() == 8);
  REQUIRE(copy.end == scan.end);
}

TEST_CASE("log_scan: a torn tail is cut at every length") {
  for (std::uint64_t length = 0; length <= 4; ++length) {
    Copies copies(2, 64);
    LogWriter writer = copies.writer();
    fill(copies, writer, 4);
    PreparedBlock torn = *put(writer, 4, 1800);
    REQUIRE(torn.block.bytes.size() == 4 * kBlock);
    copies.tear(torn, length * kBlock);
    const LogScan scan = copies.scan();
    CAPTURE(length);
    REQUIRE(scan.blocks.size() == (length == 4 ? 5 : 4));
    REQUIRE(check_log_scan(scan).ok());
  }
}

TEST_CASE("log_scan: a hole below the watermark is damage, above it the end") {
  for (Lsn hole = 1; hole <= 10; ++hole) {
    Copies copies(2, 64);
    LogWriter writer = copies.writer();
    const std::vector<PreparedBlock> blocks = fill(copies, writer, 10);
    for (std::size_t copy = 0; copy < 2; ++copy) {
      copies.flip(copy, blocks[hole - 1].point().position, 140);
    }
    const LogScan scan = copies.scan();
    CAPTURE(hole, scan.damage);
    REQUIRE(scan.end.lsn == hole - 1);
    // The block of LSN 10 is gone itself when it is the hole, and with it its watermark.
    const Lsn watermark = hole == 10 ? 6 : 7;
    REQUIRE(scan.max_watermark == watermark);
    REQUIRE(scan.damage.empty() == (hole > watermark));
    if (hole <= watermark) {
      REQUIRE(scan.damage == "log damaged: LSN " + std::to_string(hole) +
                                 " missing below the watermark " + std::to_string(watermark));
      REQUIRE(check_log_scan(scan).error().code == ErrorCode::kCorruption);
    }
    REQUIRE(scan.fresh == writer.tail() - (hole == 10 ? kBlock : 0));
  }
}

TEST_CASE("log_scan: cutting below the watermark is damage as well") {
  Copies copies(2, 64);
  LogWriter writer = copies.writer();
  fill(copies, writer, 10);
  LogScan scan = copies.scan();
  scan.cut(8);
  REQUIRE(scan.end.lsn == 8);
  REQUIRE(check_log_scan(scan).ok());
  REQUIRE(scan.abandoned == 2);
  scan.cut(6);
  REQUIRE_FALSE(check_log_scan(scan).ok());
  scan.cut(0);
  REQUIRE(scan.end == kLogOrigin);
}

TEST_CASE("log_scan: each copy alone may have lost other blocks") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  const std::vector<PreparedBlock> blocks = fill(copies, writer, 12);
  for (std::size_t i = 0; i < 12; ++i) {
    copies.flip(i % 3, blocks[i].point().position, 3);
    copies.flip((i + 1) % 3, blocks[i].point().position, 130);
  }
  const LogScan scan = copies.scan();
  REQUIRE(scan.blocks.size() == 12);
  REQUIRE(check_log_scan(scan).ok());
  std::uint64_t failed = 0;
  REQUIRE(run_log_rewrite(scan, plan_log_rewrite(scan), &failed).ok());
  for (const ScannedBlock& block : copies.scan().blocks) REQUIRE(block.copies == 7);
}

TEST_CASE("log_scan: the fence wins over the blocks that it voids, which stay in the ring") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  std::vector<PreparedBlock> blocks = fill(copies, writer, 6);
  // LSN 5 failed on all copies but one, 6 is everywhere; R12.
  PreparedBlock fence = *writer.fence(blocks[3].point(), 2);
  copies.write(fence);
  fill(copies, writer, 2);
  const LogScan scan = copies.scan();
  REQUIRE(check_log_scan(scan).ok());
  REQUIRE(scan.blocks.size() == 7);
  REQUIRE(scan.blocks[4].header.kind == LogBlockKind::kFence);
  REQUIRE(scan.end == writer.last());
  REQUIRE(scan.end.lsn == 6);
  REQUIRE(scan.abandoned == 2);
  REQUIRE(load_log_block(scan, 5)->block.records[0].lsn == 5);
  REQUIRE(scan.blocks[5].header.epoch == 2);
}

TEST_CASE("log_scan: a fence that only one copy got still wins") {
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  std::vector<PreparedBlock> blocks = fill(copies, writer, 6);
  PreparedBlock fence = *writer.fence(blocks[3].point(), 2);
  copies.write(fence, 2);
  const LogScan scan = copies.scan();
  REQUIRE(scan.end == fence.point());
  REQUIRE(scan.end.lsn == 4);
}

TEST_CASE("log_scan: a lineage of a higher epoch wins over an abandoned fence in front of it") {
  // An opening cut at LSN 4 and crashed when its fence was on one copy. The next one did not see
  // that copy, found LSNs 5 and 6, and fenced behind them. Then the copy came back.
  Copies copies(3, 64);
  LogWriter writer = copies.writer();
  std::vector<PreparedBlock> blocks = fill(copies, writer, 6);
  LogWriter second = another(copies, writer);
  PreparedBlock abandoned = *writer.fence(blocks[3].point(), 2);
  copies.write(abandoned, 1);
  PreparedBlock fence = *second.fence(blocks[5].point(), 3);
  copies.write(fence, 6);
  fill(copies, second, 3);
  const LogScan scan = copies.scan();
  REQUIRE(check_log_scan(scan).ok());
  REQUIRE(scan.end == second.last());
  REQUIRE(scan.end.lsn == 9);
  REQUIRE(scan.max_epoch == 3);
}

TEST_CASE("log_scan: a fence that is cut off from the chain is damage") {
  Copies copies(2, 64);
  LogWriter writer = copies.writer();
  std::vector<PreparedBlock> blocks = fill(copies, writer, 6);
  PreparedBlock idle = *writer.empty_block(6);
  copies.write(idle);
  PreparedBlock fence = *writer.fence(idle.point(), 2);
  copies.write(fence);
  for (std::size_t copy = 0; copy < 2; ++copy) copies.flip(copy, idle.point().position, 9);
  const LogScan scan = copies.scan();
  REQUIRE(scan.end.lsn == 6);  // not below the watermark, and yet
  REQUIRE(scan.damage.find("cut off") != std::string::npos);
}

TEST_CASE("log_scan: two blocks of one epoch after one block are damage") {
  Copies copies(2, 64);
  LogWriter writer = copies.writer();
  LogWriter twin = copies.writer();
  PreparedBlock one = *put(writer, 0, 10);
  PreparedBlock other = *put(twin, 0, 11);
  copies.write(one, 1);
  copies.write(other, 2);
  REQUIRE(copies.scan().damage.find("two blocks of epoch 1") != std::string::npos);
}

TEST_CASE("log_scan: a block whose predecessor was another one at that place does not follow") {
  Copies copies(2, 64);
  LogWriter writer = copies.writer();
  fill(copies, writer, 2);
  LogWriter twin = another(copies, writer);
  // The blocks of LSN 3 are equally long; that of LSN 4 is the successor of the one that is gone.
  PreparedBlock gone = *put(writer, 2, 10);
  PreparedBlock successor = *put(writer, 2, 10);
  const std::string other(10, '!');
  const std::string_view views[] = {other};
  PreparedBlock there = *twin.prepare(3, views, 2);
  REQUIRE(there.point().position == gone.point().position);
  copies.write(there);
  copies.write(successor);
  const LogScan scan = copies.scan();
  REQUIRE(scan.end == there.point());
  REQUIRE(scan.abandoned == 1);
}

TEST_CASE("log_scan: a block of an older epoch, or of a newer one, does not follow") {
  for (const Epoch epoch : {1, 3}) {
    CAPTURE(epoch);
    Copies copies(2, 64);
    LogWriter writer = copies.writer();
    fill(copies, writer, 2);
    PreparedBlock fence = *writer.fence(writer.last(), 2);
    copies.write(fence);
    LogWriter stranger = another(copies, writer, epoch);
    PreparedBlock block = *put(stranger, 2);
    copies.write(block);
    const LogScan scan = copies.scan();
    REQUIRE(scan.end == fence.point());
    // A newer epoch began with a fence, and that is missing.
    REQUIRE(check_log_scan(scan).ok() == (epoch < 2));
  }
}

TEST_CASE("log_scan: a fence of an older epoch, or of the same one, does not follow") {
  for (const Epoch epoch : {2, 3}) {
    CAPTURE(epoch);
    Copies copies(2, 64);
    LogWriter writer = copies.writer();
    fill(copies, writer, 2);
    PreparedBlock fence = *writer.fence(writer.last(), 3);
    copies.write(fence);
    LogWriter stranger = another(copies, writer);
    PreparedBlock other = *stranger.fence(stranger.last(), epoch);
    copies.write(other);
    const LogScan scan = copies.scan();
    REQUIRE(scan.end == fence.point());
    REQUIRE(scan.abandoned == 1);
    REQUIRE(check_log_scan(scan).ok());
  }
}

TEST_CASE("log_scan: a root older than the log is damage") {
  Copies copies(1, 64);
  LogWriter writer = copies.writer();
  const LogPoint old = fill(copies, writer, 3)[0].point();
  for (int i = 0; i < 70; ++i) {
    writer.trim(writer.last());
    fill(copies, writer, 1);
  }
  REQUIRE(copies.scan(old).damage.find("older than the log") != std::string::npos);
}

TEST_CASE("log_scan: other stores and other block sizes do not count") {
  Copies copies(2, 64);
  LogWriter writer = copies.writer();
  fill(copies, writer, 5);
  copies.uuid.bytes[9] = 1;
  REQUIRE(copies.scan().blocks.empty());
  copies.uuid.bytes[9] = 0;
  // The same bytes one block further.
  AlignedBuffer bytes(10 * kBlock);
  const LogArea& area = copies.areas[0];
  REQUIRE(area.device->read(area.offset, bytes.bytes()).ok());
  REQUIRE(format_log_area(area).ok());
  REQUIRE(area.device->write(area.offset + kBlock, bytes).ok());
  copies.areas.resize(1);
  REQUIRE(copies.scan().blocks.empty());
}

// A copy of the devices was opened on its own: the same epoch, places and predecessors.
TEST_CASE("log_scan: blocks of another writer of an epoch do not count, whichever copy has them") {
  for (const std::uint64_t theirs_has : {0b01u, 0b10u}) {
    Copies copies(2, 64);
    LogWriterOptions common;
    common.nonce = 1;
    LogWriter maker = copies.writer(common);
    fill(copies, maker, 3, 100);
    const auto open = [&](std::uint64_t nonce) {
      LogWriterOptions options;
      options.last = maker.last();
      options.tail = maker.tail();
      options.nonce = nonce;
      return copies.writer(std::move(options));
    };
    LogWriter ours = open(2);
    LogWriter theirs = open(3);
    PreparedBlock our_fence = *ours.fence(maker.last(), 2);
    PreparedBlock their_fence = *theirs.fence(maker.last(), 2);
    REQUIRE(our_fence.point().crc != their_fence.point().crc);
    copies.write(our_fence, ~theirs_has);
    copies.write(their_fence, theirs_has);
    PreparedBlock our_block = *put(ours, ours.next_lsn() - 1, 100);
    PreparedBlock their_block = *put(theirs, theirs.next_lsn() - 1, 100);
    copies.write(our_block, ~theirs_has);
    copies.write(their_block, theirs_has);
    const auto end = [&](std::vector<LogWriterEpochs> writers) {
      LogScanOptions options;
      options.uuid = copies.uuid;
      options.block_size = kBlock;
      options.writers = std::move(writers);
      const LogScan scan = scan_log(copies.areas, options).value();
      return check_log_scan(scan).ok() ? scan.end : LogPoint{};
    };
    CHECK(end({{1, 1, 1}, {2, 2, 2}}) == our_block.point());
    CHECK(end({{1, 1, 1}, {2, 5, 3}}) == their_block.point());
    CHECK(end({{2, 2, 2}}) == our_block.point());
    // Whose blocks have no nonce, they are of before there were any.
    CHECK(end({{1, 1, 9}, {2, 2, 2}}) != our_block.point());
  }
}

TEST_CASE("log_scan: blocks inside a record are not blocks of the log") {
  Copies copies(1, 64);
  LogWriter writer = copies.writer();
  LogWriter forger = copies.writer();
  // A user stores an image of the log itself, at the right place of the ring.
  std::string image(kBlock - kLogHeaderSize - 3, '.');
  put(forger, 0).value();
  const PreparedBlock forged = *put(forger, 1);
  image += as_text(forged.block.bytes);
  const std::string_view records[] = {image};
  PreparedBlock block = *writer.prepare(1, records, 0);
  copies.write(block);
  REQUIRE(block.block.bytes.bytes()[kBlock] == std::byte{'H'});
  const LogScan scan = copies.scan();
  REQUIRE(scan.copies[0].blocks == 1);
  REQUIRE(scan.blocks.size() == 1);
}

TEST_CASE("log_scan: arbitrary bytes are survived") {
  const std::uint64_t seed = 77;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int round = 0; round < 60; ++round) {
    Copies copies(2, 64);
    LogWriter writer = copies.writer();
    fill(copies, writer, 8, rng.below(2000));
    for (int hit = 0; hit < 40; ++hit) {
      const std::size_t copy = rng.below(2);
      AlignedBuffer sector(kBlock);
      for (std::byte& byte : sector.bytes()) byte = static_cast<std::byte>(rng.next());
      const std::uint64_t to = copies.areas[copy].offset + rng.below(64) * kBlock;
      // Noise, or a block from elsewhere.
      if (rng.chance(1, 2)) {
        const LogArea& from = copies.areas[rng.below(2)];
        REQUIRE(from.device->read(from.offset + rng.below(64) * kBlock, sector.bytes()).ok());
      }
      REQUIRE(copies.areas[copy].device->write(to, sector).ok());
    }
    const LogScan scan = copies.scan(kLogOrigin, rng.below(3));
    Lsn next = 1;
    for (const ScannedBlock& block : scan.blocks) {
      REQUIRE(block.header.first_lsn == next);
      next = block.header.last_lsn() + 1;
    }
  }
}

TEST_CASE("log_scan: headers that all lie about long bodies do not make it endless") {
  Copies copies(1, 4096);
  LogBlockHeader header;
  header.uuid = copies.uuid;
  const std::string big(1 << 20, 'x');
  const std::string_view records[] = {big};
  for (std::uint64_t i = 0; i < 2048; ++i) {
    header.position = i * kBlock;
    const EncodedLogBlock block = encode_log_block(header, records, kBlock);
    const LogArea& area = copies.areas[0];
    REQUIRE(area.device->write(area.offset + i * kBlock, block.bytes.bytes().first(kBlock)).ok());
  }
  LogScanOptions options;
  options.uuid = copies.uuid;
  options.block_size = kBlock;
  const Result<LogScan> scan = scan_log(copies.areas, options);
  REQUIRE(scan.ok() == false);
  REQUIRE(scan.error().code == ErrorCode::kCorruption);
}

// A history against a model: blocks are written to some copies, watermarks rise over what is
// on enough copies, roots trim, openings cut and fence. The scan has to find exactly what the
// model says is readable.
TEST_CASE("log_scan: random histories over many laps are found as the model has them") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    Copies copies(3, 80);
    LogWriter writer = copies.writer();
    struct Known {
      LogPoint point;
      std::uint64_t mask;
    };
    std::vector<Known> chain;  // after trim
    LogPoint trim = kLogOrigin;
    Lsn durable = 0;
    Epoch epoch = 1;
    for (int step = 0; step < 600; ++step) {
      Result<PreparedBlock> block =
          rng.chance(1, 10) ? writer.empty_block(durable)
                            : put(writer, durable, rng.below(rng.chance(1, 8) ? 6000 : 600));
      if (!block.ok()) {
        REQUIRE(block.error().code == ErrorCode::kNoSpace);
        REQUIRE_FALSE(chain.empty());
      } else {
        copies.write(*block);
        chain.push_back({block->point(), 7});
        durable = block->last_lsn();
      }
      if (rng.chance(1, 6) || !block.ok()) {
        // Durable and covered by a root: anything up to here may be trimmed.
        const std::size_t keep = rng.below(chain.size());
        trim = chain[keep].point;
        chain.erase(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(keep) + 1);
        writer.trim(trim);
      }
      if (!rng.chance(1, 20)) continue;

      // Crash with blocks in flight: each is on some copies, whole or torn.
      std::vector<Known> found = chain;
      bool reachable = true;
      for (std::uint64_t flying = rng.below(4); flying > 0; --flying) {
        Result<PreparedBlock> lost = put(writer, durable, rng.below(1500));
        if (!lost.ok()) break;
        const std::uint64_t mask = rng.below(8);
        copies.write(*lost, mask);
        if (rng.chance(1, 4) && mask == 0) copies.tear(*lost, 0);
        reachable = reachable && mask != 0;
        if (reachable) found.push_back({lost->point(), mask});
      }
      LogScan scan = copies.scan(trim);
      CAPTURE(step, scan.damage);
      REQUIRE(check_log_scan(scan).ok());
      REQUIRE(scan.blocks.size() == found.size());
      for (std::size_t i = 0; i < found.size(); ++i) {
        REQUIRE(scan.blocks[i].point() == found[i].point);
        REQUIRE(scan.blocks[i].copies == found[i].mask);
      }
      // Some of the unproven tail is cut, the rest healed, then the fence.
      scan.cut(chain.size() + rng.below(scan.blocks.size() - chain.size() + 1));
      std::uint64_t failed = 0;
      REQUIRE(run_log_rewrite(scan, plan_log_rewrite(scan), &failed).ok());
      REQUIRE(failed == 0);
      LogWriterOptions options;
      options.trim = trim;
      options.last = scan.end;
      options.tail = scan.fresh;
      options.epoch = scan.max_epoch;
      options.live = scan.points();
      writer = copies.writer(options);
      epoch = scan.max_epoch + 1;
      Result<PreparedBlock> fence = writer.fence(scan.end, epoch);
      REQUIRE(fence.ok());
      copies.write(*fence);
      chain.clear();
      for (const ScannedBlock& kept : scan.blocks) chain.push_back({kept.point(), 7});
      chain.push_back({fence->point(), 7});
      durable = fence->last_lsn();
    }
    REQUIRE(writer.tail() > 5 * writer.capacity());
  }
}

}  // namespace
}  // namespace hexad::kv
