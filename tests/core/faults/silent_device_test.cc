// A device that takes requests and does not answer: no error, for minutes. Reads go round it,
// commits wait for it, and whoever asks is told which one it is. In simulated time.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "core/blob/blob_read.h"
#include "tests/base/thinned.h"
#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {
namespace {

using core::kSilence;
using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::Nanos;
using io::SimOp;
using io::SimSystem;

constexpr Nanos kSecond = 1'000'000'000;
constexpr int kObjects = 8;

// Packed ones, private stripes, one of several pages.
std::string value_of(int i) {
  return noise(i < 4 ? 3000 + 500 * i : i < 7 ? 300'000 : 1'500'000, i);
}

std::string fill(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(i), value_of(i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return done.error().to_string();
  }
  return "";
}

SimPoolOptions large_disks() {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  return options;
}

RuntimeOptions without_cache() {
  RuntimeOptions options;
  options.cache_size = 0;
  return options;
}

// Nothing, or which object is not as it was.
std::string read_all(Store& store) {
  for (int i = 0; i < kObjects; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
    if (!found.ok()) return std::to_string(i) + ": " + found.error().to_string();
    if (as_text(*found) != std::string_view(value_of(i)))
      return std::to_string(i) + ": other bytes";
  }
  return "";
}

std::string warning_of(Store& store) {
  std::string all;
  for (const std::string& warning : store.status().warnings) all += warning + "\n";
  return all;
}

// From now on these disks answer no read of cells; what they hold is answered by release().
void hang_reads(SimSystem& system, const std::vector<std::string>& disks) {
  system.set_hook([disks](const SimOp& op) -> std::optional<FaultKind> {
    if (op.op != IoOp::kRead) return std::nullopt;
    for (const std::string& disk : disks) {
      if (op.disk == disk) return FaultKind::kHang;
    }
    return std::nullopt;
  });
}

void release(SimSystem& system, const std::vector<std::string>& disks) {
  system.set_hook(nullptr);
  for (const std::string& disk : disks) system.disk(disk).release_hung();
}

TEST_CASE("silent device: reads go round up to m of them, and the store says which") {
  SimOrigin origin(large_disks(), fill);
  for (const std::vector<std::string>& disks :
       {std::vector<std::string>{"dev0"}, {"dev4"}, {"dev1", "dev5"}, {"dev0", "dev2"}}) {
    CAPTURE(disks.front(), disks.size());
    const auto system = origin.start(1);
    std::string warned;
    Nanos first = 0;
    Nanos second = 0;
    const std::string said = with_store(
        *system, origin.pool(),
        [&](Store& store) -> std::string {
          hang_reads(*system, disks);
          const Nanos began = system->clock().now();
          std::string problem = read_all(store);
          first = system->clock().now() - began;
          warned = warning_of(store);
          if (problem.empty()) problem = read_all(store);
          // A silent cell is no bad one: nothing is written back.
          for (const Counter& counter : store.counters()) {
            if (counter.name == "cells_healed" && counter.since_open > 0) problem += "healed";
          }
          second = system->clock().now() - began - first;
          release(*system, disks);
          system->executor().sleep_for(kSecond);
          if (problem.empty() && !store.status().warnings.empty()) problem = warning_of(store);
          for (const DeviceStatus& device : store.status().devices) {
            if (device.state != "ok") problem += device.path + ": " + device.state;
          }
          if (problem.empty()) problem = read_all(store);
          return problem;
        },
        without_cache());
    REQUIRE(said == "");
    // The first to meet each of them has waited, the others have not.
    REQUIRE(first >= kSilence);
    REQUIRE(first < 3 * kSilence);
    REQUIRE(second < kSecond);
    for (const std::string& disk : disks) {
      REQUIRE_THAT(warned, Catch::Contains("(" + disk + ") has not answered for "));
    }
  }
}

TEST_CASE("silent device: with more than m of them a read fails, in bounded time, and says why") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  const std::vector<std::string> disks = {"dev0", "dev1", "dev2"};
  Nanos took = 0;
  std::optional<Error> error;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        hang_reads(*system, disks);
        const Nanos began = system->clock().now();
        const Result<Bytes> found = store.get(kDefaultCollection, "7");
        took = system->clock().now() - began;
        if (!found.ok()) error = found.error();
        release(*system, disks);
        system->executor().sleep_for(kSecond);
        return read_all(store);
      },
      without_cache());
  REQUIRE(said == "");
  REQUIRE(error.has_value());
  REQUIRE(error->code == ErrorCode::kUnavailable);
  REQUIRE(took < 5 * kSilence);
}

// The disk fills in what it was asked for long ago: into buffers that nobody else has by then.
TEST_CASE("silent device: a late answer touches nothing that is in use") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  const std::vector<std::string> disks = {"dev1", "dev3"};
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        hang_reads(*system, disks);
        std::vector<std::pair<int, Bytes>> kept;
        for (int i = 0; i < kObjects; ++i) {
          Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
          if (!found.ok()) return found.error().to_string();
          kept.emplace_back(i, std::move(found).value());
        }
        release(*system, disks);
        system->executor().sleep_for(kSecond);
        for (const auto& [i, bytes] : kept) {
          if (as_text(bytes) != std::string_view(value_of(i))) return std::to_string(i);
        }
        return read_all(store);
      },
      without_cache());
  REQUIRE(said == "");
}

TEST_CASE("silent device: commits wait for it, say so, and lose no device") {
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

TEST_CASE("silent device: commits go on without it, and it comes back when it has answered") {
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
TEST_CASE("silent device: whatever it hangs in, the store goes on, and nothing is lost") {
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

TEST_CASE("silent device: more than the profile survives are waited for, and none is lost") {
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
TEST_CASE("silent device: who is given up counts as lost before it has left") {
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

TEST_CASE("silent device: who has failed beside it counts as lost before it has left") {
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
TEST_CASE("silent device: one that hangs while another one leaves is left, too") {
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
TEST_CASE("silent device: one that hangs and has left is given up, too") {
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

TEST_CASE("silent device: scrubs and checks go round it, and say what they have not seen") {
  SimOrigin origin(large_disks(), fill);
  for (const bool scrub : {true, false}) {
    CAPTURE(scrub);
    const auto system = origin.start(1);
    const std::vector<std::string> disks = {"dev1", "dev4"};
    Nanos took = 0;
    std::vector<Finding> findings;
    std::vector<Finding> after;
    const auto look = [scrub](Store& store, std::vector<Finding>& into) -> std::string {
      if (scrub) {
        Result<ScrubReport> report = store.scrub({});
        if (!report.ok()) return report.error().to_string();
        into = report->findings;
      } else {
        Result<FsckReport> report = store.fsck({.deep = true, .repair = true});
        if (!report.ok()) return report.error().to_string();
        into = report->findings;
      }
      return "";
    };
    const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
      hang_reads(*system, disks);
      const Nanos began = system->clock().now();
      std::string problem = look(store, findings);
      took = system->clock().now() - began;
      for (const Counter& counter : store.counters()) {
        if (counter.name == "cells_healed" && counter.since_open > 0) problem += "healed";
      }
      release(*system, disks);
      system->executor().sleep_for(kSecond);
      if (problem.empty()) problem = look(store, after);
      return problem;
    });
    REQUIRE(said == "");
    REQUIRE(took >= kSilence);
    REQUIRE(took < 3 * kSilence);
    REQUIRE(findings.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
      REQUIRE_THAT(findings[i].subject, Catch::Contains("(" + disks[i] + ")"));
      REQUIRE_THAT(findings[i].problem,
                   Catch::StartsWith("it did not answer, so ") &&
                       Catch::Contains(" cells on it were not looked at; it has not answered for"));
      REQUIRE_FALSE(findings[i].repaired);
    }
    REQUIRE(after.empty());
  }
}

// The device answers reads, and takes the cell that is written back without a word.
TEST_CASE("silent device: a read does not wait for the cell that it writes back") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  std::uint64_t late_at = 0;  // of the cell on its way back, bytes
  std::uint64_t late_length = 0;
  int written_over = 0;
  Nanos took = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        system->disk("dev2").inject({.kind = FaultKind::kReadFlip, .times = Fault::kForever});
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          if (op.op != IoOp::kWrite || op.disk != "dev2") return std::nullopt;
          if (op.cause == io::IoCause::kHeal) {
            late_at = op.offset;
            late_length = op.length;
            return FaultKind::kHang;
          }
          if (op.offset < late_at + late_length && op.offset + op.length > late_at) ++written_over;
          return std::nullopt;
        });
        const Nanos began = system->clock().now();
        std::string problem = read_all(store);
        took = system->clock().now() - began;
        std::uint64_t failed = 0;
        for (const Counter& counter : store.counters()) {
          if (counter.name == "heal_failures") failed = counter.since_open;
        }
        if (failed == 0) problem += "nothing was to be healed";
        // What the late cell could come over is not used again until it has come: without that the
        // new objects would be where the old ones were.
        for (int i = 0; i < kObjects && problem.empty(); ++i) {
          Transaction t;
          t.remove(kDefaultCollection, std::to_string(i));
          const Result<Lsn> done = store.commit(std::move(t));
          if (!done.ok()) problem = done.error().to_string();
        }
        // Down to the small ones, which find every gap.
        bool full = false;
        int number = 0;
        for (const std::size_t size : {1'000'000, 100'000, 17'000}) {
          full = false;
          while (!full && problem.empty()) {
            Transaction t;
            t.put(kDefaultCollection, "new " + std::to_string(number), noise(size, 100 + number));
            ++number;
            const Result<Lsn> done = store.commit(std::move(t));
            full = !done.ok() && done.error().code == ErrorCode::kNoSpace;
            if (!done.ok() && !full) problem = done.error().to_string();
          }
        }
        system->disk("dev2").clear_faults();
        release(*system, {"dev2"});
        system->executor().sleep_for(kSecond);
        for (int i = 0; i < 2 && problem.empty(); ++i) {
          // It comes back, with the next commits.
          Transaction t;
          t.remove(kDefaultCollection, "new " + std::to_string(i));
          const Result<Lsn> done = store.commit(std::move(t));
          if (!done.ok()) problem = done.error().to_string();
        }
        if (problem.empty()) {
          const Result<FsckReport> report = store.fsck({.deep = true});
          if (!report.ok()) return report.error().to_string();
          for (const Finding& finding : report->findings) {
            problem += finding.subject + ": " + finding.problem + "\n";
          }
        }
        return problem;
      },
      without_cache());
  REQUIRE(said == "");
  REQUIRE(late_length > 0);
  REQUIRE(written_over == 0);
  REQUIRE(took >= kSilence);
  REQUIRE(took < 3 * kSilence);
}

TEST_CASE("silent device: an opening for reading goes on without it") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  system->disk("dev3").inject({.kind = FaultKind::kHang, .times = Fault::kForever});
  RuntimeOptions reading;
  reading.access = Access::kReadOnly;
  DeviceStatus row;
  const Nanos began = system->clock().now();
  Nanos opened = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        opened = system->clock().now() - began;
        for (const DeviceStatus& device : store.status().devices) {
          if (device.path == "dev3") row = device;
        }
        return read_all(store);
      },
      reading);
  REQUIRE(said == "");
  REQUIRE(opened >= io::kReadPatience);
  REQUIRE(opened < 2 * io::kReadPatience);
  REQUIRE(row.state == "unreadable");
  REQUIRE_THAT(row.detail, Catch::Contains("the device has not answered for 30 s"));
}

TEST_CASE("silent device: an opening for writing names it, says what to do, and demotes nobody") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  std::string first;
  std::string problem;
  system->run([&] {
    system->disk("dev3").inject({.kind = FaultKind::kHang, .times = Fault::kForever});
    {
      const Result<Store> store = Store::open(origin.pool(), {}, system.get());
      first = store.ok() ? "opened" : store.error().to_string();
    }
    // It stays open, and locked, until it answers.
    const Result<Store> locked = Store::open(origin.pool(), {}, system.get());
    if (locked.ok() || locked.error().code != ErrorCode::kBusy) problem = "not locked";
    system->disk("dev3").clear_faults();
    system->disk("dev3").release_hung();
    system->executor().sleep_for(kSecond);
    system->queue().has_abandoned();
    Result<Store> store = Store::open(origin.pool(), {}, system.get());
    if (!store.ok()) {
      problem += store.error().to_string();
      return;
    }
    for (const DeviceStatus& device : store->status().devices) {
      if (device.state != "ok") problem += device.path + ": " + device.state;
    }
    problem += read_all(*store);
  });
  REQUIRE_THAT(first,
               Catch::StartsWith("dev3: read of ") &&
                   Catch::Contains("the device has not answered for 30 s; the pool is not "
                                   "opened for writing without this device, and nothing "
                                   "has changed (unavailable). Try again when it answers.") &&
                   Catch::Contains("--device"));
  REQUIRE(problem == "");
}

TEST_CASE("silent device: closing ends, says for whom it waits, and can be waited for again") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Nanos took = 0;
  std::string first;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    Transaction t;
    t.put(kDefaultCollection, "new", noise(200'000, 5));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return done.error().to_string();
    system->disk("dev2").inject({.kind = FaultKind::kHang, .times = Fault::kForever});
    const Nanos began = system->clock().now();
    const Status closed = store.close();
    took = system->clock().now() - began;
    if (!closed.ok()) first = closed.error().to_string();
    system->disk("dev2").clear_faults();
    system->disk("dev2").release_hung();
    const Status again = store.close();
    return again.ok() ? "" : again.error().to_string();
  });
  REQUIRE(said == "");
  REQUIRE(took >= io::kReadPatience);
  REQUIRE(took < 2 * io::kReadPatience);
  REQUIRE_THAT(first, Catch::Contains("not closed yet: device 2 (dev2) has not answered for 3"));
  REQUIRE(with_store(*system, origin.pool(), [&](Store& store) -> std::string {
            for (const DeviceStatus& device : store.status().devices) {
              if (device.state != "ok") return device.path + ": " + device.state;
            }
            return read_all(store);
          }) == "");
}

TEST_CASE("silent device: a check that would wait for commits says so") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  std::string said_fsck;
  std::string said_scrub;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    system->disk("dev2").inject({.kind = FaultKind::kHang, .times = Fault::kForever});
    const auto writer = system->executor().start("writer", [&] {
      Transaction t;
      t.put(kDefaultCollection, "new", noise(200'000, 5));
      CommitOptions buffered;
      buffered.durability = Durability::kBuffered;
      store.commit(std::move(t), buffered).status().ignore();
      store.sync().ignore();
    });
    system->executor().sleep_for(kSecond);
    const Result<FsckReport> fsck = store.fsck({});
    if (!fsck.ok()) said_fsck = fsck.error().to_string();
    const Result<ScrubReport> scrub = store.scrub({});
    if (!scrub.ok()) said_scrub = scrub.error().to_string();
    system->disk("dev2").clear_faults();
    system->disk("dev2").release_hung();
    writer->join();
    return "";
  });
  REQUIRE(said == "");
  for (const std::string& one : {said_fsck, said_scrub}) {
    REQUIRE_THAT(one, Catch::Contains("waits for commits, and device 2 (dev2) has not answered"));
  }
}

}  // namespace
}  // namespace hexad::testing
