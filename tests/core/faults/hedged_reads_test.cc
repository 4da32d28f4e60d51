// Reads that go round a device which answers late, while nobody takes it for lost: in simulated
// time.
#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

#include "io/rng.h"
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

constexpr Nanos kMillisecond = 1'000'000;

RuntimeOptions hedging(HedgedReads mode) {
  RuntimeOptions options = without_cache();
  options.hedged_reads = mode;
  return options;
}

std::uint64_t counted(Store& store, std::string_view name) {
  for (const Counter& counter : store.counters()) {
    if (counter.name == name) return counter.since_open;
  }
  return ~std::uint64_t{0};
}

// So many small reads, so that it is known how long devices take.
std::string learn(Store& store, int reads) {
  static const std::vector<std::string> values = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 7; ++i) all.push_back(value_of(i));
    return all;
  }();
  for (int i = 0; i < reads; ++i) {
    const std::string name = std::to_string(i % 7);
    const std::uint64_t at = static_cast<std::uint64_t>(i) * 4099 % 2000;
    Bytes found(500);
    const Result<std::uint64_t> read = store.read(kDefaultCollection, name, at, found);
    if (!read.ok()) return read.error().to_string();
    if (as_text(found) != values[static_cast<std::size_t>(i % 7)].substr(at, 500)) {
      return name + ": other bytes";
    }
  }
  return "";
}

// What follows a store that has learnt; says what is not as it should be with the devices.
std::string with_hedges(SimOrigin& origin, HedgedReads mode,
                        const std::function<std::string(SimSystem&, Store&)>& use,
                        std::uint64_t seed = 1) {
  const auto system = origin.start(seed);
  return with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        std::string problem = learn(store, 6000);
        if (problem.empty()) problem = use(*system, store);
        if (!problem.empty()) return problem;
        for (const DeviceStatus& device : store.status().devices) {
          if (device.state != "ok") return device.path + ": " + device.state;
        }
        return "";
      },
      hedging(mode));
}

// Slow for the next read of each of these disks.
void slow_down(SimSystem& system, const std::vector<std::string>& disks, std::uint64_t factor,
               std::uint64_t times = 1) {
  for (const std::string& disk : disks) {
    system.disk(disk).inject({.kind = FaultKind::kSlow, .times = times, .amount = factor});
  }
}

const std::vector<std::string> kData = {"dev0", "dev1", "dev2", "dev3", "dev4", "dev5"};

// Reads that have been sent to each disk from now on.
std::map<std::string, std::uint64_t>& count_reads(SimSystem& system) {
  static std::map<std::string, std::uint64_t> reads;
  reads.clear();
  system.set_hook([](const SimOp& op) -> std::optional<FaultKind> {
    if (op.op == IoOp::kRead) ++reads[op.disk];
    return std::nullopt;
  });
  return reads;
}

TEST_CASE("hedged reads: whoever has small objects does not wait for the one device that is late") {
  SimOrigin origin(large_disks(), fill);
  int tried = 0;
  const std::string said = with_hedges(
      origin, HedgedReads::kBudgeted, [&](SimSystem& system, Store& store) -> std::string {
        for (const std::string& disk : kData) {
          const std::uint64_t used = counted(store, "hedges_used");
          for (int i = 0; i < 4; ++i) {
            // A second; the others take a tenth of a millisecond.
            slow_down(system, {disk}, 10'000);
            auto& reads = count_reads(system);
            const Nanos began = system.clock().now();
            const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
            const Nanos took = system.clock().now() - began;
            system.disk(disk).clear_faults();
            if (!found.ok()) return found.error().to_string();
            if (as_text(*found) != std::string_view(value_of(i))) return "other bytes";
            if (took > 5 * kMillisecond) return "waited for " + disk;
            tried += reads.contains(disk) ? 1 : 0;
            system.executor().sleep_for(3 * kSecond);
          }
          const std::string more = learn(store, 2000);
          if (!more.empty()) return more;
          if (counted(store, "hedges_used") < used) return "counted back";
        }
        if (counted(store, "hedges_used") == 0) return "no hedge was of use";
        if (counted(store, "degraded_reads") != 0) return "a late device counted as lost";
        for (const DeviceStatus& device : store.status().devices) {
          if (device.timeouts != 0) return device.path + ": timed out";
        }
        return "";
      });
  CHECK(said == "");
  CHECK(tried >= 4);  // packed objects lie on some of the devices
}

TEST_CASE("hedged reads: of a whole stripe one cell is late, and one of another device is read") {
  SimOrigin origin(large_disks(), fill);
  const std::string said = with_hedges(
      origin, HedgedReads::kBudgeted, [&](SimSystem& system, Store& store) -> std::string {
        // All of a stripe of its own: a cell of each of four devices.
        Bytes whole(300'000);
        auto& reads = count_reads(system);
        Result<std::uint64_t> read = std::uint64_t{0};
        // Once without a hedge.
        for (int i = 0; i < 100 && reads.size() != 4; ++i) {
          reads.clear();
          read = store.read(kDefaultCollection, "5", 0, whole);
          if (!read.ok()) return read.error().to_string();
        }
        if (reads.size() != 4) return "it lies on " + std::to_string(reads.size());
        const std::string late = reads.begin()->first;
        // Now and then another one is late by chance, too, or no extra read is left.
        std::uint64_t fewest = ~std::uint64_t{0};
        for (int i = 0; i < 20; ++i) {
          const std::uint64_t extra = counted(store, "hedge_device_reads");
          const std::uint64_t hedged = counted(store, "hedged_reads");
          slow_down(system, {late}, 10'000);
          const Nanos began = system.clock().now();
          read = store.read(kDefaultCollection, "5", 0, whole);
          if (!read.ok()) return read.error().to_string();
          if (as_text(whole) != value_of(5)) return "other bytes";
          const bool waited = system.clock().now() - began > 10 * kMillisecond;
          if (waited != (counted(store, "hedged_reads") == hedged)) return "waited for " + late;
          if (!waited) fewest = std::min(fewest, counted(store, "hedge_device_reads") - extra);
          system.executor().sleep_for(3 * kSecond);
          const std::string more = learn(store, 2000);
          if (!more.empty()) return more;
        }
        return fewest == 1 ? "" : std::to_string(fewest) + " extra reads of devices";
      });
  CHECK(said == "");
}

TEST_CASE("hedged reads: what others have does not verify, and the late answer is waited for") {
  SimOrigin origin(large_disks(), fill);
  const std::string said = with_hedges(
      origin, HedgedReads::kAlways, [&](SimSystem& system, Store& store) -> std::string {
        for (const std::string& late : kData) {
          for (const std::string& disk : kData) {
            if (disk != late) {
              system.disk(disk).inject({.kind = FaultKind::kReadFlip, .times = Fault::kForever});
            }
          }
          // Those that lie there alone: all their bytes are right, and what is extra is not.
          for (int i = 0; i < 4; ++i) {
            auto& reads = count_reads(system);
            const std::uint64_t healed = counted(store, "cells_healed");
            slow_down(system, {late}, 100);
            const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
            const bool there = reads.contains(late);
            if (found.ok() && as_text(*found) != std::string_view(value_of(i)))
              return "wrong bytes";
            if (there && found.ok() && counted(store, "cells_healed") != healed) return "healed";
          }
          for (const std::string& disk : kData) system.disk(disk).clear_faults();
        }
        return read_all(store);
      });
  CHECK(said == "");
}

TEST_CASE("hedged reads: a device that does not answer at all is gone round at once") {
  SimOrigin origin(large_disks(), fill);
  const std::string said = with_hedges(origin, HedgedReads::kAlways,
                                       [&](SimSystem& system, Store& store) -> std::string {
                                         hang_reads(system, {"dev1", "dev4"});
                                         const Nanos began = system.clock().now();
                                         std::string problem = read_all(store);
                                         const Nanos took = system.clock().now() - began;
                                         release(system, {"dev1", "dev4"});
                                         if (problem.empty() && took > kSecond) problem = "waited";
                                         return problem;
                                       });
  CHECK(said == "");
}

TEST_CASE("hedged reads: a device that hangs keeps few places of the queue") {
  SimOrigin origin(large_disks(), fill);
  for (const HedgedReads mode : {HedgedReads::kBudgeted, HedgedReads::kAlways}) {
    // What is sent there before somebody has to wait for it is a matter of luck.
    int most = 0;
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(seed);
      int hanging = 0;
      const std::string said = with_hedges(
          origin, mode,
          [&](SimSystem& system, Store& store) -> std::string {
            // It answers the others, so it is never silent.
            int number = 0;
            system.set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
              if (op.op != IoOp::kRead || op.disk != "dev1" || ++number % 20 == 0) {
                return std::nullopt;
              }
              ++hanging;
              return FaultKind::kHang;
            });
            std::string problem;
            const Nanos end = system.clock().now() + 4 * kSecond;
            while (problem.empty() && system.clock().now() < end) problem = read_all(store);
            release(system, {"dev1"});
            system.executor().sleep_for(kSecond);
            return problem;
          },
          seed);
      CHECK(said == "");
      CHECK(hanging <= 48);
      most = std::max(most, hanging);
    }
    CHECK(most >= 4);
  }
}

TEST_CASE("hedged reads: always is m extra reads of devices for a whole stripe") {
  SimOrigin origin(large_disks(), fill);
  const std::string said =
      with_hedges(origin, HedgedReads::kAlways, [&](SimSystem&, Store& store) -> std::string {
        Bytes whole(300'000);
        const std::uint64_t before = counted(store, "hedge_device_reads");
        for (int i = 0; i < 10; ++i) {
          const Result<std::uint64_t> read = store.read(kDefaultCollection, "5", 0, whole);
          if (!read.ok()) return read.error().to_string();
        }
        const std::uint64_t extra = counted(store, "hedge_device_reads") - before;
        return extra == 20 ? "" : std::to_string(extra) + " extra reads of devices";
      });
  CHECK(said == "");
}

TEST_CASE("hedged reads: one that is always slow costs one extra read in fifty") {
  SimOrigin origin(large_disks(), fill);
  const std::string said = with_hedges(
      origin, HedgedReads::kBudgeted, [&](SimSystem& system, Store& store) -> std::string {
        const std::uint64_t extra = counted(store, "hedge_device_reads");
        auto& reads = count_reads(system);
        slow_down(system, {"dev0", "dev1"}, 40, Fault::kForever);
        std::string problem = learn(store, 20'000);
        system.disk("dev0").clear_faults();
        system.disk("dev1").clear_faults();
        const std::uint64_t sent = counted(store, "hedge_device_reads") - extra;
        std::uint64_t others = 0;
        for (const auto& [disk, count] : reads) others += count;
        others -= sent;
        if (problem.empty() && sent > 64 + others / 50) {
          problem = std::to_string(sent) + " extra reads for " + std::to_string(others);
        }
        if (problem.empty() && sent < 4) problem = "nothing was hedged";
        return problem;
      });
  CHECK(said == "");
}

// With a device that takes ten times as long for one read in a hundred. Until others are asked 995
// of 1,000 reads are answered, and then four devices are waited for: about twice the slowest.
TEST_CASE("hedged reads: a device that stumbles does not show in the tail") {
  SimOrigin origin(large_disks(), fill);
  const auto tail = [&](HedgedReads mode, bool stumbles) {
    Nanos slowest = 0;
    const std::string said =
        with_hedges(origin, mode, [&](SimSystem& system, Store& store) -> std::string {
          std::uint64_t number = 0;
          system.set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
            if (op.op == IoOp::kRead && op.disk == "dev2" && stumbles && ++number % 100 == 0) {
              slow_down(system, {"dev2"}, 10);
            }
            return std::nullopt;
          });
          std::vector<Nanos> times;
          io::Rng rng(3);
          for (int i = 0; i < 20'000; ++i) {
            const auto which = static_cast<int>(4 + rng.below(3));
            const std::uint64_t at = rng.below(290'000);
            Bytes found(4000);
            const Nanos began = system.clock().now();
            const Result<std::uint64_t> read =
                store.read(kDefaultCollection, std::to_string(which), at, found);
            times.push_back(system.clock().now() - began);
            if (!read.ok()) return read.error().to_string();
          }
          system.set_hook(nullptr);
          std::sort(times.begin(), times.end());
          slowest = times[times.size() * 999 / 1000];
          return "";
        });
    REQUIRE(said == "");
    return slowest;
  };
  const Nanos healthy = tail(HedgedReads::kOff, false);
  const Nanos off = tail(HedgedReads::kOff, true);
  const Nanos budgeted = tail(HedgedReads::kBudgeted, true);
  const Nanos always = tail(HedgedReads::kAlways, true);
  WARN("slowest of 1,000 reads in us: healthy " << healthy / 1000 << ", off " << off / 1000
                                                << ", budgeted " << budgeted / 1000 << ", always "
                                                << always / 1000);
  CHECK(off > 3 * healthy);
  // Twice, and how the store's other requests fall among these moves it by a tenth or so.
  CHECK(budgeted <= 2 * healthy + healthy / 8);
  CHECK(always <= healthy + healthy / 4);
}

// Late, silent, failing and lying devices, at most two at a time.
TEST_CASE("hedged reads: whatever devices do, bytes are right and every read ends") {
  SimOrigin origin(large_disks(), fill);
  for (const HedgedReads mode : {HedgedReads::kBudgeted, HedgedReads::kAlways}) {
    for (std::uint64_t seed = 1; seed <= 6; ++seed) {
      CAPTURE(static_cast<int>(mode), seed);
      io::Rng rng(seed);
      const std::string said =
          with_hedges(origin, mode, [&](SimSystem& system, Store& store) -> std::string {
            for (int round = 0; round < (kThinned > 1 ? 10 : 40); ++round) {
              const std::string bad[] = {kData[rng.below(6)], kData[rng.below(6)]};
              system.set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
                if (op.op != IoOp::kRead || (op.disk != bad[0] && op.disk != bad[1])) {
                  return std::nullopt;
                }
                switch (rng.below(8)) {
                  case 0:
                    return FaultKind::kReadError;
                  case 1:
                    return FaultKind::kReadFlip;
                  case 2:
                    return FaultKind::kHang;
                  case 3:
                  case 4:
                    slow_down(system, {op.disk}, 1 + rng.below(5'000));
                    return std::nullopt;
                  default:
                    return std::nullopt;
                }
              });
              std::string problem = read_all(store);
              if (problem.empty() && round % 8 == 0) problem = learn(store, 300);
              release(system, {bad[0], bad[1]});
              // What was slow has been answered then.
              system.executor().sleep_for(60 * kSecond);
              for (const std::string& disk : kData) system.disk(disk).clear_faults();
              if (!problem.empty()) return problem;
            }
            return "";
          });
      CHECK(said == "");
    }
  }
}

}  // namespace
}  // namespace hexad::testing
