// Plans log blocks: where they go in the ring, what they follow, whether there is room. Does no
// I/O: the caller submits the requests of a PreparedBlock together with its data cells.
//
// One thread at a time, in LSN order (the pipeline's lock). Blocks in flight are not tracked here.
//
// A failed block. Once a block is prepared its place is spent: a write that timed out may still
// land there. A group that fails is therefore never prepared again at the same place (R2, R12).
// The caller stops preparing, lets later groups drain, and calls fence() with the point of the last
// good block and a higher epoch. The fence lies at a fresh position behind everything prepared and
// follows the last good block; whatever lies between belongs to the old epoch, loses against the
// fence in a scan, and its LSNs are given out again in the new epoch. When the fence cannot be made
// durable either, both outcomes are possible: kUnknown, read-only.
//
// Epochs. Two fences of one store must never carry the same epoch, even when one of them was lost
// with its device. The caller claims epochs in the roots before it uses them, for example a range
// of them at each open.
//
// Invariants
//   LW1 head <= tail, and tail - head <= capacity: no byte that recovery needs is overwritten
//   LW2 every block prepared follows the block prepared before it, or a fence's last good block
//   LW3 kUser blocks leave `reserve` bytes free, so that fences and watermarks always fit
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "io/device.h"
#include "kv/log/log_area.h"
#include "kv/log/log_format.h"

namespace hexad::kv {

enum class LogPurpose : std::uint8_t {
  kUser,      // leaves the reserve alone
  kInternal,  // fences, watermarks, progress of checkpoints and cleaning: may use the reserve
};

struct PreparedBlock {
  EncodedLogBlock block;
  // One write per log copy, from block.bytes, WriteMode::kCached; the caller sets the mode it
  // needs. Moving the PreparedBlock keeps them valid; it outlives the I/O.
  std::vector<io::IoRequest> requests;

  LogPoint point() const { return block.point(); }
  Lsn first_lsn() const { return block.header.first_lsn; }
  Lsn last_lsn() const { return block.header.last_lsn(); }
};

struct LogWriterOptions {
  Uuid uuid;
  std::uint32_t block_size = 4096;  // bytes; a multiple of every copy's physical block
  std::vector<LogArea> areas;       // one per live log copy, equal sizes
  LogPoint trim = kLogOrigin;       // the last block that recovery does not need
  LogPoint last = kLogOrigin;       // the last good block: what the next one follows
  LogPosition tail = 0;             // first position never written; >= last.end
  Epoch epoch = 1;                  // of the blocks to come; a new one begins with fence()
  std::uint64_t nonce = 0;          // of whoever writes them
  std::vector<LogPoint> live;       // known blocks after trim, for point_at(); may be empty
};

class LogWriter {
 public:
  // Errors: kInvalidArgument (areas of different size, outside their device, too small, not
  // multiples of block_size; tail before last, or more than a lap behind trim).
  static Result<LogWriter> create(LogWriterOptions options);

  // The block with `records`, which take the LSNs from next_lsn() on; `first_lsn` has to be that.
  // `watermark` < first_lsn. On an error nothing has changed.
  // Errors: kNoSpace (the ring is full until the next trim), kTooBig (over max_block_size()).
  Result<PreparedBlock> prepare(Lsn first_lsn, LogBody records, Lsn watermark,
                                LogPurpose purpose = LogPurpose::kUser);
  Result<PreparedBlock> prepare(Lsn first_lsn, std::span<const std::string_view> records,
                                Lsn watermark, LogPurpose purpose = LogPurpose::kUser);
  // A block without records that records `watermark` (R9). Errors: kNoSpace.
  Result<PreparedBlock> empty_block(Lsn watermark);
  // Begins `new_epoch` after `last_good`, which is on all live copies; all that was prepared after
  // it is void, and next_lsn() becomes last_good.lsn + 1 (R8, R12). The fence's watermark is
  // last_good.lsn. Asserts new_epoch > epoch(). Errors: kNoSpace.
  Result<PreparedBlock> fence(const LogPoint& last_good, Epoch new_epoch);

  // Frees everything up to and including the block at `point`. The root that names it is durable
  // (R5). Points before the current trim point change nothing.
  void trim(const LogPoint& point);
  // All blocks up to and including the one at `point` are on all live copies. Optional: it lets
  // point_at() name trailing blocks without records. create() takes `last` as durable.
  void durable(const LogPoint& point);
  // A known durable block whose records all lie at or below `lsn`, the newest one that is safe:
  // what a root that covers `lsn` names as trim point. `lsn` is published, so its own block is
  // durable; a block without records after it may not be, and a fence could still pass it by, so
  // such blocks count only up to durable(). At most 1/4096 of the ring older than the
  // exact one.
  LogPoint point_at(Lsn lsn) const;

  // After a change of membership: the copies to write from now on. Errors: kInvalidArgument.
  Status set_areas(std::vector<LogArea> areas);
  const std::vector<LogArea>& areas() const { return options_.areas; }

  Lsn next_lsn() const { return last_.lsn + 1; }
  Epoch epoch() const { return options_.epoch; }
  const LogPoint& last() const { return last_; }
  const LogPoint& trim_point() const { return trim_; }
  LogPosition tail() const { return tail_; }
  std::uint32_t block_size() const { return options_.block_size; }
  std::uint64_t capacity() const { return size_; }          // bytes
  std::uint64_t used() const { return tail_ - trim_.end; }  // bytes
  std::uint64_t reserve() const { return reserve_; }        // bytes
  // The largest block that fits an empty ring wherever its tail stands, bytes, padding included.
  std::uint64_t max_block_size() const;
  // Bytes that a block with these records takes.
  std::uint64_t length_of(std::span<const std::string_view> records) const {
    return log_block_length(records, options_.block_size);
  }

  // LW1-LW3; for tests.
  void check_invariants() const;

 private:
  explicit LogWriter(LogWriterOptions options);
  Status check_length(std::uint64_t length) const;
  Result<PreparedBlock> place(LogBlockHeader header, LogBody body, LogPurpose purpose);
  LogBody no_records() const;
  // A block that trim can name. One without records may still be in flight when its LSN is
  // published.
  struct KnownBlock {
    LogPoint point;
    bool has_records = false;
  };
  void remember(const KnownBlock& block);

  LogWriterOptions options_;
  std::uint64_t size_ = 0;     // bytes of the ring
  std::uint64_t reserve_ = 0;  // bytes
  LogPoint trim_;
  LogPoint last_;
  LogPosition tail_ = 0;
  LogPosition durable_end_ = 0;   // end of the last block that is known to be durable
  std::deque<KnownBlock> known_;  // some blocks after trim_, oldest first
};

}  // namespace hexad::kv
