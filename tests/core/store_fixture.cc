#include "tests/core/store_fixture.h"

#include <catch2/catch.hpp>
#include <cstdlib>

#include "alloc/device_layout.h"
#include "base/checksum.h"
#include "tests/io/file_bytes.h"

namespace hexad::testing {

namespace {

constexpr std::size_t kChunk = 64 << 10;

std::uint64_t sum_of(ByteView bytes) { return checksum(ChecksumType::kXxh3, bytes); }

}  // namespace

FormatOptions small_format() {
  FormatOptions options;
  options.device_size = 8_MiB;
  options.log_size = 1_MiB;
  return options;
}

RuntimeOptions busy_runtime() {
  RuntimeOptions options;
  options.memtable_size = 64_KiB;
  return options;
}

StoreFixture::StoreFixture(FormatOptions options, io::System* given)
    : system(given == nullptr ? &memory : given) {
  directory = temporary_.path();
  if (options.devices.empty()) {
    for (std::uint32_t i = 0; i < options.profile.k + options.profile.m; ++i) {
      options.devices.push_back("dev" + std::to_string(i));
    }
  }
  options.device_size += alloc::kEndsSize;
  options.fast_directories = {(directory / "fast").string()};
  Result<PoolDescription> made = Store::format(options, system);
  if (!made.ok()) FAIL(made.error().to_string());
  pool = *made;
}

Result<Store> StoreFixture::try_open(Access access, RuntimeOptions options) {
  options.access = access;
  return Store::open(pool, options, system);
}

Store StoreFixture::open(Access access, RuntimeOptions options) {
  Result<Store> store = try_open(access, options);
  if (!store.ok()) FAIL(store.error().to_string());
  return std::move(store).value();
}

void StoreFixture::take_away(std::size_t device) {
  away_[device] = read_media(*media(device));
  memory.remove_device(pool.devices[device]);
}

void StoreFixture::bring_back(std::size_t device) {
  const Bytes bytes = std::move(away_.at(device));
  away_.erase(device);
  REQUIRE(memory.create_device(pool.devices[device], bytes.size()).ok());
  const std::shared_ptr<io::MemoryMedia> fresh = media(device);
  for (std::size_t at = 0; at < bytes.size(); at += kChunk) {
    const ByteView part = ByteView(bytes).subspan(at, std::min(kChunk, bytes.size() - at));
    if (!is_zero(part)) fresh->write(at, part);
  }
}

std::map<std::string, std::uint64_t> StoreFixture::fingerprint(
    const std::set<std::size_t>& except) {
  std::map<std::string, std::uint64_t> sums;
  for (std::size_t i = 0; i < pool.devices.size(); ++i) {
    if (except.count(i) > 0 || media(i) == nullptr) continue;
    sums[pool.devices[i]] = sum_of(read_media(*media(i)));
  }
  for (const std::string& fast : pool.fast_directories) {
    const std::shared_ptr<io::MemoryMedia> log = memory.media(fast + "/log");
    if (log != nullptr) sums[fast + "/log"] = sum_of(read_media(*log));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    sums[entry.path().string()] = sum_of(as_bytes(io::testing::file_bytes(entry.path())));
  }
  return sums;
}

Bytes read_media(const io::MemoryMedia& media) {
  Bytes bytes(media.size());
  media.read(0, bytes);
  return bytes;
}

std::string text_of(const Result<Bytes>& bytes) {
  if (!bytes.ok()) return "error: " + bytes.error().to_string();
  return std::string(as_text(*bytes));
}

std::string get(Store& store, std::string_view name) {
  return text_of(store.get(kDefaultCollection, name));
}

Result<Lsn> put(Store& store, std::string_view name, std::string_view value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return store.commit(std::move(t));
}

Result<Lsn> remove(Store& store, std::string_view name) {
  Transaction t;
  t.remove(kDefaultCollection, name);
  return store.commit(std::move(t));
}

Result<Lsn> commit(Store& store, const Build& build) {
  Transaction t;
  build(t);
  Result<Lsn> result = store.commit(std::move(t));
  if (!result.ok()) UNSCOPED_INFO(result.error().to_string());
  return result;
}

std::uint64_t unused(Store& store) {
  REQUIRE(message_of(store.checkpoint()) == "");
  const Result<SpaceUsage> space = store.space();
  REQUIRE(space.ok());
  return space->available + space->internally_reserved + space->internal_metadata;
}

std::string deep_findings(Store& store) {
  FsckOptions options;
  options.deep = true;
  const Result<FsckReport> report = store.fsck(options);
  if (!report.ok()) return "fsck failed: " + report.error().to_string();
  std::string text;
  for (const Finding& finding : report->findings) {
    text += finding.subject + ": " + finding.problem + (finding.repaired ? " (repaired)\n" : "\n");
  }
  return text;
}

std::string state_of(Store& store, const std::string& path) {
  for (const DeviceStatus& device : store.status().devices) {
    if (device.path == path) return device.state;
  }
  return "not listed";
}

std::uint64_t counter(Store& store, std::string_view name) {
  for (const Counter& one : store.counters()) {
    if (one.name == name) return one.since_open;
  }
  FAIL("no counter is called " << name);
  return 0;
}

std::string message_of(const Status& status) {
  return status.ok() ? "" : status.error().to_string();
}

std::vector<std::pair<std::size_t, std::size_t>> pairs_below(std::size_t count) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = a + 1; b < count; ++b) pairs.emplace_back(a, b);
  }
  return pairs;
}

}  // namespace hexad::testing
