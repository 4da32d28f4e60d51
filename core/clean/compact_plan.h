// Which blobs of a list of extents are worth writing again in the parts that the list shows, so
// that the rest of them comes back: a pure function.
//
// Small writes into an object leave large blobs behind that are shown in part, and take their whole
// space until the last byte of them is overwritten. What is left of such a blob goes elsewhere. So
// does one that is shown whole and leaves much of a stripe of its own empty: a small one that was
// put when nobody else put anything.
//
// Holds for every plan
//   KP1 a victim that is shown in part shows at most rules.most_shown of its user bytes. No clone
//       shares a victim, and the list names its place: an unplaced one dies by another name (CP1)
//   KP2 the pieces show, in order and each byte once, what the list shows of victims, and nothing
//       else
//   KP3 a piece is without a gap, at most rules.piece_bytes long, and what it shows was compressed
//       in one way, or not at all
//   KP4 with a piece in place of what it shows, the list is not crowded where it was not
//       (is_crowded())
//   KP5 a victim that is shown whole has a stripe of its own, and of that it fills at most
//       rules.most_filled: in a pack stripe it is the cleaner's
#pragma once

#include <cstdint>
#include <vector>

#include "compression/codec.h"
#include "core/record/record.h"

namespace hexad::core {

struct CompactRules {
  std::uint32_t most_shown = 0;    // of 1024 parts of a blob's user bytes, for a victim
  std::uint64_t piece_bytes = 0;   // not 0
  std::uint64_t stripe_bytes = 0;  // user bytes of one unit of a stripe
  std::uint32_t most_filled = 0;   // of 1024 parts of its stripe, for a victim that is shown whole
};

// Becomes one blob.
struct CompactPiece {
  ExtentList from;  // of victims, next to each other
  compression::Algorithm algorithm = compression::Algorithm::kNone;  // of all of them

  std::uint64_t offset() const { return from.front().offset; }
  std::uint64_t length() const { return from.back().end() - from.front().offset; }
};

struct CompactPlan {
  std::vector<CompactPiece> pieces;
  std::uint64_t frees = 0;  // bytes of space that victims take: of stripes of their own all of it
  bool unplaced = false;    // there are victims whose place the list does not name yet
};

// Cost: O(n log n).
CompactPlan plan_compaction(const ExtentList& extents, const CompactRules& rules);

// Bytes of the space of a list's blobs that show nothing of theirs. Of a stripe that a blob has for
// itself that is all else in it, of a pack stripe what the list hides of the blob. Blobs that
// clones share and unplaced ones do not count.
struct UnshownBytes {
  std::uint64_t all = 0;
  std::uint64_t in_victims = 0;  // of those, what may be victims by the rules has
};
UnshownBytes unshown_bytes(const ExtentList& extents, const CompactRules& rules);

}  // namespace hexad::core
