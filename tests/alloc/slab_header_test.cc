#include "alloc/slab_header.h"

#include <catch2/catch.hpp>

#include "alloc/sealed_block.h"
#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::HookedDevice;
using alloc::testing::to_hex;
using alloc::testing::uuid_of;

namespace {

SlabHeader example() {
  SlabHeader header;
  header.store = uuid_of(0x10);
  header.zone = 17;
  header.k = 4;
  header.m = 2;
  header.slot = 1;
  header.units = 16;
  header.slots = {{2, 0}, {5, 3}, {0, 1}, {7, 9}, {3, 4}, {1, 2}};
  return header;
}

DeviceLayout layout_of(std::uint64_t unit = 4096, std::uint32_t block = 4096) {
  LayoutRequest request;
  request.device_size = 5_MiB;
  request.unit = unit;
  request.physical_block = block;
  request.slab_units = 16;
  return *plan_layout(request);
}

}  // namespace

TEST_CASE("slab_header: golden bytes hold both directions") {
  const std::string bytes = encode_slab_header(example());
  CHECK(bytes.size() == 32 + 16 + 8 * 6);
  CHECK(to_hex(bytes) == to_hex(alloc::testing::golden("slab_header")));
  const auto decoded = decode_slab_header(as_bytes(bytes));
  REQUIRE(decoded.ok());
  CHECK(*decoded == example());
}

TEST_CASE("slab_header: every truncation and every flipped bit is refused") {
  alloc::testing::for_each_damage(encode_slab_header(example()), [](const std::string& damaged) {
    REQUIRE(!decode_slab_header(as_bytes(damaged)).ok());
    if (damaged.size() < kSealSize) return;
    const auto resealed = decode_slab_header(as_bytes(alloc::testing::resealed(damaged)));
    if (resealed.ok()) REQUIRE(resealed->slots.size() == resealed->k + resealed->m);
  });
}

TEST_CASE("slab_header: it is found in its slab and nowhere else") {
  HookedDevice device(5_MiB);
  const DeviceLayout layout = layout_of();
  REQUIRE(write_slab_header(device, layout, example()).ok());
  const auto found = read_slab_header(device, layout, 3);
  REQUIRE(found.ok());
  CHECK(*found == example());
  CHECK(read_slab_header(device, layout, 2).error().code == ErrorCode::kNotFound);
  CHECK(read_slab_header(device, layout, 99).error().code == ErrorCode::kInvalidArgument);
  // The header of slab 3, copied over slab 4 by a misdirected write.
  std::copy_n(device.bytes.begin() + static_cast<std::ptrdiff_t>(layout.slab_offset(3)), 4096,
              device.bytes.begin() + static_cast<std::ptrdiff_t>(layout.slab_offset(4)));
  CHECK(read_slab_header(device, layout, 4).error().code == ErrorCode::kCorruption);
  SlabHeader outside = example();
  outside.slots[1].slab = 1000;
  CHECK(write_slab_header(device, layout, outside).error().code == ErrorCode::kInvalidArgument);
}

TEST_CASE("slab_header: a profile too wide for the unit is refused, the widest fits 4 KiB") {
  SlabHeader wide = example();
  wide.k = 200;
  wide.m = 55;
  wide.slots.clear();
  for (DeviceId id = 0; id < 255; ++id) wide.slots.push_back({id, 1});
  HookedDevice device(5_MiB);
  CHECK(write_slab_header(device, layout_of(512, 512), wide).error().code ==
        ErrorCode::kInvalidArgument);
  REQUIRE(write_slab_header(device, layout_of(), wide).ok());
  CHECK(*read_slab_header(device, layout_of(), 1) == wide);
}

TEST_CASE("slab_header: the pad to the physical block is zero") {
  HookedDevice device(5_MiB, 512, 512);
  const DeviceLayout layout = layout_of(18_KiB / 9, 512);
  std::fill(device.bytes.begin(), device.bytes.end(), std::byte{0xff});
  REQUIRE(write_slab_header(device, layout, example()).ok());
  const std::uint64_t at = layout.slab_offset(3);
  CHECK(is_zero(ByteView(device.bytes).subspan(at + 96, 512 - 96)));
  CHECK(device.bytes[at + 512] == std::byte{0xff});
}
