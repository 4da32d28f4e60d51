// A device that takes requests and does not answer: no error, for minutes. Reads go round it,
// commits wait for it, and whoever asks is told which one it is. In simulated time.
#include <catch2/catch.hpp>
#include <memory>

#include "core/blob_read.h"
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

}  // namespace
}  // namespace hexad::testing
