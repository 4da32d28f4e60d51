// A file as k data chunks and m parity chunks in files of their own: OUT.0 to OUT.(k+m-1).
//
// Data chunk i is bytes [i * chunk, (i + 1) * chunk) of the file, the last ones padded with zeros;
// parity is the code's bytes over whole chunks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "ec/profile.h"
#include "tools/cli/progress.h"
#include "tools/erasure/chunk_meta.h"

namespace hexad::tools {

// Memory: k+m pieces of about 1 MiB. Writes all files or, on an error, none. Errors: those of
// the files; kInvalidArgument (not a regular file).
Result<ChunkMeta> encode_chunks(const std::string& file, const std::string& out,
                                const ec::Profile& profile, Progress& progress);

struct DecodeRequest {
  // What is empty comes from OUT.meta; what is given must not contradict it.
  std::string shape;  // "4+2"
  std::string codec;
  std::optional<std::uint64_t> length;  // bytes
};

struct DecodeReport {
  std::uint64_t length = 0;            // bytes written
  std::vector<std::uint32_t> missing;  // chunks that are not there
  std::vector<std::uint32_t> damaged;  // chunks of another size or crc32c; not used
};

// Puts `file` together from any k chunks that are good. Errors: kInvalidArgument (nobody says the
// profile or the length; they contradict OUT.meta), kUnavailable (fewer than k), those of the
// files.
Result<DecodeReport> decode_chunks(const std::string& file, const std::string& out,
                                   const DecodeRequest& request, Progress& progress);

}  // namespace hexad::tools
