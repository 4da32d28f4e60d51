// The record in which an index says whose it is and how far it has come (doc/format.md, "LMDB
// index"), and the names of the tables.
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

  bool operator==(const LmdbState&) const = default;
};

std::string encode_lmdb_state(const LmdbState& state);
// Errors: kCorruption.
Result<LmdbState> decode_lmdb_state(std::string_view bytes);

}  // namespace hexad::kv
