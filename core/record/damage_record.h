// What the metadata keeps of a blob of which bytes could not be read: where it is, and since when.
// It names no object: who shows the blob is found when somebody asks, so that clones, and objects
// that have got another name, are told of. doc/format.md#damage
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "alloc/zone.h"
#include "base/error.h"
#include "core/record/record.h"

namespace hexad::core {

// Names a blob among all that are alive or were. Another one at the same place has other checksums.
struct DamagedBlob {
  alloc::ZoneId zone = 0;
  std::uint32_t unit = 0;
  std::uint32_t cell = 0;         // of a packed blob; else 0
  std::uint32_t cell_offset = 0;  // bytes, likewise
  std::uint64_t identity = 0;     // of its checksums

  auto operator<=>(const DamagedBlob&) const = default;
};
// Precondition: its place is known.
DamagedBlob damaged_blob(const Blob& blob);

inline constexpr std::size_t kMaxDamageProblem = 512;  // bytes

struct DamageRecord {
  std::int64_t first_seen = 0;  // nanoseconds since 1970
  bool acknowledged = false;
  std::string problem;  // for people, at most kMaxDamageProblem bytes

  bool operator==(const DamageRecord&) const = default;
};

std::string damage_prefix();
std::string damage_key(const DamagedBlob& blob);
std::string encode_damage(const DamageRecord& record);
// Errors: kCorruption; survive any input. What decodes encodes to the same bytes.
Result<DamagedBlob> parse_damage_key(std::string_view key);
Result<DamageRecord> decode_damage(std::string_view value);

}  // namespace hexad::core
