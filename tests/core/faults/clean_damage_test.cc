// What the cleaner and compaction do with bytes that devices have changed: nothing wrong is carried
// on, and what cannot be read stays where it is.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/units.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;
constexpr int kObjects = 1500;
constexpr int kKept = 10;  // one in so many
constexpr std::size_t kObject = 4096;
constexpr std::size_t kLarge = 1_MiB;
constexpr std::size_t kBlock = 4096;

std::string name_of(int i) { return "o" + std::to_string(i); }
std::string value_of(int i) { return noise(kObject, 1 + i); }

SimPoolOptions pool_of(std::uint64_t device_size) {
  SimPoolOptions options;
  options.device_size = device_size;
  return options;
}

// Flips a bit wherever these bytes lie on data disks. Returns on how many.
int spoil(SimPool& pool, std::string_view bytes) {
  int spoiled = 0;
  for (std::size_t i = 0; i + 1 < pool.disks().size(); ++i) {
    io::SimDisk& disk = pool.disk(i);
    const Bytes all = disk.peek(0, disk.size());
    const std::string_view text = as_text(all);
    const int before = spoiled;
    for (std::size_t at = text.find(bytes); at != text.npos; at = text.find(bytes, at + 1)) {
      disk.flip_bit(at + bytes.size() / 2, 3);
      spoiled = before + 1;
    }
  }
  return spoiled;
}

std::string fill(Store& store) {
  for (int i = 0; i < kObjects; i += 50) {
    Transaction t;
    for (int j = i; j < i + 50; ++j) t.put(kBucket, name_of(j), value_of(j));
    const Status written = store.commit(std::move(t)).status();
    if (!written.ok()) return message_of(written);
  }
  return message_of(store.checkpoint());
}

std::string remove_most(Store& store) {
  Transaction t;
  for (int i = 0; i < kObjects; ++i) {
    if (i % kKept != 0) t.remove(kBucket, name_of(i));
  }
  return message_of(store.commit(std::move(t)).status());
}

std::string check(Store& store) {
  for (int i = 0; i < kObjects; i += kKept) {
    if (get(store, name_of(i)) != value_of(i)) return name_of(i);
  }
  return "";
}

// Of one object in each stripe a device shows other bytes. Were they moved as they are, the new
// stripe's parity would be made of them, and nothing could tell what they were.
TEST_CASE("cleaning: bytes that are wrong on a device are right in their new place (CL2)") {
  SimPool pool(pool_of(16_MiB));
  int spoiled = 0;
  std::uint64_t blobs = 0;
  RuntimeOptions options;
  options.cache_size = 0;
  const std::string wrong = pool.with_store(
      [&](Store& store) -> std::string {
        std::string problem = fill(store);
        for (int i = 0; i < kObjects; i += 5 * kKept) {
          spoiled += spoil(pool, std::string_view(value_of(i)).substr(1000, 100));
        }
        if (problem.empty()) problem = remove_most(store);
        pool.sleep(20 * kSecond);
        blobs = counter(store, "cleaned_blobs");
        if (problem.empty()) problem = check(store);
        return problem.empty() ? deep_findings(store) : problem;
      },
      options);
  CHECK(wrong == "");
  CHECK(spoiled >= kObjects / kKept / 5);
  CHECK(blobs >= kObjects / kKept * 9 / 10);
}

// An object in pieces of 1 MiB, each a stripe, of which the first one cannot be read any more. All
// are overwritten in part: the others are compacted, and then the store comes to rest.
TEST_CASE("compaction: what cannot be read is left alone, and counted once (KL5)") {
  SimPool pool(pool_of(16_MiB));
  constexpr std::size_t kPieces = 8;
  const std::string large = noise(kPieces * kLarge, 1);
  const std::string block = noise(kBlock, 2);
  std::string is = large;
  std::uint64_t compacted = 0;
  std::uint64_t unreadable = 0;
  std::uint64_t unreadable_later = 0;
  std::string first;
  RuntimeOptions options;
  options.cache_size = 0;
  const std::string wrong = pool.with_store(
      [&](Store& store) -> std::string {
        for (std::size_t at = 0; at < large.size(); at += kLarge) {
          Transaction t;
          t.write(kBucket, "large", at, as_bytes(large).subspan(at, kLarge));
          const Status written = store.commit(std::move(t)).status();
          if (!written.ok()) return message_of(written);
        }
        // Three of the cells, in a part that is not overwritten.
        for (std::size_t cell = 0; cell < 3; ++cell) {
          const std::string_view bytes = std::string_view(large).substr(cell * kLarge / 4, 100);
          if (spoil(pool, bytes) != 1) return "nothing was damaged";
        }
        for (std::size_t at = 0; at < large.size(); at += 64_KiB) {
          Transaction t;
          for (std::size_t i = kBlock; i < 64_KiB * 3 / 4; i += kBlock) {
            t.write(kBucket, "large", at + i, as_bytes(block));
            std::copy(block.begin(), block.end(), is.begin() + static_cast<std::ptrdiff_t>(at + i));
          }
          const Status written = store.commit(std::move(t)).status();
          if (!written.ok()) return message_of(written);
        }
        pool.sleep(20 * kSecond);
        compacted = counter(store, "compacted_lists");
        unreadable = counter(store, "compact_unreadable");
        pool.sleep(100 * kSecond);
        unreadable_later = counter(store, "compact_unreadable");
        Bytes rest(large.size() - kLarge);
        const auto read = store.read(kBucket, "large", kLarge, rest);
        if (!read.ok()) return message_of(read.status());
        if (as_text(rest) != std::string_view(is).substr(kLarge)) return "other bytes";
        first =
            message_of(store.read(kBucket, "large", 0, MutByteView(rest).first(kBlock)).status());
        return "";
      },
      options);
  CHECK(wrong == "");
  CHECK(compacted >= kPieces - 1);
  CHECK(unreadable > 0);
  CHECK(unreadable_later == unreadable);
  CHECK(first != "");
}

// Three devices refuse reads for a while: then all that was left alone comes back, although nothing
// of it has changed.
TEST_CASE("cleaning: what could not be read is tried again when the store comes to rest (CL8)") {
  constexpr int kMany = 8;
  const auto large_name = [](int i) { return "large" + std::to_string(i); };
  SimPool pool(pool_of(32_MiB));
  RuntimeOptions options;
  options.cache_size = 0;
  std::uint64_t refused = 0;
  std::uint64_t cleaned = 0;
  std::uint64_t compacted = 0;
  std::uint64_t compacted_later = 0;
  std::uint64_t dead = 0;
  std::uint64_t dead_later = 0;
  const std::string wrong = pool.with_store(
      [&](Store& store) -> std::string {
        std::string problem = fill(store);
        for (int i = 0; problem.empty() && i < kMany; ++i) {
          problem = message_of(put(store, large_name(i), noise(kLarge, 1 + i)).status());
        }
        for (std::size_t i = 0; i < 3; ++i) {
          io::Fault fault;
          fault.kind = io::FaultKind::kReadError;
          fault.times = io::Fault::kForever;
          pool.disk(i).inject(fault);
        }
        for (int i = 0; problem.empty() && i < kMany; ++i) {
          Transaction t;
          t.zero(kBucket, large_name(i), 0, kLarge * 3 / 4);
          problem = message_of(store.commit(std::move(t)).status());
        }
        if (problem.empty()) problem = remove_most(store);
        pool.sleep(20 * kSecond);
        refused = counter(store, "clean_unreadable");
        compacted = counter(store, "compacted_lists");
        dead = store.space(SpaceDetail::kBreakdown)->dead;
        for (std::size_t i = 0; i < 3; ++i) pool.disk(i).clear_faults();
        // Somebody goes on, with something else.
        for (int i = 0; problem.empty() && i < 2; ++i) {
          Transaction more;
          for (int j = 0; j < 100; ++j) more.put(kBucket, "new" + std::to_string(j), value_of(j));
          problem = message_of(store.commit(std::move(more)).status());
        }
        if (problem.empty()) problem = message_of(store.checkpoint());
        pool.sleep(20 * kSecond);
        cleaned = counter(store, "cleaned_stripes");
        compacted_later = counter(store, "compacted_lists");
        dead_later = store.space(SpaceDetail::kBreakdown)->dead;
        if (problem.empty()) problem = check(store);
        return problem.empty() ? deep_findings(store) : problem;
      },
      options);
  CHECK(wrong == "");
  INFO("dead " << dead << ", later " << dead_later);
  CHECK(refused > 0);
  CHECK(cleaned > 0);
  INFO("compacted " << compacted << ", later " << compacted_later);
  CHECK(compacted_later >= compacted + kMany / 2);
  CHECK(dead_later < dead / 4);
}

}  // namespace
}  // namespace hexad::testing
