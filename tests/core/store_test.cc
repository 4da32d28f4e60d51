#include "core/store.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "io/memory_system.h"

namespace hexad {
namespace {

// A store on memory devices; the index is in a directory of its own.
struct Fixture {
  io::MemorySystem system;
  std::filesystem::path directory;
  PoolDescription pool;

  explicit Fixture(FormatOptions options = small()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "hexad_XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    directory = pattern;
    for (int i = 0; i < 6; ++i) options.devices.push_back("dev" + std::to_string(i));
    options.fast_directories = {(directory / "fast").string()};
    Result<PoolDescription> made = Store::format(options, &system);
    if (!made.ok()) FAIL(made.error().to_string());
    pool = *made;
  }
  ~Fixture() { std::filesystem::remove_all(directory); }

  static FormatOptions small() {
    FormatOptions options;
    options.device_size = 16_MiB;
    options.log_size = 1_MiB;
    return options;
  }
  Store open(Access access = Access::kReadWrite) {
    RuntimeOptions options;
    options.access = access;
    Result<Store> store = Store::open(pool, options, &system);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
};

std::string text_of(const Result<Bytes>& bytes) {
  if (!bytes.ok()) return "error: " + bytes.error().to_string();
  return std::string(as_text(*bytes));
}

Result<Lsn> put(Store& store, const std::string& name, const std::string& value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  Result<Lsn> result = store.commit(std::move(t));
  if (!result.ok()) UNSCOPED_INFO(result.error().to_string());
  return result;
}

std::string noise(std::size_t size, std::uint64_t seed) {
  io::Rng rng(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(rng.next());
  return bytes;
}

TEST_CASE("store: what was put is read back, before and after closing") {
  Fixture fixture;
  const std::string large = noise(3'000'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "small", "hello").ok());
    REQUIRE(put(store, "middle", noise(5000, 2)).ok());
    REQUIRE(put(store, "large", large).ok());
    REQUIRE(text_of(store.get(kDefaultCollection, "small")) == "hello");
    REQUIRE(text_of(store.get(kDefaultCollection, "middle")) == noise(5000, 2));
    REQUIRE(text_of(store.get(kDefaultCollection, "large")) == large);
    REQUIRE(store.close().ok());
  }
  Store store = fixture.open();
  REQUIRE(text_of(store.get(kDefaultCollection, "small")) == "hello");
  REQUIRE(text_of(store.get(kDefaultCollection, "middle")) == noise(5000, 2));
  REQUIRE(text_of(store.get(kDefaultCollection, "large")) == large);
  const Result<FsckReport> report = store.fsck({true, false});
  REQUIRE(report.ok());
  for (const Finding& finding : report->findings)
    UNSCOPED_INFO(finding.subject + ": " + finding.problem);
  REQUIRE(report->findings.empty());
}

TEST_CASE("store: a store that was not closed recovers what was acknowledged") {
  Fixture fixture;
  {
    Store store = fixture.open();
    for (int i = 0; i < 50; ++i) {
      REQUIRE(put(store, "object" + std::to_string(i), noise(100 * i, i)).ok());
    }
    REQUIRE(store.checkpoint().ok());
    for (int i = 25; i < 75; ++i) {
      REQUIRE(put(store, "object" + std::to_string(i), noise(120 * i, i + 1000)).ok());
    }
  }
  Store store = fixture.open();
  for (int i = 0; i < 25; ++i) {
    REQUIRE(text_of(store.get(kDefaultCollection, "object" + std::to_string(i))) ==
            noise(100 * i, i));
  }
  for (int i = 25; i < 75; ++i) {
    REQUIRE(text_of(store.get(kDefaultCollection, "object" + std::to_string(i))) ==
            noise(120 * i, i + 1000));
  }
  const Result<FsckReport> report = store.fsck({true, false});
  REQUIRE(report.ok());
  REQUIRE(report->findings.empty());
}

}  // namespace
}  // namespace hexad
