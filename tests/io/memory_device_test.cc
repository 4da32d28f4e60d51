#include "io/memory_device.h"

#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/memory_system.h"
#include "tests/io/device_contract.h"
#include "tests/io/process_memory.h"
#include "tests/io/system_world.h"

using namespace hexad;
using namespace hexad::io;

namespace {

using MemoryWorld = io::testing::SystemWorld<MemorySystem>;

MemoryOptions with_blocks(std::uint32_t logical_block) {
  return MemoryOptions{{logical_block, 4096}, 2};
}

}  // namespace

TEST_CASE("memory_device: keeps the device contract with blocks of 512 bytes") {
  io::testing::run_device_contract([] { return std::make_unique<MemoryWorld>(with_blocks(512)); });
}

TEST_CASE("memory_device: keeps the device contract with blocks of 4096 bytes") {
  io::testing::run_device_contract([] { return std::make_unique<MemoryWorld>(with_blocks(4096)); });
}

TEST_CASE("memory_device: stands alone with media of its own") {
  const auto queue = make_memory_queue();
  const auto device = make_memory_device("alone", 1_MiB, *queue).value();
  REQUIRE(device->name() == "alone");
  REQUIRE(device->direct());
  REQUIRE_FALSE(device->geometry().volatile_cache);
  AlignedBuffer bytes(4096);
  REQUIRE(device->read(0, bytes.bytes()).ok());
  REQUIRE(is_zero(bytes));
}

TEST_CASE("memory_device: more than the address space is refused, not taken") {
  const auto queue = make_memory_queue();
  REQUIRE(make_memory_device("huge", std::uint64_t{1} << 62, *queue).error().code ==
          ErrorCode::kNoSpace);
  const auto device = make_memory_device("small", 1_MiB, *queue).value();
  REQUIRE(device->grow(std::uint64_t{1} << 62).error().code == ErrorCode::kNoSpace);
  REQUIRE(device->geometry().size == 1_MiB);
}

TEST_CASE("memory_media: many zeros are written like anything else, and take no memory") {
  const auto media = MemoryMedia::create(1_GiB).value();
  const Bytes zeros(4_MiB);
  const std::uint64_t before = io::testing::process_memory().resident;
  for (std::uint64_t at = 0; at < 1_GiB; at += zeros.size()) media->write(at, zeros);
  REQUIRE(io::testing::process_memory().resident < before + 256_MiB);
  for (const std::uint64_t offset : {0, 512, 4096, 5120}) {
    for (const std::uint64_t length : {1_MiB - 512, 1_MiB, 1_MiB + 512, 2_MiB}) {
      media->write(0, Bytes(4_MiB, std::byte{1}));
      media->write(offset, ByteView(zeros).first(length));
      Bytes expected(4_MiB, std::byte{1});
      fill_zero(MutByteView(expected).subspan(offset, length));
      Bytes found(4_MiB);
      media->read(0, found);
      REQUIRE(found == expected);
    }
  }
  // One byte among them makes all of them data.
  Bytes almost(1_MiB);
  almost.back() = std::byte{7};
  media->write(4096, almost);
  Bytes found(1_MiB);
  media->read(4096, found);
  REQUIRE(found == almost);
}

TEST_CASE("memory_media: discarding any range leaves zeros exactly there") {
  const auto media = MemoryMedia::create(64_KiB).value();
  for (const std::uint64_t offset : {0, 512, 4096, 5120}) {
    for (const std::uint64_t length : {512, 3584, 4096, 8192, 9728, 20480}) {
      media->write(0, Bytes(64_KiB, std::byte{1}));
      media->discard(offset, length);
      Bytes expected(64_KiB, std::byte{1});
      fill_zero(MutByteView(expected).subspan(offset, length));
      Bytes found(64_KiB);
      media->read(0, found);
      REQUIRE(found == expected);
    }
  }
}
