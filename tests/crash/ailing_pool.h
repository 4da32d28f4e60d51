// A store in a simulation that has a hard life: two of its data disks go wrong again and again,
// each in its own way, and where it is dropped the power may fail amid what it does in the
// background. One pool in three has eight data disks instead of six, and drains one now and then,
// and takes it back. In one of four a disk that has left is whole again now and then, and comes
// back by itself. Up to m disks is within the promise, so whatever it answers must be right.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "io/rng.h"
#include "io/sim/cow_image.h"
#include "io/sim/sim_system.h"
#include "tests/core/log_order.h"
#include "tests/core/store_runner.h"
#include "tests/io/temporary.h"

namespace hexad::testing {

struct AilingTally {
  std::uint64_t faults = 0;      // that have struck, of every kind
  std::uint64_t crashes = 0;     // power cuts
  std::uint64_t lost = 0;        // disks that have left the membership
  std::uint64_t old_images = 0;  // disks put back as they were some lives ago
  std::uint64_t indexes = 0;     // that a crash took away
  std::uint64_t drains = 0;      // of disks, begun
  std::uint64_t moves = 0;       // of slabs, told
  std::uint64_t returns = 0;     // of disks, by themselves
};

// In a fiber of the simulation of its own, from construction to the end.
class AilingPool final : public RunnerTarget {
 public:
  // `system` is empty and outlives it.
  AilingPool(io::SimSystem& system, std::uint64_t seed);

  Status format();
  Store& store() override;
  bool can_reopen() const override { return true; }
  Status reopen(Ending ending, Access access) override;
  // The order of the log. Then heals what is wrong, and looks again, with nothing going wrong
  // meanwhile; not with a store that is open for reading alone: it cannot be healed.
  std::string check() override;
  void wait() override;

  AilingTally tally();

 private:
  io::SimDisk& victim(std::uint64_t which) { return system_.disk(victims_[which]); }
  void go_wrong();
  void cut_power();
  void drain_some();
  void move_some();
  void mend_some();
  void change_victims();
  void look_at_log();
  Status open(Access access);

  io::SimSystem& system_;
  const std::uint64_t seed_;
  const std::size_t data_disks_;
  io::Rng rng_;
  io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  PoolDescription pool_;
  LogOrder log_;
  RuntimeOptions runtime_;
  std::string victims_[2];
  std::map<std::string, std::shared_ptr<const io::CowImage>> old_;  // of victims, some lives ago
  std::optional<Store> store_;
  bool calm_ = false;  // nothing goes wrong
  AilingTally tally_;
};

}  // namespace hexad::testing
