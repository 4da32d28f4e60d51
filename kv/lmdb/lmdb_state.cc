#include "kv/lmdb/lmdb_state.h"

#include "base/checksum.h"
#include "base/codec.h"
#include "base/uuid_codec.h"

namespace hexad::kv {
namespace {

constexpr std::uint32_t kStateVersion = 2;
constexpr std::size_t kSealed = 8;  // bytes: what every version has, version and checksum

}  // namespace

std::uint64_t lmdb_print(LmdbTable table, std::string_view key, std::string_view stored) {
  const std::uint64_t where = xxh3_64(as_bytes(key)) + static_cast<std::uint64_t>(table);
  return where * (2 * xxh3_64(as_bytes(stored)) + 1);
}

std::string encode_lmdb_state(const LmdbState& state) {
  std::string text;
  Encoder out(text);
  out.le32(kStateVersion);
  encode_uuid(out, state.uuid);
  out.le64(state.lsn);
  out.le64(state.epoch);
  out.le64(state.next_segment);
  out.le64(state.prints);
  out.le32(crc32c(as_bytes(text)));
  return text;
}

Result<LmdbState> decode_lmdb_state(std::string_view bytes) {
  const auto corrupt = [](const std::string& what) {
    return Error{ErrorCode::kCorruption, "LSN marker: " + what, ""};
  };
  if (bytes.size() < kSealed) return corrupt(std::to_string(bytes.size()) + " bytes");
  const std::string_view sealed = bytes.substr(0, bytes.size() - 4);
  if (Decoder(bytes.substr(sealed.size())).le32() != crc32c(as_bytes(sealed))) {
    return corrupt("checksum mismatch");
  }
  Decoder in(sealed);
  const std::uint32_t version = in.le32();
  if (version != kStateVersion) return corrupt("version " + std::to_string(version) + ", not 2");
  LmdbState state;
  state.uuid = decode_uuid(in);
  state.lsn = in.le64();
  state.epoch = in.le64();
  state.next_segment = in.le64();
  state.prints = in.le64();
  HEXAD_TRY(in.finish("LSN marker"));
  return state;
}

}  // namespace hexad::kv
