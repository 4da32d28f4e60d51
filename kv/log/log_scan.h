// Recovery of the log: finds every valid block in all copies, merges the copies, follows the chain
// from the trim point (doc/format.md, "Log block"; R7, R10).
//
// What counts as a block: header checksum, body checksum, store uuid, block size and the position
// that belongs to its physical place, within one lap after the trim point, and of an epoch whose
// writer the root names that one's nonce. Old laps have older positions; other stores have another
// uuid, copies of the store that were opened on their own another nonce.
//
// Which chain. Each block names its predecessor, so the valid blocks form a tree whose root is the
// trim point. The chain followed is the one that leads to the highest epoch, as far as it goes.
// Abandoned branches (R12, or an opening that crashed before its fence was complete) lose against
// the fence that followed them.
//
// Damage. The chain may end only where nothing acknowledged follows. It is damaged when it ends
// below the largest watermark found in any valid block (also beyond the hole) or in a root, when a
// fence newer than the chain is cut off from it (everything before a fence was durable), when two
// blocks of one epoch claim the same predecessor, or when a block lies more than a lap after the
// trim point (the root is older than the log). Damage is a field, so that read-only tools can
// report what is left; check_log_scan() turns it into an error.
//
// Read errors. A block that no copy gives ends the chain like one that was never written, and may
// have been acknowledged. A crash leaves bytes that can be read; so where the next block would
// begin one copy, at least, has to be readable (check_log_end()). Single blocks are asked for twice
// more before they count as unreadable.
//
// Cost: every copy is read once in large pieces; memory is a few pieces plus about 150 B per block
// found. Only what the caller keeps of load_log_block() holds bodies.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "base/ids.h"
#include "kv/log/log_area.h"
#include "kv/log/log_format.h"

namespace hexad::kv {

// Blocks of these epochs count when they are of this writer.
struct LogWriterEpochs {
  Epoch first = 0;
  Epoch last = 0;
  std::uint64_t nonce = 0;
};

struct LogScanOptions {
  Uuid uuid;
  std::uint32_t block_size = 4096;            // bytes
  LogPoint trim = kLogOrigin;                 // from the newest root
  Lsn recorded_watermark = 0;                 // the largest in the roots
  std::vector<LogWriterEpochs> writers = {};  // from the newest root; epochs of none: anybody's
  std::uint64_t piece = 4u << 20;             // bytes per read, rounded up to the block
};

struct ScannedBlock {
  LogBlockHeader header;
  std::uint32_t crc = 0;
  std::uint64_t copies = 0;  // bit i: areas[i] holds it

  LogPoint point() const {
    return {header.position, header.end(), crc, header.epoch, header.last_lsn()};
  }
};

// Bytes of an area.
struct LogRange {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

struct LogCopyReport {
  Status status;                          // not ok: could not be read to its end, or absurd
  std::uint64_t blocks = 0;               // valid blocks found
  std::uint64_t torn_blocks = 0;          // current headers whose body does not match
  std::uint64_t unreadable_bytes = 0;     // read errors, taken as if nothing was there
  std::vector<LogRange> unreadable = {};  // where they are; may overlap
  std::vector<LogBlockHeader> unread_blocks = {};  // torn ones, whose bodies reach into those
};

struct LogScan {
  LogScanOptions options;
  std::vector<LogArea> areas;         // as given
  std::vector<LogCopyReport> copies;  // one per area
  std::vector<ScannedBlock> blocks;   // the chain, oldest first
  LogPoint end;                       // of the chain; the trim point when it is empty
  LogPosition fresh = 0;              // behind every valid block found: where the next one goes
  Epoch max_epoch = 0;                // in any valid block, also of abandoned branches
  Lsn max_watermark = 0;              // in any valid block or root
  std::uint64_t abandoned = 0;        // valid blocks within the lap that are not in the chain
  std::string damage;                 // empty: none
  std::string unread_end;             // no copy can be read where another block may follow: why

  Lsn last_lsn() const { return end.lsn; }
  // The points of the chain, for LogWriterOptions::live.
  std::vector<LogPoint> points() const;
  // Keeps the first `count` blocks: the caller could not prove the cells of the next one (R7).
  // Below the watermark that is damage, and is noted as such.
  void cut(std::size_t count);
};

// Scans all `areas` (at most 64; a stale copy is left out by the caller, R13).
// Errors: kInvalidArgument (no areas, sizes differ), kIo (no copy could be read at all),
// kCorruption (the trim point is no block of any log).
Result<LogScan> scan_log(std::span<const LogArea> areas, const LogScanOptions& options);

// kCorruption with the scan's damage, or ok.
Status check_log_scan(const LogScan& scan);

// What to do about bytes that give read errors and decide where the log ends.
inline constexpr const char* kUnreadableEndHint =
    "Nothing has been changed: see to the device, and open the store again. If the place stays "
    "unreadable, write zeros over these bytes (dd), and open it: what was not complete then counts "
    "as never written, and if it was acknowledged it is lost.";

// kUnavailable when nobody knows whether the chain goes on, since no copy can be read there (R7).
// Not for a chain that was cut.
Status check_log_end(const LogScan& scan);

// A block's bytes and what they say. Moving keeps the views valid.
struct LoadedLogBlock {
  AlignedBuffer bytes;
  LogBlock block;
};

// Reads blocks[index] again from any copy that has it, verified.
// Errors: kIo, kCorruption (no copy is good any more).
Result<LoadedLogBlock> load_log_block(const LogScan& scan, std::size_t index);

// What brings all copies to the content of the chain: a block and the areas it is missing from.
// Blocks above the watermark go to every area, also where they were found (R8).
struct LogRewriteStep {
  std::size_t block = 0;     // index into LogScan::blocks
  std::uint64_t copies = 0;  // bit i: to be written to areas[i]
};
std::vector<LogRewriteStep> plan_log_rewrite(const LogScan& scan);

// Carries the steps out, one block in memory at a time, and then flushes every area (R8).
// A device that fails is reported and the others go on: `failed` gets a bit per area that did not
// take everything. `to`: a bit per area, of those that are written and flushed; the others are read
// alone. Errors: as load_log_block; what a write was refused with (io/refused.h), which is no fault
// of its device.
Status run_log_rewrite(const LogScan& scan, std::span<const LogRewriteStep> steps,
                       std::uint64_t* failed, std::uint64_t to = ~std::uint64_t{0});

// Writes the chain from blocks[first_block] on to a replacement area (formatted by the caller, of
// the same size), then flushes it. Errors: as load_log_block, what the target reports.
Status copy_log(const LogScan& scan, std::size_t first_block, const LogArea& target);

}  // namespace hexad::kv
