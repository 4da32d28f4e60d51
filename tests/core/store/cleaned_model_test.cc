// Random transactions on a store whose cleaner never rests: behind every second one simulated time
// passes, in which all that pays is moved and compacted. Beside that objects are read as they were
// many transactions ago; clones, renames, splits, omaps and buffered commits are among the
// transactions, and openings between them. The same on a store that is nearly full, while the power
// fails, so that buffered commits are lost, and two of its devices leave and come back.
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/base/thinned.h"
#include "tests/core/log_order.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"
#include "tests/core/store_runner.h"

namespace hexad::testing {
namespace {

// Everything in one fiber of the simulation.
class SimTarget : public ReopenedTarget {
 public:
  SimTarget(SimPool& pool, const RuntimeOptions& runtime) : ReopenedTarget(runtime), pool_(pool) {}
  ~SimTarget() override { drop(); }

  Status reopen(Ending ending, Access access) override {
    count();
    return ReopenedTarget::reopen(ending, access);
  }
  void wait() override { pool_.sleep(3'000'000'000); }

  // Adds what the cleaner has done since the opening.
  void count() {
    moved += counter(store(), "cleaned_blobs");
    compacted += counter(store(), "compacted_lists");
  }
  std::uint64_t moved = 0;
  std::uint64_t compacted = 0;

 protected:
  SimPool& pool() { return pool_; }

 private:
  Result<Store> open_store(const RuntimeOptions& runtime) override {
    return Store::open(pool_.pool(), runtime, &pool_.system());
  }

  SimPool& pool_;
};

// The power fails, and two data devices leave and come back, each in its own time: as many as the
// profile survives. A check waits until they are back, and whole.
class HarshTarget final : public SimTarget {
 public:
  HarshTarget(SimPool& pool, const RuntimeOptions& runtime, std::uint64_t seed)
      : SimTarget(pool, runtime), rng_(seed) {
    victims_[0] = static_cast<DeviceId>(rng_.below(kDevices));
    victims_[1] = static_cast<DeviceId>((victims_[0] + 1 + rng_.below(kDevices - 1)) % kDevices);
  }
  ~HarshTarget() override { drop(); }

  Status reopen(Ending ending, Access access) override {
    look();
    returned += counter(store(), "devices_returned");
    if (ending == Ending::kCut) cut_power();
    seen_ = 0;
    return SimTarget::reopen(ending, access);
  }
  std::string check() override {
    look_at_log();
    if (std::string wrong = log_.problem(); !wrong.empty()) return wrong;
    if (store().status().read_only) return all_there() ? SimTarget::check() : "";
    if (std::string wrong = bring_back(); !wrong.empty()) return wrong;
    return SimTarget::check();
  }
  void wait() override {
    constexpr io::Nanos kTimes[] = {2'000'000, 50'000'000, 1'200'000'000, 3'000'000'000};
    look();
    for (const DeviceId victim : victims_) {
      if (gone_.count(victim) == 0) {
        if (rng_.chance(1, 40)) leave(victim);
      } else if (rng_.chance(1, 8)) {
        appear(victim);
        if (rng_.chance(1, 2)) ask_for(victim);
      }
    }
    pool().sleep(kTimes[rng_.below(std::size(kTimes))]);
  }

  std::uint64_t left = 0;           // times that a device did
  std::uint64_t returned = 0;       // ... and came back to a store that was open
  std::uint64_t beside_absent = 0;  // blobs moved and lists compacted while one was away or behind

 private:
  static constexpr std::uint64_t kDevices = 6;

  io::SimDisk& disk(DeviceId id) { return pool().disk(id); }
  bool all_there() {
    const StoreStatus status = store().status();
    return status.health == Health::kOk && status.devices[victims_[0]].state == "ok" &&
           status.devices[victims_[1]].state == "ok";
  }
  // At what has been cleaned since the last look.
  void look() {
    const std::uint64_t done =
        counter(store(), "cleaned_blobs") + counter(store(), "compacted_lists");
    if (!all_there()) beside_absent += done - seen_;
    seen_ = done;
  }
  void vanish(DeviceId victim) {
    disk(victim).vanish();
    gone_.insert(victim);
  }
  void appear(DeviceId victim) {
    disk(victim).appear();
    gone_.erase(victim);
  }
  void ask_for(DeviceId victim) {
    store().bring_back_device(victim, pool().disks()[victim]).ignore();
  }
  // Gone for a while, or there and without a word about what was written to it.
  void leave(DeviceId victim) {
    ++left;
    if (rng_.chance(2, 3)) return vanish(victim);
    constexpr io::FaultKind kReported[] = {
        io::FaultKind::kWriteErrorBefore, io::FaultKind::kWriteErrorPartly,
        io::FaultKind::kWriteErrorAfter, io::FaultKind::kFlushError};
    io::Fault fault;
    fault.kind = kReported[rng_.below(std::size(kReported))];
    fault.after = rng_.below(8);
    disk(victim).inject(fault);
  }
  std::string bring_back() {
    constexpr io::Nanos kPause = 10'000'000'000;
    for (const DeviceId victim : victims_) {
      disk(victim).clear_faults();
      appear(victim);
    }
    for (int times = 0; times < 200; ++times) {
      if (all_there()) return "";
      for (const DeviceId victim : victims_) {
        const std::string state = store().status().devices[victim].state;
        if (state != "ok" && state != "behind") ask_for(victim);
      }
      pool().sleep(kPause);
    }
    std::string states;
    for (const DeviceStatus& device : store().status().devices) {
      states += " " + device.path + ": " + device.state + " (" + device.detail + ")";
    }
    return "devices do not come back:" + states;
  }
  // Just behind a commit, or amid what is done behind that.
  void cut_power() {
    const auto busy = pool().system().executor().start("busy", [&] {
      if (rng_.chance(1, 3)) store().checkpoint().ignore();
    });
    if (rng_.chance(1, 2)) {
      const std::uint64_t most = rng_.chance(1, 2) ? 4'000'000 : 1'500'000'000;
      pool().sleep(static_cast<io::Nanos>(rng_.below(most)));
    }
    pool().system().power_cut();
    busy->join();
  }
  void between() override {
    look_at_log();
    for (const DeviceId victim : victims_) {
      if (rng_.chance(1, 2)) appear(victim);
      if (rng_.chance(1, 8)) vanish(victim);
    }
  }
  // On the fast tier, whose disk stays.
  void look_at_log() {
    const io::SimDisk& log = pool().system().disk(pool().log());
    log_.see_device(
        [&](std::uint64_t offset, std::uint64_t length) { return log.peek(offset, length); });
  }

  io::Rng rng_;
  std::array<DeviceId, 2> victims_{};
  std::set<DeviceId> gone_;  // of these
  LogOrder log_;
  std::uint64_t seen_ = 0;  // of what has been cleaned since the opening
};

// A life in a pool of its own, of options.seed: a Target of it, which `args` make, too. `seen`
// looks at that at the end.
template <typename Target, typename... Args>
RunnerTally run_life(std::uint64_t device_size, const RunnerOptions& options,
                     const std::function<void(const Target&)>& seen, Args... args) {
  SimPoolOptions made;
  made.sim.seed = options.seed;
  made.device_size = device_size;
  SimPool pool(made);
  RunnerTally one;
  pool.system().run([&] {
    Target target(pool, runtime_of_seed(options.seed), args...);
    const Status opened = target.open(Access::kReadWrite);
    if (!opened.ok()) {
      one.difference = message_of(opened);
      return;
    }
    one = run_store(target, options);
    target.count();
    seen(target);
  });
  return one;
}

TEST_CASE("cleaner: random transactions beside it leave what plain maps say") {
  const std::uint64_t seeds = campaign_is_thorough() ? 400 : 40;
  RunnerTally tally;
  std::uint64_t moved = 0;
  std::uint64_t compacted = 0;
  for (std::uint64_t i = 1; i <= seeds; i += kThinned) {
    const std::uint64_t seed = campaign_seed_of(i);
    CAPTURE(seed);
    RunnerOptions options;
    options.seed = seed;
    options.ops = 1000;
    options.big_one_in = 20;
    options.reopen_one_in = 60;
    options.wait_one_in = 2;
    options.read_one_in = 2;
    const auto seen = [&](const SimTarget& target) {
      moved += target.moved;
      compacted += target.compacted;
    };
    const RunnerTally one = run_life<SimTarget>(12_MiB, options, seen);
    REQUIRE(one.difference == "");
    tally.add(one);
  }
  std::printf("name=cleaned-model runs=%d ops=%d read=%d moved=%d compacted=%d violations=0\n",
              static_cast<int>(seeds / kThinned), static_cast<int>(tally.ops),
              static_cast<int>(tally.read), static_cast<int>(moved), static_cast<int>(compacted));
  CHECK(tally.read > 10);
  CHECK(moved * kThinned > 100);
  // Rare: of 40 runs two or three do.
  if (kThinned == 1 && campaign_seed() == 0) CHECK(compacted > 0);
}

TEST_CASE("cleaner: random transactions beside it, lost commits and absent devices, nearly full") {
  const std::uint64_t seeds = campaign_is_thorough() ? 100 : 6;
  RunnerTally tally;
  std::uint64_t moved = 0;
  std::uint64_t compacted = 0;
  std::uint64_t left = 0;
  std::uint64_t returned = 0;
  std::uint64_t beside_absent = 0;
  for (std::uint64_t i = 1; i <= seeds; i += kThinned) {
    const std::uint64_t seed = campaign_seed_of(1000 + i);
    CAPTURE(seed);
    RunnerOptions options;
    options.seed = seed;
    options.ops = 1200;
    options.big_one_in = 20;
    options.compare_one_in = 80;
    options.check_one_in = 80;
    options.reopen_one_in = 60;
    options.wait_one_in = 2;
    options.read_one_in = 2;
    options.buffered_in_4 = 3;
    options.cut_one_in = 15;
    options.worn_percent = 85;
    options.may_be_full = true;
    const auto seen = [&](const HarshTarget& target) {
      moved += target.moved;
      compacted += target.compacted;
      left += target.left;
      returned += target.returned;
      beside_absent += target.beside_absent;
    };
    const RunnerTally one = run_life<HarshTarget>(6_MiB, options, seen, seed);
    REQUIRE(one.difference == "");
    tally.add(one);
  }
  const auto number = [](std::uint64_t count) { return static_cast<int>(count); };
  std::printf(
      "name=cleaned-harsh-model runs=%d ops=%d transactions=%d refused=%d cuts=%d lost=%d left=%d "
      "returned=%d moved=%d compacted=%d beside_absent=%d read=%d violations=0\n",
      number(seeds / kThinned), number(tally.ops), number(tally.transactions),
      number(tally.refused), number(tally.cuts), number(tally.lost), number(left), number(returned),
      number(moved), number(compacted), number(beside_absent), number(tally.read));
  CHECK(tally.lost * kThinned > 10);
  CHECK(left * kThinned > 10);
  CHECK(moved * kThinned > 100);
  CHECK(compacted * kThinned > 20);
  if (kThinned == 1) {
    CHECK(returned > 0);
    CHECK(beside_absent > 0);
  }
  CHECK(tally.refused * 5 < tally.transactions);
}

}  // namespace
}  // namespace hexad::testing
