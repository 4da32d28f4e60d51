// How commits become durable: what is sent to which flush domain, counted; and what a failed flush
// costs (R11).
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

using io::FaultKind;
using io::SimSystem;

constexpr int kAlone = -1;

// A store 4+2 on six simulated disks and a log on a seventh.
class World : public SimPool {
 public:
  // `domains`: the flush domain of each of the seven; the last is that of the log.
  explicit World(const std::vector<int>& domains) : SimPool(pool_options(domains)) {}

  std::uint64_t flushes() {
    std::uint64_t sum = 0;
    for (const std::string& name : disks()) sum += system().disk(name).counts().flushes;
    return sum;
  }

 private:
  static SimPoolOptions pool_options(const std::vector<int>& domains) {
    SimPoolOptions options;
    options.flush_domains = domains;
    // Slower than any write: what else is in flight completes while a flush is under way.
    options.sim.latency.flush = 20'000'000;
    return options;
  }
};

const std::vector<int> kAllAlone(7, kAlone);
const std::vector<int> kAllOne(7, 0);

struct Counts {
  std::uint64_t groups = 0;
  std::uint64_t rounds = 0;
  std::uint64_t flushes = 0;         // sent for commits
  std::uint64_t device_flushes = 0;  // and durable writes, over all devices, whoever asked

  static Counts of(Store& store) {
    return {counter(store, "commit_groups"), counter(store, "commit_rounds"),
            counter(store, "commit_flushes"), counter(store, "device_flushes")};
  }
  Counts since(const Counts& before) const {
    return {groups - before.groups, rounds - before.rounds, flushes - before.flushes,
            device_flushes - before.device_flushes};
  }
};

// What one commit costs that nobody disturbs. `durable` sums up the last field.
Counts lone_commit(World& world, std::size_t size, const RuntimeOptions& options = {}) {
  Counts counts;
  bool good = false;
  REQUIRE(world.with_store(
              [&](Store& store) {
                good = true;
                // Zones are made ahead, one behind each commit, until there are enough.
                for (int i = 0; i < 16; ++i)
                  good = good && put(store, "first", noise(size, 1)).ok();
                const Counts before = Counts::of(store);
                good = good && put(store, "second", noise(size, 2)).ok();
                counts = Counts::of(store).since(before);
              },
              options) == "");
  REQUIRE(good);
  return counts;
}

TEST_CASE("commit: with one domain, a lone commit is one round of writes and one flush") {
  World world(kAllOne);
  for (const std::size_t size : {100, 4096, 65536}) {
    CAPTURE(size);
    const Counts counts = lone_commit(world, size);
    REQUIRE(counts.groups == 1);
    REQUIRE(counts.rounds == 1);
    REQUIRE(counts.flushes == 1);
    REQUIRE(counts.device_flushes == 1);  // no write carried its own
  }
}

TEST_CASE("commit: with a domain for each device, each is flushed at most once") {
  World world(kAllAlone);
  // 4 KiB ride in the log: a block for the log device and three data devices.
  Counts counts = lone_commit(world, 4096);
  REQUIRE(counts.rounds == 1);
  REQUIRE(counts.device_flushes == 4);  // alone on its device, a write carries its own
  REQUIRE(counts.flushes == 0);
  // 64 KiB: a cell for each data device besides.
  counts = lone_commit(world, 65536);
  REQUIRE(counts.rounds == 1);
  REQUIRE(counts.device_flushes == 7);
  REQUIRE(counts.flushes == 3);  // cell and log block together
}

TEST_CASE("commit: several domains, one flush for each") {
  World world({0, 0, 0, 1, 1, 1, kAlone});
  const Counts counts = lone_commit(world, 65536);
  REQUIRE(counts.rounds == 1);
  REQUIRE(counts.flushes == 2);
  REQUIRE(counts.device_flushes == 3);
}

TEST_CASE("commit: devices do not share when they may not") {
  World world(kAllOne);
  RuntimeOptions options;
  options.flush_sharing = FlushSharing::kNever;
  const Counts counts = lone_commit(world, 65536, options);
  REQUIRE(counts.device_flushes == 7);
}

TEST_CASE("commit: groups in flight share a flush") {
  World world(kAllOne);
  Counts counts;
  int answered = 0;
  bool good = false;
  REQUIRE(world.with_store([&](Store& store) {
    good = put(store, "first", noise(4096, 1)).ok();
    const Counts before = Counts::of(store);
    for (int i = 0; i < 4; ++i) {
      Transaction t;
      t.put(kDefaultCollection, std::to_string(i), noise(4096, 10 + i));
      store.submit(std::move(t), [&](Result<Lsn> lsn) { answered += lsn.ok() ? 1 : 0; });
    }
    while (answered < 4) world.system().executor().sleep_for(1'000'000);
    counts = Counts::of(store).since(before);
  }) == "");
  REQUIRE(good);
  REQUIRE(answered == 4);
  REQUIRE(counts.groups == 4);
  REQUIRE(counts.rounds == 4);
  // The first flush begins when the first group's writes have completed; the others' have when it
  // ends, and one flush covers them all.
  REQUIRE(counts.flushes == 2);
  REQUIRE(counts.device_flushes == 2);
}

TEST_CASE("commit: nothing is acknowledged before the flush that covers it has ended") {
  World world(kAllOne);
  std::uint64_t seen = 0;
  bool good = false;
  REQUIRE(world.with_store([&](Store& store) {
    good = put(store, "first", noise(4096, 1)).ok();
    world.system().executor().sleep_for(1'000'000'000);  // a zone made ahead has its flush, too
    const std::uint64_t before = world.flushes();
    const io::Nanos begin = world.system().clock().now();
    good = good && put(store, "second", noise(4096, 2)).ok();
    seen = world.flushes() - before;
    good = good && world.system().clock().now() - begin >= 10'000'000;
  }) == "");
  REQUIRE(good);
  REQUIRE(seen == 1);
}

std::size_t failed_devices(Store& store) {
  const std::vector<DeviceStatus> devices = store.status().devices;
  return std::count_if(devices.begin(), devices.end(),
                       [](const DeviceStatus& device) { return device.state == "failed"; });
}

struct Failure {
  bool committed = false;
  std::optional<ErrorCode> code;
  bool read_only = false;
  std::size_t failed = 0;  // devices
  std::string problem;     // after the power has failed
};

// The first flush sent for the second commit, of `size` bytes, fails; then the power does.
Failure fail_flush(const std::vector<int>& domains, std::size_t size = 65536) {
  World world(domains);
  Failure result;
  bool after = false;
  REQUIRE(world.with_store([&](Store& store) {
    REQUIRE(put(store, "before", noise(4096, 1)).ok());
    world.system().fail_nth(0, FaultKind::kFlushError, SimSystem::Stickiness::kOnce);
    const Status status = put(store, "object", noise(size, 2)).status();
    result.committed = status.ok();
    if (!status.ok()) result.code = status.error().code;
    // The disks would take flushes again now.
    after = put(store, "after", noise(4096, 3)).ok();
    result.read_only = store.status().read_only;
    result.failed = failed_devices(store);
    world.system().power_cut();
  }) == "");
  world.system().set_hook(nullptr);
  REQUIRE(after == result.committed);
  result.problem = world.with_store([&](Store& store) {
    const auto holds = [&](const char* name, std::size_t bytes, std::uint64_t seed) {
      const Result<Bytes> found = store.get(kDefaultCollection, name);
      return found.ok() && as_text(*found) == noise(bytes, seed);
    };
    if (!holds("before", 4096, 1)) result.problem = "before is lost";
    REQUIRE(holds("before", 4096, 1));
    REQUIRE((!result.committed || (holds("object", size, 2) && holds("after", 4096, 3))));
    const Result<FsckReport> report = store.fsck({true, false});
    REQUIRE(report.ok());
    REQUIRE(report->findings.empty());
  });
  return result;
}

TEST_CASE("commit: a failed flush of a shared domain is the failure of all its devices") {
  const Failure result = fail_flush(kAllOne);
  REQUIRE_FALSE(result.committed);
  REQUIRE(result.code == ErrorCode::kUnknown);
  REQUIRE(result.read_only);
  REQUIRE(result.problem == "");
}

TEST_CASE("commit: two devices of one domain leave together, and the store goes on") {
  for (const std::vector<int>& domains :
       {std::vector<int>{0, 0, kAlone, kAlone, kAlone, kAlone, kAlone},
        std::vector<int>{kAlone, 0, kAlone, kAlone, 0, kAlone, kAlone}}) {
    const Failure result = fail_flush(domains);
    REQUIRE(result.committed);
    REQUIRE_FALSE(result.read_only);
    REQUIRE(result.problem == "");
    REQUIRE(result.failed >= 1);
  }
  // Of a commit without cells: no other device gets more than one write, and a flush for it.
  REQUIRE(fail_flush({0, 0, kAlone, kAlone, kAlone, kAlone, 0}, 4096).failed == 3);
}

TEST_CASE("commit: a failed flush in a domain of its own costs that device") {
  const Failure result = fail_flush(kAllAlone);
  REQUIRE(result.committed);
  REQUIRE(result.failed == 1);
  REQUIRE(result.problem == "");
}

TEST_CASE("commit: a flush that failed for somebody else counts against the domain, too") {
  // Opening flushes the log's copies. Two data devices share a cache.
  World world({0, 0, kAlone, kAlone, kAlone, kAlone, kAlone});
  bool good = false;
  REQUIRE(world.with_store([&](Store& store) {
    good = put(store, "before", noise(4096, 1)).ok();
    world.system().power_cut();
  }) == "");
  REQUIRE(good);
  io::Fault fault;
  fault.kind = FaultKind::kFlushError;
  world.disk(0).inject(fault);
  std::size_t failed = 0;
  REQUIRE(world.with_store([&](Store& store) {
    for (int i = 0; i < 4; ++i) good = good && put(store, std::to_string(i), noise(9000, i)).ok();
    failed = failed_devices(store);
  }) == "");
  REQUIRE(good);
  REQUIRE(world.disk(0).struck(FaultKind::kFlushError) == 1);
  REQUIRE(failed == 2);
}

}  // namespace
}  // namespace hexad::testing
