// Every single request of a piece of work is, once, the one with which a disk starts to fail; in
// simulated time, so that every one of these runs can be repeated.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "core/store.h"
#include "io/sim_system.h"

namespace hexad {
namespace {

using io::FaultKind;
using io::SimSystem;

std::string noise_of(std::size_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.next());
  return bytes;
}

// A pool that was made once; every run starts from copies.
class Origin {
 public:
  Origin() {
    std::string pattern = (std::filesystem::temp_directory_path() / "hexad_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    FormatOptions options;
    options.device_size = 8_MiB;
    options.log_size = 1_MiB;
    for (int i = 0; i < 6; ++i) options.devices.push_back("dev" + std::to_string(i));
    options.fast_directories = {(directory_ / "fast").string()};
    SimSystem system(sim_options(1));
    system.run([&] {
      const Result<PoolDescription> made = Store::format(options, &system);
      if (made.ok()) pool = *made;
      if (!made.ok()) WARN(made.error().to_string());
    });
    REQUIRE(pool.devices.size() == 6);
    names_ = pool.devices;
    names_.push_back(pool.fast_directories[0] + "/log");
    for (const std::string& name : names_) disks_[name] = system.disk(name).snapshot();
    std::filesystem::copy(directory_ / "fast", directory_ / "saved",
                          std::filesystem::copy_options::recursive);
  }
  ~Origin() { std::filesystem::remove_all(directory_); }

  static io::SimOptions sim_options(std::uint64_t seed) {
    io::SimOptions options;
    options.seed = seed;
    return options;
  }
  std::unique_ptr<SimSystem> start(std::uint64_t seed) {
    std::filesystem::remove_all(directory_ / "fast");
    std::filesystem::copy(directory_ / "saved", directory_ / "fast",
                          std::filesystem::copy_options::recursive);
    auto system = std::make_unique<SimSystem>(sim_options(seed));
    for (const std::string& name : names_) {
      system->add_disk(name, std::make_shared<io::CowImage>(disks_[name]), io::SimDiskOptions());
    }
    return system;
  }

  PoolDescription pool;

 private:
  std::filesystem::path directory_;
  std::vector<std::string> names_;
  std::map<std::string, std::shared_ptr<const io::CowImage>> disks_;
};

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
        const std::string value = noise_of(i % 3 == 0 ? 100 : 3000 * i, fiber * 100 + i);
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
Run run(Origin& origin, std::uint64_t seed, std::optional<std::uint64_t> nth, FaultKind kind,
        SimSystem::Stickiness stickiness) {
  Run result;
  Ledger ledger;
  const std::unique_ptr<SimSystem> system = origin.start(seed);
  system->run([&] {
    Result<Store> store = Store::open(origin.pool, {}, system.get());
    if (!store.ok()) {
      result.problem = "open: " + store.error().to_string();
      return;
    }
    const std::uint64_t before = system->requests();
    if (nth.has_value()) system->fail_nth(*nth, kind, stickiness);
    work(*store, *system, ledger);
    result.problem = check_values(*store, ledger);
    const StoreStatus status = store->status();
    for (const DeviceStatus& device : status.devices) result.lost += device.state == "ok" ? 0 : 1;
    result.failed = ledger.failures > 0;
    const Status closed = store->close();
    if (result.problem.empty() && !closed.ok()) result.problem = "close: " + closed.error().message;
    result.requests = system->requests() - before;
  });
  if (!result.problem.empty()) return result;
  // The disk works again; what it missed is known.
  system->set_hook(nullptr);
  system->run([&] {
    for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
      RuntimeOptions options;
      options.access = access;
      Result<Store> store = Store::open(origin.pool, options, system.get());
      if (!store.ok()) {
        result.problem = "open again: " + store.error().to_string();
        return;
      }
      result.problem = check_all(*store, ledger);
      if (!result.problem.empty()) return;
    }
  });
  return result;
}

void sweep(FaultKind kind, SimSystem::Stickiness stickiness, std::uint64_t step) {
  Origin origin;
  const Run clean = run(origin, 1, std::nullopt, kind, stickiness);
  REQUIRE(clean.problem == "");
  REQUIRE(clean.lost == 0);
  REQUIRE(clean.requests > 100);
  std::uint64_t lossy = 0;
  for (std::uint64_t n = 0; n < clean.requests; n += step) {
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
  sweep(FaultKind::kDeviceError, SimSystem::Stickiness::kDevice, 1);
}

TEST_CASE("store: a disk fails one write, without, with half, and with all of its effect") {
  for (const FaultKind kind :
       {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly, FaultKind::kWriteErrorAfter}) {
    CAPTURE(static_cast<int>(kind));
    sweep(kind, SimSystem::Stickiness::kOnce, 1);
  }
}

TEST_CASE("store: a disk loses one write, or tears it, and says nothing") {
  // Found by checksums, and read around: fsck names the cell, so it is not asked here.
  Origin origin;
  for (const FaultKind kind : {FaultKind::kWriteLost, FaultKind::kWriteTorn}) {
    for (std::uint64_t n = 0; n < 120; ++n) {
      CAPTURE(static_cast<int>(kind), n);
      const std::unique_ptr<SimSystem> system = origin.start(n);
      Ledger ledger;
      std::string problem;
      const auto read_all = [&](Store& store) {
        for (const auto& [name, value] : ledger.acknowledged) {
          const Result<Bytes> found = store.get(kDefaultCollection, name);
          if (!found.ok()) problem = name + ": " + found.error().to_string();
          if (found.ok() && as_text(*found) != std::string_view(value)) problem = name;
        }
      };
      system->run([&] {
        Result<Store> store = Store::open(origin.pool, {}, system.get());
        if (!store.ok()) {
          problem = store.error().to_string();
          return;
        }
        system->fail_nth(n, kind, SimSystem::Stickiness::kOnce);
        work(*store, *system, ledger);
        read_all(*store);
      });
      REQUIRE(problem == "");
      system->set_hook(nullptr);
      system->run([&] {
        Result<Store> store = Store::open(origin.pool, {}, system.get());
        if (!store.ok()) {
          problem = store.error().to_string();
          return;
        }
        read_all(*store);
        const Result<FsckReport> repaired = store->fsck({true, true});
        if (!repaired.ok() || repaired->errors() > 0) problem = "fsck could not repair";
        const Result<FsckReport> again = store->fsck({true, false});
        if (!again.ok() || !again->findings.empty()) problem = "fsck finds more";
      });
      REQUIRE(problem == "");
    }
  }
}

}  // namespace
}  // namespace hexad
