// Every root, promise and fence fails on every single disk, once or from then on; then the power
// fails at any request until after the next root; then up to m disks and the fast tier are away:
// all that was acknowledged is there. And for mkfs: what fails, or is cut, leaves nothing that
// opens.
//
// Sweeps that close the store after a fault do not see what such a write leaves behind: the last
// root of a clean close is newer than all the attempts before it, and on all disks.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "core/opening/pool_options.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/numbered_ledger.h"
#include "tests/core/sim_origin.h"
#include "tests/core/store_fixture.h"
#include "tests/crash/harness_line.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;
using io::FaultKind;
using io::SimOp;
using io::SimSystem;

constexpr std::size_t kDataDisks = 6;
constexpr std::size_t kDisks = kDataDisks + 1;  // and the one on the fast tier
constexpr int kParity = 2;
constexpr std::uint64_t kBefore = 8;  // commits that are there before
constexpr std::uint64_t kNever = ~std::uint64_t{0};
constexpr FaultKind kKinds[] = {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly,
                                FaultKind::kWriteErrorAfter};

bool is_root(const SimOp& op) {
  return op.op == io::IoOp::kWrite && alloc::is_in_header(op.offset, op.disk_size);
}
bool is_fence(const SimOp& op) {
  return op.op == io::IoOp::kWrite && op.mode == io::WriteMode::kDurable &&
         op.cause == io::IoCause::kLog;
}

// What makes the membership change, besides the write that fails.
enum class Trigger : std::uint8_t { kNone, kFastDies, kDataDies };
constexpr Trigger kTriggers[] = {Trigger::kNone, Trigger::kFastDies, Trigger::kDataDies};
constexpr std::size_t kDying = 5;  // the data disk

struct Case {
  Trigger trigger = Trigger::kNone;
  std::size_t disk = 0;
  std::uint64_t nth = kNever;  // of the roots, promises and fences that are written to it
  FaultKind kind = FaultKind::kWriteErrorBefore;
  bool sticky = false;         // and every request of that disk from then on
  std::uint64_t cut = kNever;  // so many requests, of all disks, pass between the fault and the cut
};

// What happens to the disks in one life of a store.
class Fate {
 public:
  Fate(const SimOrigin& origin, const Case& c) : origin_(origin), case_(c) {}

  void arm() { armed_ = true; }
  bool armed() const { return armed_; }
  bool struck() const { return struck_; }
  const std::vector<std::uint64_t>& seen() const { return seen_; }
  // Requests from the fault until after the next root.
  std::uint64_t window() const { return window_ == 0 ? since_ : window_; }

  std::optional<FaultKind> of(const SimOp& op) {
    if (struck_ && since_++ >= case_.cut) return FaultKind::kDeviceError;  // no power
    const std::size_t disk = static_cast<std::size_t>(
        std::find(origin_.disks().begin(), origin_.disks().end(), op.disk) -
        origin_.disks().begin());
    const bool dying = (case_.trigger == Trigger::kFastDies && disk == kDataDisks) ||
                       (case_.trigger == Trigger::kDataDies && disk == kDying);
    if (armed_ && dying) return FaultKind::kDeviceError;
    if (struck_ && case_.sticky && disk == case_.disk) return FaultKind::kDeviceError;
    if (!is_root(op) && !is_fence(op)) return std::nullopt;
    const std::uint64_t nth = seen_[disk]++;
    if (!struck_ && disk == case_.disk && nth == case_.nth) {
      struck_ = true;
      return case_.kind;
    }
    // The second root of some disk, at both ends: the round in which the fault was, perhaps, and
    // the next. Each disk has four reads and two writes in a round.
    if (struck_ && is_root(op) && ++roots_[disk] == 4 && window_ == 0) {
      window_ = since_ + 6 * kDisks;
    }
    return std::nullopt;
  }

 private:
  const SimOrigin& origin_;
  const Case case_;
  bool armed_ = false;
  bool struck_ = false;
  std::uint64_t since_ = 0;
  std::uint64_t window_ = 0;
  std::vector<std::uint64_t> seen_ = std::vector<std::uint64_t>(kDisks);
  std::map<std::size_t, int> roots_;  // since the fault, by disk
};

// Opens, commits, makes a checkpoint, closes; stops where something is refused, for then the power
// has gone, or too many disks have.
void live(SimSystem& system, const SimOrigin& origin, Fate& fate, NumberedLedger& ledger) {
  system.set_hook([&](const SimOp& op) { return fate.of(op); });
  std::uint64_t number = kBefore;
  const auto commit = [&](Store& store, int count) {
    for (int i = 0; i < count; ++i, ++number) {
      if (!store.commit(NumberedLedger::transaction(number)).ok()) return false;
      ledger.acknowledge(number);
    }
    return true;
  };
  with_store(system, origin.pool(), [&](Store& store) {
    if (!commit(store, 2)) return;
    fate.arm();
    if (!commit(store, 4) || !store.checkpoint().ok() || !commit(store, 2)) return;
    store.close().ignore();
  });
  system.power_cut();
  system.set_hook(nullptr);
}

// What is away at an opening: data disks by bits, and the fast tier.
struct Away {
  unsigned disks = 0;
  bool fast = false;
};

const std::vector<Away>& all_away() {
  static const std::vector<Away> all = [] {
    std::vector<Away> sets;
    for (unsigned disks = 0; disks < 1u << kDataDisks; ++disks) {
      if (std::popcount(disks) > kParity) continue;
      sets.push_back({disks, false});
      sets.push_back({disks, true});
    }
    return sets;
  }();
  return all;
}

void take_away(SimSystem& system, const SimOrigin& origin, const Away& away) {
  for (std::size_t i = 0; i < kDataDisks; ++i) {
    if ((away.disks >> i & 1) != 0) system.disk(origin.disks()[i]).vanish();
  }
  if (!away.fast) return;
  system.disk(origin.disks().back()).vanish();
  const fs::path index = fs::path(origin.pool().fast_directories[0]) / "index";
  if (fs::exists(index)) fs::rename(index, index.string() + ".away");
}

void give_back(SimSystem& system, const SimOrigin& origin) {
  for (const std::string& name : origin.disks()) system.disk(name).appear();
  const fs::path index = fs::path(origin.pool().fast_directories[0]) / "index";
  if (!fs::exists(index.string() + ".away")) return;
  fs::remove_all(index);
  fs::rename(index.string() + ".away", index);
}

struct Tally {
  std::uint64_t states = 0;
  std::uint64_t openings = 0;
  std::uint64_t refused = 0;  // with more than m disks lost
  std::uint64_t struck = 0;
  std::uint64_t violations = 0;
};

std::string open_and_compare(SimSystem& system, const SimOrigin& origin, Access access,
                             bool may_refuse, NumberedLedger& ledger, Tally& tally) {
  RuntimeOptions options;
  options.access = access;
  std::string problem;
  ++tally.openings;
  system.run([&] {
    Result<Store> store = Store::open(origin.pool(), options, &system);
    if (!store.ok()) {
      if (may_refuse && store.error().code == ErrorCode::kUnavailable) {
        ++tally.refused;
        return;
      }
      problem = "open: " + store.error().to_string();
      return;
    }
    problem = ledger.difference(*store);
    if (!problem.empty() || access == Access::kReadOnly) return;
    constexpr std::uint64_t kAfter = 50;
    const Status done = store->commit(NumberedLedger::transaction(kAfter)).status();
    if (!done.ok()) problem = "commit: " + done.error().to_string();
    if (done.ok()) ledger.acknowledge(kAfter);
  });
  return problem;
}

// With each of `sets` away, for reading; with the last of them that the profile survives, for
// writing; and with all disks again.
std::string check(SimSystem& system, const SimOrigin& origin, const Case& c, bool armed,
                  const std::vector<Away>& sets, NumberedLedger& ledger, Tally& tally) {
  unsigned faulty = 0;
  if (c.disk < kDataDisks) faulty |= 1u << c.disk;
  if (armed && c.trigger == Trigger::kDataDies) faulty |= 1u << kDying;
  const auto survives = [&](const Away& away) {
    return std::popcount(away.disks | faulty) <= kParity;
  };
  const auto look = [&](const Away& away, Access access) -> std::string {
    take_away(system, origin, away);
    std::string problem = open_and_compare(system, origin, access, !survives(away), ledger, tally);
    give_back(system, origin);
    if (problem.empty()) return "";
    return "without " + std::to_string(away.disks) + (away.fast ? " and the fast tier: " : ": ") +
           problem;
  };
  Away last;
  for (const Away& away : sets) {
    if (std::string problem = look(away, Access::kReadOnly); !problem.empty()) return problem;
    if (survives(away)) last = away;
  }
  if (std::string problem = look(last, Access::kReadWrite); !problem.empty()) {
    return "for writing " + problem;
  }
  system.power_cut();
  if (std::string problem = look({}, Access::kReadWrite); !problem.empty()) {
    return "with all disks " + problem;
  }
  return "";
}

// One life and what comes of it.
class Sweep {
 public:
  // Of all cuts and sets, or of a sample: two ways of each write to fail with a cut and two sets
  // for each; or every way with four of each. Others for each seed of the campaign.
  enum class Depth { kSample, kEveryWay, kAll };
  explicit Sweep(Depth depth) : depth_(depth) {}

  void run() {
    for (const Trigger trigger : kTriggers) {
      const std::vector<std::uint64_t> writes = count_writes(trigger);
      for (std::size_t disk = 0; disk < kDisks; ++disk) {
        for (std::uint64_t nth = 0; nth < writes[disk]; ++nth) try_all({trigger, disk, nth});
      }
    }
    line_.print({{"states", tally_.states},
                 {"openings", tally_.openings},
                 {"refused", tally_.refused},
                 {"violations", tally_.violations}});
    REQUIRE(tally_.violations == 0);
    // Other latencies, other requests: a few faults find nothing to strike.
    REQUIRE(tally_.struck > tally_.states * 9 / 10);
    REQUIRE(tally_.refused > tally_.openings / 100);
    REQUIRE(tally_.refused < tally_.openings / 2);
  }

 private:
  std::vector<std::uint64_t> count_writes(Trigger trigger) {
    Case c;
    c.trigger = trigger;
    const std::unique_ptr<SimSystem> system = origin_.start(1);
    NumberedLedger ledger = before_;
    Fate fate(origin_, c);
    live(*system, origin_, fate, ledger);
    REQUIRE(fate.seen()[0] >= 5);  // promise, root, fence; checkpoint, close
    return fate.seen();
  }

  // In every way; the power stays on until the store is closed, which tells how many requests there
  // are to cut at, and then it fails at each of them. Or in two ways, cut anywhere.
  void try_all(Case c) {
    if (depth_ == Depth::kSample) {
      const std::uint64_t window = try_one(c);
      for (int i = 0; i < 2; ++i) {
        c.kind = kKinds[rng_.below(std::size(kKinds))];
        c.sticky = rng_.chance(1, 2);
        c.cut = rng_.below(window + 1);
        try_one(c);
      }
      return;
    }
    for (const FaultKind kind : kKinds) {
      for (const bool sticky : {false, true}) {
        c = {c.trigger, c.disk, c.nth, kind, sticky};
        const std::uint64_t window = try_one(c);
        if (depth_ == Depth::kAll) {
          for (c.cut = 0; c.cut < window; ++c.cut) try_one(c);
        } else {
          for (int i = 0; i < kCuts; ++i) {
            c.cut = rng_.below(window + 1);
            try_one(c);
          }
        }
      }
    }
  }

  std::uint64_t try_one(const Case& c) {
    ++tally_.states;
    const std::unique_ptr<SimSystem> system = origin_.start(++seed_);
    NumberedLedger ledger = before_;
    Fate fate(origin_, c);
    live(*system, origin_, fate, ledger);
    if (fate.struck()) ++tally_.struck;
    std::vector<Away> sets = all_away();
    if (depth_ != Depth::kAll) {
      const std::size_t count = depth_ == Depth::kSample ? 2 : 4;
      for (std::size_t i = 0; i < count; ++i) {
        std::swap(sets[i], sets[i + rng_.below(sets.size() - i)]);
      }
      sets.resize(count);
    }
    const std::string problem = check(*system, origin_, c, fate.armed(), sets, ledger, tally_);
    if (!problem.empty()) {
      ++tally_.violations;
      CAPTURE(static_cast<int>(c.trigger), c.disk, c.nth, io::to_string(c.kind), c.sticky, c.cut,
              seed_);
      CHECK(problem == "");
      REQUIRE(tally_.violations < 10);
    }
    return fate.window();
  }

  static constexpr int kCuts = 4;

  const Depth depth_;
  const HarnessLine line_{"root-sweep"};
  NumberedLedger before_;
  SimOrigin origin_{{}, [this](Store& store) -> std::string {
                      for (std::uint64_t number = 0; number < kBefore; ++number) {
                        const Status done =
                            store.commit(NumberedLedger::transaction(number)).status();
                        if (!done.ok()) return done.error().to_string();
                        before_.acknowledge(number);
                      }
                      return "";
                    }};
  io::Rng rng_{7 + campaign_seed()};
  std::uint64_t seed_ = campaign_seed_of(0);
  Tally tally_;
};

TEST_CASE("root sweep: roots, promises and fences that fail, and the power") {
  Sweep(campaign_is_thorough() ? Sweep::Depth::kEveryWay : Sweep::Depth::kSample).run();
}

// By name alone.
TEST_CASE("root sweep: all cuts, with every set of disks away", "[.long]") {
  Sweep(Sweep::Depth::kAll).run();
}

// --- mkfs ---

// Disks that are there, with nothing on them, and a store that is made on them.
class Blank {
 public:
  explicit Blank(std::uint64_t seed) : system_(io::SimOptions{.seed = seed}) {
    options_ = small_format();
    options_.log_size = 1_MiB;
    options_.fast_directories = {directory_.path("fast")};
    for (std::size_t i = 0; i < kDataDisks; ++i) {
      options_.devices.push_back("dev" + std::to_string(i));
      system_.add_disk(options_.devices.back(), 8_MiB + alloc::kEndsSize);
    }
    system_.add_disk(core::fast_log_path(options_.fast_directories[0]), 2_MiB + alloc::kEndsSize);
  }

  SimSystem& system() { return system_; }
  bool make() {
    bool made = false;
    system_.run([&] { made = Store::format(options_, &system_).ok(); });
    return made;
  }
  // With these disks away. `whole`: whether every device was found to be as it should.
  bool opens(unsigned away, Access access, bool* whole = nullptr) {
    for (std::size_t i = 0; i < kDataDisks; ++i) {
      if ((away >> i & 1) != 0) system_.disk(options_.devices[i]).vanish();
    }
    bool opened = false;
    RuntimeOptions runtime;
    runtime.access = access;
    system_.run([&] {
      Result<Store> store =
          Store::open({options_.devices, options_.fast_directories}, runtime, &system_);
      opened = store.ok();
      if (!opened || whole == nullptr) return;
      const std::vector<DeviceStatus> devices = store->status().devices;
      *whole = devices.size() == kDisks &&
               std::all_of(devices.begin(), devices.end(),
                           [](const DeviceStatus& device) { return device.state == "ok"; });
    });
    for (const std::string& name : options_.devices) system_.disk(name).appear();
    return opened;
  }

 private:
  SimSystem system_;
  const io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  FormatOptions options_;
};

TEST_CASE("root sweep: mkfs that is left alone makes a store that opens with disks missing") {
  Blank blank(1);
  REQUIRE(blank.make());
  bool whole = false;
  REQUIRE(blank.opens(0, Access::kReadOnly, &whole));
  REQUIRE(whole);
  REQUIRE(blank.opens(3, Access::kReadOnly));
}

// Every `step`th request; of the sets of disks `sets` for each.
void sweep_failures_of_mkfs(std::uint64_t step, std::size_t sets) {
  const HarnessLine line("mkfs-fails");
  std::uint64_t states = 0;
  std::uint64_t openings = 0;
  io::Rng rng(3 + campaign_seed());
  for (const FaultKind kind : kKinds) {
    for (const auto stickiness : {SimSystem::Stickiness::kOnce, SimSystem::Stickiness::kDevice}) {
      for (std::uint64_t n = rng.below(step);; n += step) {
        Blank blank(campaign_seed_of(n + 1));
        blank.system().fail_nth(n, kind, stickiness);
        if (blank.make()) {
          REQUIRE(n > 40);  // there was no such write any more
          break;
        }
        blank.system().set_hook(nullptr);
        ++states;
        for (std::size_t i = 0; i < sets; ++i) {
          const auto& all = all_away();
          const unsigned away = all[sets == all.size() ? i : rng.below(all.size())].disks;
          ++openings;
          CAPTURE(n, io::to_string(kind), static_cast<int>(stickiness), away);
          REQUIRE_FALSE(blank.opens(away, Access::kReadOnly));
        }
        // And the next attempt finds nothing in its way.
        CAPTURE(n, io::to_string(kind), static_cast<int>(stickiness));
        if (stickiness == SimSystem::Stickiness::kOnce) REQUIRE(blank.make());
      }
    }
  }
  line.print({{"states", states}, {"openings", openings}, {"violations", 0}});
}

void sweep_cuts_of_mkfs(std::size_t sets) {
  const HarnessLine line("mkfs-cut");
  std::uint64_t opened = 0;
  io::Rng rng(3 + campaign_seed());
  std::uint64_t cut = 0;
  for (;; ++cut) {
    Blank blank(campaign_seed_of(cut + 1));
    std::uint64_t failed = 0;
    blank.system().set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.number < cut) return std::nullopt;
      ++failed;
      return FaultKind::kDeviceError;
    });
    const bool made = blank.make();
    if (made && failed == 0) break;  // that was all
    blank.system().power_cut();
    blank.system().set_hook(nullptr);
    // What failed then was a zone made ahead, say: nothing that the answer rests on.
    if (made) {
      CAPTURE(cut, failed);
      REQUIRE(blank.opens(0, Access::kReadOnly));
    }
    bool whole = false;
    if (!blank.opens(0, Access::kReadOnly, &whole)) whole = false;
    for (std::size_t i = 0; i < sets; ++i) {
      const auto& all = all_away();
      const unsigned away = all[sets == all.size() ? i : rng.below(all.size())].disks;
      CAPTURE(cut, away, whole);
      const bool opens = blank.opens(away, Access::kReadOnly);
      // In part only what is there as a whole.
      REQUIRE((whole || !opens));
      if (opens) ++opened;
    }
    if (!whole) continue;
    CAPTURE(cut);
    REQUIRE(blank.opens(0, Access::kReadWrite));
    REQUIRE(blank.opens(6, Access::kReadWrite));
  }
  line.print({{"states", cut}, {"opened", opened}, {"violations", 0}});
  REQUIRE(cut > 200);
  REQUIRE(opened > 0);
}

TEST_CASE("root sweep: mkfs that fails leaves nothing that opens") { sweep_failures_of_mkfs(2, 4); }

TEST_CASE("root sweep: mkfs that is cut leaves a whole store or none") { sweep_cuts_of_mkfs(4); }

// By name alone.
TEST_CASE("root sweep: mkfs, every write and every set of disks", "[.long]") {
  sweep_failures_of_mkfs(1, all_away().size());
  sweep_cuts_of_mkfs(all_away().size());
}

}  // namespace
}  // namespace hexad::testing
