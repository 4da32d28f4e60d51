// The cleaner: what is alive in pack stripes that are mostly dead is written again, together, in
// one new stripe; so the old ones die and their space comes back.
//
//   choose   victims by what they gain for what they cost (core/clean/clean_plan.h)
//   read     a victim's footer, the lists of extents that its blobs are in now, and their bytes
//   write    one new pack stripe, in space that is kept for this (core/space/reserve.h, 7), or
//            several where no run is free that is so long
//   commit   one record of the store's own: each list shows the new places instead of the old ones,
//            which die
//
//   CL1  A move says "this list shows P' instead of P", of the list as it is when the record gets
//        its LSN, under the sequencer's lock. A list that shows P no more is left as it is, and so
//        is one that shows another blob there: all that the list says of it is compared. Versions
//        and times stay
//   CL2  Bytes are verified by the sums of the list before they are written anywhere, and the sums
//        go along as they are
//   CL3  A victim's lists are those that its footer and its forward keys lead to. When they show
//        less than the stripe's live bytes, somebody else owns the rest: it is left alone, and
//        counted, until its live bytes change. A blob that clones share is moved in all lists that
//        its share record counts, or in none
//   CL4  The new stripes' cells are durable before the record. Old stripes go by the releases in
//        it, and by nothing else; until then a reader, or a crash, finds everything there
//   CL5  A list that is written again names no unplaced blob whose place is known: once a
//        checkpoint has passed, nobody could find it (A7)
//   CL6  While a device is away, or lacks cells, nothing is cleaned, unless a commit finds no space
//   CL7  While the record waits for its place no state and no pin is held
//   CL8  What could not be read is tried again once cells have been healed, a device is behind no
//        more, a store comes to rest after more has died, or a commit finds no space: where nobody
//        asks for it, at most once in kBetweenTries, so that a step which finds nothing else ends
//
// Blobs that lists show in part, and those that leave much of a stripe of their own empty, are
// compacted, too (core/clean/compactor.h), in turn with these: what gives most for what it costs
// comes first.
//
// One step at a time; a commit that finds no space takes one itself, or waits for the one under
// way. The argument that this ends is in doc/invariants.md#cleaning.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "core/api/shared_bytes.h"
#include "core/blob/pack_check.h"
#include "core/blob/pack_stripe.h"
#include "core/clean/clean_parts.h"
#include "core/clean/clean_plan.h"
#include "core/clean/compactor.h"
#include "core/clean/due_looks.h"
#include "core/clean/fragmented_lists.h"
#include "core/clean/left_victims.h"
#include "core/clean/moved_extents.h"
#include "core/clean/moved_stripes.h"
#include "core/clean/owned_extents.h"
#include "core/clean/stripe_owners.h"
#include "core/record/log_record.h"
#include "core/space/log_blobs.h"
#include "io/executor.h"

namespace hexad::core {

class Cleaner {
 public:
  explicit Cleaner(CleanParts parts);

  enum class For : std::uint8_t {
    kLater,   // ahead of need: where much is dead, or little is left
    kAtRest,  // nobody has committed anything for a while
    kCommit,  // a commit finds no space
  };
  // One stripe's worth. True: something has been moved or looked at, here or by another thread
  // meanwhile. Any thread, which holds no lock, pin or state. Errors: those of reads, commits and
  // devices.
  Result<bool> step(For whom);

  // Enough has died since the last look that another one is worth it. Any thread; cheap.
  bool wants_look();
  // ... when the store is at rest. Any thread; cheap.
  bool wants_rest() const;
  // What has been looked at while a device was away or behind, and was left (CL6), counts as new.
  // Any thread.
  void look_again();

  // User bytes that compaction would bring back for a commit, about, of what is known to be worth
  // it. Any thread; cheap.
  std::uint64_t to_compact() const { return lists_.to_gain() + lone_.to_gain(); }

  // Lists that a transaction leaves: whoever carries it out says so.
  FragmentedLists& fragmented() { return lists_; }
  // An unplaced blob gets a stripe of so many units for itself. Any thread, under any lock.
  void note_lone(const UnplacedBlob& blob, std::uint32_t units);

 private:
  // A blob on its way.
  struct Move {
    OwnedBlob from;
    SharedBytes stored;

    // As the list has it that the new footer names.
    const Blob& blob() const { return from.lists.front().blob; }
    const std::string& owner() const { return from.lists.front().key; }
  };
  using Moves = std::vector<Move>;
  // Contiguity is a preference: where a commit waits, what is moved goes to several short stripes.
  enum class Into : std::uint8_t { kOneStripe, kSeveral };
  // What a step tries, and then the next one where that moves nothing.
  struct Try {
    Into into = Into::kOneStripe;
    std::uint32_t most_live = 0;  // as CleanRules::most_live
  };
  // What is chosen from, by which rules, and where it can go.
  struct Choice {
    std::vector<CleanCandidate> candidates;
    CleanRules rules;
    std::vector<std::uint32_t> runs;  // of stripes, units; the longest first
    Into into = Into::kOneStripe;
  };
  enum class Moved : std::uint8_t { kNothing, kSomething };

  Result<bool> step_locked(For whom) HEXAD_REQUIRES(mutex_);
  Result<bool> move(For whom) HEXAD_REQUIRES(mutex_);  // what is alive in pack stripes
  // What is compacted: Compactor::Need.
  struct Bounds {
    std::uint32_t most_shown = 0;
    std::uint32_t most_filled = 0;
  };
  Result<bool> compact(For whom, const Bounds& bounds) HEXAD_REQUIRES(mutex_);
  bool worth_compacting(For whom);
  std::uint64_t hidden() const { return lists_.hidden() + lone_.hidden(); }
  std::uint64_t releases() const {
    return parts_.space.packed_releases() + lists_.grown() + lone_.grown();
  }
  std::uint64_t used_bytes() const;
  std::vector<Try> tries_for(For whom) const;
  Choice look(const Try& one) HEXAD_REQUIRES(mutex_);
  bool is_low() const;
  bool is_whole() const;
  std::vector<std::uint32_t> stripe_runs();
  Result<bool> maybe_checkpoint(For whom, const Try& one, Choice& choice) HEXAD_REQUIRES(mutex_);

  Result<Moved> clean(const CleanPlan& plan, const Choice& choice) HEXAD_REQUIRES(mutex_);
  // What is alive of the victim, with its bytes; nothing: it is left alone.
  std::optional<Moves> read_victim(const CleanCandidate& victim, MetaView& view)
      HEXAD_REQUIRES(mutex_);
  Status read_bytes(const CleanCandidate& victim, Moves& moves);
  Result<std::vector<ByteView>> read_cells(const alloc::Extent& stripe,
                                           const std::set<std::uint32_t>& roles,
                                           AlignedBuffer& buffer) const;
  Result<PackFooter> read_footer(const CleanCandidate& victim) const;
  Result<Moved> write_moves(const Moves& moves, std::span<const PackPlan> layouts, Lsn written);
  Status fill_moves(const Moves& moves, const MovedStripes& where, LogRecord& record) const;
  std::vector<UnplacedBlob> as_blobs(const Moves& moves) const;
  // Of the lists that one record changes.
  std::uint64_t most_list_bytes() const;
  void leave_alone(const CleanCandidate& victim, CounterId why) HEXAD_REQUIRES(mutex_);
  void maybe_try_again(For whom) HEXAD_REQUIRES(mutex_);  // CL8

  const CleanParts parts_;
  const PackChecker packs_;
  FragmentedLists lists_;
  FragmentedLists lone_;  // that show blobs which leave much of their stripes empty
  Compactor compactor_;
  io::Mutex mutex_;  // through a step
  LeftVictims left_ HEXAD_GUARDED_BY(mutex_);
  bool under_way_ HEXAD_GUARDED_BY(mutex_) = false;  // much was dead, and is being cleaned
  // Something has been moved since the last release.
  bool unreleased_ HEXAD_GUARDED_BY(mutex_) = false;
  std::atomic<std::uint64_t> moved_{0};  // steps that moved something
  DueLooks looks_;
};

}  // namespace hexad::core
