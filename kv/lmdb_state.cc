#include "kv/lmdb_state.h"

#include "base/checksum.h"
#include "base/codec.h"
#include "base/uuid_codec.h"

namespace hexad::kv {
namespace {

constexpr std::uint32_t kStateVersion = 1;

}  // namespace

std::string encode_lmdb_state(const LmdbState& state) {
  std::string text;
  Encoder out(text);
  out.le32(kStateVersion);
  encode_uuid(out, state.uuid);
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
  state.uuid = decode_uuid(in);
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
