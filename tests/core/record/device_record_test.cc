#include "core/record/device_record.h"

#include <catch2/catch.hpp>

#include "base/codec.h"

namespace hexad::core {
namespace {

DeviceRecord sample() {
  DeviceRecord record;
  for (std::uint8_t i = 0; i < 16; ++i) record.uuid.bytes[i] = i;
  record.since = 256;
  record.errors = {1, 2, 3, 300, 5};
  return record;
}

DeviceFill sample_fill() { return {FillKind::kReplace, 512, 7, 28672, 300}; }

TEST_CASE("device record: what is remembered comes back, with and without each of its parts") {
  for (int parts = 0; parts < 4; ++parts) {
    DeviceRecord record = sample();
    if ((parts & 1) != 0) record.last = DeviceFilled{sample_fill(), 768, 4, 990};
    if ((parts & 2) != 0) record.under_way = DeviceFill{FillKind::kCatchUp, -1, 0, 0, 0};
    const std::string encoded = encode_device(record);
    REQUIRE(decode_device(encoded).value() == record);
    for (std::size_t size = 0; size < encoded.size(); ++size) {
      REQUIRE(!decode_device(std::string_view(encoded).substr(0, size)).ok());
    }
    REQUIRE(!decode_device(encoded + '\0').ok());
  }
}

TEST_CASE("device record: kinds and parts that there are not are no record") {
  DeviceRecord record = sample();
  record.under_way = sample_fill();
  const std::string good = encode_device(record);
  std::string bad = good;
  bad[0] = 0x10;
  REQUIRE(decode_device(bad).error().code == ErrorCode::kCorruption);
  // The kind stands behind the kind of record, uuid, time, five counts of which one has two bytes,
  // and the parts.
  constexpr std::size_t kParts = 1 + 16 + 8 + 6;
  for (const char kind : {'\0', '\4'}) {
    bad = good;
    bad[kParts + 1] = kind;
    REQUIRE(!decode_device(bad).ok());
  }
  bad = good;
  bad[kParts] = 4;
  REQUIRE(!decode_device(bad).ok());
}

TEST_CASE("device record: names of kinds, and keys") {
  REQUIRE(to_string(FillKind::kCatchUp) == "catch-up");
  REQUIRE(to_string(FillKind::kRebuild) == "rebuild");
  REQUIRE(to_string(FillKind::kReplace) == "replace");
  REQUIRE(device_key(12) == "mdevice/12");
}

}  // namespace
}  // namespace hexad::core
