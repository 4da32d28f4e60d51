// Pools of the preset `tiny`, as they come and of a quarter of that: small ones keep their promise,
// too. What they say that they hold of objects of one size is what can be put, one object at a
// time or many, and what they show as available to begin with is there.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "io/sim/sim_system.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

class TinyPool {
 public:
  explicit TinyPool(std::uint64_t device_size) {
    FormatOptions format(Preset::kTiny);
    format.device_size = device_size;
    for (int i = 0; i < 6; ++i) format.devices.push_back("dev" + std::to_string(i));
    format.fast_directories = {directory_.path("fast")};
    std::string problem;
    system_.run([&] {
      const Result<PoolDescription> made = Store::format(format, &system_);
      if (made.ok()) pool_ = *made;
      if (!made.ok()) problem = made.error().to_string();
    });
    REQUIRE(problem == "");
  }

  std::string with_store(const std::function<std::string(Store&)>& use) {
    return testing::with_store(system_, pool_, use, RuntimeOptions(Preset::kTiny));
  }
  io::Executor& executor() { return system_.executor(); }

 private:
  io::SimSystem system_;
  io::testing::TemporaryDirectory directory_{io::testing::TemporaryDirectory::On::kMemory};
  PoolDescription pool_;
};

// Of each caller's own.
std::string name_of(std::size_t caller, std::size_t number) {
  return std::to_string(caller) + "/" + std::to_string(number);
}
// Bytes that no codec is asked about.
std::string bytes_of(std::size_t size, std::size_t caller, std::size_t number) {
  std::string bytes = name_of(caller, number);
  bytes.resize(size, static_cast<char>('a' + number % 26));
  return bytes;
}

struct Load {
  std::size_t size = 0;     // of an object
  std::size_t callers = 1;  // put at the same time
  std::size_t at_once = 1;  // objects to a transaction
};

// Objects of each caller, which goes on until a put is refused, then with half as many at once, to
// the last one.
using Counts = std::vector<std::size_t>;

std::string fill(TinyPool& pool, Store& store, const Load& load, Counts& counts) {
  counts.assign(load.callers, 0);
  std::string problem;
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (std::size_t caller = 0; caller < load.callers; ++caller) {
    threads.push_back(pool.executor().start("caller", [&, caller] {
      for (std::size_t at_once = load.at_once; at_once > 0 && problem.empty();) {
        Transaction t;
        for (std::size_t i = counts[caller]; i < counts[caller] + at_once; ++i) {
          t.put(kBucket, name_of(caller, i), bytes_of(load.size, caller, i));
        }
        const Status put = store.commit(std::move(t)).status();
        if (put.ok()) {
          counts[caller] += at_once;
          continue;
        }
        if (put.error().code != ErrorCode::kNoSpace) problem = message_of(put);
        at_once /= 2;
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  return problem;
}

std::string check(Store& store, const Load& load, const Counts& counts) {
  for (std::size_t caller = 0; caller < load.callers; ++caller) {
    for (std::size_t i = 0; i < counts[caller]; ++i) {
      if (get(store, name_of(caller, i)) != bytes_of(load.size, caller, i)) {
        return name_of(caller, i) + " has other bytes";
      }
    }
  }
  return deep_findings(store);
}

// What is put, in bytes, and what was said before.
struct Said {
  SpaceUsage empty;
  ObjectRoom room;
  std::uint64_t put = 0;
  SpaceUsage full;
  ObjectRoom room_when_full;
};

void keeps_its_promise(std::uint64_t device_size, const Load& load) {
  CAPTURE(device_size, load.size, load.callers, load.at_once);
  TinyPool pool(device_size);
  Said said;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    said.empty = store.space().value();
    said.room = store.room_for(load.size).value();
    Counts counts;
    std::string wrong = fill(pool, store, load, counts);
    if (!wrong.empty()) return wrong;
    for (const std::size_t count : counts) said.put += count * load.size;
    said.full = store.space().value();
    said.room_when_full = store.room_for(load.size).value();
    return check(store, load, counts);
  }) == "");
  const auto mib = [](std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::printf(
      "tiny, 6 x %.0f MiB, objects of %zu bytes, %zu callers, %zu at once: capacity %.2f MiB, "
      "available %.2f, usable %.2f, put %.2f, then available %.2f, for such %.2f\n",
      mib(device_size), load.size, load.callers, load.at_once, mib(said.empty.capacity),
      mib(said.empty.available), mib(said.room.usable), mib(said.put), mib(said.full.available),
      mib(said.room_when_full.available));
  std::fflush(stdout);
  CHECK(said.put >= said.room.usable);
  CHECK(said.put >= said.room.available);
  CHECK(said.room_when_full.usable == said.room.usable);
  const auto sum = [](const SpaceUsage& space) {
    return space.allocated + space.available + space.internally_reserved + space.internal_metadata;
  };
  CHECK(sum(said.empty) == said.empty.capacity);
  CHECK(said.full.capacity == said.empty.capacity);
  // Whole stripes: what is shown of the empty store is there, but for the objects' metadata.
  if (load.size % 64_KiB == 0) CHECK(said.put * 100 >= said.empty.available * 99);
}

TEST_CASE("tiny preset: what a pool of the preset says that it holds is what can be put") {
  keeps_its_promise(64_MiB, {64_KiB, 4, 4});
}

TEST_CASE("tiny preset: so it is in smaller pools, however many objects are put at once") {
  keeps_its_promise(16_MiB, GENERATE(Load{1_KiB, 16, 10}, Load{4_KiB, 16, 1}, Load{64_KiB, 1, 1}));
}

// By name alone.
TEST_CASE("tiny preset: all sizes, in pools of the preset and smaller ones", "[.long]") {
  const std::uint64_t device_size = GENERATE(16_MiB, 32_MiB, 64_MiB);
  const std::size_t size = GENERATE(1_KiB, 4_KiB, 64_KiB);
  const std::size_t callers = GENERATE(1, 16);
  const std::size_t at_once = GENERATE(1, 50);
  keeps_its_promise(device_size, {size, callers, at_once});
}

}  // namespace
}  // namespace hexad::testing
