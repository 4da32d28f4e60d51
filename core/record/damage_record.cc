#include "core/record/damage_record.h"

#include "base/assert.h"
#include "base/bytes.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::uint8_t kDamageKind = 16;
constexpr std::uint8_t kAcknowledged = 1;
constexpr std::string_view kDamage = "damage";
constexpr std::size_t kPlaceSize = 24;  // bytes of a key behind the prefix

}  // namespace

DamagedBlob damaged_blob(const Blob& blob) {
  HEXAD_ASSERT(blob.placement != Placement::kLog);
  std::string sums;
  Encoder out(sums);
  for (const std::uint64_t sum : blob.cell_sums) out.le64(sum);
  for (const std::uint64_t sum : blob.block_sums) out.le64(sum);
  return {blob.where.zone, blob.where.unit, blob.cell, blob.cell_offset, xxh3_64(as_bytes(sums))};
}

std::string damage_prefix() { return meta_key(kDamage); }

std::string damage_key(const DamagedBlob& blob) {
  std::string key = damage_prefix();
  append_be32(key, blob.zone);
  append_be32(key, blob.unit);
  append_be32(key, blob.cell);
  append_be32(key, blob.cell_offset);
  append_be64(key, blob.identity);
  return key;
}

Result<DamagedBlob> parse_damage_key(std::string_view key) {
  const std::size_t at = damage_prefix().size();
  if (key.size() != at + kPlaceSize || !key.starts_with(damage_prefix())) {
    return Error{ErrorCode::kCorruption,
                 "metadata key \"" + printable(key, 64) + "\" of " + std::to_string(key.size()) +
                     " bytes is no damage key",
                 ""};
  }
  return DamagedBlob{read_be32(key, at), read_be32(key, at + 4), read_be32(key, at + 8),
                     read_be32(key, at + 12), read_be64(key, at + 16)};
}

std::string encode_damage(const DamageRecord& record) {
  HEXAD_ASSERT(record.problem.size() <= kMaxDamageProblem);
  std::string value;
  Encoder out(value);
  out.u8(kDamageKind);
  out.u8(record.acknowledged ? kAcknowledged : 0);
  out.le64(static_cast<std::uint64_t>(record.first_seen));
  out.bytes(record.problem);
  return value;
}

Result<DamageRecord> decode_damage(std::string_view value) {
  Decoder in(value);
  const std::uint8_t kind = in.u8();
  const std::uint8_t flags = in.u8();
  DamageRecord record;
  record.first_seen = static_cast<std::int64_t>(in.le64());
  record.acknowledged = flags == kAcknowledged;
  record.problem = in.bytes();
  const bool fits = record.problem.size() <= kMaxDamageProblem;
  if (kind != kDamageKind || flags > kAcknowledged || !fits) in.fail();
  HEXAD_TRY(in.finish("record of damage"));
  return record;
}

}  // namespace hexad::core
