#include <catch2/catch.hpp>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/system.h"
#include "tests/io/device_contract.h"
#include "tests/io/os/locking_process.h"
#include "tests/io/temporary.h"

using namespace hexad;
using namespace hexad::io;

TEST_CASE("real_system: who has a file is named, and only its end frees it") {
  const io::testing::TemporaryDirectory directory;
  const std::string path = directory.path("device");
  const auto system = make_real_system().value();
  REQUIRE(system->holder(path).error().code == ErrorCode::kNotFound);
  REQUIRE(system->create_device(path, 1_MiB).ok());
  REQUIRE_FALSE(system->holder(path).value().has_value());
  REQUIRE(system->shut_out(path).ok());
  io::testing::LockingProcess other(path);
  const Holder holder = system->holder(path).value().value();
  REQUIRE_FALSE(holder.can_be_shut_out);
  REQUIRE(holder.who.find("process " + std::to_string(other.id())) != std::string::npos);
  const Error refused = system->shut_out(path).error();
  REQUIRE(refused.code == ErrorCode::kUnsupported);
  REQUIRE(refused.hint == "End that process.");
  other.end();
  REQUIRE_FALSE(system->holder(path).value().has_value());
}

TEST_CASE("real_system: creates, closes and opens devices with either queue") {
  for (const QueueKind kind : {QueueKind::kAuto, QueueKind::kUring, QueueKind::kThreads}) {
    const io::testing::TemporaryDirectory directory;
    const auto system = make_real_system(kind).value();
    REQUIRE(system->queue().name() == (kind == QueueKind::kThreads ? "threads" : "io_uring"));
    REQUIRE(&system->clock() == &system->executor().clock());
    REQUIRE(system->draw_seed() != system->draw_seed());
    const AlignedBuffer data = io::testing::pattern(1, 64_KiB);
    const std::string path = directory.path("device");
    {
      const auto device = system->create_device(path, 1_MiB).value();
      REQUIRE(&device->queue() == &system->queue());
      REQUIRE(device->write(0, data, WriteMode::kDurable).ok());
    }
    const auto device = system->open_device(path, OpenMode::kReadOnly).value();
    AlignedBuffer found(64_KiB);
    REQUIRE(device->read(0, found.bytes()).ok());
    REQUIRE(as_text(found.bytes()) == as_text(data.bytes()));
    REQUIRE(system->open_device(directory.path("absent"), OpenMode::kReadOnly).error().code ==
            ErrorCode::kNotFound);
    REQUIRE(system->create_device(directory.path("odd"), 5).error().code ==
            ErrorCode::kInvalidArgument);
  }
}
