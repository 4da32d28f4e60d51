// What the tests of devices that come, go and are replaced share: a disk that is nobody's yet, a
// cut behind each request, and what is expected of the store. In simulated time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "tests/core/faults/silent_disks.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {

inline constexpr const char* kNew = "dev6";

// With a seventh disk that is nobody's.
inline std::unique_ptr<io::SimSystem> start(SimOrigin& origin, std::uint64_t seed,
                                            std::uint64_t size = 16_MiB) {
  auto system = origin.start(seed);
  system->add_disk(kNew, size + alloc::kEndsSize);
  return system;
}

// Requests from the `left`-th on: none reaches a disk. Or they fail on one disk alone.
struct Cut {
  std::uint64_t left;
  std::string disk;  // empty: the power
  io::FaultKind kind = io::FaultKind::kDeviceError;
  bool struck = false;
};

inline void arm(io::SimSystem& system, Cut& cut) {
  system.set_hook([&cut](const io::SimOp& op) -> std::optional<io::FaultKind> {
    if (!cut.disk.empty() && op.disk != cut.disk) return std::nullopt;
    if (cut.left > 0) {
      --cut.left;
      return std::nullopt;
    }
    cut.struck = true;
    return cut.kind;
  });
}

// What went wrong is collected: a failed check must not leave a fiber.
struct ChangingWorld {
  io::SimSystem& system;
  PoolDescription pool;
  std::string problem = {};

  void expect(bool holds, const std::string& what) {
    if (!holds) problem += " " + what;
  }
  void expect_ok(const Status& status, const std::string& what) {
    if (!status.ok()) problem += " " + what + ": " + status.error().to_string();
  }
  // Refused with this code, and with these words.
  void expect_refused(const Status& status, ErrorCode code, const std::string& words) {
    if (status.ok()) {
      problem += " not refused: " + words;
    } else if (status.error().code != code ||
               status.error().message.find(words) == std::string::npos) {
      problem += " instead of \"" + words + "\": " + status.error().to_string();
    }
  }
  // Nothing: the store has no such device.
  static std::optional<DeviceStatus> device(Store& store, DeviceId id) {
    for (const DeviceStatus& one : store.status().devices) {
      if (!one.role.empty() && one.id == id) return one;
    }
    return std::nullopt;
  }
  static std::string state(Store& store, DeviceId id) {
    const auto one = device(store, id);
    return one.has_value() ? one->state : "none";
  }
  static std::string path(Store& store, DeviceId id) {
    const auto one = device(store, id);
    return one.has_value() ? one->path : "none";
  }
  void look_deep(Store& store) {
    const Result<FsckReport> fsck = store.fsck({.deep = true});
    expect_ok(fsck.status(), "fsck");
    if (fsck.ok() && !fsck->findings.empty()) {
      problem += " " + fsck->findings.front().subject + ": " + fsck->findings.front().problem;
    }
  }
  // Unless something has gone wrong before.
  template <typename Use>
  void open_with(const RuntimeOptions& options, const Use& use) {
    if (!problem.empty()) return;
    Result<Store> store = Store::open(pool, options, &system);
    expect_ok(store.status(), "open");
    if (!store.ok()) return;
    use(*store);
    if (options.access != Access::kReadOnly) expect_ok(store->close(), "close");
  }
  // The oracle for redundancy: no two of these disks are needed, whatever else is there. `look`
  // says what is wrong while they are away; of the pairs, one in `step`, from the `first`.
  template <typename Look>
  void without_any_two(const std::vector<std::string>& disks, std::size_t step, std::size_t first,
                       const Look& look) {
    std::size_t number = 0;
    for (std::size_t a = 0; a < disks.size(); ++a) {
      for (std::size_t b = a + 1; b < disks.size() && problem.empty(); ++b) {
        if (number++ % step != first % step) continue;
        for (const std::size_t i : {a, b}) system.disk(disks[i]).vanish();
        look();
        for (const std::size_t i : {a, b}) system.disk(disks[i]).appear();
        if (!problem.empty()) problem += " (without " + disks[a] + " and " + disks[b] + ")";
      }
    }
  }
};

}  // namespace hexad::testing
