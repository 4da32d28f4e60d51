// Two roots of one change of membership: the first was given up because a device did not take it.
//
// Commits were lost in silence when both had one sequence: the next opening took the first of them
// where that lay in the lower slot, read the log on the device that had left, and found it shorter.
#include "alloc/device_layout.h"
#include "alloc/root.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

constexpr int kCommits = 20;

// As opening says it, or nothing.
std::optional<ErrorCode> refusal(World& world) {
  std::optional<ErrorCode> code;
  world.system().run([&] {
    const Result<Store> store = Store::open(world.pool(), {}, &world.system());
    if (!store.ok()) code = store.error().code;
  });
  return code;
}

std::string all_there(Store& store) {
  for (int i = 0; i < kCommits; ++i) {
    const std::string name = "b" + std::to_string(i);
    if (const std::string found = text(store, name); found != "small") return name + ": " + found;
  }
  return findings(store);
}

// The fast device dies, dev0, which holds the log, does not take the root that says so, so that
// both are left behind; then the power fails. `checkpoints` before, so that the roots' slots
// differ.
void leave_twice(World& world, int checkpoints) {
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    for (int i = 0; i < checkpoints; ++i) {
      if (!store.commit(put_of("x" + std::to_string(i), "small")).ok()) return "commit";
      if (!store.checkpoint().ok()) return "checkpoint";
    }
    bool once = false;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.disk == world.log()) return FaultKind::kDeviceError;
      if (op.disk != "dev0" || !is_root(op) || once) return std::nullopt;
      once = true;
      return FaultKind::kWriteErrorBefore;
    });
    for (int i = 0; i < kCommits; ++i) {
      if (!store.commit(put_of("b" + std::to_string(i), "small")).ok()) return "commit";
    }
    const int failed = failed_devices(store);
    world.power_cut();
    return failed == 2 ? "" : std::to_string(failed) + " devices failed";
  }) == "");
  world.hook(nullptr);
}

// With the two other log devices away as well, nobody knows the commits: that is not answered with
// the state before them. With either of them, all is there.
void require_nothing_lost(World& world) {
  for (const std::string& name : {world.log(), std::string("dev1"), std::string("dev2")}) {
    world.system().disk(name).vanish();
  }
  REQUIRE(refusal(world) == ErrorCode::kUnavailable);
  world.system().disk("dev2").appear();
  REQUIRE(world.with_store(all_there) == "");
}

TEST_CASE("root tie: commits after a change of membership that took two attempts are never lost") {
  for (int checkpoints = 0; checkpoints < 2; ++checkpoints) {
    CAPTURE(checkpoints);
    World world;
    leave_twice(world, checkpoints);
    require_nothing_lost(world);
  }
}

// Gives the attempt that was given up the sequence of the other one, on each disk that has both:
// what versions before rule P6 left behind. How many disks have such a pair.
int tie_roots(World& world) {
  int tied = 0;
  for (const std::string& name : world.disks()) {
    io::SimDisk& disk = world.system().disk(name);
    int ends = 0;
    for (const alloc::DeviceEnd end : alloc::kDeviceEnds) {
      std::optional<alloc::Root> roots[2];
      const auto place = [&](unsigned slot) { return alloc::root_offset(end, slot, disk.size()); };
      for (unsigned slot = 0; slot < 2; ++slot) {
        Result<alloc::Root> root =
            alloc::decode_root(disk.peek(place(slot), alloc::kHeaderSlotSize));
        if (root.ok()) roots[slot] = *std::move(root);
      }
      if (!roots[0] || !roots[1] || roots[0]->epoch != roots[1]->epoch) continue;
      if (roots[0]->left_count() == roots[1]->left_count()) continue;
      const unsigned older = alloc::is_newer(*roots[0], *roots[1]) ? 1 : 0;
      roots[older]->sequence = roots[1 - older]->sequence;
      const std::string bytes = alloc::encode_root(*roots[older]);
      disk.poke(place(older), as_bytes(bytes));
      ++ends;
    }
    if (ends == 2) ++tied;
  }
  return tied;
}

TEST_CASE("root tie: what older versions left with one sequence is told apart") {
  for (int checkpoints = 0; checkpoints < 2; ++checkpoints) {
    CAPTURE(checkpoints);
    World world;
    leave_twice(world, checkpoints);
    REQUIRE(tie_roots(world) == 5);
    require_nothing_lost(world);
  }
}

}  // namespace
}  // namespace hexad::testing
