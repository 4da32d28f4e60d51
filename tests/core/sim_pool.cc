#include "tests/core/sim_pool.h"

#include <catch2/catch.hpp>
#include <memory>

#include "alloc/device_layout.h"

namespace hexad::testing {

SimPool::SimPool(const SimPoolOptions& options) : system_(options.sim) {
  FormatOptions format;
  format.profile = options.profile;
  format.redundant_devices = options.profile.m == 0;
  format.log_size = options.log_size;
  format.slab_size = options.slab_size;
  format.fast_directories = {directory_.path("fast")};
  for (std::size_t i = 0; i < options.data_disks; ++i)
    format.devices.push_back("dev" + std::to_string(i));
  for (const char domain : options.failure_domains) {
    format.failure_domains.emplace_back(1, domain);
  }
  disks_ = format.devices;
  disks_.push_back(format.fast_directories[0] + "/log");
  for (std::size_t i = 0; i < disks_.size(); ++i) {
    io::SimDiskOptions disk = options.sim.disk;
    if (!options.flush_domains.empty()) disk.flush_domain = options.flush_domains[i];
    if (i < options.one_cache) {
      disk.volatile_cache = true;
      disk.flush_domain = 0;
    }
    const std::uint64_t size = i < options.data_disks ? options.device_size : options.fast_size;
    system_.add_disk(disks_[i], std::make_shared<io::CowImage>(size + alloc::kEndsSize), disk);
  }
  std::string problem;
  system_.run([&] {
    const Result<PoolDescription> made = Store::format(format, &system_);
    if (made.ok()) pool_ = *made;
    if (!made.ok()) problem = made.error().to_string();
  });
  REQUIRE(problem == "");
}

}  // namespace hexad::testing
