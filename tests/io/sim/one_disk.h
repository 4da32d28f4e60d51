// A simulation with one disk.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"

namespace hexad::io::testing {

// A system with one disk of 1 MiB, full of 0x11 and flushed, and a device on it.
struct One {
  explicit One(SimOptions options = {}) : system(std::move(options)) {
    system.add_disk("disk", 1_MiB);
    open();
    const AlignedBuffer ones = filled(1_MiB, 0x11);
    REQUIRE(device->write(0, ones, WriteMode::kDurable).ok());
  }
  static AlignedBuffer filled(std::size_t size, int value) {
    AlignedBuffer buffer(size);
    std::fill_n(buffer.data(), size, static_cast<std::byte>(value));
    return buffer;
  }
  void open() {
    device.reset();
    device = system.open_device("disk", OpenMode::kReadWrite).value();
  }
  SimDisk& disk() { return system.disk("disk"); }
  void inject(FaultKind kind, std::uint64_t times = 1, std::uint64_t amount = 0) {
    Fault fault;
    fault.kind = kind;
    fault.times = times;
    fault.amount = amount;
    disk().inject(fault);
  }
  Status write(std::uint64_t offset, std::size_t size, int value,
               WriteMode mode = WriteMode::kCached) {
    const AlignedBuffer data = filled(size, value);
    return device->write(offset, data, mode);
  }
  Bytes read(std::uint64_t offset, std::size_t size) {
    AlignedBuffer buffer(size);
    REQUIRE(device->read(offset, buffer.bytes()).ok());
    return Bytes(buffer.data(), buffer.data() + size);
  }
  std::ptrdiff_t count_at(std::uint64_t offset, std::size_t size, int value) {
    const Bytes bytes = disk().peek(offset, size);
    return std::count(bytes.begin(), bytes.end(), static_cast<std::byte>(value));
  }

  SimSystem system;
  std::unique_ptr<Device> device;
};

}  // namespace hexad::io::testing
