// A simulated disk that does not answer, is given up, or shuts this process out: what is told of
// it, and what lands later.
#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_device.h"
#include "io/sim/sim_system.h"
#include "tests/io/sim/one_disk.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::One;

TEST_CASE("silent_device: a blocking read ends, names the device, and blames it for nothing") {
  One one;
  AlignedBuffer into = One::filled(4096, 0x33);
  std::string said[2];
  Nanos took[2] = {};
  Nanos under_way = 0;
  one.system.run([&] {
    one.inject(FaultKind::kHang, Fault::kForever);
    for (int i = 0; i < 2; ++i) {
      const Nanos begin = one.system.clock().now();
      const Status status = one.device->read(0, into.bytes());
      if (!status.ok()) said[i] = status.error().to_string();
      took[i] = one.system.clock().now() - begin;
    }
    under_way = static_cast<Nanos>(one.device->traffic().under_way);
    one.disk().clear_faults();
    one.disk().release_hung();
    one.device->queue().wait_for_abandoned();
  });
  REQUIRE(said[0] ==
          "disk: read of 4 KiB at byte 0: the device has not answered for 30 s (unavailable). Try "
          "again when it answers.");
  REQUIRE(said[1] == said[0]);
  REQUIRE(took[0] == kReadPatience);
  REQUIRE(took[1] == 0);  // it is known by now
  REQUIRE(under_way == 1);
  REQUIRE(one.device->traffic().refused == 2);
  // The late answer went elsewhere.
  REQUIRE(into.bytes()[0] == std::byte{0x33});
  REQUIRE(one.device->read(0, into.bytes()).ok());
  REQUIRE(into.bytes()[0] == std::byte{0x11});
}

TEST_CASE("silent_device: a device that is given up has failed, and says so at once") {
  One one;
  AlignedBuffer into = One::filled(4096, 0x33);
  std::string said;
  std::uint64_t failed = 0;
  one.system.run([&] {
    one.inject(FaultKind::kHang, Fault::kForever);
    const auto writer = one.system.executor().start("writer", [&] {
      const AlignedBuffer data = One::filled(4096, 0x22);
      REQUIRE(one.device->write(0, data).error().code == ErrorCode::kIo);
    });
    one.system.executor().sleep_for(kReadPatience);
    one.device->queue().give_up(*one.device);
    failed = one.device->traffic().failed_writes;
    const Status status = one.device->read(0, into.bytes());
    if (!status.ok()) said = status.error().to_string();
    writer->join();
    one.disk().clear_faults();
    one.disk().release_hung();
    one.device->queue().wait_for_abandoned();
  });
  REQUIRE(said ==
          "disk: the device has not answered for so long that it is given up (input/output error)");
  REQUIRE(failed == 1);
  REQUIRE(one.device->traffic().refused == 0);
}

TEST_CASE("silent_device: who is shut out changes nothing any more, by what is under way neither") {
  One one;
  std::unique_ptr<Device> next;
  Status under_way;
  Status held;
  one.system.run([&] {
    const auto writer = one.system.executor().start(
        "writer", [&] { under_way = one.write(0, 4096, 0x22, WriteMode::kDurable); });
    one.inject(FaultKind::kHang);
    const auto hanging = one.system.executor().start(
        "hanging", [&] { held = one.write(8192, 4096, 0x22, WriteMode::kDurable); });
    one.system.executor().sleep_for(1);
    REQUIRE(one.system.holder("disk")->value().can_be_shut_out);
    REQUIRE(one.system.open_device("disk", OpenMode::kReadWrite).error().code == ErrorCode::kBusy);
    REQUIRE(one.system.shut_out("disk").ok());
    REQUIRE_FALSE(one.system.holder("disk")->has_value());
    writer->join();
    next = one.system.open_device("disk", OpenMode::kReadWrite).value();
    const AlignedBuffer threes = One::filled(4096, 0x33);
    REQUIRE(next->write(8192, threes, WriteMode::kDurable).ok());
    one.disk().release_hung();
    hanging->join();
  });
  REQUIRE(under_way.error().code == ErrorCode::kFenced);
  REQUIRE(held.error().code == ErrorCode::kFenced);
  REQUIRE(one.device->is_fenced());
  REQUIRE_FALSE(next->is_fenced());
  // It is not asked any more.
  const std::uint64_t asked = one.system.requests();
  REQUIRE(one.device->flush().error().code == ErrorCode::kFenced);
  REQUIRE(one.device->grow(2_MiB).error().code == ErrorCode::kFenced);
  REQUIRE(one.system.requests() == asked);
  // No fault of the device.
  REQUIRE(one.device->traffic().failed_writes == 0);
  one.device = std::move(next);
  REQUIRE(one.read(0, 4096) == Bytes(4096, std::byte{0x11}));
  REQUIRE(one.read(8192, 4096) == Bytes(4096, std::byte{0x33}));
}

TEST_CASE("silent_device: who answers others owes the answer to one all the same") {
  One one;
  AlignedBuffer into = One::filled(4096, 0x33);
  Nanos owing = 0;
  Nanos silent = -1;
  Nanos after = -1;
  Status written;
  one.system.run([&] {
    one.inject(FaultKind::kHang);
    const auto writer =
        one.system.executor().start("writer", [&] { written = one.write(8192, 4096, 0x22); });
    for (int i = 0; i < 40; ++i) {
      one.system.executor().sleep_for(1'000'000'000);
      REQUIRE(one.device->read(0, into.bytes()).ok());
    }
    owing = one.device->owing_for();
    silent = one.device->silent_for();
    one.disk().release_hung();
    writer->join();
    after = one.device->owing_for();
  });
  REQUIRE(owing >= 39'000'000'000);
  REQUIRE(silent == 0);
  REQUIRE(after == 0);
  REQUIRE(written.ok());
}

TEST_CASE("silent_device: who works through a long backlog owes nothing, however old that is") {
  constexpr std::uint64_t kWrites = 100;
  One one;
  Nanos most = 0;
  Nanos took = 0;
  Status status;
  one.system.run([&] {
    one.inject(FaultKind::kHang, Fault::kForever);
    const Nanos began = one.system.clock().now();
    const AlignedBuffer data = One::filled(4096, 0x22);
    IoBatch batch;
    for (std::uint64_t i = 0; i < kWrites; ++i) {
      batch.requests.push_back(IoRequest::write(*one.device, 4096 * i, data));
    }
    one.device->queue().submit(batch);
    for (std::uint64_t i = 0; i < kWrites; ++i) {
      one.system.executor().sleep_for(2'000'000'000);
      most = std::max(most, one.device->owing_for());
      one.disk().release_hung(1);
    }
    one.device->queue().wait(batch);
    status = batch.first_error();
    took = one.system.clock().now() - began;
  });
  REQUIRE(status.ok());
  REQUIRE(took >= 200'000'000'000);
  REQUIRE(most <= 2'000'000'000);
}

TEST_CASE(
    "silent_device: all that is under way to a device that is given up ends, and lands later") {
  One one;
  std::uint64_t failed = 0;
  std::uint64_t under_way = 0;
  one.system.run([&] {
    one.inject(FaultKind::kHang);
    const AlignedBuffer data = One::filled(4096, 0x22);
    IoBatch batch;
    for (std::uint64_t i = 0; i < 3; ++i) {
      batch.requests.push_back(IoRequest::write(*one.device, 4096 * i, data));
    }
    one.device->queue().submit(batch);
    for (int twice = 0; twice < 2; ++twice) one.device->queue().give_up(*one.device);
    one.device->queue().wait(batch);
    for (const IoRequest& request : batch.requests) failed += request.status.ok() ? 0 : 1;
    one.system.executor().sleep_for(1'000'000'000);
    under_way = one.device->traffic().under_way;
    one.disk().release_hung();
    one.device->queue().wait_for_abandoned();
  });
  REQUIRE(failed == 3);
  REQUIRE(under_way == 1);
  REQUIRE(one.device->traffic().under_way == 0);
  REQUIRE(one.device->traffic().failed_writes == 3);
  REQUIRE(one.count_at(0, 3 * 4096, 0x22) == 3 * 4096);
}

// Whoever looks which devices have failed sees it although another one holds up the batch.
TEST_CASE("silent_device: a request that has failed is counted before its batch is complete") {
  One one;
  one.system.add_disk("other", 1_MiB);
  const std::unique_ptr<Device> other =
      one.system.open_device("other", OpenMode::kReadWrite).value();
  std::uint64_t failed = 0;
  one.system.run([&] {
    one.inject(FaultKind::kWriteErrorBefore, 1);
    one.system.disk("other").inject({.kind = FaultKind::kHang});
    const AlignedBuffer data = One::filled(4096, 0x22);
    IoBatch batch;
    batch.requests.push_back(IoRequest::write(*one.device, 0, data));
    batch.requests.push_back(IoRequest::write(*other, 0, data));
    one.device->queue().submit(batch);
    one.system.executor().sleep_for(kReadPatience);
    REQUIRE_FALSE(batch.complete());
    failed = one.device->traffic().failed_writes;
    one.system.disk("other").release_hung();
    one.device->queue().wait(batch);
  });
  REQUIRE(failed == 1);
  REQUIRE(one.device->traffic().failed_writes == 1);
  REQUIRE(other->traffic().failed_writes == 0);
}

TEST_CASE("silent_device: one that owes an answer keeps no other one open") {
  One one;
  one.system.add_disk("other", 1_MiB);
  std::unique_ptr<Device> other = one.system.open_device("other", OpenMode::kReadWrite).value();
  AlignedBuffer into = One::filled(4096, 0x33);
  IoQueue& queue = one.device->queue();
  one.system.run([&] {
    one.inject(FaultKind::kHang, 1);
    static_cast<void>(one.device->read(0, into.bytes()));
    queue.close(std::move(other));
    queue.close(std::move(one.device));
  });
  REQUIRE(queue.has_abandoned());
  REQUIRE(one.system.open_device("other", OpenMode::kReadWrite).ok());
  REQUIRE(one.system.open_device("disk", OpenMode::kReadWrite).error().code == ErrorCode::kBusy);
  one.disk().release_hung();
  one.system.run([&] { REQUIRE(queue.wait_for_abandoned()); });
  REQUIRE(one.system.open_device("disk", OpenMode::kReadWrite).ok());
}
