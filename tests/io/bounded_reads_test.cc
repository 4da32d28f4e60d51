#include "io/bounded_reads.h"

#include <catch2/catch.hpp>

#include "base/units.h"
#include "io/sim/sim_system.h"

using namespace hexad;
using namespace hexad::io;

namespace {

// Disk i is full of bytes of value i + 1.
struct Disks {
  Disks() {
    for (int i = 0; i < 3; ++i) {
      const std::string name = "disk" + std::to_string(i);
      system.add_disk(name, 64_KiB);
      devices[i] = system.open_device(name, OpenMode::kReadWrite).value();
      AlignedBuffer content(64_KiB);
      std::fill_n(content.data(), content.size(), static_cast<std::byte>(i + 1));
      REQUIRE(devices[i]->write(0, content, WriteMode::kDurable).ok());
    }
  }
  // One read of 4 KiB from each into the parts of `buffer` behind its first 4 KiB.
  std::vector<Status> round(AlignedBuffer& buffer) {
    std::vector<IoRequest> reads;
    for (std::size_t i = 0; i < 3; ++i) {
      reads.push_back(
          IoRequest::read(*devices[i], 0, buffer.bytes().subspan(4096 * (i + 1), 4096)));
    }
    return read_round(system.queue(), std::move(reads), buffer);
  }
  SimSystem system;
  std::unique_ptr<Device> devices[3];
};

int value_at(const AlignedBuffer& buffer, std::size_t part) {
  return static_cast<int>(buffer.bytes()[part * 4096]);
}

}  // namespace

TEST_CASE("bounded_reads: what is answered is there, with each outcome in order") {
  Disks disks;
  disks.system.disk("disk1").inject({.kind = FaultKind::kReadError});
  AlignedBuffer buffer = AlignedBuffer::zeroed(16_KiB);
  const std::byte* const where = buffer.data();
  std::vector<Status> outcomes;
  disks.system.run([&] { outcomes = disks.round(buffer); });
  REQUIRE(outcomes.size() == 3);
  REQUIRE(outcomes[0].ok());
  REQUIRE(outcomes[1].error().code == ErrorCode::kIo);
  REQUIRE(disks.devices[1]->traffic().failed_reads == 1);
  REQUIRE(outcomes[2].ok());
  REQUIRE(buffer.data() == where);
  REQUIRE(value_at(buffer, 1) == 1);
  REQUIRE(value_at(buffer, 3) == 3);
}

TEST_CASE("bounded_reads: a late answer goes into memory that nobody else has") {
  Disks disks;
  AlignedBuffer buffer = AlignedBuffer::zeroed(16_KiB);
  buffer.data()[0] = std::byte{9};  // content of before
  std::vector<Status> outcomes;
  Nanos took = 0;
  bool silent = false;
  bool silent_after = true;
  std::string said;
  disks.system.run([&] {
    disks.system.disk("disk1").inject({.kind = FaultKind::kHang});
    const Nanos began = disks.system.clock().now();
    outcomes = disks.round(buffer);
    took = disks.system.clock().now() - began;
    silent = is_silent(*disks.devices[1]);
    said = describe_silence(*disks.devices[1]);
    fill_zero(buffer.bytes().subspan(8192, 4096));
    disks.system.disk("disk1").release_hung();
    silent_after = is_silent(*disks.devices[1]);
  });
  REQUIRE(took == kSilence);
  REQUIRE(silent);
  REQUIRE_FALSE(silent_after);
  REQUIRE(said == "has not answered for 5 s");
  REQUIRE(outcomes[0].ok());
  REQUIRE(outcomes[1].error().code == ErrorCode::kUnavailable);
  REQUIRE(outcomes[1].error().message == "disk1 has not answered for 5 s");
  for (std::size_t i = 0; i < 3; ++i) {
    REQUIRE(disks.devices[i]->traffic().timeouts == (i == 1 ? 1 : 0));
  }
  REQUIRE(outcomes[2].ok());
  REQUIRE(value_at(buffer, 0) == 9);
  REQUIRE(value_at(buffer, 1) == 1);
  REQUIRE(value_at(buffer, 2) == 0);
  REQUIRE(value_at(buffer, 3) == 3);
  REQUIRE_FALSE(disks.system.queue().has_abandoned());
}

TEST_CASE("bounded_reads: a device is closed when it has answered, and no sooner") {
  Disks disks;
  AlignedBuffer buffer = AlignedBuffer::zeroed(16_KiB);
  disks.system.run([&] {
    disks.system.disk("disk1").inject({.kind = FaultKind::kHang});
    disks.round(buffer);
    for (auto& device : disks.devices) disks.system.queue().close(std::move(device));
  });
  REQUIRE(disks.system.queue().has_abandoned());
  const auto open = [&] { return disks.system.open_device("disk1", OpenMode::kReadWrite); };
  REQUIRE(open().error().code == ErrorCode::kBusy);
  bool all = true;
  disks.system.run([&] { all = disks.system.queue().wait_for_abandoned(2 * kSilence); });
  REQUIRE_FALSE(all);
  disks.system.disk("disk1").release_hung();
  disks.system.run([&] { all = disks.system.queue().wait_for_abandoned(2 * kSilence); });
  REQUIRE(all);
  REQUIRE(open().ok());
}
