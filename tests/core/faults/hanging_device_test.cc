// A device that takes requests of commits and does not answer: they wait for it, and go on without
// it in the end (decision 056). In simulated time.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "tests/base/thinned.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::Nanos;
using io::SimOp;
using io::SimSystem;

TEST_CASE("hanging device: commits wait for it, say so, and lose no device") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  std::string meanwhile;
  Nanos took = 0;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    system->disk("dev2").inject({.kind = FaultKind::kHang, .times = Fault::kForever});
    const auto helper = system->executor().start("helper", [&] {
      system->executor().sleep_for(20 * kSecond);
      meanwhile = warning_of(store);
      system->disk("dev2").clear_faults();
      system->disk("dev2").release_hung();
    });
    const Nanos began = system->clock().now();
    Transaction t;
    t.put(kDefaultCollection, "new", noise(200'000, 5));
    const Result<Lsn> done = store.commit(std::move(t));
    took = system->clock().now() - began;
    helper->join();
    if (!done.ok()) return done.error().to_string();
    for (const DeviceStatus& device : store.status().devices) {
      if (device.state != "ok") return device.path + ": " + device.state;
    }
    return warning_of(store);
  });
  REQUIRE(said == "");
  REQUIRE(took >= 20 * kSecond);
  REQUIRE_THAT(meanwhile, Catch::Contains("device 2 (dev2) has not answered for 19 s") ||
                              Catch::Contains("device 2 (dev2) has not answered for 20 s"));
}

// Every request of a kind to one disk from the n-th on.
struct Hanging {
  SimSystem& system;
  std::string disk;
  std::uint64_t from = 0;
  std::uint64_t seen = 0;
  std::uint64_t struck = 0;

  void begin() {
    system.set_hook([this](const SimOp& op) -> std::optional<FaultKind> {
      if (op.disk != disk || op.op == IoOp::kRead) return std::nullopt;
      if (seen++ < from) return std::nullopt;
      ++struck;
      return FaultKind::kHang;
    });
  }
  void answer() {
    system.set_hook(nullptr);
    system.disk(disk).release_hung();
    system.executor().sleep_for(kSecond);
    system.queue().has_abandoned();
  }
};

std::string state_of(Store& store, const std::string& disk) {
  for (const DeviceStatus& device : store.status().devices) {
    if (device.path == disk) return device.state;
  }
  return "none";
}

TEST_CASE("hanging device: commits go on without it, and it comes back when it has answered") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Hanging hanging{*system, "dev2"};
  Nanos took = 0;
  Nanos second = 0;
  std::string detail;
  std::string problem;
  system->run([&] {
    {
      Result<Store> store = Store::open(origin.pool(), {}, system.get());
      if (!store.ok()) {
        problem = store.error().to_string();
        return;
      }
      hanging.begin();
      const auto put = [&](const std::string& name, std::uint64_t seed) {
        Transaction t;
        t.put(kDefaultCollection, name, noise(200'000, seed));
        const Result<Lsn> done = store->commit(std::move(t));
        if (!done.ok()) problem += done.error().to_string();
      };
      const Nanos began = system->clock().now();
      put("new", 5);
      took = system->clock().now() - began;
      put("newer", 6);
      second = system->clock().now() - began - took;
      for (const DeviceStatus& device : store->status().devices) {
        if (device.path == "dev2") detail = device.state + ": " + device.detail;
      }
      if (store->status().faults_tolerated != 1) problem += "it counts still";
      problem += read_all(*store);
      // Nobody waits for it: neither does closing.
      const Nanos closing = system->clock().now();
      const Status closed = store->close();
      if (!closed.ok()) problem += closed.error().to_string();
      if (system->clock().now() - closing > 5 * kSecond) problem += "closing has waited";
    }
    {
      // It is still locked: its last request may come.
      const Result<Store> locked = Store::open(origin.pool(), {}, system.get());
      if (locked.ok() || locked.error().code != ErrorCode::kBusy) problem += "not locked";
    }
    hanging.answer();
    Result<Store> store = Store::open(origin.pool(), {}, system.get());
    if (!store.ok()) {
      problem += store.error().to_string();
      return;
    }
    const Result<CatchUpReport> caught = store->catch_up({});
    if (!caught.ok()) problem += caught.error().to_string();
    if (state_of(*store, "dev2") != "ok") problem += "not back: " + state_of(*store, "dev2");
    const Result<FsckReport> fsck = store->fsck({.deep = true});
    if (!fsck.ok()) problem += fsck.error().to_string();
    if (fsck.ok() && !fsck->findings.empty()) problem += fsck->findings.front().problem;
    problem += read_all(*store);
  });
  REQUIRE(problem == "");
  REQUIRE(took >= 60 * kSecond);
  REQUIRE(took < 70 * kSecond);
  REQUIRE(second < kSecond);
  REQUIRE_THAT(detail, Catch::Contains("failed: ") && Catch::Contains("it did not answer"));
}

// Commits, checkpoints, new zones, merges, moves and the close, each of which may be what meets it
// first. Its late writes come before the store is closed, or after.
TEST_CASE("hanging device: whatever it hangs in, the store goes on, and nothing is lost") {
  SimOrigin origin(large_disks(), fill);
  RuntimeOptions options;
  options.memtable_size = 64_KiB;
  options.device_patience = 8;
  // Returns the number of requests that the disk has had, or what was wrong.
  const auto run = [&](std::uint64_t from, const std::string& disk, bool soon,
                       std::uint64_t& seen) -> std::string {
    const auto system = origin.start(from);
    Hanging hanging{*system, disk, from};
    std::map<std::string, std::string> expected;
    std::string problem;
    system->run([&] {
      {
        Result<Store> store = Store::open(origin.pool(), options, system.get());
        if (!store.ok()) {
          problem = store.error().to_string();
          return;
        }
        hanging.begin();
        for (std::uint64_t i = 0; i < 60 && problem.empty(); ++i) {
          const std::string name = std::to_string(i % 13);
          const std::string value = noise(i % 5 == 0 ? 700'000 : 2000 + 997 * (i % 7), 100 + i);
          Transaction t;
          t.put(kDefaultCollection, name, value);
          const Result<Lsn> done = store->commit(std::move(t));
          if (!done.ok()) problem = "put: " + done.error().to_string();
          expected[name] = value;
        }
        if (soon) hanging.answer();
        const Status closed = store->close();
        if (!closed.ok()) problem += "close: " + closed.error().to_string();
      }
      hanging.answer();
      seen = hanging.seen;
      // With everything, and then without two others, which change from run to run.
      const int pair = static_cast<int>(from % 6);
      for (const int without : {-1, pair, (pair + 3) % 6}) {
        if (!problem.empty()) break;
        const std::string away = "dev" + std::to_string(without);
        const std::string next = "dev" + std::to_string((without + 1) % 6);
        if (without >= 0) {
          system->disk(away).vanish();
          system->disk(next).vanish();
        }
        RuntimeOptions reading;
        if (without >= 0) reading.access = Access::kReadOnly;
        Result<Store> store = Store::open(origin.pool(), reading, system.get());
        if (!store.ok()) {
          problem = "again: " + store.error().to_string();
          return;
        }
        if (without < 0) {
          const Result<CatchUpReport> caught = store->catch_up({});
          if (!caught.ok()) problem += "catch up: " + caught.error().to_string();
          if (state_of(*store, disk) != "ok") problem += disk + " " + state_of(*store, disk);
          const Result<FsckReport> fsck = store->fsck({.deep = true});
          if (!fsck.ok()) problem += "fsck: " + fsck.error().to_string();
          if (fsck.ok() && !fsck->findings.empty()) {
            problem +=
                "fsck: " + fsck->findings.front().subject + ": " + fsck->findings.front().problem;
          }
        }
        for (const auto& [name, value] : expected) {
          const Result<Bytes> found = store->get(kDefaultCollection, name);
          if (!found.ok()) problem += name + ": " + found.error().to_string();
          if (found.ok() && as_text(*found) != std::string_view(value))
            problem += name + " differs";
        }
        if (without >= 0) {
          system->disk(away).appear();
          system->disk(next).appear();
        }
      }
    });
    return problem;
  };
  for (const std::string& disk : {std::string("dev1"), origin.disks().back()}) {
    std::uint64_t all = 0;
    REQUIRE(run(1'000'000, disk, false, all) == "");
    REQUIRE(all > 50);
    for (std::uint64_t from = 0; from < all; from += 1 + all * kThinned / 40) {
      CAPTURE(disk, from, all);
      std::uint64_t seen = 0;
      REQUIRE(run(from, disk, from % 2 == 0, seen) == "");
    }
  }
}

TEST_CASE("hanging device: more than the profile survives are waited for, and none is lost") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Nanos took = 0;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    const std::vector<std::string> disks = {"dev0", "dev1", "dev2"};
    for (const std::string& disk : disks) {
      system->disk(disk).inject({.kind = FaultKind::kHang, .times = Fault::kForever});
    }
    const auto helper = system->executor().start("helper", [&] {
      system->executor().sleep_for(300 * kSecond);
      for (const std::string& disk : disks) {
        system->disk(disk).clear_faults();
        system->disk(disk).release_hung();
      }
    });
    const Nanos began = system->clock().now();
    Transaction t;
    t.put(kDefaultCollection, "new", noise(200'000, 5));
    const Result<Lsn> done = store.commit(std::move(t));
    took = system->clock().now() - began;
    helper->join();
    if (!done.ok()) return done.error().to_string();
    for (const DeviceStatus& device : store.status().devices) {
      if (device.state != "ok") return device.path + ": " + device.state;
    }
    return read_all(store);
  });
  REQUIRE(said == "");
  REQUIRE(took >= 300 * kSecond);
}

// What all disks of one place do, put by put, while others say no more.
struct Commits {
  SimSystem& system;
  Store& store;
  std::string problem;
  std::vector<std::unique_ptr<io::Thread>> threads;

  void begin(const std::string& name, std::uint64_t seed) {
    threads.push_back(system.executor().start("writer", [this, name, seed] {
      Transaction t;
      t.put(kDefaultCollection, name, noise(200'000, seed));
      const Result<Lsn> done = store.commit(std::move(t));
      if (!done.ok()) problem += name + ": " + done.error().to_string();
    }));
  }
  void join() {
    for (const auto& thread : threads) thread->join();
  }
};

// The first two answer when they have been given up, and before they have left.
TEST_CASE("hanging device: who is given up counts as lost before it has left") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  bool third = false;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
      const bool hangs = op.disk == "dev1" || op.disk == "dev2" || (third && op.disk == "dev3");
      if (hangs && op.op != IoOp::kRead) return FaultKind::kHang;
      return std::nullopt;
    });
    Commits commits{*system, store, "", {}};
    commits.begin("first", 5);
    system->executor().sleep_for(20 * kSecond);
    third = true;
    commits.begin("second", 6);
    system->executor().sleep_for(55 * kSecond);
    const std::string warned = warning_of(store);
    system->disk("dev1").release_hung();
    system->disk("dev2").release_hung();
    system->executor().sleep_for(120 * kSecond);
    release(*system, {"dev1", "dev2", "dev3"});
    commits.join();
    std::string problem = commits.problem;
    if (warned.find("device 2 (dev2) has not answered for so long that it is given up") ==
        std::string::npos) {
      problem += "nothing is said of it: " + warned;
    }
    for (const auto& [disk, state] : std::map<std::string, std::string>{
             {"dev1", "failed"}, {"dev2", "failed"}, {"dev3", "ok"}}) {
      if (state_of(store, disk) != state) problem += disk + " is " + state_of(store, disk);
    }
    return problem + read_all(store);
  });
  REQUIRE(said == "");
}

TEST_CASE("hanging device: who has failed beside it counts as lost before it has left") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.op != IoOp::kWrite) return std::nullopt;
      if (op.disk == "dev1" || op.disk == "dev2") return FaultKind::kWriteErrorBefore;
      if (op.disk == "dev3") return FaultKind::kHang;
      return std::nullopt;
    });
    Commits commits{*system, store, "", {}};
    commits.begin("first", 5);
    system->executor().sleep_for(120 * kSecond);
    release(*system, {"dev3"});
    commits.join();
    std::string problem = commits.problem;
    for (const auto& [disk, state] : std::map<std::string, std::string>{
             {"dev1", "failed"}, {"dev2", "failed"}, {"dev3", "ok"}}) {
      if (state_of(store, disk) != state) problem += disk + " is " + state_of(store, disk);
    }
    return problem + read_all(store);
  });
  REQUIRE(said == "");
}

// The second falls silent when commits wait for the first: whoever changes the membership is the
// first to ask it something, the log's blocks.
TEST_CASE("hanging device: one that hangs while another one leaves is left, too") {
  SimOrigin origin(large_disks(), fill);
  for (const bool answers : {false, true}) {
    CAPTURE(answers);
    const auto system = origin.start(1);
    const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
      bool asked = false;
      system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
        if (op.disk == "dev2" && op.op == IoOp::kRead) asked = true;
        if (op.disk == "dev1" || (op.disk == "dev2" && asked)) return FaultKind::kHang;
        return std::nullopt;
      });
      Commits commits{*system, store, "", {}};
      commits.begin("first", 5);
      system->executor().sleep_for(110 * kSecond);
      if (answers) release(*system, {"dev2"});
      commits.join();
      if (!asked) return "nobody has read";
      std::string problem = commits.problem;
      for (const auto& [disk, state] : std::map<std::string, std::string>{
               {"dev1", "failed"}, {"dev2", answers ? "ok" : "failed"}}) {
        if (state_of(store, disk) != state) problem += disk + " is " + state_of(store, disk);
      }
      problem += read_all(store);
      release(*system, {"dev1", "dev2"});
      return problem;
    });
    REQUIRE(said == "");
  }
}

// It leaves for a write that failed, while a checkpoint waits for its answer to another one.
TEST_CASE("hanging device: one that hangs and has left is given up, too") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  RuntimeOptions options;
  options.memtable_size = 64_KiB;
  int hanging = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          if (op.disk != "dev1" || op.op != IoOp::kWrite) return std::nullopt;
          if (op.cause != io::IoCause::kRun)
            return hanging > 0 ? std::optional(FaultKind::kWriteErrorBefore) : std::nullopt;
          ++hanging;
          return FaultKind::kHang;
        });
        for (int i = 0; i < 300 && (hanging == 0 || state_of(store, "dev1") == "ok"); ++i) {
          Transaction t;
          t.put(kDefaultCollection, "new " + std::to_string(i), noise(3000, 100 + i));
          const Result<Lsn> done = store.commit(std::move(t));
          if (!done.ok()) return done.error().to_string();
        }
        if (state_of(store, "dev1") != "failed") return "dev1 is " + state_of(store, "dev1");
        system->executor().sleep_for(90 * kSecond);
        const Status closed = store.close();
        release(*system, {"dev1"});
        return closed.ok() ? "" : closed.error().to_string();
      },
      options);
  REQUIRE(said == "");
  REQUIRE(hanging > 0);
}

}  // namespace
}  // namespace hexad::testing
