#include "tools/erasure/chunk_meta.h"

#include <nlohmann/json.hpp>

#include "base/units.h"

namespace hexad::tools {

namespace {

using Json = nlohmann::ordered_json;

Error bad_meta(const std::string& what) {
  return Error{ErrorCode::kCorruption, what, "Remove the file and give --profile and --length."};
}

bool is_count(const Json& value) { return value.is_number_unsigned(); }

}  // namespace

std::uint64_t chunk_size(const ec::Profile& profile, std::uint64_t length) {
  return round_up(divide_up(length, profile.k), ec::alignment(profile));
}

std::string encode_meta(const ChunkMeta& meta) {
  const Json object{{"profile", ec::to_string(meta.profile)},
                    {"codec", ec::codec_to_string(meta.profile)},
                    {"length", meta.length},
                    {"chunk", meta.chunk},
                    {"crc32c", meta.crc32c}};
  return object.dump() + "\n";
}

Result<ChunkMeta> parse_meta(std::string_view text) {
  const Json object = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return bad_meta("not a JSON object");
  for (const char* field : {"profile", "codec", "length", "chunk", "crc32c"}) {
    if (!object.contains(field)) return bad_meta(std::string("\"") + field + "\" is missing");
  }
  if (!object["profile"].is_string() || !object["codec"].is_string() ||
      !is_count(object["length"]) || !is_count(object["chunk"]) || !object["crc32c"].is_array()) {
    return bad_meta("a field is of the wrong type");
  }
  ChunkMeta meta;
  HEXAD_TRY_ASSIGN(meta.profile, ec::parse_profile(object["profile"].get<std::string>(),
                                                   object["codec"].get<std::string>()));
  // Files with that name and one parity chunk are from before it stood for what Ceph has; they are
  // called isa:reed_sol_van now.
  if (meta.profile.m == 1 && object["codec"] == "isa:cauchy") {
    meta.profile.codec = ec::CodecKind::kIsaCauchy;
  }
  meta.length = object["length"].get<std::uint64_t>();
  meta.chunk = object["chunk"].get<std::uint64_t>();
  constexpr std::uint64_t kMaxLength = std::uint64_t{1} << 62;
  if (meta.length > kMaxLength || meta.chunk != chunk_size(meta.profile, meta.length)) {
    return bad_meta("length and chunk do not fit each other");
  }
  for (const Json& crc : object["crc32c"]) {
    if (!is_count(crc) || crc.get<std::uint64_t>() > 0xffffffffu) return bad_meta("not a crc32c");
    meta.crc32c.push_back(crc.get<std::uint32_t>());
  }
  if (meta.crc32c.size() != meta.profile.shards()) {
    return bad_meta("not one crc32c for each chunk");
  }
  return meta;
}

}  // namespace hexad::tools
