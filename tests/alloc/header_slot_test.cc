#include "alloc/header_slot.h"

#include <catch2/catch.hpp>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "tests/alloc/test_support.h"

using namespace hexad;
using namespace hexad::alloc;
using alloc::testing::HookedDevice;

TEST_CASE("header_slot: what is written shares no physical block, as far as a slot has room") {
  for (std::uint32_t logical = 512; logical <= 4096; logical *= 8) {
    for (std::uint32_t physical = logical; physical <= 1_MiB; physical *= 2) {
      CAPTURE(logical, physical);
      io::Geometry geometry;
      geometry.logical_block = logical;
      geometry.physical_block = physical;
      const std::uint64_t block = write_block(geometry);
      REQUIRE(is_multiple(block, logical));
      REQUIRE(block == std::min(physical, kMaxPhysicalBlock));
    }
  }
}

TEST_CASE("header_slot: padding is zeros up to the next whole block and no further") {
  for (const std::uint64_t block : {512u, 4096u}) {
    for (const std::size_t size : {0u, 1u, 511u, 512u, 513u, 4095u, 4096u, 4097u}) {
      CAPTURE(block, size);
      const std::string bytes(size, 'x');
      const AlignedBuffer buffer = padded(bytes, block);
      REQUIRE(is_multiple(buffer.size(), block));
      REQUIRE(buffer.size() >= size);
      REQUIRE(buffer.size() < size + block);
      REQUIRE(as_text(buffer.bytes().first(size)) == bytes);
      REQUIRE(is_zero(buffer.bytes().subspan(size)));
    }
  }
}

TEST_CASE("header_slot: a slot is read whole, or as far as the device goes") {
  for (const std::uint64_t size : {std::uint64_t{512}, 8_KiB, 64_KiB, 72_KiB, 128_KiB, 1_MiB}) {
    HookedDevice device(size);
    for (std::size_t i = 0; i < size; ++i) device.bytes[i] = static_cast<std::byte>(i / 512);
    for (std::uint64_t offset = 0; offset <= 128_KiB; offset += 8_KiB) {
      CAPTURE(size, offset);
      const AlignedBuffer slot = read_header_slot(device, offset).value();
      const std::uint64_t there = size > offset ? size - offset : 0;
      REQUIRE(slot.size() == std::min<std::uint64_t>(there, kHeaderSlotSize));
      if (slot.empty()) continue;
      REQUIRE(as_text(slot.bytes()) ==
              as_text(ByteView(device.bytes).subspan(offset, slot.size())));
    }
  }
}

TEST_CASE(
    "header_slot: behind the end nothing is asked of the device, elsewhere its error is told") {
  HookedDevice device(32_KiB);
  device.hook = [](const io::IoRequest&) { return Error{ErrorCode::kIo, "told to fail", ""}; };
  REQUIRE(read_header_slot(device, 32_KiB).value().empty());
  REQUIRE(read_header_slot(device, 64_KiB).value().empty());
  REQUIRE(read_header_slot(device, 16_KiB).error().message == "told to fail");
}
