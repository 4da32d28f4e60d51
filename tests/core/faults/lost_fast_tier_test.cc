// The whole fast tier is lost, its log and its index, together with m data devices and whatever was
// in flight: every acknowledged object is exact (A9 of doc/invariants.md).
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/executor.h"
#include "tests/core/numbered_ledger.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kDataDevices = 6;

// That of a store which has been opened without the fast tier and two devices: it has everything,
// and goes on.
std::string problem_of(Store& store, const NumberedLedger& ledger) {
  if (const std::string found = ledger.difference(store); !found.empty()) return found;
  if (const Status put_new = put(store, "new", numbered_value(3)).status(); !put_new.ok()) {
    return put_new.error().to_string();
  }
  if (const Status checkpoint = store.checkpoint(); !checkpoint.ok()) {
    return checkpoint.error().to_string();
  }
  if (get(store, "new") != numbered_value(3)) return "new";
  if (const std::string found = ledger.difference(store); !found.empty()) return found;
  return deep_findings(store);
}

// --- in a simulation ---

SimPoolOptions sim_options(std::uint64_t seed) {
  SimPoolOptions options;
  options.sim.seed = seed;
  options.sim.disk.volatile_cache = true;
  return options;
}

// Some commits, with a checkpoint among them; then the power fails amid others.
NumberedLedger write_until_power_fails(SimPool& pool) {
  constexpr std::uint64_t kAcknowledged = 90;
  NumberedLedger ledger;
  REQUIRE(pool.with_store([&](Store& store) {
    std::vector<std::unique_ptr<io::Thread>> fibers;
    for (std::uint64_t writer = 0; writer < NumberedLedger::kWriters; ++writer) {
      fibers.push_back(pool.system().executor().start("writer", [&, writer] {
        for (std::uint64_t number = writer;; number += NumberedLedger::kWriters) {
          if (number == 40) store.checkpoint().ignore();
          if (!store.commit(NumberedLedger::transaction(number)).ok()) return;
          ledger.acknowledge(number);
        }
      }));
    }
    while (ledger.count() < kAcknowledged) pool.sleep(50'000);
    pool.system().power_cut();
    for (const auto& fiber : fibers) fiber->join();
  }) == "");
  REQUIRE(ledger.count() >= kAcknowledged);
  return ledger;
}

TEST_CASE(
    "lost fast tier: with any two data disks, when the power fails, nothing acknowledged is") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SimPool pool(sim_options(seed));
    const NumberedLedger ledger = write_until_power_fails(pool);
    for (const auto& [a, b] : pairs_below(kDataDevices)) {
      CAPTURE(seed, a, b);
      fs::remove_all(pool.fast_directory());
      io::SimSystem system(io::SimOptions{.seed = seed});
      for (std::size_t i = 0; i < kDataDevices; ++i) {
        if (i != a && i != b) system.add_disk(pool.disks()[i], pool.disk(i).snapshot(), {});
      }
      RuntimeOptions reading;
      reading.access = Access::kReadOnly;
      const auto same = [&](Store& store) { return ledger.difference(store); };
      REQUIRE(with_store(system, pool.pool(), same, reading) == "");
      const auto goes_on = [&](Store& store) { return problem_of(store, ledger); };
      REQUIRE(with_store(system, pool.pool(), goes_on) == "");
    }
  }
}

// --- on files ---

constexpr ssize_t kNumber = sizeof(std::uint64_t);  // one write, so that none is torn

// Does not return: commits, and says each number when it is acknowledged, one write each.
[[noreturn]] void write_until_killed(const PoolDescription& pool, int say) {
  Result<Store> store = Store::open(pool, busy_runtime());
  if (!store.ok()) ::_exit(2);
  const std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  std::vector<std::unique_ptr<io::Thread>> threads;
  for (std::uint64_t writer = 0; writer < NumberedLedger::kWriters; ++writer) {
    threads.push_back(executor->start("writer", [&, writer] {
      for (std::uint64_t number = writer;; number += NumberedLedger::kWriters) {
        if (!store->commit(NumberedLedger::transaction(number)).ok()) ::_exit(3);
        if (::write(say, &number, sizeof number) != kNumber) ::_exit(4);
      }
    }));
  }
  for (const auto& thread : threads) thread->join();
  ::_exit(5);
}

// What a process of its own had said when it was killed.
NumberedLedger kill_writer(const PoolDescription& pool, std::uint64_t acknowledged) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) write_until_killed(pool, ends[1]);
  ::close(ends[1]);
  NumberedLedger ledger;
  std::uint64_t number = 0;
  // What is in the pipe when it dies has been said before.
  while (::read(ends[0], &number, sizeof number) == kNumber) {
    ledger.acknowledge(number);
    if (ledger.count() == acknowledged) ::kill(child, SIGKILL);
  }
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CAPTURE(status);
  REQUIRE((WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
  return ledger;
}

TEST_CASE("lost fast tier: a killed process, its fast directory and two of its files deleted") {
  const io::testing::TemporaryDirectory directory;
  FormatOptions format = small_format();
  for (std::size_t i = 0; i < kDataDevices; ++i) {
    format.devices.push_back(directory.path("dev" + std::to_string(i)));
  }
  format.fast_directories = {directory.path("fast")};
  const Result<PoolDescription> pool = Store::format(format);
  REQUIRE(message_of(pool.status()) == "");
  const NumberedLedger ledger = kill_writer(*pool, 400);
  REQUIRE(ledger.count() >= 400);

  // Those that had the log's copies, and others.
  const std::vector<std::pair<std::size_t, std::size_t>> lost = {
      {0, 1}, {0, 2}, {1, 2}, {2, 5}, {3, 4}};
  for (const auto& [a, b] : lost) {
    CAPTURE(a, b);
    const io::testing::TemporaryDirectory rest;
    PoolDescription what_is_left;
    for (std::size_t i = 0; i < kDataDevices; ++i) {
      what_is_left.devices.push_back(rest.path("dev" + std::to_string(i)));
      if (i != a && i != b) fs::copy_file(pool->devices[i], what_is_left.devices.back());
    }
    what_is_left.fast_directories = {rest.path("fast")};
    Result<Store> store = Store::open(what_is_left);
    REQUIRE(message_of(store.status()) == "");
    REQUIRE(problem_of(*store, ledger) == "");
    REQUIRE(message_of(store->close()) == "");
  }
}

}  // namespace
}  // namespace hexad::testing
