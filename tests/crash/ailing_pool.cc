#include "tests/crash/ailing_pool.h"

#include <utility>

#include "alloc/device_layout.h"
#include "base/assert.h"

namespace hexad::testing {

namespace {

using io::Fault;
using io::FaultKind;

// One look at the store in so many makes a victim go wrong.
constexpr std::uint64_t kCalm = 60;

// Strikes a few requests, and is over.
constexpr FaultKind kPassing[] = {
    FaultKind::kReadError, FaultKind::kReadFlip,         FaultKind::kReadFlipStored,
    FaultKind::kReadZeros, FaultKind::kReadMisdirected,  FaultKind::kWriteTorn,
    FaultKind::kWriteLost, FaultKind::kWriteMisdirected, FaultKind::kFlushLies,
    FaultKind::kSlow,
};
// The store takes the disk out of the membership.
constexpr FaultKind kReported[] = {FaultKind::kWriteErrorBefore, FaultKind::kWriteErrorPartly,
                                   FaultKind::kWriteErrorAfter, FaultKind::kFlushError};

}  // namespace

AilingPool::AilingPool(io::SimSystem& system, std::uint64_t seed)
    : system_(system),
      seed_(seed),
      data_disks_(seed % 3 == 2 ? 8 : 6),
      rng_(seed),
      runtime_(runtime_of_seed(seed)) {
  if (seed % 5 == 0) runtime_.log_durability = LogDurability::kFast;
  if (seed % 5 == 1) runtime_.log_durability = LogDurability::kDataFirst;
  if (seed % 4 != 0) runtime_.returns = Returns::kWhenAsked;
  const std::uint64_t first = rng_.below(data_disks_);
  const std::uint64_t second = (first + 1 + rng_.below(data_disks_ - 1)) % data_disks_;
  victims_[0] = "dev" + std::to_string(first);
  victims_[1] = "dev" + std::to_string(second);
}

Status AilingPool::format() {
  FormatOptions options = format_of_seed(seed_);
  for (std::size_t i = 0; i < data_disks_; ++i) {
    options.devices.push_back("dev" + std::to_string(i));
  }
  options.fast_directories = {directory_.path("fast")};
  HEXAD_TRY_ASSIGN(pool_, Store::format(options, &system_));
  for (const std::string& name : victims_) old_[name] = system_.disk(name).snapshot();
  return open(Access::kReadWrite);
}

Status AilingPool::open(Access access) {
  runtime_.access = access;
  Result<Store> store = Store::open(pool_, runtime_, &system_);
  if (!store.ok()) return store.error();
  store_.emplace(std::move(store).value());
  return {};
}

Store& AilingPool::store() {
  HEXAD_ASSERT(store_.has_value());
  if (!calm_ && runtime_.access == Access::kReadWrite) {
    if (rng_.chance(1, kCalm)) go_wrong();
    if (data_disks_ > 6 && rng_.chance(1, kCalm)) drain_some();
    if (runtime_.returns == Returns::kByThemselves && rng_.chance(1, kCalm)) mend_some();
  }
  return *store_;
}

void AilingPool::go_wrong() {
  // Often both at about the same time.
  for (int i = rng_.chance(1, 3) ? 2 : 1; i > 0; --i) {
    io::SimDisk& disk = victim(rng_.below(2));
    Fault fault;
    fault.after = rng_.below(8);
    const std::uint64_t how = rng_.below(100);
    // A disk that has left does no more harm, so in half of the lives that is rare.
    const std::uint64_t fatal = seed_ % 2 == 0 ? 2 : 10;
    if (how < fatal) {
      disk.vanish();
      ++tally_.faults;
    } else if (how < 2 * fatal) {
      fault.kind = kReported[rng_.below(std::size(kReported))];
      disk.inject(fault);
    } else if (how < 40) {
      for (std::uint64_t bits = 1 + rng_.below(200); bits > 0; --bits) {
        const std::uint64_t room = alloc::room_of(disk.size());
        // Most of what is written is at the beginning.
        const std::uint64_t at = rng_.chance(1, 2) ? rng_.below(room) : rng_.below(room / 8);
        disk.flip_bit(alloc::kHeadEnd + at, static_cast<unsigned>(rng_.below(8)));
        ++tally_.faults;
      }
    } else {
      fault.kind = kPassing[rng_.below(std::size(kPassing))];
      fault.times = 1 + rng_.below(5);
      fault.amount = fault.kind == FaultKind::kSlow ? 100 : 0;
      disk.inject(fault);
    }
  }
}

// Amid a checkpoint, and whatever else goes on beside it.
void AilingPool::cut_power() {
  const auto busy = system_.executor().start("busy", [&] {
    if (data_disks_ > 6 && rng_.chance(1, 2)) move_some();
    if (rng_.chance(1, 2)) store_->checkpoint().ignore();
  });
  if (rng_.chance(3, 4)) {
    system_.executor().sleep_for(static_cast<io::Nanos>(rng_.below(4'000'000)));
  }
  system_.power_cut();
  ++tally_.crashes;
  busy->join();
}

// While nobody has them open.
void AilingPool::change_victims() {
  for (const std::string& name : victims_) {
    io::SimDisk& disk = system_.disk(name);
    disk.clear_faults();
    disk.appear();
    if (rng_.chance(1, 12)) {
      disk.replace(old_[name]);
      ++tally_.old_images;
    } else if (rng_.chance(1, 4)) {
      old_[name] = disk.snapshot();
    }
    if (rng_.chance(1, 12)) disk.vanish();
  }
}

Status AilingPool::reopen(Ending ending, Access access) {
  for (const DeviceStatus& device : store_->status().devices) {
    if (device.state == "failed") ++tally_.lost;
  }
  for (const Counter& counter : store_->counters()) {
    if (counter.name == "devices_returned") tally_.returns += counter.since_open;
  }
  bool crashed = false;
  look_at_log();
  if (ending == Ending::kClosed) {
    HEXAD_TRY(store_->close());
  } else if (runtime_.access == Access::kReadWrite && rng_.chance(2, 3)) {
    cut_power();
    crashed = true;
  }
  store_.reset();
  look_at_log();
  change_victims();
  if (crashed && rng_.chance(1, 4)) {
    std::filesystem::remove_all(directory_.path("fast/index"));
    ++tally_.indexes;
  }
  return open(access);
}

// On the fast tier, whose disk nothing goes wrong with.
void AilingPool::look_at_log() {
  const io::SimDisk& disk = system_.disk(pool_.fast_directories.front() + "/log");
  log_.see_device(
      [&](std::uint64_t offset, std::uint64_t length) { return disk.peek(offset, length); });
}

std::string AilingPool::check() {
  look_at_log();
  if (std::string wrong = log_.problem(); !wrong.empty()) return wrong;
  if (runtime_.access == Access::kReadOnly) return "";
  calm_ = true;
  for (const DeviceStatus& device : store_->status().devices) {
    if (device.path != victims_[0] && device.path != victims_[1]) continue;
    system_.disk(device.path).clear_faults();
    // What has left stays away; what nobody has missed yet comes back, whatever it lacks, and
    // whether or not it is to go.
    const bool used = device.state == "ok" || device.state == "behind" ||
                      device.state == "filling" || device.state == "draining";
    if (used) system_.disk(device.path).appear();
  }
  const Result<FsckReport> healed = store_->fsck({.deep = true, .repair = true});
  if (!healed.ok()) return "fsck: " + healed.error().to_string();
  for (const Finding& finding : healed->findings) {
    if (!finding.repaired) return "fsck cannot repair " + finding.subject + ": " + finding.problem;
  }
  const std::string found = RunnerTarget::check();
  calm_ = false;
  return found.empty() ? "" : "after a repair " + found;
}

void AilingPool::wait() { system_.executor().sleep_for(1'000'000); }

// For as long as it takes until what has left for the first time is looked at, or the second.
void AilingPool::mend_some() {
  constexpr io::Nanos kFirst = 6'000'000'000;
  constexpr io::Nanos kSecond = 40'000'000'000;
  io::SimDisk& disk = victim(rng_.below(2));
  disk.clear_faults();
  disk.appear();
  system_.executor().sleep_for(rng_.chance(1, 2) ? kFirst : kSecond);
}

// Whatever comes of it: disks that have left, or lack cells, are refused.
void AilingPool::drain_some() {
  const auto device = static_cast<DeviceId>(rng_.below(data_disks_));
  if (rng_.chance(1, 3)) {
    store_->undrain_device(device).ignore();
  } else if (store_->drain_device(device).ok()) {
    ++tally_.drains;
  }
  if (rng_.chance(2, 3)) move_some();
}

void AilingPool::move_some() {
  MoveOptions until_some;
  until_some.progress = [](const MoveReport& report) { return report.slabs_moved == 0; };
  const Result<MoveReport> moved = store_->move_slabs(until_some);
  if (moved.ok()) tally_.moves += moved->slabs_moved;
}

AilingTally AilingPool::tally() {
  AilingTally all = tally_;
  for (const std::string& name : victims_) {
    for (std::size_t kind = 0; kind < io::kFaultKinds; ++kind) {
      all.faults += system_.disk(name).struck(static_cast<FaultKind>(kind));
    }
  }
  return all;
}

}  // namespace hexad::testing
