// Two disks go wrong, each in one of six ways, and the power fails: all that was acknowledged is
// exact, the store heals itself, and a disk that returns harms nothing.
//
// In every third run the fast tier is away, too, when the power is back, index and all, and returns
// with the disks that were away.
//
// Every pair of the six data disks, every pair of ways, twenty moments of the power failure for
// each: 10,800 runs, all different in what they interrupt, each repeatable by its seed. One in four
// of them at a time, other ones for each seed of the campaign.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "alloc/device_layout.h"
#include "io/rng.h"
#include "tests/base/campaign.h"
#include "tests/core/log_order.h"
#include "tests/core/numbered_ledger.h"
#include "tests/core/sim_origin.h"
#include "tests/core/store_fixture.h"
#include "tests/crash/harness_line.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::SimSystem;

constexpr std::size_t kDataDisks = 6;
constexpr std::uint64_t kMoments = 20;
constexpr std::uint64_t kOneIn = 4;
// Commits that are there before, so that there is something to lose.
constexpr std::uint64_t kBefore = 2 * NumberedLedger::kNames;
constexpr std::uint64_t kCommitsPerMoment = 3;

enum class Wrong : std::uint8_t {
  kGone,     // fails every request from some moment on, and is not there afterwards
  kReturns,  // fails every request from some moment on, and works again afterwards
  kOnce,     // fails one write or one flush, with some of its effect
  kForgets,  // says that it has done writes, or flushes, from some moment on, and has not
  kOld,      // has afterwards what it had before all of this
  kRotten,   // bits flip everywhere, afterwards
};
constexpr Wrong kWrongs[] = {Wrong::kGone,    Wrong::kReturns, Wrong::kOnce,
                             Wrong::kForgets, Wrong::kOld,     Wrong::kRotten};

const char* to_string(Wrong wrong) {
  static constexpr const char* kNames[] = {"gone", "returns", "once", "forgets", "old", "rotten"};
  return kNames[static_cast<std::size_t>(wrong)];
}

bool is_dead(Wrong wrong) { return wrong == Wrong::kGone || wrong == Wrong::kReturns; }

// The store is told, by an error.
bool reports(Wrong wrong) { return is_dead(wrong) || wrong == Wrong::kOnce; }

// One that goes on working, but not as it should, from its request `after` on.
std::optional<Fault> fault_of(Wrong wrong, std::uint64_t after, io::Rng& rng) {
  Fault fault;
  fault.after = after;
  if (wrong == Wrong::kOnce) {
    constexpr FaultKind kKinds[] = {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly,
                                    FaultKind::kWriteErrorAfter, FaultKind::kFlushError};
    fault.kind = kKinds[rng.below(4)];
    return fault;
  }
  if (wrong != Wrong::kForgets) return std::nullopt;
  fault.kind = rng.chance(1, 2) ? FaultKind::kWriteLost : FaultKind::kFlushLies;
  fault.times = Fault::kForever;
  return fault;
}

// What the disk is like when the power is back. It is not attached when this returns false.
bool come_back(io::SimDisk& disk, Wrong wrong, const SimOrigin& origin, io::Rng& rng) {
  if (wrong == Wrong::kOld) disk.replace(origin.content(disk.name()));
  if (wrong == Wrong::kRotten) {
    const std::uint64_t step = 1024 << rng.below(4);
    const std::uint64_t end = alloc::kHeadEnd + alloc::room_of(disk.size());
    for (std::uint64_t at = alloc::kHeadEnd; at + step <= end; at += step) {
      if (rng.chance(1, 3)) disk.flip_bit(at + rng.below(step), rng.below(8));
    }
  }
  return wrong != Wrong::kGone;
}

struct Case {
  std::size_t disks[2];
  Wrong wrongs[2];
  std::uint64_t moment;
  std::uint64_t seed;
};

// When the two go wrong while the store works: often both amid the same commits, so that the second
// fails what the store does about the first.
void go_wrong(SimSystem& system, const SimOrigin& origin, const Case& c,
              const NumberedLedger& ledger, io::Rng& rng) {
  struct Death {
    const std::string& disk;
    std::uint64_t commits;   // as many are acknowledged
    std::uint64_t requests;  // and then so many requests more have been made, of all disks
  };
  std::vector<Death> deaths;
  std::uint64_t commits = 0;
  for (int i = 0; i < 2; ++i) {
    if (i == 0 || rng.chance(1, 2)) commits = rng.below(kCommitsPerMoment * c.moment + 1);
    const std::string& disk = origin.disks()[c.disks[i]];
    if (is_dead(c.wrongs[i])) deaths.push_back({disk, kBefore + commits, rng.below(40)});
    // Well before its last request: a commit is about two writes of each disk.
    const auto fault = fault_of(c.wrongs[i], commits + rng.below(10), rng);
    if (fault.has_value()) system.disk(disk).inject(*fault);
  }
  system.set_hook([deaths, &ledger](const io::SimOp& op) mutable -> std::optional<FaultKind> {
    std::optional<FaultKind> fails;
    for (Death& death : deaths) {
      if (ledger.count() < death.commits) continue;
      if (death.requests > 0) {
        --death.requests;
      } else if (op.disk == death.disk) {
        fails = FaultKind::kDeviceError;
      }
    }
    return fails;
  });
}

// Writers, and a checkpoint now and then, until the power fails. Nothing, or the first refusal.
std::string write_until_power_fails(SimSystem& system, const SimOrigin& origin, const Case& c,
                                    NumberedLedger& ledger) {
  std::string refused;
  bool power = true;
  const std::string opened = with_store(system, origin.pool(), [&](Store& store) {
    io::Rng rng(c.seed);
    go_wrong(system, origin, c, ledger, rng);
    std::vector<std::unique_ptr<io::Thread>> fibers;
    for (std::uint64_t writer = 0; writer < NumberedLedger::kWriters; ++writer) {
      fibers.push_back(system.executor().start("writer", [&, writer] {
        for (std::uint64_t number = kBefore + writer;; number += NumberedLedger::kWriters) {
          const Status done = store.commit(NumberedLedger::transaction(number)).status();
          if (done.ok()) {
            ledger.acknowledge(number);
            if (number % 23 == 0) store.checkpoint().ignore();
            continue;
          }
          if (power && refused.empty()) refused = done.error().to_string();
          return;
        }
      }));
    }
    const std::uint64_t last = kBefore + kCommitsPerMoment * c.moment;
    while (ledger.count() < last && refused.empty()) system.executor().sleep_for(50'000);
    system.executor().sleep_for(static_cast<io::Nanos>(rng.below(500'000)));
    power = false;
    system.power_cut();
    system.set_hook(nullptr);
    for (const auto& fiber : fibers) fiber->join();
  });
  return opened.empty() ? refused : opened;
}

std::string problem_of_repair(Store& store) {
  const Result<FsckReport> report = store.fsck({true, true});
  if (!report.ok()) return "fsck: " + report.error().to_string();
  return report->errors() == 0 ? "" : "fsck could not repair all";
}

// Everything is there; what is wrong is healed; the store goes on. `known`: all that a disk misses
// has been noted, so that nothing is wrong.
std::string goes_on(Store& store, NumberedLedger& ledger, std::uint64_t number, bool known) {
  if (std::string found = ledger.difference(store); !found.empty()) return found;
  if (std::string found = known ? deep_findings(store) : ""; !found.empty()) return found;
  if (std::string found = problem_of_repair(store); !found.empty()) return found;
  if (std::string found = deep_findings(store); !found.empty()) return "healed, " + found;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::uint64_t next = number + i;
    const Status done = store.commit(NumberedLedger::transaction(next)).status();
    if (!done.ok()) return "commit: " + done.error().to_string();
    ledger.acknowledge(next);
  }
  if (number % 2 == 0) {
    const Status made = store.checkpoint();
    if (!made.ok()) return "checkpoint: " + made.error().to_string();
  }
  return ledger.difference(store);
}

// How many of the faults that go_wrong() injects have struck.
std::uint64_t struck(const io::SimDisk& disk) {
  std::uint64_t count = 0;
  for (const FaultKind kind :
       {FaultKind::kDeviceError, FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly,
        FaultKind::kWriteErrorAfter, FaultKind::kFlushError, FaultKind::kWriteLost,
        FaultKind::kFlushLies}) {
    count += disk.struck(kind);
  }
  return count;
}

// Runs in which a disk has gone wrong in this way before the power failed.
using Struck = std::map<Wrong, std::uint64_t>;

// As the log on the fast tier has it, whose disk nothing goes wrong with.
std::string problem_of_log(SimSystem& system, const SimOrigin& origin, LogOrder& order) {
  const io::SimDisk& disk = system.disk(origin.disks().back());
  order.see_device(
      [&](std::uint64_t offset, std::uint64_t length) { return disk.peek(offset, length); });
  const std::string problem = order.problem();
  return problem.empty() ? "" : "the log: " + problem;
}

// Nothing, or what is wrong.
std::string run(SimOrigin& origin, const NumberedLedger& before, const Case& c, Struck& counts) {
  NumberedLedger ledger = before;
  const std::unique_ptr<SimSystem> system = origin.start(c.seed);
  if (std::string refused = write_until_power_fails(*system, origin, c, ledger); !refused.empty()) {
    return "before the power fails: " + refused;
  }
  LogOrder order;
  if (std::string wrong = problem_of_log(*system, origin, order); !wrong.empty()) return wrong;
  io::Rng rng(c.seed + 1);
  std::set<std::string> away;
  for (int i = 0; i < 2; ++i) {
    io::SimDisk& disk = system->disk(origin.disks()[c.disks[i]]);
    counts[c.wrongs[i]] += struck(disk) > 0 ? 1 : 0;
    disk.clear_faults();
    if (!come_back(disk, c.wrongs[i], origin, rng)) away.insert(disk.name());
  }
  if (rng.chance(1, 3)) {
    away.insert(origin.disks().back());
    std::filesystem::remove_all(origin.pool().fast_directories.front() + "/index");
  }
  for (const std::string& name : away) system->disk(name).vanish();
  // Those names again, of which something may have been in flight.
  const std::uint64_t number = 10 * kBefore;
  std::string problem = with_store(*system, origin.pool(), [&](Store& store) {
    return goes_on(store, ledger, number, reports(c.wrongs[0]) && reports(c.wrongs[1]));
  });
  if (!problem.empty()) return "with the power back: " + problem;
  for (const std::string& name : away) system->disk(name).appear();
  problem = with_store(*system, origin.pool(), [&](Store& store) {
    if (std::string found = ledger.difference(store); !found.empty()) return found;
    return deep_findings(store);
  });
  if (!problem.empty()) return "with all disks: " + problem;
  return problem_of_log(*system, origin, order);
}

void sweep(std::uint64_t first) {
  const HarnessLine line("double-fault");
  NumberedLedger before;
  SimOrigin origin({}, [&](Store& store) -> std::string {
    for (std::uint64_t number = 0; number < kBefore; ++number) {
      const Status done = store.commit(NumberedLedger::transaction(number)).status();
      if (!done.ok()) return done.error().to_string();
      before.acknowledge(number);
    }
    return "";
  });
  std::uint64_t number = 0;
  std::uint64_t states = 0;
  std::uint64_t violations = 0;
  Struck counts;
  for (const auto& [a, b] : pairs_below(kDataDisks)) {
    for (const Wrong f : kWrongs) {
      for (const Wrong g : kWrongs) {
        for (std::uint64_t moment = 0; moment < kMoments; ++moment) {
          if (++number % 2 != first || !campaign_picks(number / 2, kOneIn)) continue;
          ++states;
          const std::uint64_t seed = campaign_seed_of(number);
          const Case c{{a, b}, {f, g}, moment, seed};
          const std::string problem = run(origin, before, c, counts);
          if (problem.empty()) continue;
          ++violations;
          CAPTURE(a, b, to_string(f), to_string(g), moment, seed);
          CHECK(problem == "");
          REQUIRE(violations < 10);
        }
      }
    }
  }
  line.print({{"states", states}, {"violations", violations}});
  REQUIRE(violations == 0);
  // There are states / 3 disks that are to go wrong in each way.
  for (const Wrong wrong : {Wrong::kGone, Wrong::kReturns, Wrong::kOnce, Wrong::kForgets}) {
    CAPTURE(to_string(wrong), counts[wrong]);
    REQUIRE(counts[wrong] > states / 3 / 5);
  }
}

TEST_CASE("double fault: two disks and the power, even runs", "[even]") { sweep(0); }
TEST_CASE("double fault: two disks and the power, odd runs", "[odd]") { sweep(1); }

}  // namespace
}  // namespace hexad::testing
