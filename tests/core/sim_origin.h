// A pool in a simulation that is made once and tried many times: every run starts from copies of
// its disks and of the directory of its index.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/store.h"
#include "io/sim/sim_system.h"
#include "tests/core/sim_pool.h"

namespace hexad::testing {

class SimOrigin {
 public:
  // `fill` writes what every run begins with, and returns what has failed, or nothing.
  using Fill = std::function<std::string(Store&)>;
  explicit SimOrigin(const SimPoolOptions& options = {}, const Fill& fill = {});

  // The disks in a simulation of their own. One at a time: the index is in one directory, which is
  // put back as it was. The simulation must not outlive this.
  std::unique_ptr<io::SimSystem> start(std::uint64_t seed);
  const PoolDescription& pool() const { return made_.pool(); }
  // Data disks, then the one on the fast tier.
  const std::vector<std::string>& disks() const { return made_.disks(); }
  std::shared_ptr<const io::CowImage> content(const std::string& disk) const {
    return content_.at(disk);
  }

 private:
  SimPool made_;
  void put_back_index() const;

  const std::filesystem::path fast_;
  std::map<std::filesystem::path, std::string> saved_;  // files below `fast_`
  const std::shared_ptr<io::FiberStacks> stacks_ = std::make_shared<io::FiberStacks>();
  std::map<std::string, std::shared_ptr<const io::CowImage>> content_;
};

}  // namespace hexad::testing
