// What stands around the blocks of a run: addresses, the way a block is stored, the footer
// (doc/format.md, "Runs"). Pure encoding and decoding.
//
// Every block is named by an address that says where it is, how long it is and what its checksum
// is; addresses stand in blocks of the index, the one of the root in the footer, and the footer's
// checksum in the manifest. So the manifest vouches for every byte, and no block passes for another
// one, of this run or an older one at the same place.
//
//   RB2 a block lies before the block that names it, so that the way down ends
//   RB3 what is allocated for a block is bounded by its address before anything is read
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "kv/index.h"

namespace hexad::kv {

inline constexpr std::size_t kRunFooterSize = 128;         // bytes
inline constexpr std::size_t kRunBlockTarget = 16384;      // bytes of a block before compression
inline constexpr std::uint32_t kMaxRunIndexBlock = 65536;  // bytes, of the index or a filter
inline constexpr std::uint32_t kMaxRunDataBlock = kMaxIndexValue + 8192;  // bytes
inline constexpr unsigned kMaxRunLevels = 32;                             // of the index

struct RunBlockAddress {
  std::uint64_t offset = 0;  // in the file, bytes
  std::uint32_t stored = 0;  // bytes there
  std::uint32_t raw = 0;     // bytes of the block; the same: not compressed
  std::uint32_t crc = 0;     // crc32c of the offset (le64) and the stored bytes

  std::uint64_t end() const { return offset + stored; }
  bool operator==(const RunBlockAddress&) const = default;
};

// The value of an entry of the index: the block with the keys up to the entry's.
struct RunChild {
  RunBlockAddress block;
  std::optional<RunBlockAddress> filter;  // of all keys below, when the block is a leaf

  bool operator==(const RunChild&) const = default;
};

// What the manifest says of a run, beside where it lies.
struct RunInfo {
  std::uint64_t bytes = 0;    // of the file
  std::uint64_t entries = 0;  // tombstones included
  std::uint64_t tombstones = 0;
  Lsn first_lsn = 0;  // the run holds the changes of (first_lsn, last_lsn]; 0: everything
  Lsn last_lsn = 0;
  std::uint32_t footer_crc = 0;  // binds manifest and file

  bool operator==(const RunInfo&) const = default;
};

struct RunFooter {
  Uuid store;
  RunInfo info;
  unsigned levels = 0;  // of the index; 0: the run is empty
  RunChild root;        // with a filter when levels is 1
};

enum class RunBlockKind : std::uint8_t { kData, kLeaf, kIndex };

// What is named by a block of the index that is `above_leaf` levels above the leaves.
constexpr RunBlockKind run_child_kind(std::size_t above_leaf) {
  if (above_leaf == 0) return RunBlockKind::kData;
  return above_leaf == 1 ? RunBlockKind::kLeaf : RunBlockKind::kIndex;
}

std::string encode_run_child(const RunChild& child);
// `kind`: of the block that the entry names. `end`: where the naming block begins (RB2).
// Errors: kCorruption.
Result<RunChild> decode_run_child(std::string_view value, RunBlockKind kind, std::uint64_t end);

enum class RunPacking : std::uint8_t { kPlain, kCompress };

struct StoredRunBlock {
  std::string bytes;
  RunBlockAddress address;
};

// `raw` as it is stored at `offset`: compressed when that is shorter. Cost: one compression.
Result<StoredRunBlock> store_run_block(std::string raw, std::uint64_t offset, RunPacking packing);
// Where the stored block is when it is put at `offset` of another file as it is. Cost: its
// checksum.
RunBlockAddress move_run_block(const RunBlockAddress& from, ByteView stored, std::uint64_t offset);
// Whether `stored` is what the address is of, compressed as it is. Errors: kCorruption.
Status check_run_block(const RunBlockAddress& address, ByteView stored);
// The block's bytes again. `stored`: address.stored bytes. Errors: kCorruption (the checksum, or
// not the compressed form of address.raw bytes), kUnavailable (no memory).
Result<std::string> load_run_block(const RunBlockAddress& address, ByteView stored);

// Sets info.footer_crc. kRunFooterSize bytes.
std::string encode_run_footer(RunFooter& footer);
// `bytes`: the last kRunFooterSize of a file. Errors: kCorruption, kUnsupported (a later version).
Result<RunFooter> decode_run_footer(ByteView bytes);

}  // namespace hexad::kv
