// A transaction after the part of the work that needs no lock: payloads cut into pieces,
// compressed, checksummed and coded, on the caller's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/short_list.h"
#include "core/api/transaction.h"
#include "core/blob/blob_prepare.h"
#include "core/plan/shifted_range.h"
#include "core/record/keys.h"
#include "core/record/record.h"

namespace hexad::core {

// One piece of an op's payload, within one page of the object.
struct PayloadPiece {
  std::uint64_t offset = 0;  // in the object, bytes
  std::uint64_t length = 0;
  std::string bytes;      // inline when not empty
  PreparedBlob prepared;  // else; `where` is filled in by the sequencer
};

// Of one op; most have one.
using PayloadPieces = ShortList<PayloadPiece, 1>;

// What an object showed where an expect_bytes or expect_omap wants to see its bytes.
struct ComparedBytes {
  Lsn version = 0;  // of the object that was compared; 0: there was none
  bool equal = false;
  // Where first, from the start of the object or value; when not equal.
  std::uint64_t differs_at = 0;
  // Where its name was. A split or merge may give the name to another object, and one transaction
  // may have made both: only together do space and version say what was compared.
  CollectionId space = 0;
};

// How many objects go with a split_collection, counted beside the commits: first what was there,
// then what those that have come meanwhile have changed. Ranges and keys stay as they are; `come`,
// `gone` and `lost` belong to whoever holds the sequencer's lock.
struct CountedNames {
  std::vector<NameRange> ranges;
  struct Keys {
    std::string first;
    std::string end;  // exclusive
  };
  std::vector<Keys> keys;  // of the ranges
  CollectionTotals there;
  CollectionTotals come;
  CollectionTotals gone;
  bool lost = false;  // a change could not be looked at: it has to be counted anew

  bool has(std::string_view key) const;
};

// The pages of a body copied to one that no object names, for a clone of an object with many of
// them: they show the same blobs. Copied beside the commits, bit by bit; what these change
// meanwhile is noted. All but `taken` belongs to whoever holds the sequencer's lock. `until` and
// `stale` are pages of the copy.
struct CopiedPages {
  BodyId from = 0;
  BodyId to = 0;                       // has a writer key
  ShiftedRange range = {};             // of its bytes, and where they are in the copy
  std::uint32_t until = 0;             // pages before it have been copied
  std::set<std::uint32_t> stale = {};  // ... and have changed since
  bool lost = false;                   // so many of them that nobody has kept count
  bool taken = false;                  // a transaction has given `to` to an object

  // A page of `from` is another one.
  void note_change(std::uint32_t page);
};

// Of one copy, in memory.
inline constexpr std::size_t kMaxStalePages = 65536;
// A transaction copies so many of them itself.
inline constexpr std::size_t kFewStalePages = 256;

struct PreparedOp {
  std::uint64_t base = 0;  // the offset in the object that the pieces were cut for
  PayloadPieces pieces;
  ComparedBytes compared;                 // of an expect_bytes or expect_omap
  std::shared_ptr<CountedNames> counted;  // of a split_collection; null: nobody has counted
  std::shared_ptr<CopiedPages> copied;    // of a clone; null: nobody has copied
  // What a set_hint() before it in the transaction says about the object.
  std::optional<Hint> told;
};

// Which payloads become inline pieces: those of at most kInlineLimit bytes, or none.
enum class Inlining : std::uint8_t { kOfSmall, kOfNone };

// What an op needs done again: an append whose object has grown meanwhile, small writes that have
// outgrown inline extents, bytes to compare whose object has changed, pages to copy, or names to
// count.
struct Redo {
  std::size_t op = 0;
  std::uint64_t base = 0;
  Inlining inlining = Inlining::kOfSmall;
  BodyId copy = 0;                    // not 0: of this body
  std::vector<NameRange> count = {};  // not empty: these

  // The transaction cannot be planned beyond the op without it.
  bool stops() const { return copy != 0 || !count.empty(); }
};

// What a clone or clone_range shows of its source.
ShiftedRange cloned_range(const TransactionOp& op);

// One per op of the transaction, empty for ops that nothing is prepared for.
using PreparedOps = std::vector<PreparedOp>;

// The part of an object's hints that compression knows.
compression::Hint compression_hint(Hint hint);

// Whether something is: ops that bring data, and guards that need some read.
bool needs_preparing(const TransactionOp& op);

// Pieces whose stripes are as long as they come.
inline constexpr std::uint32_t kAnyUnits = ~std::uint32_t{0};

// Cuts `payload` at page boundaries for `base` and prepares the pieces. `copies`: see
// BlobPreparer::prepare(). A piece whose stripe would be longer than `most_units` is cut into
// shorter ones (core/blob/piece_cut.h), of which none is longer; where its bytes compress unevenly
// they are more than their units say.
Result<PreparedOp> prepare_payload(const BlobPreparer& preparer, ByteView payload, Hint hint,
                                   const compression::Policy& policy, std::uint64_t base,
                                   Inlining inlining, SharedCopies* copies = nullptr,
                                   std::uint32_t most_units = kAnyUnits);

// Bytes of each part of a piece of `length` bytes, prepared as `whole`, that is cut like that: less
// than `length`.
std::uint64_t bytes_of_cut(const PreparedBlob& whole, std::uint64_t length,
                           std::uint32_t most_units, const StoreShape& shape);

}  // namespace hexad::core
