// What goes through the commit pipeline: a transaction that has its LSN, the group of them that
// shares one log block, and the rounds of I/O that a group takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "core/api/commit_callback.h"
#include "core/api/commit_options.h"
#include "core/blob/blob_prepare.h"
#include "core/commit/flush_gate.h"
#include "core/commit/stripe_placer.h"
#include "core/record/log_record.h"
#include "io/device.h"
#include "kv/log/log_writer.h"

namespace hexad::core {

// Of records in one log block; a single larger record still goes alone.
inline constexpr std::uint64_t kMaxGroupBytes = 4 << 20;
// Framing of one record: its length and its LSN.
inline constexpr std::uint64_t kRecordFraming = 20;

// A transaction with its place in the order.
struct Submission {
  Lsn lsn = 0;
  LogRecord record;
  std::string encoded;  // the record without the group's part
  std::vector<StripeWrite> stripes;
  std::vector<UnplacedBlob> unplaced;  // the group decides about their places
  std::vector<GivenPack> packs;        // but for those of `unplaced` that these have places for
  std::uint64_t reserved = 0;          // bytes of the ring set aside
  Durability durability = Durability::kDurable;
  // On the way here; negative: a transaction of the engine's own, not timed.
  io::Nanos began = -1;     // commit() or submit() was called
  io::Nanos admitted = -1;  // its bytes may be in flight
  io::Nanos queued = -1;    // enqueue()
  CommitCallback done;      // when durable; may be empty
  // Let go of when the transaction is over, before `done` runs: callbacks may wait for others.
  std::shared_ptr<void> budget;
};

struct CommitGroup;

// Requests of one group that go out together; the flushes that follow are shared with others.
struct Round : FlushWaiter {
  CommitGroup* group = nullptr;
  io::IoBatch batch;
  bool over = false;  // every request and every flush has its outcome; true when there are none
};

struct CommitGroup {
  std::vector<Submission> members;
  kv::PreparedBlock block;
  Round ahead;                 // cells that are durable before anything else begins; mostly empty
  Round main;                  // cells and log blocks that the answer waits for
  Round behind;                // log blocks that it does not wait for: LogDurability::kFast
  std::uint64_t unproven = 0;  // bytes of cells that go out together with the log block
  std::size_t callers = 0;     // members whose callers wait for it: not buffered ones
  bool answered = false;
  io::Nanos taken_at = 0;    // its members left the open group
  io::Nanos written_at = 0;  // the writes of main were complete
  io::Nanos over_at = 0;     // and its flushes
  io::Nanos answered_at = 0;

  bool io_done() const { return main.over && behind.over; }
  Lsn last_lsn() const { return members.empty() ? block.point().lsn : members.back().lsn; }
};

// Whether the thread that sends a group's requests waits for them.
enum class Waiting : std::uint8_t { kBlocking, kCallback };

}  // namespace hexad::core
