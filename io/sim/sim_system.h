// A whole world from one seed: disks by name, a virtual clock, fibers. Example of a crash test:
// io/sim/crash_states.h. Example of a test with faults:
//
//   SimSystem system(SimOptions{.seed = seed});
//   for (const char* name : {"a", "b", "c"}) system.add_disk(name, 16_MiB);
//   system.disk("b").inject({.kind = FaultKind::kReadFlip, .times = Fault::kForever});
//   system.fail_nth(17, FaultKind::kWriteErrorAfter, SimSystem::Stickiness::kOnce);
//   system.run([&] { ... open_device("a"), threads, locks ... });
//   system.power_cut();                      // caches are lost, by chance
//   system.run([&] { ... open again ... });
//   REQUIRE(system.trace_hash() == ...);
#pragma once

#include <map>
#include <memory>
#include <string>

#include "io/sim/crash_states.h"
#include "io/sim/sim_device.h"
#include "io/sim/sim_executor.h"
#include "io/system.h"

namespace hexad::io {

struct SimOptions {
  std::uint64_t seed = 1;
  SimLatency latency{};
  SimDiskOptions disk{};              // for disks that are created or come from a crash state
  CrashRecorder* recorder = nullptr;  // records every disk; outlives the system
  // Shared by the simulations of a test that makes many; null for stacks of its own.
  std::shared_ptr<FiberStacks> stacks = nullptr;
};

class SimSystem final : public System {
 public:
  explicit SimSystem(SimOptions options = {});
  // The disks of `state`, under their names; costs nothing for their content.
  explicit SimSystem(const CrashState& state, SimOptions options = {});
  ~SimSystem() override;

  // A new disk of zeros, or with content. Asserts that the name is free.
  SimDisk& add_disk(const std::string& name, std::uint64_t size);
  SimDisk& add_disk(const std::string& name, std::shared_ptr<const CowImage> content,
                    const SimDiskOptions& options);
  // Asserts that it exists.
  SimDisk& disk(const std::string& name);
  bool has_disk(const std::string& name) const { return disks_.count(name) != 0; }

  // As SimExecutor::run.
  void run(Task main) { executor_.run(std::move(main)); }
  SimExecutor& sim_executor() { return executor_; }
  std::uint64_t trace_hash() const { return executor_.trace_hash(); }

  Executor& executor() override { return executor_; }
  Clock& clock() override { return executor_.clock(); }
  SimQueue& queue() override { return queue_; }
  std::uint64_t draw_seed() override { return executor_.rng().next(); }
  // Errors: kNotFound, kBusy.
  Result<std::unique_ptr<Device>> open_device(const std::string& path, OpenMode mode) override;
  // Errors: kBusy, kNotFound (vanished), kNoSpace, kInvalidArgument.
  Result<std::unique_ptr<Device>> create_device(const std::string& path,
                                                std::uint64_t size) override;

  Result<std::optional<Holder>> holder(const std::string& path) override;
  Status shut_out(const std::string& path) override;

  enum class Stickiness : std::uint8_t {
    kOnce,    // that request
    kSticky,  // that request and all later ones of its kind
    kDevice,  // that request and all later ones of its disk
  };
  // Counted from the next request on, from 0, over all disks, the requests that `kind` strikes.
  // Replaces the hook.
  void fail_nth(std::uint64_t n, FaultKind kind, Stickiness stickiness);
  void set_hook(SimHook hook) { queue_.set_hook(std::move(hook)); }
  // Requests submitted so far.
  std::uint64_t requests() const { return queue_.requests(); }

  // The power goes and comes back: each disk keeps of its pending writes what chance decides.
  // Devices that are open are dead: their requests, those in flight included, fail with kIo.
  // Not together with a recorder.
  void power_cut();

 private:
  const SimOptions options_;
  SimExecutor executor_;
  SimQueue queue_;
  std::map<std::string, std::unique_ptr<SimDisk>> disks_;
};

}  // namespace hexad::io
