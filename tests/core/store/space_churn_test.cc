// A store that holds so much of what it can hold is overwritten at random, lap after lap: no write
// is refused, and what it costs is counted by cause. How much it can hold is tried out first.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::size_t kBlock = 4096;
constexpr std::size_t kAtOnce = 50;
constexpr std::size_t kLaps = 4;

std::string name_of(std::size_t i) { return "o" + std::to_string(i); }

using Sizes = std::vector<std::size_t>;  // of objects, in turn

// Objects of one block, or of other sizes, or the blocks of one object.
class Blocks {
 public:
  Blocks(Store& store, bool one_object, Sizes sizes = {kBlock})
      : store_(store), one_object_(one_object), sizes_(std::move(sizes)) {}

  // Until there is no space. Returns how many there are room for.
  Result<std::size_t> try_out() {
    std::size_t count = 0;
    for (;; count += kAtOnce) {
      Transaction t;
      for (std::size_t i = 0; i < kAtOnce; ++i)
        t.put(kBucket, name_of(count + i), block(0, count + i));
      const Status put = store_.commit(std::move(t)).status();
      if (put.ok()) continue;
      if (put.error().code != ErrorCode::kNoSpace) return put.error();
      break;
    }
    for (std::size_t i = 0; i < count; i += kAtOnce) {
      Transaction t;
      for (std::size_t j = i; j < i + kAtOnce; ++j) t.remove(kBucket, name_of(j));
      HEXAD_TRY(store_.commit(std::move(t)).status());
    }
    HEXAD_TRY(store_.checkpoint());
    return count;
  }
  Status fill(std::size_t count) {
    const std::size_t at_once = one_object_ ? 1_MiB / kBlock : kAtOnce;
    versions_.assign(count / at_once * at_once, 0);
    for (std::size_t i = 0; i < versions_.size(); i += at_once) {
      Transaction t;
      std::string page;
      for (std::size_t j = i; j < i + at_once; ++j) {
        versions_[j] = ++made_;
        if (one_object_) {
          page += block(versions_[j], j);
        } else {
          t.put(kBucket, name_of(j), block(versions_[j], j));
        }
      }
      if (one_object_) t.write(kBucket, "disk", i * kBlock, as_bytes(page));
      HEXAD_TRY(store_.commit(std::move(t)).status());
    }
    return {};
  }
  Status overwrite(std::size_t laps) {
    for (std::size_t done = 0; done < laps * versions_.size(); done += kAtOnce) {
      Transaction t;
      for (std::size_t i = 0; i < kAtOnce; ++i) {
        const std::size_t at = rng_.below(versions_.size());
        versions_[at] = ++made_;
        if (one_object_) {
          t.write(kBucket, "disk", at * kBlock, as_bytes(block(made_, at)));
        } else {
          t.put(kBucket, name_of(at), block(made_, at));
        }
      }
      const Status written = store_.commit(std::move(t)).status();
      if (!written.ok()) {
        return written.error().with_context(std::to_string(done) + " of " +
                                            std::to_string(versions_.size()) + " a lap");
      }
    }
    return {};
  }
  // The same by several callers at once, each one block at a time: groups are small, and what is on
  // its way has space promised to it.
  Status overwrite_beside(SimPool& pool, std::size_t callers, std::size_t laps) {
    Status failed;
    std::vector<std::unique_ptr<io::Thread>> threads;
    for (std::size_t caller = 0; caller < callers; ++caller) {
      threads.push_back(pool.system().executor().start("caller", [&, caller] {
        io::Rng rng(100 + caller);
        for (std::size_t i = 0; failed.ok() && i < laps * versions_.size() / callers; ++i) {
          const std::size_t at = rng.below(versions_.size() / callers) * callers + caller;
          const std::uint64_t made = ++made_;
          Transaction t;
          t.put(kBucket, name_of(at), block(made, at));
          const Status written = store_.commit(std::move(t)).status();
          if (written.ok()) versions_[at] = made;
          if (!written.ok() && failed.ok()) {
            failed = written.error().with_context("put " + std::to_string(i) + " of a caller");
          }
        }
      }));
    }
    for (const auto& thread : threads) thread->join();
    return failed;
  }
  std::string check() const {
    const std::string disk = one_object_ ? get(store_, "disk") : "";
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      const std::string is =
          one_object_ ? disk.substr(i * kBlock, kBlock) : get(store_, name_of(i));
      if (is != block(versions_[i], i)) return "block " + std::to_string(i);
    }
    return deep_findings(store_);
  }

 private:
  // Cheap to make: bytes that no codec is asked about, with a number in front.
  std::string block(std::uint64_t number, std::size_t at) const {
    std::string bytes = std::to_string(number);
    bytes.resize(sizes_[at % sizes_.size()], static_cast<char>('a' + number % 26));
    return bytes;
  }

  Store& store_;
  const bool one_object_;
  const Sizes sizes_;
  std::vector<std::uint64_t> versions_;
  std::uint64_t made_ = 0;
  io::Rng rng_{11};
};

void churn(bool one_object, std::uint64_t percent) {
  CAPTURE(one_object, percent);
  SimPoolOptions options;
  options.device_size = 24_MiB;
  options.log_size = 4_MiB;
  options.fast_size = 8_MiB;
  SimPool pool(options);
  std::uint64_t per_mille = 0;  // copies by the cleaner, of what users wrote
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    Blocks blocks(store, one_object);
    const Result<std::size_t> room = blocks.try_out();
    if (!room.ok()) return message_of(room.status());
    const Status filled = blocks.fill(*room * percent / 100);
    if (!filled.ok()) return "fill: " + message_of(filled);
    const std::uint64_t written = counter(store, "written_bytes");
    const std::uint64_t copied = counter(store, "device_clean_bytes");
    const Status overwritten = blocks.overwrite(kLaps);
    if (!overwritten.ok()) return message_of(overwritten);
    per_mille = (counter(store, "device_clean_bytes") - copied) * 1000 /
                (counter(store, "written_bytes") - written);
    return blocks.check();
  });
  std::printf("%s at %d %% of what fits: %.2f bytes copied for each that is written\n",
              one_object ? "a disk" : "objects of 4 KiB", static_cast<int>(percent),
              static_cast<double>(per_mille) / 1000);
  REQUIRE(wrong == "");
}

TEST_CASE("churn: objects of 4 KiB") { churn(false, GENERATE(25, 50, 75, 85, 90)); }

TEST_CASE("churn: the blocks of an object that is used as a disk") {
  churn(true, GENERATE(25, 50, 75, 85, 90));
}

void churn_beside(const Sizes& sizes, const std::string& name, std::uint64_t percent) {
  CAPTURE(name, percent);
  SimPoolOptions options;
  options.device_size = 24_MiB;
  options.log_size = 4_MiB;
  options.fast_size = 8_MiB;
  SimPool pool(options);
  double copied = 0;
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    Blocks blocks(store, false, sizes);
    const Result<std::size_t> room = blocks.try_out();
    if (!room.ok()) return message_of(room.status());
    Status status = blocks.fill(*room * percent / 100);
    if (!status.ok()) return "fill: " + message_of(status);
    const std::uint64_t written = counter(store, "written_bytes");
    const std::uint64_t moved = counter(store, "device_clean_bytes");
    status = blocks.overwrite_beside(pool, 16, kLaps);
    if (!status.ok()) return message_of(status);
    copied = static_cast<double>(counter(store, "device_clean_bytes") - moved) /
             static_cast<double>(counter(store, "written_bytes") - written);
    return blocks.check();
  });
  std::printf("%s by 16 callers at %d %% of what fits: %.2f bytes copied for each\n", name.c_str(),
              static_cast<int>(percent), copied);
  REQUIRE(wrong == "");
}

TEST_CASE("churn: objects of 4 KiB by sixteen callers") {
  churn_beside({kBlock}, "objects of 4 KiB", GENERATE(50, 75, 85, 90));
}

TEST_CASE("churn: objects of mixed sizes by sixteen callers") {
  const Sizes sizes = {1000, 4096, 16384, 1000, 4096, 65536, 300, 4096, 5000, 1000};
  churn_beside(sizes, "mixed objects", GENERATE(75, 85));
}

// It was full after half a lap.
TEST_CASE("churn: a disk of 100 MiB in a pool that has room for 187 MiB") {
  SimPoolOptions options;
  options.device_size = 64_MiB;
  options.log_size = 16_MiB;
  options.fast_size = 18_MiB;
  SimPool pool(options);
  SpaceUsage empty;
  SpaceUsage loaded;
  SpaceUsage rested;
  const std::string wrong = pool.with_store([&](Store& store) -> std::string {
    Blocks blocks(store, true);
    empty = *store.space();
    Status status = blocks.fill(100_MiB / kBlock);
    if (status.ok()) status = blocks.overwrite(3);
    if (!status.ok()) return message_of(status);
    loaded = *store.space();
    pool.sleep(60'000'000'000);
    rested = *store.space();
    return blocks.check();
  });
  const auto ratio = [](const SpaceUsage& usage) {
    return static_cast<double>(usage.allocated) /
           static_cast<double>(std::max<std::uint64_t>(1, usage.user_bytes));
  };
  std::printf("a disk of 100 MiB, capacity %d MiB: allocated / user bytes %.2f, at rest %.2f\n",
              static_cast<int>(empty.capacity >> 20), ratio(loaded), ratio(rested));
  REQUIRE(wrong == "");
  CHECK(ratio(rested) <= 1.25);
}

}  // namespace
}  // namespace hexad::testing
