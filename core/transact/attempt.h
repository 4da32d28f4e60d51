// One try of a transaction, or of a change of the store's own, to get its place in the order.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/zone.h"
#include "base/error.h"
#include "base/short_list.h"
#include "core/api/transaction.h"
#include "core/commit/commit_pipeline.h"
#include "core/metadata/metadata.h"
#include "core/plan/planner.h"
#include "core/plan/prepared.h"
#include "core/space/space.h"
#include "io/clock.h"

namespace hexad::core {

inline constexpr int kMaxAttempts = 1000;
// So many of them may be repeated for no better reason than that others have gone on meanwhile.
inline constexpr int kMaxPatience = 100;
// So long they wait for reads that look at what they need, all together.
inline constexpr io::Nanos kPatienceWithReads = 2'000'000'000;
// So many checkpoints they make, all together, for what little rides in the log, where nothing else
// brings space. One is enough for whoever is alone; others may take what it brings, and ride there
// again.
inline constexpr int kMaxPackings = 20;
// So many because something of the runs was not in memory.
inline constexpr int kMaxCold = 8;
// Keys that were deleted since the last checkpoint, and that a plan steps over.
inline constexpr std::uint64_t kMostDeleted = 10'000;

// What it holds, and what it lacked.
struct Attempt {
  std::vector<alloc::Extent> allocated;
  PromisedUnits reserved;  // for unplaced blobs
  std::vector<Redo> redo_ops;
  std::uint64_t record_bytes = 0;  // not zero: the log has no room for so many
  bool no_space = false;           // the allocator had none; freed space may still come back
  bool wants_zone = false;         // ... and there are slabs for one more zone
  std::uint64_t all_units = 0;     // in the zones that there were then
  std::uint64_t free_units = 0;    // that there were then, or that it had taken itself
  std::uint64_t promised = 0;      // ... and units that others had reserved
  Error space_error;
  std::vector<CrowdedPage> crowded;    // not empty: rewrite these pages first
  std::vector<LayeredObject> layered;  // not empty: merge layers of their omaps first
  std::vector<BodyId> cut;             // not empty: reclaim what is cut off of these first
  bool too_many_deleted = false;       // the plan met so many keys that were deleted
  const WarmKeys* warm = nullptr;      // in: what it may ask the index for; null: for everything
  bool keep_versions = false;          // in: see PlanContext
  bool accept_crowded = false;         // in
  bool places_ahead = false;           // in: unplaced blobs are promised nothing and placed at once
  int tries = 0;                       // in: that there were before it
  io::Nanos* patience = nullptr;       // in and out: how long it may wait for short reads yet
  int* packings = nullptr;             // in and out: as kMaxPackings, yet
  Lsn durable = 0;                     // when it found no space

  // Takes so many units for it, under the sequencer's lock. Where no zone has room, whoever repeats
  // the attempt makes another one first, without that lock: its headers are written to devices.
  Result<alloc::Extent> allocate(std::uint32_t units, Space& space, CommitPipeline& pipeline);
  // What there is for it, with what it has taken or reserved itself given back.
  void note_room(Space& space, CommitPipeline& pipeline);

  // A commit that rests on state others are still writing is answered only when that state is
  // durable (R14). kNoSpace that no room would help is a quota.
  static bool depends_on_state(ErrorCode code) {
    return code == ErrorCode::kNoSpace || code == ErrorCode::kConflict ||
           code == ErrorCode::kNotFound || code == ErrorCode::kAlreadyExists ||
           code == ErrorCode::kNotEmpty || code == ErrorCode::kTooBig ||
           code == ErrorCode::kInvalidArgument;
  }
};

// All pieces that are blobs, in the order of the ops: what ops carry, and what publishes bring.
using BlobPieces = ShortList<PayloadPiece*, 16>;
BlobPieces blob_pieces(const Transaction& transaction, PreparedOps& prepared);

}  // namespace hexad::core
