// Every single request of a piece of work is, once, the one with which a disk starts to fail; in
// simulated time, so that every one of these runs can be repeated.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "tests/base/thinned.h"
#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {
namespace {

using io::FaultKind;
using io::SimSystem;

// What was acknowledged; and what was tried, and may be there instead.
struct Ledger {
  std::map<std::string, std::string> acknowledged;
  std::map<std::string, std::string> tried;
  int failures = 0;
};

// Two fibers commit, a third makes checkpoints.
void work(Store& store, SimSystem& system, Ledger& ledger) {
  std::vector<std::unique_ptr<io::Thread>> fibers;
  for (int fiber = 0; fiber < 2; ++fiber) {
    fibers.push_back(system.executor().start("work", [&, fiber] {
      for (int i = 0; i < 8; ++i) {
        const std::string name = std::to_string(fiber) + "/" + std::to_string(i % 5);
        const std::string value = noise(i % 3 == 0 ? 100 : 3000 * i, fiber * 100 + i);
        Transaction t;
        t.put(kDefaultCollection, name, value);
        if (store.commit(std::move(t)).ok()) {
          ledger.acknowledged[name] = value;
        } else {
          ledger.tried[name] = value;
          ++ledger.failures;
          return;
        }
      }
    }));
  }
  fibers.push_back(system.executor().start("checkpoints", [&] {
    for (int i = 0; i < 2; ++i) {
      store.checkpoint().ignore();
      system.executor().sleep_for(2'000'000);
    }
  }));
  for (const auto& fiber : fibers) fiber->join();
}

// Nothing, or what is wrong.
std::string check_values(Store& store, const Ledger& ledger) {
  for (const auto& [name, value] : ledger.acknowledged) {
    const Result<Bytes> found = store.get(kDefaultCollection, name);
    if (!found.ok()) return name + ": " + found.error().to_string();
    const auto tried = ledger.tried.find(name);
    const bool may_be_newer =
        tried != ledger.tried.end() && as_text(*found) == std::string_view(tried->second);
    if (as_text(*found) != std::string_view(value) && !may_be_newer) return name + ": other bytes";
  }
  return "";
}

std::string check_all(Store& store, const Ledger& ledger) {
  const std::string values = check_values(store, ledger);
  if (!values.empty()) return values;
  const Result<FsckReport> report = store.fsck({true, false});
  if (!report.ok()) return "fsck: " + report.error().to_string();
  for (const Finding& finding : report->findings) {
    return finding.subject + ": " + finding.problem;
  }
  return "";
}

struct Run {
  std::uint64_t requests = 0;  // of opening, work and closing
  std::string problem;
  bool failed = false;  // a commit was refused
  std::uint32_t lost = 0;
};

// One run in which the nth request that `kind` strikes is the first that its disk fails.
Run run(SimOrigin& origin, std::uint64_t seed, std::optional<std::uint64_t> nth, FaultKind kind,
        SimSystem::Stickiness stickiness) {
  Run result;
  Ledger ledger;
  const std::unique_ptr<SimSystem> system = origin.start(seed);
  result.problem = with_store(*system, origin.pool(), [&](Store& store) {
    const std::uint64_t before = system->requests();
    if (nth.has_value()) system->fail_nth(*nth, kind, stickiness);
    work(store, *system, ledger);
    std::string problem = check_values(store, ledger);
    const StoreStatus status = store.status();
    for (const DeviceStatus& device : status.devices) result.lost += device.state == "ok" ? 0 : 1;
    result.failed = ledger.failures > 0;
    const Status closed = store.close();
    if (problem.empty() && !closed.ok()) problem = "close: " + closed.error().message;
    result.requests = system->requests() - before;
    return problem;
  });
  if (!result.problem.empty()) return result;
  // The disk works again; what it missed is known.
  system->set_hook(nullptr);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    RuntimeOptions options;
    options.access = access;
    const std::string problem = with_store(
        *system, origin.pool(), [&](Store& store) { return check_all(store, ledger); }, options);
    if (!problem.empty()) {
      result.problem = "then: " + problem;
      break;
    }
  }
  return result;
}

void sweep(FaultKind kind, SimSystem::Stickiness stickiness) {
  SimOrigin origin;
  const Run clean = run(origin, 1, std::nullopt, kind, stickiness);
  REQUIRE(clean.problem == "");
  REQUIRE(clean.lost == 0);
  REQUIRE(clean.requests > 100);
  std::uint64_t lossy = 0;
  for (std::uint64_t n = 0; n < clean.requests; n += kThinned == 1 ? 1 : 2 * kThinned) {
    CAPTURE(n);
    const Run result = run(origin, 1 + n, n, kind, stickiness);
    REQUIRE(result.problem == "");
    REQUIRE_FALSE(result.failed);
    REQUIRE(result.lost <= 1);
    lossy += result.lost;
  }
  REQUIRE(lossy > 0);
}

TEST_CASE("store: a disk dies at any request") {
  sweep(FaultKind::kDeviceError, SimSystem::Stickiness::kDevice);
}

TEST_CASE("store: a disk fails one write, without, with half, and with all of its effect") {
  for (const FaultKind kind :
       {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly, FaultKind::kWriteErrorAfter}) {
    CAPTURE(static_cast<int>(kind));
    sweep(kind, SimSystem::Stickiness::kOnce);
  }
}

TEST_CASE("store: a disk loses one write, or tears it, and says nothing") {
  // Found by checksums, and read around: fsck names the cell, so it is not asked here.
  SimOrigin origin;
  for (const FaultKind kind : {FaultKind::kWriteLost, FaultKind::kWriteTorn}) {
    for (std::uint64_t n = 0; n < 120; n += kThinned) {
      CAPTURE(static_cast<int>(kind), n);
      const std::unique_ptr<SimSystem> system = origin.start(n);
      Ledger ledger;
      const auto read_all = [&](Store& store) -> std::string {
        for (const auto& [name, value] : ledger.acknowledged) {
          const Result<Bytes> found = store.get(kDefaultCollection, name);
          if (!found.ok()) return name + ": " + found.error().to_string();
          if (as_text(*found) != std::string_view(value)) return name;
        }
        return "";
      };
      REQUIRE(with_store(*system, origin.pool(), [&](Store& store) {
                system->fail_nth(n, kind, SimSystem::Stickiness::kOnce);
                work(store, *system, ledger);
                return read_all(store);
              }) == "");
      system->set_hook(nullptr);
      REQUIRE(with_store(*system, origin.pool(), [&](Store& store) -> std::string {
                if (const std::string wrong = read_all(store); !wrong.empty()) return wrong;
                const Result<FsckReport> repaired = store.fsck({true, true});
                if (!repaired.ok() || repaired->errors() > 0) return "fsck could not repair";
                const Result<FsckReport> again = store.fsck({true, false});
                return !again.ok() || !again->findings.empty() ? "fsck finds more" : "";
              }) == "");
    }
  }
}

}  // namespace
}  // namespace hexad::testing
