// Any bytes as what has a small encoding of its own: lists of checksums, saved counters, the
// options of a pool, the position of a scrub, damage, what is remembered of a device. What decodes
// comes back.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/codec.h"
#include "core/check/scrub_position.h"
#include "core/opening/pool_options.h"
#include "core/record/damage_record.h"
#include "core/record/device_record.h"
#include "core/record/sum_codec.h"
#include "core/stats/counters.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

void try_sums(std::string_view input) {
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    Decoder in(input);
    const std::uint64_t count = in.varint();
    const std::string_view before = in.rest();
    const SumList sums = decode_sums(in, count, type);
    if (!in.ok()) continue;
    HEXAD_ASSERT(sums.size() == count && count * checksum_size(type) <= before.size());
    std::string again;
    Encoder out(again);
    encode_sums(out, sums, type);
    HEXAD_ASSERT(again == before.substr(0, before.size() - in.remaining()));
  }
}

void try_counters(std::string_view input) {
  Counters counters;
  if (!counters.load_base(input).ok()) return;
  Counters again;
  HEXAD_ASSERT(again.load_base(counters.encode_totals()).ok());
  HEXAD_ASSERT(again.encode_totals() == counters.encode_totals());
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  PoolOptions pool;
  pool.fast_directories = {"/fast"};
  pool.devices = {{0, alloc::DeviceRole::kData, 512, 30}, {1, alloc::DeviceRole::kLog, 0, 0}};
  Counters counters;
  counters.add(CounterId::kReads, 300);
  ScrubPosition position;
  position.part = ScrubPosition::Part::kObjects;
  position.key = "o\1\xff";
  position.page = 3;
  DeviceRecord device;
  device.errors = {1, 0, 0, 300, 0};
  device.last = DeviceFilled{{FillKind::kReplace, 1, 2, 3, 4}, 5, 6, 7};
  device.under_way = DeviceFill{};
  return {encode_damage({10, true, "lost"}),
          damage_key({1, 2, 3, 4, 5}),
          encode_pool_options(pool),
          counters.encode_totals(),
          encode_position(position),
          "packs:3:40",
          encode_device(device),
          "\x02"
          "12345678abcdefgh"};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try_sums(input);
  try_counters(input);
  if (const Result<PoolOptions> options = decode_pool_options(input); options.ok()) {
    const Result<PoolOptions> again = decode_pool_options(encode_pool_options(*options));
    HEXAD_ASSERT(again.ok() && *again == *options);
  }
  if (const Result<ScrubPosition> position = decode_position(input); position.ok()) {
    const Result<ScrubPosition> again = decode_position(encode_position(*position));
    HEXAD_ASSERT(again.ok() && *again == *position);
  }
  if (const Result<DeviceRecord> device = decode_device(input); device.ok()) {
    HEXAD_ASSERT(encode_device(*device) == input);
  }
  if (const Result<DamageRecord> record = decode_damage(input); record.ok()) {
    HEXAD_ASSERT(encode_damage(*record) == input);
  }
  if (const Result<DamagedBlob> blob = parse_damage_key(input); blob.ok()) {
    HEXAD_ASSERT(damage_key(*blob) == input);
  }
  return 0;
}
