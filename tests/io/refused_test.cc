#include "io/refused.h"

#include <catch2/catch.hpp>
#include <cerrno>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"
#include "tests/io/device_contract.h"

using namespace hexad;
using namespace hexad::io;
using hexad::io::testing::pattern;

namespace {

// A batch of one write to each of three disks, the first of which has been told a fault.
struct World {
  explicit World(const Fault& fault) {
    for (const char* name : {"a", "b", "c"}) {
      devices.push_back(system.create_device(name, 1_MiB).value());
    }
    system.disk("a").inject(fault);
  }
  void send() {
    for (const auto& device : devices) {
      batch.requests.push_back(IoRequest::write(*device, 8192, data));
    }
    system.queue().run(batch);
  }
  std::vector<IoRequest*> requests() {
    std::vector<IoRequest*> all;
    for (IoRequest& request : batch.requests) all.push_back(&request);
    return all;
  }
  std::uint64_t writes(const std::string& name) { return system.disk(name).counts().writes; }

  SimSystem system;
  const AlignedBuffer data = pattern(1, 4096);
  std::vector<std::unique_ptr<Device>> devices;
  IoBatch batch;
};

Fault refused(std::uint64_t number, std::uint64_t times) {
  return {.kind = FaultKind::kRefused, .times = times, .amount = number};
}

}  // namespace

TEST_CASE("refused: what was refused goes out again, durably, until it is taken") {
  World world(refused(EAGAIN, 5));
  int pauses = 0;
  Status sent;
  Nanos took = 0;
  world.system.run([&] {
    world.send();
    const Nanos began = world.system.clock().now();
    sent = send_again(world.requests(), world.system.executor(), {},
                      [&](const Error& why) { pauses += why.code == ErrorCode::kExhausted; });
    took = world.system.clock().now() - began;
  });
  REQUIRE(sent.ok());
  REQUIRE(world.batch.first_error().ok());
  REQUIRE(pauses == 5);
  REQUIRE(took >= 1'000'000 * (1 + 2 + 4 + 8 + 16));
  REQUIRE(took < 2 * 1'000'000 * (1 + 2 + 4 + 8 + 16));
  // The others have had theirs.
  REQUIRE(world.writes("b") == 1);
  REQUIRE(world.batch.requests[0].mode == WriteMode::kDurable);
  REQUIRE(world.batch.requests[1].mode == WriteMode::kCached);
  REQUIRE(as_text(world.system.disk("a").peek(8192, 4096)) == as_text(world.data.bytes()));
  world.system.power_cut();
  REQUIRE(as_text(world.system.disk("a").peek(8192, 4096)) == as_text(world.data.bytes()));
}

TEST_CASE("refused: the wait has an end, and then the error is the last one") {
  for (const int number : {ENOMEM, ENOSPC, EDQUOT, EACCES}) {
    CAPTURE(number);
    World world(refused(static_cast<std::uint64_t>(number), Fault::kForever));
    Status sent;
    Nanos took = 0;
    world.system.run([&] {
      world.send();
      const Nanos began = world.system.clock().now();
      sent = send_again(world.requests(), world.system.executor(), {.limit = 20'000'000'000});
      took = world.system.clock().now() - began;
    });
    REQUIRE_FALSE(sent.ok());
    REQUIRE(sent.error().code == world.batch.requests[0].status.error().code);
    REQUIRE(took >= 20'000'000'000);
    REQUIRE(took < 22'000'000'000);
    // Not more often than once a second, at last.
    REQUIRE(world.system.disk("a").struck(FaultKind::kRefused) < 35);
    REQUIRE(world.devices[0]->traffic().refused ==
            world.system.disk("a").struck(FaultKind::kRefused));
    REQUIRE(world.devices[0]->last_refusal()->code == sent.error().code);
    REQUIRE_FALSE(world.devices[1]->last_refusal().has_value());
  }
}

TEST_CASE("refused: who is shut out does not ask again") {
  World world(refused(ENOMEM, 2));
  Status sent;
  Nanos took = 0;
  std::uint64_t asked = 0;
  world.system.run([&] {
    world.send();
    world.system.disk("a").fence();
    asked = world.system.requests();
    const Nanos began = world.system.clock().now();
    sent = send_again(world.requests(), world.system.executor(), {});
    took = world.system.clock().now() - began;
  });
  REQUIRE(sent.error().code == ErrorCode::kFenced);
  REQUIRE(world.system.requests() <= asked + 1);
  REQUIRE(took < 1'000'000'000);
}

TEST_CASE("refused: a device that fails meanwhile is not asked any more") {
  World world(refused(ENOMEM, 2));
  world.system.disk("a").inject({.kind = FaultKind::kDeviceError});
  Status sent;
  world.system.run([&] {
    world.send();
    sent = send_again(world.requests(), world.system.executor(), {});
  });
  REQUIRE(sent.ok());
  REQUIRE(world.batch.requests[0].status.error().code == ErrorCode::kIo);
  REQUIRE_FALSE(is_refused(world.batch.requests[0]));
}

TEST_CASE("refused: whatever a flush failed with, it is not made good by another one") {
  World world(refused(ENOMEM, 1));
  world.system.run([&] {
    world.batch.requests.push_back(IoRequest::flush(*world.devices[0]));
    world.system.queue().run(world.batch);
  });
  REQUIRE(world.batch.requests[0].status.error().code == ErrorCode::kExhausted);
  REQUIRE_FALSE(is_refused(world.batch.requests[0]));
  REQUIRE(world.devices[0]->traffic().failed_flushes == 1);
  REQUIRE(world.devices[0]->traffic().refused == 0);
}

TEST_CASE("refused: what can still be given up waits for memory, not for space") {
  for (const bool full : {false, true}) {
    CAPTURE(full);
    World world(refused(full ? ENOSPC : ENOMEM, 3));
    Status sent;
    world.system.run([&] {
      world.send();
      sent = send_again_briefly(world.batch, world.system.executor());
    });
    REQUIRE(sent.ok() == !full);
    if (full) REQUIRE(sent.error().code == ErrorCode::kNoSpace);
    REQUIRE(world.system.disk("a").struck(FaultKind::kRefused) == (full ? 1 : 3));
  }
}
