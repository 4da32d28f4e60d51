#include "core/opening/memory_store.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "alloc/device_layout.h"
#include "core/hexad.h"
#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/core/noise.h"
#include "tests/io/process_memory.h"

namespace hexad::testing {
namespace {

using io::testing::process_memory;

Store make(const MemoryStoreOptions& options = {}, const RuntimeOptions& runtime = {}) {
  Result<Store> store = Store::in_memory(options, runtime);
  if (!store.ok()) FAIL(store.error().to_string());
  return std::move(store).value();
}

MemoryStoreOptions profile_of(std::uint32_t k, std::uint32_t m, std::uint64_t capacity) {
  MemoryStoreOptions options;
  options.profile.k = k;
  options.profile.m = m;
  options.capacity = capacity;
  return options;
}

Status put(Store& store, std::string_view name, std::string_view value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return store.commit(std::move(t)).status();
}

std::string get(Store& store, std::string_view name) {
  const Result<Bytes> bytes = store.get(kDefaultCollection, name);
  return bytes.ok() ? std::string(as_text(*bytes)) : bytes.error().to_string();
}

std::string findings(Store& store) {
  FsckOptions options;
  options.deep = true;
  const Result<FsckReport> report = store.fsck(options);
  if (!report.ok()) return report.error().to_string();
  std::string text;
  for (const Finding& finding : report->findings) {
    text += finding.subject + ": " + finding.problem + "\n";
  }
  return text;
}

std::optional<ErrorCode> code_of(const Status& status) {
  return status.ok() ? std::nullopt : std::optional(status.error().code);
}

TEST_CASE("memory_store: begins with an empty collection and takes transactions of any kind") {
  Store store = make();
  REQUIRE(store.collections()->size() == 1);
  REQUIRE(store.list(kDefaultCollection)->entries.empty());
  Transaction t;
  t.create_collection("other");
  t.put("other", "large", noise(3'000'000, 1));
  t.put("other", "small", "x");
  t.set_attr("other", "small", "one", "1");
  t.rename("other", "small", kDefaultCollection, "renamed");
  REQUIRE(store.commit(std::move(t)).ok());
  REQUIRE(get(store, "renamed") == "x");
  REQUIRE(store.attribute(kDefaultCollection, "renamed", "one").value() == "1");
  REQUIRE((as_text(store.get("other", "large").value()) == noise(3'000'000, 1)));

  Transaction guarded;
  guarded.expect_absent("other", "large");
  guarded.remove("other", "large");
  REQUIRE(store.commit(std::move(guarded)).error().code == ErrorCode::kConflict);
  const ListPage page = store.list("other").value();
  REQUIRE(page.entries.size() == 1);
  REQUIRE(page.entries[0].name == "large");
}

TEST_CASE(
    "memory_store: what a checkpoint took out of the log is there, before and after changes") {
  Store store = make();
  for (int i = 0; i < 300; ++i) {
    REQUIRE(put(store, "object" + std::to_string(i), noise(100 + 50 * i, i)).ok());
  }
  REQUIRE(store.checkpoint().ok());
  REQUIRE(store.status().checkpoint_lsn == store.status().last_lsn);
  for (int i = 0; i < 300; i += 3) {
    Transaction t;
    t.remove(kDefaultCollection, "object" + std::to_string(i));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 300; ++i) {
      const std::string name = "object" + std::to_string(i);
      REQUIRE(store.exists(kDefaultCollection, name).value() == (i % 3 != 0));
      if (i % 3 != 0) REQUIRE((get(store, name) == noise(100 + 50 * i, i)));
    }
    REQUIRE(store.list(kDefaultCollection)->entries.size() == 200);
    REQUIRE(findings(store) == "");
    REQUIRE(store.checkpoint().ok());
  }
  REQUIRE(store.space()->objects == 200);
  REQUIRE(store.space()->metadata > 200 * 64);
}

TEST_CASE("memory_store: streams write and read objects piece by piece") {
  RuntimeOptions runtime;
  runtime.stream_buffer = 1_MiB;
  Store store = make({}, runtime);
  const std::string data = noise(9'000'001, 3);
  const auto writer = store.open_writer(kDefaultCollection, "streamed").value();
  for (std::size_t at = 0; at < data.size(); at += 1'000'000) {
    REQUIRE(writer->append(as_bytes(std::string_view(data).substr(at, 1'000'000))).ok());
  }
  REQUIRE_FALSE(store.exists(kDefaultCollection, "streamed").value());
  REQUIRE(writer->commit().ok());
  const auto reader = store.open_reader(kDefaultCollection, "streamed").value();
  REQUIRE(put(store, "streamed", "another version").ok());
  std::string found;
  Bytes piece(700'000);
  for (;;) {
    const std::uint64_t read = reader->read(piece).value();
    if (read == 0) break;
    found += as_text(ByteView(piece).first(read));
  }
  REQUIRE((found == data));
  // A writer that is dropped leaves nothing.
  REQUIRE(store.open_writer(kDefaultCollection, "never").value()->append(as_bytes(data)).ok());
  REQUIRE(findings(store) == "");
}

TEST_CASE("memory_store: its status says that nothing is durable") {
  Store store = make(profile_of(2, 1, 64_MiB));
  const StoreStatus status = store.status();
  REQUIRE(status.memory_only);
  REQUIRE(status.health == Health::kOk);
  REQUIRE(status.faults_tolerated == 1);
  REQUIRE(status.io_queue == "memory");
  REQUIRE(status.devices.size() == 3);
  REQUIRE(status.notes.size() == 1);
  REQUIRE(status.notes[0].find("in memory only") != std::string::npos);
  for (const DeviceStatus& device : status.devices) {
    REQUIRE(device.role == "data");
    REQUIRE(device.state == "ok");
  }
}

TEST_CASE("memory_store: options that make no sense are refused together") {
  MemoryStoreOptions options = profile_of(0, 2, 0);
  options.compression.mode = static_cast<compression::Mode>(99);
  const Error error = Store::in_memory(options).error();
  REQUIRE(error.code == ErrorCode::kInvalidArgument);
  for (const char* word : {"k is 0", "capacity is 0", "compression"}) {
    REQUIRE(error.message.find(word) != std::string::npos);
  }
  for (const std::uint64_t capacity :
       {1_MiB - 1, 64_TiB + 1, std::numeric_limits<std::uint64_t>::max()}) {
    REQUIRE(code_of(profile_of(4, 2, capacity).validate()) == ErrorCode::kInvalidArgument);
  }
  RuntimeOptions reading;
  reading.access = Access::kReadOnly;
  REQUIRE(code_of(Store::in_memory({}, reading).status()) == ErrorCode::kInvalidArgument);
  RuntimeOptions bad;
  bad.stream_buffer = 0;
  REQUIRE(code_of(Store::in_memory({}, bad).status()) == ErrorCode::kInvalidArgument);
}

TEST_CASE("memory_store: every profile and size has room for its capacity", "[one-thread]") {
  const std::pair<std::uint32_t, std::uint32_t> profiles[] = {{1, 1}, {2, 1},  {4, 2},
                                                              {8, 3}, {10, 4}, {16, 4}};
  for (const auto& [k, m] : profiles) {
    for (const std::uint64_t capacity : {1_MiB, 1_MiB + 1, 100_MiB, 3_GiB + 4097, 1_TiB, 64_TiB}) {
      CAPTURE(k, m, capacity);
      const MemoryStoreOptions options = profile_of(k, m, capacity);
      const FormatOptions format = core::memory_format(options);
      REQUIRE(format.validate().ok());
      REQUIRE(format.devices.size() == k + m);
      // Address space for nothing; a sanitizer keeps notes on each page of it.
      if (capacity > 16_GiB / (kThinned * kThinned)) continue;
      Store store = make(options);
      const SpaceUsage space = store.space().value();
      REQUIRE(space.capacity >= capacity);
      REQUIRE(space.available >= capacity);
      // And not much more.
      REQUIRE(space.capacity <= capacity + capacity / 8 + 64_MiB);
    }
  }
}

TEST_CASE("memory_store: what it has room for can be written, and when it is full it goes on") {
  Store store = make(profile_of(4, 2, 32_MiB));
  const std::string data = noise(1_MiB, 1);
  int written = 0;
  Status status;
  while (written < 1000 && status.ok()) {
    status = put(store, "object" + std::to_string(written), data);
    if (status.ok()) ++written;
  }
  REQUIRE(written >= 32);
  REQUIRE(written < 100);
  REQUIRE(code_of(status) == ErrorCode::kNoSpace);
  REQUIRE((get(store, "object0") == data));
  for (int i = 0; i < written; ++i) {
    Transaction t;
    t.remove(kDefaultCollection, "object" + std::to_string(i));
    REQUIRE(store.commit(std::move(t)).ok());
  }
  REQUIRE(store.checkpoint().ok());
  REQUIRE(put(store, "again", data).ok());
  REQUIRE((get(store, "again") == data));
  REQUIRE(findings(store) == "");
}

TEST_CASE("memory_store: a large one takes little until something is stored, and all comes back",
          "[one-thread]") {
  std::uint64_t before = process_memory().resident;
  {
    Store store = make(profile_of(4, 2, 64_GiB));
    REQUIRE(process_memory().resident < before + 100_MiB);
    REQUIRE(process_memory().address_space > 64_GiB);
    REQUIRE(put(store, "object", noise(20_MiB, 1)).ok());
    REQUIRE(process_memory().resident < before + 300_MiB);
  }
  // As often as one likes: with each of them kept, this would be nearly 2 TiB.
  before = process_memory().address_space;
  for (int i = 0; i < 20 / static_cast<int>(kThinned); ++i) {
    Store store = make(profile_of(4, 2, 64_GiB));
    REQUIRE(put(store, "object", noise(100'000, 1)).ok());
    if (i % 2 == 0) REQUIRE(store.close().ok());
  }
  REQUIRE(process_memory().address_space < before + 64_GiB);
}

TEST_CASE("memory_store: several know nothing of each other, and each may be moved") {
  Store one = make();
  Store two = make(profile_of(2, 1, 16_MiB));
  REQUIRE(put(one, "object", "of one").ok());
  REQUIRE(put(two, "object", "of two").ok());
  REQUIRE_FALSE(one.status().uuid == two.status().uuid);
  Store moved = std::move(one);
  REQUIRE(get(moved, "object") == "of one");
  moved = std::move(two);
  REQUIRE(get(moved, "object") == "of two");
}

TEST_CASE("memory_store: after close() nothing more is taken") {
  Store store = make();
  REQUIRE(put(store, "object", "x").ok());
  REQUIRE(store.close().ok());
  REQUIRE(store.close().ok());
  REQUIRE(code_of(put(store, "object", "y")) == ErrorCode::kClosed);
}

TEST_CASE("memory_store: threads commit, read and list while checkpoints come one after another") {
  RuntimeOptions runtime;
  runtime.memtable_size = 64_KiB;
  Store store = make({}, runtime);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&store, &wrong, t] {
      io::Rng rng(static_cast<std::uint64_t>(t));
      for (int i = 0; i < 200; ++i) {
        const std::string name = std::to_string(t) + "/" + std::to_string(i % 50);
        const std::string value = noise(rng.below(20000), rng.next());
        if (!put(store, name, value).ok() || get(store, name) != value) ++wrong;
        ListOptions options;
        options.prefix = std::to_string(t) + "/";
        const Result<ListPage> page = store.list(kDefaultCollection, options);
        if (!page.ok() || page->entries.size() != std::min<std::size_t>(i + 1, 50)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  REQUIRE(wrong == 0);
  REQUIRE(findings(store) == "");
  REQUIRE(store.status().checkpoint_lsn > 1);
}

}  // namespace
}  // namespace hexad::testing
