// What the runner runs on.
#include <chrono>
#include <thread>
#include <utility>

#include "base/assert.h"
#include "io/memory_system.h"
#include "tests/core/log_order.h"
#include "tests/core/store_runner.h"
#include "tests/io/temporary.h"

namespace hexad::testing {

namespace {

class MemoryTarget final : public RunnerTarget {
 public:
  explicit MemoryTarget(Store store) : store_(std::move(store)) {}
  Store& store() override { return store_; }
  bool can_reopen() const override { return false; }
  Status reopen(Ending, Access) override {
    return Error{ErrorCode::kUnsupported, "a store in memory cannot be opened again", ""};
  }

 private:
  Store store_;
};

class DeviceTarget final : public ReopenedTarget {
 public:
  explicit DeviceTarget(const RuntimeOptions& runtime) : ReopenedTarget(runtime) {}
  ~DeviceTarget() override { drop(); }

  // `fast`: whether there is a fast directory.
  Status format(FormatOptions options, bool fast) {
    for (std::uint32_t i = 0; i < options.profile.shards(); ++i) {
      options.devices.push_back("dev" + std::to_string(i));
    }
    if (fast) options.fast_directories = {directory_.path("fast")};
    HEXAD_TRY_ASSIGN(pool_, Store::format(options, &system_));
    return open(Access::kReadWrite);
  }
  std::string check() override {
    between();
    const std::string order = log_.problem();
    return order.empty() ? RunnerTarget::check() : order;
  }

 private:
  Result<Store> open_store(const RuntimeOptions& runtime) override {
    return Store::open(pool_, runtime, &system_);
  }
  // Looks at the log, of which the first data device has a copy where no fast one has.
  void between() override {
    const auto media =
        system_.media(pool_.fast_directories.empty() ? pool_.devices.front()
                                                     : pool_.fast_directories.front() + "/log");
    HEXAD_ASSERT(media != nullptr);
    log_.see_device([&](std::uint64_t offset, std::uint64_t length) {
      Bytes bytes(length);
      media->read(offset, bytes);
      return bytes;
    });
  }

  io::testing::TemporaryDirectory directory_;
  io::MemorySystem system_;
  PoolDescription pool_;
  LogOrder log_;
};

}  // namespace

Status ReopenedTarget::open(Access access) {
  runtime_.access = access;
  Result<Store> store = open_store(runtime_);
  if (!store.ok()) return store.error();
  store_.emplace(std::move(store).value());
  return {};
}

Store& ReopenedTarget::store() {
  HEXAD_ASSERT(store_.has_value());
  return *store_;
}

Status ReopenedTarget::reopen(Ending ending, Access access) {
  if (ending == Ending::kClosed) HEXAD_TRY(store_->close());
  drop();
  between();
  return open(access);
}

std::string RunnerTarget::check() {
  FsckOptions options;
  options.deep = true;
  const Result<FsckReport> report = store().fsck(options);
  if (!report.ok()) return "fsck: " + report.error().to_string();
  if (report->findings.empty()) return "";
  return "fsck finds " + report->findings.front().subject + ": " + report->findings.front().problem;
}

void RunnerTarget::wait() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

Result<std::unique_ptr<RunnerTarget>> make_memory_target(const MemoryStoreOptions& options,
                                                         const RuntimeOptions& runtime) {
  HEXAD_TRY_ASSIGN(Store store, Store::in_memory(options, runtime));
  return std::unique_ptr<RunnerTarget>(std::make_unique<MemoryTarget>(std::move(store)));
}

Result<std::unique_ptr<RunnerTarget>> make_device_target(FormatOptions format,
                                                         const RuntimeOptions& runtime, bool fast) {
  auto target = std::make_unique<DeviceTarget>(runtime);
  HEXAD_TRY(target->format(std::move(format), fast));
  return std::unique_ptr<RunnerTarget>(std::move(target));
}

RuntimeOptions runtime_of_seed(std::uint64_t seed) {
  RuntimeOptions runtime;
  if (seed % 2 == 1) runtime.memtable_size = 64_KiB;
  return runtime;
}

FormatOptions format_of_seed(std::uint64_t seed) {
  FormatOptions format;
  format.device_size = 24_MiB;
  format.log_size = 1_MiB;
  if (seed % 2 == 1) format.compression.mode = compression::Mode::kForce;
  if (seed % 3 == 1) {
    format.checksum = ChecksumType::kXxh3;
    format.checksum_block = 4_KiB;
  }
  return format;
}

Result<std::unique_ptr<RunnerTarget>> make_target(TargetKind kind, std::uint64_t seed) {
  FormatOptions format = format_of_seed(seed);
  if (kind == TargetKind::kDevice) {
    if (seed % 5 == 4) {  // no device of these is ever lost, so they need no parity
      format.profile.k = seed % 2 == 0 ? 1 : 3;
      format.profile.m = 0;
      format.redundant_devices = true;
      format.device_size = 144_MiB / format.profile.k;
    }
    return make_device_target(std::move(format), runtime_of_seed(seed), seed % 4 != 3);
  }
  MemoryStoreOptions options;
  options.capacity = 256_MiB;
  options.compression = format.compression;
  return make_memory_target(options, runtime_of_seed(seed));
}

}  // namespace hexad::testing
