// A leaf of a run with all that lies below it, as it is stored: what a merge takes over as it is
// (doc/decisions/091-leaves-that-are-moved.md).
//
// In a run the blocks of data of a leaf, its filter and the leaf itself lie one behind the other.
// In another run they lie elsewhere, and checksums are of the place, too: so blocks of data and the
// filter get new checksums, and the leaf, which names them, is encoded anew. Nothing is unpacked.
//
//   RB5 a leaf is taken over by a merge only where no other input has a key from its first one up
//       to its last separator: so nothing in it is hidden by a newer run, and it repeats nothing
//       of an older one. Where tombstones are dropped it has none
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "kv/run/run_block.h"
#include "kv/run/run_filter.h"
#include "kv/run/run_format.h"
#include "kv/run/run_source.h"

namespace hexad::kv {

// Smaller leaves are not taken over: whatever is beside them stays small for good.
inline constexpr std::uint64_t kLeastLeafKeys = kRunFilterKeys / 2;
inline constexpr std::uint64_t kLeastLeafBytes = kRunBlockTarget / 2;  // of its block: or so
// Nor larger ones, which would be in memory as a whole.
inline constexpr std::uint64_t kMostLeafBytes = 4 << 20;  // with all below it

struct RunLeafAddress {
  std::shared_ptr<const RunBlock> block;  // its entries name blocks of data
  RunBlockAddress address;                // of that
  RunBlockAddress filter;
};

struct RunLeaf {
  struct Data {
    std::string separator;  // the key under which it is named
    RunBlockAddress address;
  };
  std::string first_key;   // or one below it that is above all keys before
  std::vector<Data> data;  // one behind the other, the filter behind them
  RunBlockAddress filter;
  Bytes stored;  // of all of these

  // Precondition: one of the above.
  ByteView stored_at(const RunBlockAddress& address) const {
    return ByteView(stored).subspan(address.offset - data.front().address.offset, address.stored);
  }
};

// What a leaf that is to be taken over may have.
enum class LeafTombstones : std::uint8_t { kAny, kNone };

// The leaf, read with one read past the cache and checked; `first_key` as above. Nothing: it has to
// be taken apart, since it is too small or too large, or has a tombstone and may have none. Cost
// with kNone: each block is unpacked. Errors: kCorruption, those of the file.
Result<std::optional<RunLeaf>> read_run_leaf(const RunSource& source, const RunLeafAddress& leaf,
                                             std::string_view first_key, LeafTombstones tombstones);

}  // namespace hexad::kv
