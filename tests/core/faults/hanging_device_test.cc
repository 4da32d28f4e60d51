// A device that takes requests of commits and does not answer: they wait for it, and go on without
// it in the end (decision 056). In simulated time.
#include <algorithm>
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

// What has left stays away until somebody asks for it.
RuntimeOptions staying() {
  RuntimeOptions options;
  options.returns = Returns::kWhenAsked;
  return options;
}

TEST_CASE("hanging device: commits wait for it, say so, and lose no device") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  std::string meanwhile;
  Nanos took = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
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
      },
      staying());
  REQUIRE(said == "");
  REQUIRE(took >= 20 * kSecond);
  REQUIRE_THAT(meanwhile, Catch::Contains("device 2 (dev2) has not answered for 19 s") ||
                              Catch::Contains("device 2 (dev2) has not answered for 20 s"));
}

// The requests to one disk that change it from the n-th on, so many of them; or all kinds.
struct Hanging {
  SimSystem& system;
  std::string disk;
  std::uint64_t from = 0;
  std::uint64_t most = Fault::kForever;
  bool reads = false;
  std::uint64_t seen = 0;
  std::uint64_t struck = 0;
  std::uint64_t answered = 0;  // sent when one was struck, and answered

  void begin() {
    system.set_hook([this](const SimOp& op) -> std::optional<FaultKind> {
      if (op.disk != disk) return std::nullopt;
      if (op.op == IoOp::kRead && !reads) {
        answered += struck > 0 ? 1 : 0;
        return std::nullopt;
      }
      if (seen++ < from) return std::nullopt;
      if (struck >= most) {
        ++answered;
        return std::nullopt;
      }
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
      Result<Store> store = Store::open(origin.pool(), staying(), system.get());
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
      const Result<Store> locked = Store::open(origin.pool(), staying(), system.get());
      if (locked.ok() || locked.error().code != ErrorCode::kBusy) problem += "not locked";
    }
    hanging.answer();
    Result<Store> store = Store::open(origin.pool(), staying(), system.get());
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
  RuntimeOptions options = staying();
  options.memtable_size = 64_KiB;
  options.device_patience = 8;
  // Returns the number of requests that the disk has had, or what was wrong.
  const auto run = [&](std::uint64_t from, std::uint64_t most, const std::string& disk, bool soon,
                       std::uint64_t& seen) -> std::string {
    const auto system = origin.start(from);
    Hanging hanging{*system, disk, from, most, most == 1};
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
          const Nanos began = system->clock().now();
          const Result<Lsn> done = store->commit(std::move(t));
          if (!done.ok()) problem = "put: " + done.error().to_string();
          if (system->clock().now() - began > 30 * kSecond) problem = "a commit has waited";
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
    // All from one on, and one alone, while the others are answered.
    for (const std::uint64_t most : {Fault::kForever, std::uint64_t{1}}) {
      std::uint64_t all = 0;
      REQUIRE(run(1'000'000, most, disk, false, all) == "");
      REQUIRE(all > 50);
      for (std::uint64_t from = 0; from < all; from += 1 + all * kThinned / 40) {
        CAPTURE(disk, most, from, all);
        std::uint64_t seen = 0;
        REQUIRE(run(from, most, disk, from % 2 == 0, seen) == "");
      }
    }
  }
}

TEST_CASE("hanging device: more than the profile survives are waited for, and none is lost") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Nanos took = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
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
      },
      staying());
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
    threads.clear();
  }
};

// The first two answer when they have been given up, and before they have left.
TEST_CASE("hanging device: who is given up counts as lost before it has left") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  bool third = false;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
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
      },
      staying());
  REQUIRE(said == "");
}

TEST_CASE("hanging device: who has failed beside it counts as lost before it has left") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
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
      },
      staying());
  REQUIRE(said == "");
}

// The second falls silent when commits wait for the first: whoever changes the membership is the
// first to ask it something, the log's blocks.
TEST_CASE("hanging device: one that hangs while another one leaves is left, too") {
  SimOrigin origin(large_disks(), fill);
  for (const bool answers : {false, true}) {
    CAPTURE(answers);
    const auto system = origin.start(1);
    const std::string said = with_store(
        *system, origin.pool(),
        [&](Store& store) -> std::string {
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
        },
        staying());
    REQUIRE(said == "");
  }
}

// The issue of one write that hangs for ever while reads, and scrubs, are answered as ever.
TEST_CASE("hanging device: one that keeps a single request is left behind, whatever it answers") {
  SimOrigin origin(large_disks(), fill);
  for (const IoOp kind : {IoOp::kWrite, IoOp::kFlush}) {
    CAPTURE(static_cast<int>(kind));
    const auto system = origin.start(1);
    std::uint64_t struck = 0;
    std::uint64_t answered = 0;  // of what dev2 is asked meanwhile
    Nanos took = 0;
    Nanos scrubbed = 0;
    std::string warned;
    const std::string said = with_store(
        *system, origin.pool(),
        [&](Store& store) -> std::string {
          bool may = true;
          system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
            if (op.disk != "dev2" || !may) return std::nullopt;
            if (struck == 0 && op.op == kind) {
              ++struck;
              return FaultKind::kHang;
            }
            answered += struck;
            return std::nullopt;
          });
          std::string problem;
          const auto reader = system->executor().start("reader", [&] {
            for (int i = 0; i < 50; ++i) {
              system->executor().sleep_for(kSecond);
              problem += read_all(store);
            }
            warned = warning_of(store);
          });
          const auto scrubber = system->executor().start("scrubber", [&] {
            system->executor().sleep_for(10 * kSecond);
            const Nanos began = system->clock().now();
            const auto scrub = store.scrub();
            if (!scrub.ok() && scrub.error().code != ErrorCode::kUnavailable) {
              problem += "scrub: " + scrub.error().to_string();
            }
            scrubbed = system->clock().now() - began;
          });
          const Nanos began = system->clock().now();
          Commits commits{*system, store, "", {}};
          commits.begin("first", 5);
          commits.join();
          took = system->clock().now() - began;
          commits.begin("second", 6);
          commits.join();
          reader->join();
          scrubber->join();
          may = false;
          if (state_of(store, "dev2") != "failed") problem += "dev2 is " + state_of(store, "dev2");
          const Status closed = store.close();
          if (!closed.ok()) problem += closed.error().to_string();
          release(*system, {"dev2"});
          return problem + commits.problem;
        },
        without_cache());
    REQUIRE(said == "");
    REQUIRE(struck == 1);
    REQUIRE(answered > 50);
    REQUIRE(took >= 60 * kSecond);
    REQUIRE(took < 80 * kSecond);
    REQUIRE(scrubbed < 30 * kSecond);
    REQUIRE_THAT(warned, Catch::Contains("device 2 (dev2) has owed an answer for ") &&
                             Catch::Contains(", and gives others"));
  }
}

// One request every two seconds, the oldest first: by the age of its requests it would be gone.
TEST_CASE("hanging device: one that works through a long backlog is not given up") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  RuntimeOptions options = staying();
  options.device_patience = 8;
  std::uint64_t waiting = 0;
  std::uint64_t longest = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          if (op.disk != "dev2" || op.op == IoOp::kRead) return std::nullopt;
          longest = std::max(longest, ++waiting);
          return FaultKind::kHang;
        });
        bool over = false;
        const auto drive = system->executor().start("drive", [&] {
          while (!over || waiting > 0) {
            system->executor().sleep_for(2 * kSecond);
            if (waiting == 0) continue;
            --waiting;
            system->disk("dev2").release_hung(1);
          }
        });
        Commits commits{*system, store, "", {}};
        for (int i = 0; i < 24; ++i) commits.begin("new " + std::to_string(i), 100 + i);
        commits.join();
        system->set_hook(nullptr);
        over = true;
        drive->join();
        std::string problem = commits.problem;
        if (state_of(store, "dev2") != "ok") problem += "dev2 is " + state_of(store, "dev2");
        return problem + read_all(store);
      },
      options);
  REQUIRE(said == "");
  REQUIRE(longest > 8);  // the last of them waits twice as long as may be
}

TEST_CASE(
    "hanging device: more that keep one request each than the profile survives are waited for") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Nanos took = 0;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        const std::vector<std::string> disks = {"dev0", "dev1", "dev2"};
        std::map<std::string, int> struck;
        system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
          const bool one = std::find(disks.begin(), disks.end(), op.disk) != disks.end();
          if (!one || op.op != IoOp::kWrite || struck[op.disk]++ > 0) return std::nullopt;
          return FaultKind::kHang;
        });
        const Nanos began = system->clock().now();
        Commits commits{*system, store, "", {}};
        commits.begin("first", 5);
        for (int i = 0; i < 300; ++i) {
          system->executor().sleep_for(kSecond);
          const std::string problem = read_all(store);
          if (!problem.empty()) return problem;
        }
        release(*system, disks);
        commits.join();
        took = system->clock().now() - began;
        for (const DeviceStatus& device : store.status().devices) {
          if (device.state != "ok") return device.path + ": " + device.state;
        }
        return commits.problem + read_all(store);
      },
      staying());
  REQUIRE(said == "");
  REQUIRE(took >= 300 * kSecond);
}

// It leaves for a write that failed, while a checkpoint waits for its answer to another one.
TEST_CASE("hanging device: one that hangs and has left is given up, too") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  RuntimeOptions options = staying();
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
