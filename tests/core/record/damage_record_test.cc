#include "core/record/damage_record.h"

#include <catch2/catch.hpp>

namespace hexad::core {
namespace {

TEST_CASE("damage record: a blob is named by its place and what its checksums are") {
  Blob blob;
  blob.placement = Placement::kPacked;
  blob.where = {3, 9, 0};
  blob.cell = 1;
  blob.cell_offset = 8;
  blob.cell_sums = {7};
  const DamagedBlob name = damaged_blob(blob);
  Blob other = blob;
  other.share = 12;  // the same bytes, shown by a clone
  other.forward = Forward::kWritten;
  CHECK(damaged_blob(other) == name);
  other.cell_sums = {8};
  CHECK(damaged_blob(other) != name);
  other = blob;
  other.cell_offset = 16;
  CHECK(damaged_blob(other) != name);
  CHECK(parse_damage_key(damage_key(name)).value() == name);
}

TEST_CASE("damage record: what is none is refused") {
  const std::string value = encode_damage({5, true, std::string(kMaxDamageProblem, 'x')});
  CHECK(decode_damage(value).ok());
  CHECK_FALSE(decode_damage(value + "x").ok());
  CHECK_FALSE(decode_damage(value.substr(1)).ok());
  CHECK_FALSE(decode_damage(value.substr(0, value.size() - 1)).ok());
  CHECK_FALSE(decode_damage("").ok());
  std::string flags = value;
  flags[1] = 2;
  CHECK_FALSE(decode_damage(flags).ok());
  const std::string key = damage_key({});
  CHECK_FALSE(parse_damage_key(key + "x").ok());
  CHECK_FALSE(parse_damage_key("").ok());
  CHECK_FALSE(parse_damage_key("x" + key.substr(1)).ok());
}

}  // namespace
}  // namespace hexad::core
