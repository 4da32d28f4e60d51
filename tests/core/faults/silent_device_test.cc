// A device that takes requests and does not answer: no error, for minutes. Reads, scrubs and
// openings go round it, and whoever asks is told which one it is. In simulated time.
#include <catch2/catch.hpp>
#include <memory>

#include "core/blob/blob_read.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {
namespace {

using core::kSilence;
using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::Nanos;
using io::SimOp;

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
