// The lengths of time in perf dump, in the time of a simulation.
#include <catch2/catch.hpp>
#include <cstdio>
#include <map>

#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using Numbers = std::map<std::string, std::uint64_t>;

Numbers numbers_of(Store& store) {
  Numbers numbers;
  for (const Counter& counter : store.counters()) numbers[counter.name] = counter.since_open;
  return numbers;
}

struct Run {
  Numbers numbers;
  io::Nanos slowest = 0;  // answer, as the submitters see it
  std::uint64_t checkpoints = 0;
  std::uint64_t read_nanos = 0;
  std::string problem;  // the first thing that failed

  void note(const Status& status) {
    if (!status.ok() && problem.empty()) problem = status.error().to_string();
  }
};

// `submitters` threads with so many commits each, one at a time; flushes take 2 ms.
Run run(int submitters, int commits, std::size_t size, const RuntimeOptions& options,
        Durability durability = Durability::kDurable) {
  SimPoolOptions pool_options;
  pool_options.device_size = 32_MiB;
  pool_options.sim.latency.flush = 2'000'000;
  SimPool pool(pool_options);
  Run result;
  const auto work = [&](Store& store) {
    std::vector<std::unique_ptr<io::Thread>> threads;
    for (int thread = 0; thread < submitters; ++thread) {
      threads.push_back(pool.system().executor().start("submitter", [&, thread] {
        for (int i = 0; i < commits; ++i) {
          Transaction t;
          t.put(kDefaultCollection, std::to_string(thread) + "/" + std::to_string(i % 5),
                noise(size, thread * 1000 + i));
          const io::Nanos begin = pool.now();
          result.note(store.commit(std::move(t), {durability}).status());
          result.slowest = std::max(result.slowest, pool.now() - begin);
        }
      }));
    }
    for (auto& thread : threads) thread->join();
    result.note(store.sync());
    for (int thread = 0; thread < submitters; ++thread) {
      result.note(store.get(kDefaultCollection, std::to_string(thread) + "/0").status());
    }
    result.numbers = numbers_of(store);
    result.checkpoints = result.numbers["checkpoints"];
    // Until a checkpoint gives it a place a small payload is read from memory, in no time.
    result.note(store.checkpoint());
    result.note(store.get(kDefaultCollection, "0/0").status());
    result.read_nanos = numbers_of(store)["read_lat_ns"];
  };
  REQUIRE(pool.with_store(work, options) == "");
  return result;
}

TEST_CASE("latencies: the states of a commit add up to commit_lat") {
  for (const LogDurability durability :
       {LogDurability::kFull, LogDurability::kFast, LogDurability::kDataFirst}) {
    RuntimeOptions options;
    options.log_durability = durability;
    options.cache_size = 0;
    Run result = run(4, 20, 5000, options);
    Numbers& n = result.numbers;
    REQUIRE(result.problem == "");
    const std::uint64_t states = n["throttle_lat_ns"] + n["state_prepare_lat_ns"] +
                                 n["state_kv_queued_lat_ns"] + n["state_aio_wait_lat_ns"] +
                                 n["state_kv_commiting_lat_ns"] + n["state_io_done_lat_ns"];
    REQUIRE(n["commit_lat_ns"] == states);
    REQUIRE(n["commit_lat_count"] == 80);
    for (const char* state : {"throttle", "state_prepare", "state_kv_queued", "state_aio_wait",
                              "state_kv_commiting", "state_io_done"}) {
      REQUIRE(n[std::string(state) + "_lat_count"] == 80);
    }
    // Nobody asks for less than one write.
    REQUIRE(n["state_kv_commiting_lat_ns"] + n["state_aio_wait_lat_ns"] >= 80 * 15'000ULL);
    REQUIRE(n["read_lat_count"] == 4);
    REQUIRE(result.read_nanos > 0);
  }
}

TEST_CASE("latencies: the sizes of groups are counted once per group") {
  Run result = run(8, 20, 3000, {});
  Numbers& n = result.numbers;
  std::uint64_t groups = 0;
  for (const auto& [name, value] : n) {
    if (name.rfind("commit_groups_txc_", 0) == 0) groups += value;
  }
  REQUIRE(result.problem == "");
  REQUIRE(groups == n["commit_groups"]);
  REQUIRE(n["commit_group_bytes"] >= 160 * 3000ULL);
}

TEST_CASE("back-pressure: no submitter stalls while checkpoints run") {
  for (const std::uint64_t in_flight : {std::uint64_t{64_KiB}, std::uint64_t{256_MiB}}) {
    for (const Durability durability : {Durability::kDurable, Durability::kBuffered}) {
      for (const std::size_t size : {200, 5000, 40'000}) {
        RuntimeOptions options;
        options.memtable_size = 64_KiB;
        options.max_transaction = 64_KiB;
        options.max_in_flight = in_flight;
        const Run result = run(8, 60, size, options, durability);
        CAPTURE(in_flight, size, static_cast<int>(durability), result.checkpoints, result.slowest);
        REQUIRE(result.problem == "");
        REQUIRE(result.checkpoints >= 2);
        CHECK(result.slowest <= 100'000'000);
        std::printf("in_flight=%llu size=%zu buffered=%d checkpoints=%llu slowest_us=%lld\n",
                    static_cast<unsigned long long>(in_flight), size,
                    durability == Durability::kBuffered ? 1 : 0,
                    static_cast<unsigned long long>(result.checkpoints),
                    static_cast<long long>(result.slowest / 1000));
      }
    }
  }
}

}  // namespace
}  // namespace hexad::testing
