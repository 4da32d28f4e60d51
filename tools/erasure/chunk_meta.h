// What `hexad ec encode` writes beside its chunk files, as JSON in OUT.meta:
//
//   {"profile": "4+2", "codec": "isa:reed_sol_van", "length": 1000, "chunk": 250,
//    "crc32c": [1, 2, 3, 4, 5, 6]}
//
// The chunk files hold nothing but the chunks, so that other tools can read and write them; this
// file is a convenience that gives decode the length and lets it find chunks that have rotted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "ec/profile.h"

namespace hexad::tools {

struct ChunkMeta {
  ec::Profile profile;
  std::uint64_t length = 0;           // bytes of the original file
  std::uint64_t chunk = 0;            // bytes of each chunk file
  std::vector<std::uint32_t> crc32c;  // of each chunk file, k+m of them

  bool operator==(const ChunkMeta&) const = default;
};

// Bytes of each chunk: `length` cut into k, rounded up to what the code works on.
std::uint64_t chunk_size(const ec::Profile& profile, std::uint64_t length);

std::string encode_meta(const ChunkMeta& meta);
// Errors: kCorruption (no such JSON, a field missing or impossible), kInvalidArgument (profile).
Result<ChunkMeta> parse_meta(std::string_view text);

}  // namespace hexad::tools
