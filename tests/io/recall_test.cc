// Threads that are called back while they wait for requests. In simulated time.
#include "io/recall.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/sim/sim_system.h"

namespace hexad::io {
namespace {

constexpr Nanos kMs = 1'000'000;
constexpr Nanos kSecond = 1'000'000'000;

// Says yes when it is asked for the `after`-th time; 0: never.
class Asked final : public Recall {
 public:
  explicit Asked(int after) : after_(after) {}
  int times = 0;

 private:
  bool is_wanted() noexcept override { return ++times == after_; }
  const int after_;
};

TEST_CASE("recall: without one nobody is called back, and it costs nothing to ask") {
  REQUIRE(Recall::here() == nullptr);
  REQUIRE_FALSE(Recall::comes());
  REQUIRE_FALSE(Recall::has_come());
  Recall::note_wait(kSecond);
  Recall::note_left_commit();
}

TEST_CASE("recall: scopes lie within one another, and the innermost counts") {
  Asked outer(1);
  Asked inner(0);
  {
    const Recall::Scope first(outer);
    REQUIRE(Recall::here() == &outer);
    {
      const Recall::Scope second(inner);
      REQUIRE(Recall::here() == &inner);
      REQUIRE_FALSE(Recall::comes());
      Recall::note_left_commit();
    }
    REQUIRE(Recall::here() == &outer);
    REQUIRE_FALSE(Recall::has_come());
    REQUIRE(Recall::comes());
  }
  REQUIRE(Recall::here() == nullptr);
  REQUIRE(outer.times == 1);
  REQUIRE(inner.times == 1);
  REQUIRE_FALSE(outer.has_left_commit());
  REQUIRE(inner.has_left_commit());
}

TEST_CASE("recall: it is asked until it says yes, and no more") {
  Asked recall(3);
  const Recall::Scope scope(recall);
  REQUIRE_FALSE(Recall::comes());
  REQUIRE_FALSE(Recall::has_come());  // does not ask
  REQUIRE_FALSE(Recall::comes());
  for (int i = 0; i < 5; ++i) REQUIRE(Recall::comes());
  REQUIRE(Recall::has_come());
  REQUIRE(recall.times == 3);
}

TEST_CASE("recall: many short waits are no more asks than a long one") {
  Asked recall(0);
  const Recall::Scope scope(recall);
  for (int i = 0; i < 100; ++i) Recall::note_wait(kMs);
  REQUIRE(recall.times == 2);
  Recall::note_wait(40 * kMs);
  Recall::comes();
  Recall::note_wait(40 * kMs);
  REQUIRE(recall.times == 3);
}

// One disk whose reads are held back until release().
class World {
 public:
  World() {
    system.add_disk("a", 1_MiB);
    device = system.open_device("a", OpenMode::kReadWrite).value();
    hold();
  }
  void hold() {
    system.set_hook([](const SimOp& op) -> std::optional<FaultKind> {
      if (op.op == IoOp::kRead) return FaultKind::kHang;
      return std::nullopt;
    });
  }
  void release() {
    system.set_hook(nullptr);
    system.disk("a").release_hung();
  }
  std::unique_ptr<IoBatch> make_read() {
    auto batch = std::make_unique<IoBatch>();
    batch->requests.push_back(IoRequest::read(*device, 0, buffer.bytes()));
    return batch;
  }
  // Calls `wait` on a fiber, for which `recall` may be null, and says how long that took.
  template <typename Wait>
  Nanos time(Recall* recall, const Wait& wait) {
    Nanos took = 0;
    system.run([&] {
      std::optional<Recall::Scope> scope;
      if (recall != nullptr) scope.emplace(*recall);
      const Nanos began = system.clock().now();
      wait();
      took = system.clock().now() - began;
    });
    return took;
  }

  SimSystem system;
  AlignedBuffer buffer{4096};
  std::unique_ptr<Device> device;
};

TEST_CASE("recall: whoever waits for requests with a limit comes back before that") {
  World world;
  Asked recall(2);
  const auto batch = world.make_read();
  bool complete = true;
  const Nanos took =
      world.time(&recall, [&] { complete = world.system.queue().run_for(*batch, kSecond); });
  REQUIRE_FALSE(complete);
  REQUIRE_FALSE(batch->complete());
  REQUIRE(took == 2 * Recall::kBetweenAsks);
  REQUIRE(recall.times == 2);
  REQUIRE(world.device->traffic().timeouts == 0);
  // And waits no more.
  const Nanos again =
      world.time(&recall, [&] { complete = world.system.queue().wait_briefly(*batch, kSecond); });
  REQUIRE_FALSE(complete);
  REQUIRE(again == 0);
  REQUIRE(recall.times == 2);
  // The request is the device's until it answers.
  world.release();
  REQUIRE(batch->complete());
  REQUIRE(batch->first_error().ok());
  world.time(&recall, [&] { complete = world.system.queue().wait_briefly(*batch, kSecond); });
  REQUIRE(complete);
}

TEST_CASE("recall: whoever has been called back does not wait for new requests either") {
  World world;
  Asked recall(1);
  const auto first = world.make_read();
  const auto second = world.make_read();
  bool complete = true;
  world.time(&recall, [&] { complete = world.system.queue().run_briefly(*first, kSecond); });
  REQUIRE_FALSE(complete);
  const Nanos took =
      world.time(&recall, [&] { complete = world.system.queue().run_briefly(*second, kSecond); });
  REQUIRE_FALSE(complete);
  REQUIRE(took <= 1);
  REQUIRE(recall.times == 1);
  world.release();
  REQUIRE(first->complete());
  REQUIRE(second->complete());
}

TEST_CASE("recall: where nobody is wanted, limits are what they were") {
  for (const bool asks : {false, true}) {
    CAPTURE(asks);
    World world;
    Asked recall(0);
    Recall* const here = asks ? &recall : nullptr;
    IoQueue& queue = world.system.queue();
    const auto batch = world.make_read();
    bool complete = true;
    REQUIRE(world.time(here, [&] { complete = queue.run_for(*batch, 120 * kMs); }) == 120 * kMs);
    REQUIRE_FALSE(complete);
    REQUIRE(world.device->traffic().timeouts == 1);
    REQUIRE(world.time(here, [&] { complete = queue.wait_briefly(*batch, 70 * kMs); }) == 70 * kMs);
    REQUIRE_FALSE(complete);
    REQUIRE(world.time(here, [&] { complete = queue.wait_briefly(*batch, 0); }) == 0);
    REQUIRE_FALSE(complete);
    REQUIRE(world.device->traffic().timeouts == 1);
    REQUIRE(recall.times == (asks ? 3 : 0));
    world.release();
    const auto answered = world.make_read();
    world.time(here, [&] { complete = queue.run_for(*answered, kSecond); });
    REQUIRE(complete);
    REQUIRE(recall.times == (asks ? 3 : 0));
  }
}

TEST_CASE("recall: who stays is called back by nobody until then") {
  Asked recall(1);
  const Recall::Scope scope(recall);
  {
    const Recall::Stay stay;
    REQUIRE(Recall::here() == nullptr);
    REQUIRE_FALSE(Recall::comes());
  }
  REQUIRE(Recall::here() == &recall);
  REQUIRE(recall.times == 0);
  REQUIRE(Recall::comes());
}

// Whoever opens a pool asks for refusals: what such a device has is not known (is_ours() of
// core/opening/device_survey.cc).
TEST_CASE("recall: a read that is called back is no timeout, but was in vain") {
  World world;
  Asked recall(1);
  Status status;
  world.time(&recall, [&] { status = world.device->read(0, world.buffer.bytes()); });
  REQUIRE(status.error().code == ErrorCode::kUnavailable);
  REQUIRE_THAT(status.error().message,
               Catch::Contains("a: read of 4 KiB at byte 0") && Catch::Contains("called back"));
  REQUIRE(world.device->traffic().refused == 1);
  REQUIRE(world.device->traffic().timeouts == 0);
  REQUIRE(world.device->last_refusal().has_value());
  world.release();
  world.system.run([&] { status = world.device->read(0, world.buffer.bytes()); });
  REQUIRE(status.ok());
}

}  // namespace
}  // namespace hexad::io
