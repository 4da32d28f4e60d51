// Recovery: from the index and the log to the state in memory, and from there to a log that may be
// continued. doc/invariants.md has the crash argument.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "core/blob/blob_read.h"
#include "core/check/torn_cells.h"
#include "core/metadata/metadata.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "ec/shard_set.h"
#include "kv/index.h"
#include "kv/log/log_scan.h"

namespace hexad::core {

// A stripe of the kept tail with cells that are not good, on devices that are in use.
struct IncompleteStripe {
  StripeProof proof;
  ec::ShardSet not_good;
};

struct Recovered {
  kv::LogScan scan;  // cut to what counts
  Lsn last_lsn = 0;
  std::vector<IncompleteStripe> incomplete;
  std::vector<std::string> notes;
};

// Zones from the index, then the log: scan, prove the tail above the watermark (R7), replay what
// the index does not have (R6). Changes memory only.
// Errors: kCorruption (hole in the log, record that does not decode or contradicts the zones, index
// older than the root), kUnavailable (no copy of the log; what decides where the log ends gives
// read errors, R7).
class Recovery {
 public:
  // All outlive it. What `index` holds is the state to which the log is added.
  Recovery(const StoreShape& shape, const alloc::Root& root, const Members& members,
           kv::Index& index, Metadata& metadata, Space& space, const BlobReader& reader,
           Counters& counters)
      : shape_(shape),
        root_(root),
        members_(members),
        index_(index),
        metadata_(metadata),
        space_(space),
        reader_(reader),
        counters_(counters) {}

  Result<Recovered> run();

  // Brings every kept stripe to all its live cells (R8). Devices that fail are returned. Errors:
  // kUnavailable (a stripe has lost cells since it was proved); what a write was refused with.
  Result<std::set<DeviceId>> heal(const std::vector<IncompleteStripe>& incomplete);

  // For reading, instead, after run(): which of their cells heal() would write. A cell that its
  // device does not give is not among them. Cost: reads each once. Errors: kFenced.
  Result<TornCells> find_torn(const std::vector<IncompleteStripe>& incomplete) const;

  // After run(), of devices that leave with this opening: what LSNs above `above` wrote was never
  // proved there, so it counts as missing. `scan`: of what run() has kept.
  Status note_departures(const kv::LogScan& scan, const std::set<DeviceId>& left, Lsn above);

 private:
  // Of one block of the log.
  struct Entry {
    Lsn lsn = 0;
    LogRecord record;
  };
  using Entries = std::vector<Entry>;

  Status load_zones();
  Result<Entries> decode(const kv::LoadedLogBlock& block) const;
  Status make_zones(const Entries& entries);
  void read_marked(const StripeProof& stripe, BlobReader::Cells& cells) const;
  Status read_again(const StripeProof& stripe, BlobReader::Cells& cells,
                    std::vector<std::string>& unread) const;
  Result<bool> prove(const Entries& entries, std::vector<IncompleteStripe>& incomplete);
  Status drop_zones(const Entries& entries);
  Status patch_image(PostImage& image, Lsn lsn);
  Status replay(Entries& entries, Lsn above);

  const StoreShape& shape_;
  const alloc::Root& root_;
  const Members& members_;
  kv::Index& index_;
  Metadata& metadata_;
  Space& space_;
  const BlobReader& reader_;
  Counters& counters_;
};

}  // namespace hexad::core
