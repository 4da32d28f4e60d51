#include "alloc/device_layout.h"

#include <catch2/catch.hpp>
#include <numeric>

#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

LayoutRequest request(std::uint64_t size, std::uint64_t unit = 4096, std::uint32_t block = 4096,
                      std::uint64_t log = 256_KiB) {
  LayoutRequest made;
  made.device_size = size;
  made.unit = unit;
  made.physical_block = block;
  made.log_size = log;
  made.slab_units = default_slab_units(room_of(size), unit);
  return made;
}

}  // namespace

TEST_CASE("device_layout: a device of 5 MiB holds two headers, a log area and several slabs") {
  auto made = request(5_MiB);
  made.slab_units = 16;
  const auto layout = plan_layout(made);
  REQUIRE(layout.ok());
  CHECK(layout->log_offset == 1_MiB + 192_KiB);
  CHECK(layout->log_size == 256_KiB);
  CHECK(layout->first_slab == 1507328);
  CHECK(layout->slab_count == 25);
  CHECK(layout->end() == 3_MiB);
  CHECK(header_offset(DeviceEnd::kTail, 5_MiB) == 3_MiB);
  CHECK(layout->unit_offset(1, 2) == 1581056);
}

TEST_CASE("device_layout: headers stay clear of what others write at the ends of a device") {
  for (const std::uint64_t size :
       {kEndsSize, kEndsSize + 1, 5_MiB, 1_GiB + 12'345, std::uint64_t{20} << 40}) {
    CAPTURE(size);
    const std::uint64_t tail = header_offset(DeviceEnd::kTail, size);
    CHECK(header_offset(DeviceEnd::kHead, size) == 1_MiB);
    CHECK(tail >= kHeadEnd);
    CHECK(size - tail >= 2_MiB);
    CHECK(size - tail < 2_MiB + kHeaderSlotSize);
    CHECK(size - (tail + kHeaderSize) > 1_MiB);
    CHECK(is_multiple(tail, kMaxPhysicalBlock));
    CHECK(room_of(size) == tail - kHeadEnd);
    for (const DeviceEnd end : kDeviceEnds) {
      CHECK(root_offset(end, 0, size) == label_offset(end, size) + 64_KiB);
      CHECK(root_offset(end, 1, size) == label_offset(end, size) + 128_KiB);
      CHECK(is_in_header(label_offset(end, size), size));
      CHECK(is_in_header(header_offset(end, size) + kHeaderSize - 1, size));
    }
    CHECK_FALSE(is_in_header(kHeadOffset - 1, size));
    CHECK(is_in_header(tail - 1, size) == (tail == kHeadEnd));  // no room between the two
    CHECK_FALSE(is_in_header(tail + kHeaderSize, size));
  }
  // Too small for two: behind the end, where nothing is read.
  CHECK(header_offset(DeviceEnd::kTail, kEndsSize - 1) == kHeadEnd);
  CHECK(room_of(0) == 0);
  CHECK(least_device_size(100 * 4096, 4096) == kEndsSize + 448_KiB);
}

TEST_CASE("device_layout: slab size follows the device between 1 MiB and 1 GiB") {
  CHECK(default_slab_units(1_MiB, 4096) == 64_KiB / 4096);
  CHECK(default_slab_units(64_MiB, 4096) == 1_MiB / 4096);
  CHECK(default_slab_units(8_GiB, 4096) == 128_MiB / 4096);
  CHECK(default_slab_units(20_TiB, 4096) == 1_GiB / 4096);
  CHECK(default_slab_units(0, 16_MiB) == 8);
  CHECK(default_slab_units(20_TiB, 512) == 1_GiB / 512);
}

TEST_CASE("device_layout: 18 KiB is a legal min_alloc on 512 byte blocks only") {
  CHECK(check_unit(18_KiB, 512).ok());
  const auto refused = check_unit(18_KiB, 4096);
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidArgument);
  CHECK(refused.error().message.find("18 KiB") != std::string::npos);
  CHECK(refused.error().hint.find("16 KiB") != std::string::npos);
  CHECK(refused.error().hint.find("20 KiB") != std::string::npos);
  const auto layout = plan_layout(request(1_GiB, 18_KiB, 512));
  REQUIRE(layout.ok());
  CHECK(layout->log_offset == 1253376);
  CHECK(check_layout(*layout, DeviceRole::kData).ok());
}

TEST_CASE("device_layout: a unit that is not legal comes with the nearest ones that are") {
  CHECK(check_unit(0, 4096).error().hint == "The nearest legal value is 4 KiB (4096 B).");
  CHECK(check_unit(100, 512).error().hint == "The nearest legal value is 512 B.");
  CHECK(check_unit(~std::uint64_t{0}, 4096).error().hint ==
        "The nearest legal value is 16 MiB (16777216 B).");
  CHECK(check_unit(kMaxUnit, 4096).ok());
  CHECK(!check_unit(kMaxUnit + 4096, 4096).ok());
  for (const std::uint32_t block : {0u, 1u, 256u, 520u, 3072u, 32768u}) {
    CHECK(!check_unit(4096, block).ok());
  }
}

TEST_CASE("device_layout: what does not fit is refused with its sizes") {
  const auto tiny = plan_layout(request(128_KiB));
  REQUIRE(!tiny.ok());
  CHECK(tiny.error().code == ErrorCode::kNoSpace);
  auto wide = request(20_TiB);
  wide.slab_units = 16;
  const auto many = plan_layout(wide);
  REQUIRE(!many.ok());
  CHECK(many.error().message.find("slabs of 64 KiB") != std::string::npos);
  auto thin = request(1_GiB);
  thin.slab_units = 1;
  CHECK(!plan_layout(thin).ok());
  thin.slab_units = kMaxSlabUnits + 1;
  CHECK(!plan_layout(thin).ok());
  auto flood = request(1_GiB);
  flood.log_size = ~std::uint64_t{0};
  CHECK(plan_layout(flood).error().code == ErrorCode::kNoSpace);
  auto no_log = request(1_GiB);
  no_log.role = DeviceRole::kLog;
  no_log.log_size = 0;
  CHECK(!plan_layout(no_log).ok());
}

TEST_CASE("device_layout: a log device has a log area and no slabs") {
  auto made = request(15_MiB + kEndsSize, 4096, 4096, 15_MiB);
  made.role = DeviceRole::kLog;
  made.slab_units = 0;
  const auto layout = plan_layout(made);
  REQUIRE(layout.ok());
  CHECK(layout->slab_count == 0);
  CHECK(layout->log_size == 15_MiB);
  CHECK(check_layout(*layout, DeviceRole::kLog).ok());
  CHECK(!check_layout(*layout, DeviceRole::kData).ok());
}

TEST_CASE("device_layout: every layout that is planned passes the check") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 20000; ++i) {
    const std::uint32_t block = 512u << rng.below(6);
    auto made = request((std::uint64_t{1} << (21 + rng.below(24))) + rng.below(1 << 20),
                        block * (1 + rng.below(40)), block, rng.below(1_MiB));
    if (rng.chance(1, 2)) made.slab_units = 2 + rng.below(1000);
    const auto layout = plan_layout(made);
    if (!layout.ok()) continue;
    CAPTURE(made.device_size, made.unit, block, made.log_size, made.slab_units);
    REQUIRE(check_layout(*layout, DeviceRole::kData).ok());
    const std::uint64_t tail = header_offset(DeviceEnd::kTail, layout->device_size);
    REQUIRE(layout->end() <= tail);
    REQUIRE(tail - layout->end() < layout->slab_size());
    REQUIRE(layout->log_size >= made.log_size);
  }
}

TEST_CASE("device_layout: log areas are whole log blocks as well as whole units") {
  for (const std::uint64_t unit : {std::uint64_t{512}, 4_KiB, 18_KiB, 20_KiB}) {
    CAPTURE(unit);
    auto made = request(8_MiB, unit, 512, 250_KiB);
    made.log_block = 4096;
    const auto data = plan_layout(made);
    REQUIRE(data.ok());
    CHECK(data->log_block == 4096);
    CHECK(data->block_of_log() == 4096);
    const std::uint64_t alignment = area_alignment(unit, 4096);
    CHECK(is_multiple(data->log_offset, alignment));
    CHECK(is_multiple(data->log_size, alignment));
    CHECK(is_multiple(data->first_slab, unit));
    CHECK(check_layout(*data, DeviceRole::kData).ok());
    // The device with the larger blocks has no units, and its log area is as long.
    made.role = DeviceRole::kLog;
    made.physical_block = 4096;
    const auto log = plan_layout(made);
    REQUIRE(log.ok());
    CHECK(log->log_block == 0);
    CHECK(log->block_of_log() == 4096);
    CHECK(log->log_size == data->log_size);
    CHECK(check_layout(*log, DeviceRole::kLog).ok());
    DeviceLayout odd = *data;
    for (const std::uint32_t block : {256u, 512u, 3000u, 32u << 10}) {
      odd.log_block = block;
      CHECK(check_layout(odd, DeviceRole::kData).error().code == ErrorCode::kCorruption);
    }
    odd = *data;
    odd.log_offset += unit;
    if (!is_multiple(odd.log_offset, 4096)) {
      CHECK_FALSE(check_layout(odd, DeviceRole::kData).ok());
    }
  }
  // Nothing to say where the blocks are the same.
  auto same = request(8_MiB);
  same.log_block = 4096;
  CHECK(plan_layout(same)->log_block == 0);
  CHECK(*plan_layout(same) == *plan_layout(request(8_MiB)));
}

TEST_CASE("device_layout: log and slabs begin with a piece of the device, where it has many") {
  for (const std::uint64_t unit : {4_KiB, 8_KiB, 12_KiB, 44_KiB}) {
    for (const std::uint64_t piece : {256_KiB, 4_MiB, 3_MiB}) {
      for (const std::uint64_t size : {40_MiB, 256_MiB, 272_MiB, 1_GiB, 1_GiB + 20_KiB, 7_GiB}) {
        CAPTURE(unit, piece, size);
        auto made = request(size, unit, 4096, 1_MiB + 4_KiB);
        const std::uint64_t whole = std::lcm(unit, piece);
        const bool many = has_pieces(room_of(size), whole);
        made.slab_units = default_slab_units(room_of(size), unit, piece);
        const auto anyhow = plan_layout(made);
        made.piece = piece;
        const auto layout = plan_layout(made);
        REQUIRE(layout.ok());
        CHECK(check_layout(*layout, DeviceRole::kData).ok());
        if (!many) {
          CHECK(*layout == *anyhow);
          continue;
        }
        for (const std::uint32_t slab : {0u, 1u, layout->slab_count - 1}) {
          CHECK(is_multiple(layout->slab_offset(slab), whole));
        }
        CHECK(is_multiple(layout->log_offset, whole));
        CHECK(layout->log_size == anyhow->log_size);
        CHECK(layout->slab_units == anyhow->slab_units);
        CHECK(layout->slab_count + 2 >= anyhow->slab_count);
        // Slabs of another length.
        --made.slab_units;
        const auto odd = plan_layout(made);
        made.piece = 0;
        CHECK(*odd == *plan_layout(made));
      }
    }
  }
}

TEST_CASE("device_layout: slabs are whole pieces where a device has many") {
  CHECK(default_slab_units(1_GiB, 4_KiB, 4_MiB) == 16_MiB / 4_KiB);
  CHECK(default_slab_units(room_of(1_GiB), 4_KiB, 4_MiB) == 16_MiB / 4_KiB);
  CHECK(default_slab_units(1_GiB + 500_MiB, 4_KiB, 4_MiB) == 24_MiB / 4_KiB);
  CHECK(default_slab_units(4_GiB, 12_KiB, 4_MiB) == 60_MiB / 12_KiB);
  CHECK(default_slab_units(200_MiB, 4_KiB, 4_MiB) == default_slab_units(200_MiB, 4_KiB));
}

TEST_CASE("device_layout: numbers from a damaged label never wrap") {
  const std::uint64_t kWild[] = {
      0,         1, 4096, 64_KiB, ~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{1} << 62,
      0xffffffff};
  const auto good = plan_layout(request(1_GiB));
  REQUIRE(good.ok());
  for (int field = 0; field < 8; ++field) {
    for (const std::uint64_t wild : kWild) {
      DeviceLayout layout = *good;
      const auto narrow = static_cast<std::uint32_t>(wild);
      if (field == 0) layout.device_size = wild;
      if (field == 1) layout.physical_block = narrow;
      if (field == 2) layout.unit = narrow;
      if (field == 3) layout.log_offset = wild;
      if (field == 4) layout.log_size = wild;
      if (field == 5) layout.first_slab = wild;
      if (field == 6) layout.slab_units = narrow;
      if (field == 7) layout.slab_count = narrow;
      const Status status = check_layout(layout, DeviceRole::kData);
      if (!status.ok()) {
        CHECK(status.error().code == ErrorCode::kCorruption);
        continue;
      }
      CAPTURE(field, wild);
      CHECK(layout.end() <= header_offset(DeviceEnd::kTail, layout.device_size));
      CHECK(layout.log_offset + layout.log_size <= layout.first_slab);
    }
  }
}
