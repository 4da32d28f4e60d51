#include "core/opening/shut_out.h"

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

// A system with a disk whose holder nothing shuts out, and one that a cluster does not tell of.
class Mixed final : public io::System {
 public:
  io::Executor& executor() override { return inner.executor(); }
  io::Clock& clock() override { return inner.clock(); }
  io::IoQueue& queue() override { return inner.queue(); }
  std::uint64_t draw_seed() override { return inner.draw_seed(); }
  Result<std::unique_ptr<io::Device>> open_device(const std::string& path,
                                                  io::OpenMode mode) override {
    return inner.open_device(path, mode);
  }
  Result<std::unique_ptr<io::Device>> create_device(const std::string& path,
                                                    std::uint64_t size) override {
    return inner.create_device(path, size);
  }
  Result<std::optional<io::Holder>> holder(const std::string& path) override {
    if (path == unheard_of) return Error{ErrorCode::kUnavailable, "no answer", ""};
    HEXAD_TRY_ASSIGN(std::optional<io::Holder> found, inner.holder(path));
    if (found.has_value() && path == local) found->can_be_shut_out = false;
    return found;
  }
  // Waits for all others that are asked for: one by one they would not come.
  Status shut_out(const std::string& path) override {
    ++asked;
    for (int naps = 0; asked < wait_for; ++naps) {
      if (naps == 1000) return Error{ErrorCode::kUnavailable, "the others were not asked for", ""};
      inner.executor().sleep_for(1);
    }
    return inner.shut_out(path);
  }

  io::SimSystem inner;
  std::size_t asked = 0;
  std::size_t wait_for = 0;
  std::string local;
  std::string unheard_of;
};

struct World {
  World() {
    for (const char* const name : {"a", "b", "c", "fast/log"}) {
      system.inner.add_disk(name, 1_MiB);
      held.push_back(system.open_device(name, io::OpenMode::kReadWrite).value());
    }
  }
  std::size_t fenced() {
    std::size_t count = 0;
    for (const auto& device : held) {
      if (device != nullptr && !device->flush().ok()) ++count;
    }
    return count;
  }
  Result<std::vector<DeviceHolder>> shut_out() {
    std::optional<Result<std::vector<DeviceHolder>>> done;
    system.inner.run([&] { done = shut_out_holders(pool, system); });
    return std::move(*done);
  }
  Mixed system;
  std::vector<std::unique_ptr<io::Device>> held;
  PoolDescription pool{{"a", "b", "c", "gone"}, {"fast"}};
};

TEST_CASE("shut_out: all that is there and held, that of the fast directory too") {
  World world;
  world.held[1].reset();
  const std::vector<DeviceHolder> found = find_holders(world.pool, world.system).value();
  REQUIRE(found.size() == 3);
  REQUIRE(found[0].path == "a");
  REQUIRE(found[1].path == "c");
  REQUIRE(found[2].path == "fast/log");
  REQUIRE(world.fenced() == 0);
  REQUIRE(world.shut_out().value().size() == 3);
  REQUIRE(world.fenced() == 3);
  REQUIRE(find_holders(world.pool, world.system).value().empty());
  REQUIRE(world.system.open_device("c", io::OpenMode::kReadWrite).ok());
}

TEST_CASE("shut_out: of all devices at the same time") {
  World world;
  world.system.wait_for = 4;
  REQUIRE(world.shut_out().value().size() == 4);
  REQUIRE(world.fenced() == 4);
}

TEST_CASE("shut_out: where somebody cannot be, nobody is, and that is said") {
  for (const char* const local : {"a", "b", "fast/log"}) {
    CAPTURE(local);
    World world;
    world.system.local = local;
    const Error refused = world.shut_out().error();
    REQUIRE(refused.code == ErrorCode::kBusy);
    REQUIRE(refused.message.find(local) != std::string::npos);
    REQUIRE(refused.hint.find("nobody has been shut out") != std::string::npos);
    REQUIRE(world.fenced() == 0);
  }
}

TEST_CASE("shut_out: a device of which nobody can tell is not taken for free") {
  World world;
  world.system.unheard_of = "c";
  REQUIRE(find_holders(world.pool, world.system).error().code == ErrorCode::kUnavailable);
  REQUIRE(world.shut_out().error().code == ErrorCode::kUnavailable);
  REQUIRE(world.fenced() == 0);
}

}  // namespace
}  // namespace hexad::core
