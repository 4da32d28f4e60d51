// The record in which an index says whose it is, how far it has come and what it holds
// (doc/format.md, "LMDB index"), and the names of the tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/ids.h"

namespace hexad::kv {

inline constexpr const char* kLmdbStateTable = "hexad";
inline constexpr const char* kLmdbKeysTable = "keys";
inline constexpr const char* kLmdbSegmentsTable = "segments";
inline constexpr std::string_view kLmdbStateKey = "state";

struct LmdbState {
  Uuid uuid;                       // of the store
  Lsn lsn = 0;                     // all changes up to it are in the index
  Epoch epoch = 0;                 // of that LSN
  std::uint64_t next_segment = 1;  // segment ids from here on were never used
  std::uint64_t prints = 0;        // of all entries, added up modulo 2^64: lmdb_print()

  bool operator==(const LmdbState&) const = default;
};

// What an entry adds to the prints of its index: hashes of its key, with its table, and of what is
// stored, multiplied. Pages have no checksums of their own. Where a write of one was lost, the page
// shows what was there before, in good order and with good checksums, but not with this sum.
enum class LmdbTable : std::uint8_t { kKeys = 0, kSegments = 1 };
std::uint64_t lmdb_print(LmdbTable table, std::string_view key, std::string_view stored);

std::string encode_lmdb_state(const LmdbState& state);
// Errors: kCorruption.
Result<LmdbState> decode_lmdb_state(std::string_view bytes);

}  // namespace hexad::kv
