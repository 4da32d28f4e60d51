#include "kv/lmdb_state.h"

#include <cstring>

#include "base/checksum.h"
#include "base/codec.h"

namespace hexad::kv {
namespace {

constexpr std::uint32_t kStateVersion = 1;

}  // namespace

std::string encode_lmdb_state(const LmdbState& state) {
  std::string text;
  Encoder out(text);
  out.le32(kStateVersion);
  out.raw(std::string_view(reinterpret_cast<const char*>(state.uuid.bytes.data()),
                           state.uuid.bytes.size()));
  out.le64(state.lsn);
  out.le64(state.epoch);
  out.le64(state.next_segment);
  out.le32(crc32c(as_bytes(text)));
  return text;
}

Result<LmdbState> decode_lmdb_state(std::string_view bytes) {
  Decoder in(bytes);
  const std::uint32_t version = in.le32();
  LmdbState state;
  const std::string_view uuid = in.raw(state.uuid.bytes.size());
  if (in.ok()) std::memcpy(state.uuid.bytes.data(), uuid.data(), uuid.size());
  state.lsn = in.le64();
  state.epoch = in.le64();
  state.next_segment = in.le64();
  const std::uint32_t crc = in.le32();
  HEXAD_TRY(in.finish("LSN marker"));
  if (crc != crc32c(as_bytes(bytes.substr(0, bytes.size() - 4)))) {
    return Error{ErrorCode::kCorruption, "LSN marker: checksum mismatch", ""};
  }
  if (version != kStateVersion) {
    return Error{ErrorCode::kCorruption,
                 "LSN marker: version " + std::to_string(version) + ", not 1", ""};
  }
  return state;
}

}  // namespace hexad::kv
