// A pool in a simulation, 4+2 mostly: six data disks or more, and one on the fast tier with the
// log's first copy; three more are on the first data disks. Time, faults and crashes are the
// simulation's (io/sim/sim_system.h); the index is a real file in a directory of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "base/units.h"
#include "core/hexad.h"
#include "io/sim/sim_system.h"
#include "tests/io/temporary.h"

namespace hexad::testing {

struct SimPoolOptions {
  ec::Profile profile = {};
  std::size_t data_disks = 6;
  std::uint64_t slab_size = 0;        // 0: as the pool chooses
  std::uint64_t device_size = 8_MiB;  // bytes of each data disk between its headers
  std::uint64_t fast_size = 2_MiB;    // of the disk on the fast tier, likewise
  std::uint64_t log_size = 1_MiB;     // bytes per copy
  io::SimOptions sim;                 // sim.disk: what the disks are like, all of them
  // Of each disk in the order of SimPool::disks(); empty: as sim.disk has it.
  std::vector<int> flush_domains;
  // Of each data disk, a letter each; empty: there are none.
  std::string failure_domains = {};
  // So many data disks, the first ones, have one volatile cache.
  std::size_t one_cache = 0;
};

// Runs `use` on the store of `pool`, open in `system`. Returns what `use` does, where that is
// anything, or why the store does not open. Tests check outside: a failed check must not leave a
// fiber.
template <typename Use>
std::string with_store(io::SimSystem& system, const PoolDescription& pool, const Use& use,
                       const RuntimeOptions& options = {}) {
  std::string said;
  system.run([&] {
    Result<Store> store = Store::open(pool, options, &system);
    if (!store.ok()) {
      said = "open: " + store.error().to_string();
    } else if constexpr (std::is_void_v<decltype(use(*store))>) {
      use(*store);
    } else {
      said = use(*store);
    }
  });
  return said;
}

class SimPool {
 public:
  // Formats the pool; fails the test when that does.
  explicit SimPool(const SimPoolOptions& options = {});
  SimPool(const SimPool&) = delete;
  SimPool& operator=(const SimPool&) = delete;

  template <typename Use>
  std::string with_store(const Use& use, const RuntimeOptions& options = {}) {
    return testing::with_store(system_, pool_, use, options);
  }

  // "dev0" to "dev5", or more, then the one on the fast tier.
  const std::vector<std::string>& disks() const { return disks_; }
  const std::string& log() const { return disks_.back(); }
  io::SimDisk& disk(std::size_t index) { return system_.disk(disks_[index]); }
  const PoolDescription& pool() const { return pool_; }
  std::filesystem::path fast_directory() const { return pool_.fast_directories[0]; }

  io::SimSystem& system() { return system_; }
  io::Nanos now() { return system_.clock().now(); }
  // For a fiber: lets the others run for so long.
  void sleep(io::Nanos time) { system_.executor().sleep_for(time); }

 private:
  io::SimSystem system_;
  // Power fails in the simulation only, so the index needs no disk.
  io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  std::vector<std::string> disks_;
  PoolDescription pool_;
};

}  // namespace hexad::testing
