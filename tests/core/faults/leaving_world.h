// A store in a simulation that one of its disks leaves while it is open, in each of the ways in
// which a disk can, and the oracles for what comes of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/core/faults/attempted_objects.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {

inline constexpr DeviceId kLeaver = 2;
inline constexpr const char* kDisk = "dev2";

enum class How : std::uint8_t { kErrors, kFlushes, kHangs, kPulled };

struct LeavingWorld {
  io::SimSystem& system;
  const PoolDescription& pool;
  AttemptedObjects model = {};
  std::uint64_t seed = 1000;
  std::string problem = {};

  // Names are used again, so units are freed and given out again.
  bool put(Store& store) { return put(store, "name" + std::to_string(seed % 7)); }
  bool put(Store& store, const std::string& name) {
    const std::uint64_t value = seed++;
    model.attempt(name, value);
    Transaction t;
    t.put(kDefaultCollection, name, AttemptedObjects::bytes(value));
    if (!store.commit(std::move(t)).ok()) return false;
    model.acknowledge(name, value);
    return true;
  }
  void churn(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      if (!put(store)) problem += " a commit has failed";
    }
  }
  // It has left when this returns.
  void leave(Store& store, How how) {
    switch (how) {
      case How::kErrors:
        system.disk(kDisk).inject(
            {.kind = io::FaultKind::kWriteErrorBefore, .times = io::Fault::kForever});
        break;
      case How::kFlushes:
        system.disk(kDisk).inject(
            {.kind = io::FaultKind::kFlushError, .times = io::Fault::kForever});
        break;
      case How::kHangs:
        system.set_hook([](const io::SimOp& op) -> std::optional<io::FaultKind> {
          if (op.disk != kDisk || op.op == io::IoOp::kRead) return std::nullopt;
          return io::FaultKind::kHang;
        });
        break;
      case How::kPulled:
        system.disk(kDisk).vanish();
        break;
    }
    churn(store, 3);
    if (state(store) != "failed") problem += " it has not left: " + state(store);
    churn(store, 6);
    // Nobody writes this one again.
    if (!put(store, "kept" + std::to_string(seed))) problem += " a commit has failed";
    if (const Status done = store.checkpoint(); !done.ok()) problem += done.error().to_string();
    churn(store, 4);
  }
  // As it was, so that it could come back. Its last requests may still be carried out before.
  void mend(How how) {
    if (how == How::kHangs) {
      system.set_hook(nullptr);
      system.disk(kDisk).release_hung();
      system.executor().sleep_for(kSecond);
    }
    system.disk(kDisk).clear_faults();
    system.disk(kDisk).appear();
  }
  static std::string state(Store& store, DeviceId id = kLeaver) {
    return store.status().devices[id].state;
  }
  void catch_up(Store& store) {
    const Result<CatchUpReport> report = store.catch_up();
    if (!report.ok()) {
      problem += " catch up: " + report.error().to_string();
    } else if (report->bytes_missing > 0) {
      problem += " it still lacks something";
    }
    if (store.status().health != Health::kOk) problem += " not whole";
  }
  void look_deep(Store& store) {
    const Result<FsckReport> fsck = store.fsck({.deep = true});
    if (!fsck.ok()) problem += " fsck: " + fsck.error().to_string();
    if (fsck.ok() && !fsck->findings.empty()) {
      problem += " " + fsck->findings.front().subject + ": " + fsck->findings.front().problem;
    }
  }
  // Without these disks, for reading.
  void read_without(const std::vector<std::string>& disks) {
    for (const std::string& disk : disks) system.disk(disk).vanish();
    RuntimeOptions reading = without_cache();
    reading.access = Access::kReadOnly;
    Result<Store> store = Store::open(pool, reading, &system);
    if (!store.ok()) problem += " open: " + store.error().to_string();
    if (store.ok()) problem += model.check(*store);
    for (const std::string& disk : disks) system.disk(disk).appear();
    if (problem.empty()) return;
    problem += " (without";
    for (const std::string& disk : disks) problem += " " + disk;
    problem += ")";
  }
  // The oracle for redundancy: no two disks are needed.
  void read_without_any_two(std::size_t step = 1) {
    std::size_t pair = step == 1 ? 0 : seed % step;
    std::size_t number = 0;
    for (int a = 0; a < 6; ++a) {
      for (int b = a + 1; b < 6 && problem.empty(); ++b) {
        if (number++ % step != pair % step) continue;
        read_without({"dev" + std::to_string(a), "dev" + std::to_string(b)});
      }
    }
  }
};

// Nothing happens by itself.
inline RuntimeOptions leaving_options() {
  RuntimeOptions options = without_cache();
  options.catch_up = CatchUp::kWhenAsked;
  options.returns = Returns::kWhenAsked;
  options.device_patience = 8;
  options.memtable_size = 64_KiB;
  return options;
}

}  // namespace hexad::testing
