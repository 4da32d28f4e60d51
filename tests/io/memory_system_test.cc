#include "io/memory_system.h"

#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;

TEST_CASE("memory_system: devices are found by name and locked while open") {
  MemorySystem system;
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).error().code == ErrorCode::kNotFound);
  REQUIRE(system.create_device("a", 1_MiB + 1).error().code == ErrorCode::kInvalidArgument);
  REQUIRE(system.create_device("a", std::uint64_t{1} << 62).error().code == ErrorCode::kNoSpace);
  REQUIRE(system.media("a") == nullptr);
  auto writer = system.create_device("a", 1_MiB).value();
  REQUIRE(&writer->queue() == &system.queue());
  REQUIRE(system.create_device("a", 1_MiB).error().code == ErrorCode::kBusy);
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).error().code == ErrorCode::kBusy);
  REQUIRE(system.open_device("a", OpenMode::kLook).ok());
  writer.reset();
  const auto reader = system.open_device("a", OpenMode::kReadOnly).value();
  auto second = system.open_device("a", OpenMode::kReadOnly).value();
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).error().code == ErrorCode::kBusy);
  second.reset();
  REQUIRE(system.open_device("a", OpenMode::kReadWrite).error().code == ErrorCode::kBusy);
  system.remove_device("a");
  REQUIRE(system.open_device("a", OpenMode::kReadOnly).error().code == ErrorCode::kNotFound);
}

TEST_CASE("memory_system: creating what exists opens it and grows it when it is shorter") {
  MemorySystem system;
  system.create_device("a", 2_MiB).value().reset();
  REQUIRE(system.create_device("a", 1_MiB).value()->geometry().size == 2_MiB);
  REQUIRE(system.create_device("a", 3_MiB).value()->geometry().size == 3_MiB);
}

TEST_CASE("memory_system: a reader writes nothing") {
  MemorySystem system;
  system.create_device("a", 1_MiB).value().reset();
  const auto reader = system.open_device("a", OpenMode::kReadOnly).value();
  const AlignedBuffer data = AlignedBuffer::zeroed(4096);
  REQUIRE(reader->read_only());
  REQUIRE(reader->write(0, data).error().code == ErrorCode::kReadOnly);
  REQUIRE(reader->discard(0, 4096).error().code == ErrorCode::kReadOnly);
  REQUIRE(reader->grow(2_MiB).error().code == ErrorCode::kReadOnly);
  REQUIRE(reader->flush().ok());
}

TEST_CASE("memory_system: seeds differ at every call") {
  MemorySystem system;
  REQUIRE(system.draw_seed() != system.draw_seed());
}

TEST_CASE("memory_system: bytes stay while the system does, and handles outlive the name") {
  MemorySystem system;
  const AlignedBuffer data = pattern(1, 4096);
  AlignedBuffer found(4096);
  REQUIRE(system.create_device("a", 1_MiB).value()->write(8192, data).ok());
  auto device = system.open_device("a", OpenMode::kReadWrite).value();
  REQUIRE(device->read(8192, found.bytes()).ok());
  REQUIRE(as_text(found.bytes()) == as_text(data.bytes()));
  system.remove_device("a");
  REQUIRE(system.media("a") == nullptr);
  REQUIRE(device->read(8192, found.bytes()).ok());
  REQUIRE(as_text(found.bytes()) == as_text(data.bytes()));
  // The name is free for another device, which has nothing of the first.
  const auto fresh = system.create_device("a", 1_MiB).value();
  REQUIRE(fresh->read(8192, found.bytes()).ok());
  REQUIRE(is_zero(found));
}

TEST_CASE("memory_system: what a test changes in the media is what the device reads") {
  MemorySystem system;
  const auto device = system.create_device("a", 1_MiB).value();
  system.media("a")->write(4096, as_bytes("damaged"));
  AlignedBuffer found(4096);
  REQUIRE(device->read(4096, found.bytes()).ok());
  REQUIRE(as_text(found.bytes()).substr(0, 7) == "damaged");
}

TEST_CASE("memory_system: blocks and threads are as asked for") {
  MemoryOptions options;
  options.blocks = {4096, 16384};
  options.pool_threads = 1;
  MemorySystem system(options);
  REQUIRE(system.create_device("a", 512).error().code == ErrorCode::kInvalidArgument);
  const auto device = system.create_device("a", 1_MiB).value();
  REQUIRE(device->geometry().logical_block == 4096);
  REQUIRE(device->geometry().physical_block == 16384);
  REQUIRE(&system.clock() == &system.executor().clock());
}
