// Objects that small writes cut up: what lists show of large blobs in part is written again, so
// that the rest comes back. Before, an object of 100 MiB that was used as a disk filled a pool of
// 187 MiB within half a lap, and settled at 5.5 times its size in a large one.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr int kAtOnce = 50;
constexpr io::Nanos kSecond = 1'000'000'000;

SimPoolOptions pool_of(std::uint64_t device_size) {
  SimPoolOptions options;
  options.device_size = device_size;
  return options;
}

// An object used as a disk, in its newest version, and a store that has the same.
struct Disk {
  Disk(Store& given, std::uint64_t size) : store(given), bytes(noise(size, 1)) {}

  std::string fill() {
    for (std::size_t at = 0; at < bytes.size(); at += 1_MiB) {
      Transaction t;
      const std::size_t length = std::min<std::size_t>(1_MiB, bytes.size() - at);
      t.write(kBucket, "disk", at, as_bytes(bytes).subspan(at, length));
      const Status written = store.commit(std::move(t)).status();
      if (!written.ok()) return "fill: " + message_of(written);
    }
    return "";
  }
  // So many thousandths of all blocks, at random.
  std::string overwrite(std::size_t thousandths) {
    const std::size_t blocks = bytes.size() / kBlock;
    for (std::size_t done = 0; done < blocks * thousandths / 1000; done += kAtOnce) {
      const std::string wrong = overwrite_some();
      if (wrong.empty()) continue;
      return "after " + std::to_string(done) + " of " + std::to_string(blocks) +
             " blocks: " + wrong;
    }
    return "";
  }
  // In one transaction.
  std::string overwrite_some() {
    Transaction t;
    for (int i = 0; i < kAtOnce; ++i) {
      const std::size_t at = rng.below(bytes.size() / kBlock) * kBlock;
      const std::string block = noise(kBlock, ++made);
      std::copy(block.begin(), block.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
      t.write(kBucket, "disk", at, as_bytes(block));
    }
    const Status written = store.commit(std::move(t)).status();
    if (written.ok()) return "";
    return message_of(written) +
           "; lists compacted: " + std::to_string(counter(store, "compacted_lists")) +
           ", stripes cleaned: " + std::to_string(counter(store, "cleaned_stripes")) +
           ", checkpoints: " + std::to_string(counter(store, "checkpoints"));
  }
  std::string check() const {
    if (get(store, "disk") != bytes) return "other bytes";
    return deep_findings(store);
  }

  Store& store;
  std::string bytes;
  io::Rng rng{7};
  int made = 1;
};

std::uint64_t written_to_devices(Store& store) {
  std::uint64_t bytes = 0;
  for (const char* name :
       {"device_user_bytes", "device_parity_bytes", "write_pad_bytes", "device_log_bytes",
        "device_super_bytes", "device_run_bytes", "device_merge_bytes", "device_clean_bytes"}) {
    bytes += counter(store, name);
  }
  return bytes;
}

TEST_CASE("compaction: an object used as a disk is overwritten at random, lap after lap") {
  SimPool pool(pool_of(16_MiB));
  std::uint64_t compacted = 0;
  const auto run = [&](Store& store) -> std::string {
    Disk disk(store, store.space()->capacity / 2 / 1_MiB * 1_MiB);
    std::string wrong = disk.fill();
    if (wrong.empty()) wrong = disk.overwrite(4000);
    compacted = counter(store, "compacted_lists");
    if (wrong.empty()) wrong = disk.check();
    if (wrong.empty()) wrong = message_of(store.close());
    return wrong;
  };
  REQUIRE(pool.with_store(run) == "");
  CHECK(compacted > 0);
}

TEST_CASE("compaction: at rest little is dead, and then nothing is written any more") {
  SimPool pool(pool_of(16_MiB));
  std::uint64_t user_bytes = 0;
  std::uint64_t allocated = 0;
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  ObjectStat was;
  ObjectStat is;
  const auto run = [&](Store& store) -> std::string {
    Disk disk(store, 8_MiB);
    std::string wrong = disk.fill();
    if (wrong.empty()) wrong = disk.overwrite(300);
    if (!wrong.empty()) return wrong;
    was = *store.stat(kBucket, "disk");
    pool.sleep(20 * kSecond);
    user_bytes = store.space()->user_bytes;
    allocated = store.space()->allocated;
    before = written_to_devices(store);
    pool.sleep(100 * kSecond);
    after = written_to_devices(store);
    is = *store.stat(kBucket, "disk");
    return disk.check();
  };
  REQUIRE(pool.with_store(run) == "");
  INFO("allocated " << allocated << " for " << user_bytes);
  CHECK(allocated * 100 <= user_bytes * 125);
  CHECK(before == after);
  CHECK(was.version == is.version);
  CHECK(was.mtime == is.mtime);
}

// As full as that the cleaner has to bring what the next writes take. How much an object takes
// depends on what is free: it is compacted by need, and at rest.
TEST_CASE("compaction: under load, four fifths full, at most 1.6 bytes are allocated for each") {
  SimPool pool(pool_of(8_MiB));
  double most = 0;  // bytes allocated for each that users have
  double last = 0;
  std::uint64_t size = 0;
  std::uint64_t compacted = 0;
  const auto run = [&](Store& store) -> std::string {
    // Its blocks come to lie as objects of their size do.
    size = store.room_for(kBlock)->usable * 8 / 10 / 1_MiB * 1_MiB;
    Disk disk(store, size);
    std::string wrong = disk.fill();
    // Two laps, with a look behind each tenth transaction.
    const std::size_t transactions = 2 * size / kBlock / kAtOnce;
    for (std::size_t done = 0; wrong.empty() && done < transactions; ++done) {
      wrong = disk.overwrite_some();
      if (done % 10 != 0) continue;
      const SpaceUsage usage = store.space().value();
      last = static_cast<double>(usage.allocated) / static_cast<double>(usage.user_bytes);
      most = std::max(most, last);
    }
    compacted = counter(store, "compacted_lists");
    return wrong.empty() ? disk.check() : wrong;
  };
  REQUIRE(pool.with_store(run) == "");
  std::printf(
      "an object of %d MiB, four fifths of what is usable, under load: allocated %.2f times "
      "its size at most, %.2f in the end\n",
      static_cast<int>(size >> 20), most, last);
  CHECK(compacted > 0);
  CHECK(most <= 1.6);
}

// Whoever opened a store knows nothing of what others have cut up in it.
TEST_CASE("compaction: what was cut up before the store was opened is found when space is short") {
  SimPool pool(pool_of(16_MiB));
  std::string bytes;
  std::uint64_t size = 0;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    size = store.space()->capacity * 6 / 10 / 1_MiB * 1_MiB;
    Disk disk(store, size);
    std::string wrong = disk.fill();
    if (wrong.empty()) wrong = disk.overwrite(150);
    bytes = disk.bytes;
    return wrong.empty() ? message_of(store.close()) : wrong;
  }) == "");
  std::uint64_t compacted = 0;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    Disk disk(store, size);
    disk.bytes = bytes;
    std::string wrong;
    // Other objects take what is left, and something more.
    int others = 0;
    for (; wrong.empty() && counter(store, "compacted_lists") == 0; ++others) {
      const Status put_in =
          put(store, "o" + std::to_string(others), noise(256_KiB, others)).status();
      if (!put_in.ok()) wrong = message_of(put_in);
    }
    compacted = counter(store, "compacted_lists");
    for (int i = 0; wrong.empty() && i < others; ++i) {
      if (get(store, "o" + std::to_string(i)) != noise(256_KiB, i)) wrong = "another object";
    }
    return wrong.empty() ? disk.check() : wrong;
  }) == "");
  CHECK(compacted > 0);
}

TEST_CASE("compaction: what clones show stays, and objects that are written whole cost no copies") {
  SimPool pool(pool_of(16_MiB));
  std::uint64_t copies = 0;
  const auto run = [&](Store& store) -> std::string {
    for (int lap = 0; lap < 12; ++lap) {
      for (int i = 0; i < 100; ++i) {
        const Status written = put(store, std::to_string(i), noise(256_KiB, lap)).status();
        if (!written.ok()) return message_of(written);
      }
    }
    copies = counter(store, "cleaned_bytes") + counter(store, "compacted_bytes");
    for (int i = 0; i < 100; ++i) {
      if (!remove(store, std::to_string(i)).ok()) return "remove";
    }
    Disk disk(store, 8_MiB);
    std::string wrong = disk.fill();
    if (wrong.empty()) wrong = disk.overwrite(100);
    if (!wrong.empty()) return wrong;
    const std::string then = disk.bytes;
    Transaction t;
    t.clone(kBucket, "disk", kBucket, "clone");
    if (!store.commit(std::move(t)).ok()) return "clone";
    wrong = disk.overwrite(2000);
    if (!wrong.empty()) return wrong;
    pool.sleep(20 * kSecond);
    if (get(store, "clone") != then) return "another clone";
    return disk.check();
  };
  REQUIRE(pool.with_store(run) == "");
  CHECK(copies == 0);
}

// Every block of 4 KiB can be compressed to less than half.
std::string compressible(std::size_t size, int seed) {
  std::string bytes = noise(size, seed);
  for (std::size_t at = 0; at + kBlock <= size; at += kBlock) bytes.replace(at, 2600, 2600, 'x');
  return bytes;
}

TEST_CASE("compaction: of compressed data that was overwritten in part little is dead at rest") {
  SimPool pool(pool_of(16_MiB));
  std::uint64_t cut_up = 0;
  std::uint64_t at_rest = 0;
  std::uint64_t dead =
      0;  // bytes of what is allocated at rest that nothing shows, padding included
  std::uint64_t afresh = 0;
  std::uint64_t dead_afresh = 0;
  const auto run = [&](Store& store) -> std::string {
    compression::Policy policy;
    policy.mode = compression::Mode::kForce;
    policy.algorithm = compression::Algorithm::kZstd;
    Transaction settings;
    settings.set_policy(kBucket, policy);
    if (!store.commit(std::move(settings)).ok()) return "policy";
    constexpr std::size_t kSize = 16_MiB;
    std::string bytes = compressible(kSize, 1);
    const auto write_all = [&]() -> std::string {
      for (std::size_t at = 0; at < kSize; at += 1_MiB) {
        Transaction t;
        t.write(kBucket, "large", at, as_bytes(bytes).subspan(at, 1_MiB));
        const Status written = store.commit(std::move(t)).status();
        if (!written.ok()) return message_of(written);
      }
      return "";
    };
    std::string wrong = write_all();
    io::Rng rng(5);
    for (int i = 0; wrong.empty() && i < 100; ++i) {
      Transaction t;
      for (int j = 0; j < 8; ++j) {
        const std::size_t at = rng.below(kSize / 16384) * 16384;
        const std::string piece = compressible(16384, 10 + 8 * i + j);
        std::copy(piece.begin(), piece.end(), bytes.begin() + static_cast<std::ptrdiff_t>(at));
        t.write(kBucket, "large", at, as_bytes(piece));
      }
      wrong = message_of(store.commit(std::move(t)).status());
    }
    if (!wrong.empty()) return wrong;
    cut_up = store.space()->allocated;
    pool.sleep(20 * kSecond);
    at_rest = store.space()->allocated;
    dead = store.space(SpaceDetail::kBreakdown)->dead;
    if (get(store, "large") != bytes) return "other bytes";
    wrong = write_all();
    pool.sleep(20 * kSecond);
    afresh = store.space()->allocated;
    dead_afresh = store.space(SpaceDetail::kBreakdown)->dead;
    return wrong.empty() ? deep_findings(store) : wrong;
  };
  REQUIRE(pool.with_store(run) == "");
  INFO("allocated " << cut_up << ", at rest " << at_rest << ", written anew " << afresh);
  INFO("dead at rest " << dead << ", written anew " << dead_afresh);
  CHECK(dead * 100 <= at_rest * 10);
  CHECK(at_rest * 100 <= afresh * 110);
  CHECK(cut_up * 100 > afresh * 120);
}

// In the simulation, where nothing is cleaned while no time passes.
TEST_CASE(
    "space: what could be moved for a commit, and what then fits of objects like those here") {
  SimPool pool(pool_of(24_MiB));
  std::vector<SpaceUsage> said;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    const auto look = [&] { said.push_back(store.space(SpaceDetail::kBreakdown).value()); };
    look();
    Transaction put;
    for (int i = 0; i < 400; ++i) put.put(kBucket, std::to_string(i), noise(4'000, 1));
    if (!store.commit(std::move(put)).ok() || !store.checkpoint().ok()) return "put";
    look();
    Transaction one;
    one.remove(kBucket, "7");
    if (!store.commit(std::move(one)).ok()) return "remove";
    look();
    Transaction most;
    for (int i = 0; i < 400; ++i) {
      if (i % 4 != 0 && i != 7) most.remove(kBucket, std::to_string(i));
    }
    if (!store.commit(std::move(most)).ok()) return "remove most";
    look();
    return deep_findings(store);
  }) == "");
  const auto& [none, full, hole, sparse] = std::tie(said[0], said[1], said[2], said[3]);
  CHECK(none.reclaimable == 0);
  CHECK_FALSE(none.available_for_mix.has_value());
  // Footers and a hole or two are not worth it.
  CHECK(full.dead > 0);
  CHECK(full.reclaimable == 0);
  CHECK(full.available_for_mix < full.available);
  CHECK(full.available_for_mix > full.available / 2);
  CHECK(hole.dead >= full.dead + 4'000);
  CHECK(hole.reclaimable == 0);
  // A quarter lives, in all of them.
  CHECK(sparse.reclaimable == sparse.dead);
  CHECK(sparse.dead > sparse.allocated / 2);
  CHECK(sparse.available_for_mix > sparse.available / 2);
}

// What blobs take that are shown in part comes back by compaction alone.
TEST_CASE("space: what was overwritten in part is reclaimable, and as much more fits") {
  SimPool pool(pool_of(24_MiB));
  constexpr std::size_t kSize = 16_MiB;
  constexpr std::size_t kPut = 64_KiB;
  SpaceUsage before;
  SpaceUsage after;
  std::uint64_t room_before = 0;
  std::uint64_t room_after = 0;
  std::uint64_t fitted = 0;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    for (std::size_t at = 0; at < kSize; at += 1_MiB) {
      Transaction t;
      t.write(kBucket, "large", at, as_bytes(noise(1_MiB, at)));
      if (!store.commit(std::move(t)).ok()) return "write";
    }
    before = store.space(SpaceDetail::kBreakdown).value();
    room_before = store.room_for(kPut)->available;
    // Half of each.
    for (std::size_t at = 0; at < kSize; at += 1_MiB) {
      Transaction t;
      t.zero(kBucket, "large", at, 512_KiB);
      if (!store.commit(std::move(t)).ok()) return "zero";
    }
    after = store.space(SpaceDetail::kBreakdown).value();
    room_after = store.room_for(kPut)->available;
    for (std::uint64_t at = 0; at + kPut <= room_after; at += kPut, fitted += kPut) {
      Transaction t;
      t.put(kBucket, "o" + std::to_string(at), noise(kPut, at));
      if (!store.commit(std::move(t)).ok()) break;
    }
    return deep_findings(store);
  }) == "");
  INFO("dead " << before.dead << ", then " << after.dead << ", reclaimable " << after.reclaimable);
  INFO("room " << room_before << ", then " << room_after << ", fitted " << fitted);
  CHECK(before.reclaimable < 1_MiB);
  CHECK(after.dead >= before.dead + kSize / 2 * 15 / 16);
  CHECK(after.reclaimable >= before.reclaimable + kSize / 2 * 15 / 16);
  CHECK(room_after >= room_before + kSize / 2 * 85 / 100);
  CHECK(fitted * 100 >= room_after * 97);
}

}  // namespace
}  // namespace hexad::testing
