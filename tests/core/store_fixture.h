// A store on memory devices, and what the tests of the engine do with it again and again: take
// devices away and bring them back, look whether anything at all was written, check everything.
//
// The index is in a directory of its own.
#pragma once

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/store.h"
#include "io/memory_system.h"
#include "tests/core/noise.h"  // IWYU pragma: export
#include "tests/io/temporary.h"

namespace hexad::testing {

inline constexpr const char* kBucket = kDefaultCollection;

// 4+2 on six devices of 8 MiB, a log of 1 MiB: small enough for hundreds of stores per test, and
// for a log that wraps.
FormatOptions small_format();
// Checkpoints and trims all the time.
RuntimeOptions busy_runtime();

class StoreFixture {
 public:
  // `system`: what the store sees; null: the memory system. Devices without a path of their own
  // get one; the fast directory is a temporary one.
  explicit StoreFixture(FormatOptions options = small_format(), io::System* system = nullptr);
  StoreFixture(const StoreFixture&) = delete;
  StoreFixture& operator=(const StoreFixture&) = delete;

  Result<Store> try_open(Access access = Access::kReadWrite, RuntimeOptions options = {});
  // Fails the test when that does.
  Store open(Access access = Access::kReadWrite, RuntimeOptions options = {});

  // By number of the data device. Nobody has it open.
  void take_away(std::size_t device);
  void bring_back(std::size_t device);
  const std::string& device(std::size_t index) const { return pool.devices[index]; }
  std::shared_ptr<io::MemoryMedia> media(std::size_t device) {
    return memory.media(pool.devices[device]);
  }

  // A checksum of every byte of every device and of every file of the index, by name. `except`:
  // data devices that are left out.
  std::map<std::string, std::uint64_t> fingerprint(const std::set<std::size_t>& except = {});

  io::MemorySystem memory;
  io::System* system;
  std::filesystem::path directory;  // everything that is on a real disk
  PoolDescription pool;

 private:
  io::testing::TemporaryDirectory temporary_;
  std::map<std::size_t, Bytes> away_;
};

Bytes read_media(const io::MemoryMedia& media);

// The bytes, or "error: ..." so that a comparison shows it.
std::string text_of(const Result<Bytes>& bytes);
std::string get(Store& store, std::string_view name);
Result<Lsn> put(Store& store, std::string_view name, std::string_view value);
Result<Lsn> remove(Store& store, std::string_view name);
// Of a transaction as `build` makes it. On the test's own thread: why it failed is shown when the
// next check fails.
using Build = std::function<void(Transaction&)>;
Result<Lsn> commit(Store& store, const Build& build);
// Bytes that no user has: free, or the store's own. Takes a checkpoint first, so that none is under
// way, unless something changes meanwhile.
std::uint64_t unused(Store& store);
// Every finding of a deep fsck, one per line; empty when the store is clean.
std::string deep_findings(Store& store);
// The state that status() shows for a data device.
std::string state_of(Store& store, const std::string& path);
std::uint64_t counter(Store& store, std::string_view name);  // since opening
// The code of a failed result; nothing when it is ok.
template <typename T>
std::optional<ErrorCode> code_of(const Result<T>& result) {
  return result.ok() ? std::nullopt : std::optional<ErrorCode>(result.error().code);
}
inline std::optional<ErrorCode> code_of(const Status& status) {
  return status.ok() ? std::nullopt : std::optional<ErrorCode>(status.error().code);
}
std::string message_of(const Status& status);

// All pairs {a, b}, a < b, below `count`.
std::vector<std::pair<std::size_t, std::size_t>> pairs_below(std::size_t count);

}  // namespace hexad::testing

template <>
struct Catch::StringMaker<std::optional<hexad::ErrorCode>> {
  static std::string convert(const std::optional<hexad::ErrorCode>& code) {
    return code.has_value() ? std::string(hexad::to_string(*code)) : "ok";
  }
};
