// LogDurability: when a durable commit is answered, and what a crash may take then; cells before
// the log where that is asked for, or where too much would be unproven (C7).
#include <catch2/catch.hpp>

#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

RuntimeOptions with(LogDurability durability) {
  RuntimeOptions options;
  options.log_durability = durability;
  return options;
}

SimPoolOptions large_log() {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  options.fast_size = 8_MiB;
  options.log_size = 4_MiB;
  return options;
}

// 4+2 on simulated disks, those for data as slow as a test wants them. Notes every write.
class World : public SimPool {
 public:
  enum class Fast : std::uint8_t { kDirectory, kDataDevices };

  explicit World(Fast fast = Fast::kDirectory) : SimPool(large_log()) {
    if (fast == Fast::kDataDevices) log_disk().vanish();
    system().set_hook([this](const io::SimOp& op) -> std::optional<io::FaultKind> {
      if (op.op == io::IoOp::kWrite) writes_.push_back({op.disk, op.offset});
      return std::nullopt;
    });
  }

  template <typename Use>
  std::string with_store(LogDurability durability, const Use& use) {
    return SimPool::with_store(use, with(durability));
  }
  // From now on requests to the data disks take so many times as long as those to the fast one.
  void slow_down(std::uint64_t factor = 30) {
    for (const std::string& name : pool().devices) {
      io::Fault fault;
      fault.kind = io::FaultKind::kSlow;
      fault.amount = factor;
      fault.times = io::Fault::kForever;
      system().disk(name).inject(fault);
    }
  }
  void speed_up() {
    for (const std::string& name : pool().devices) system().disk(name).clear_faults();
  }
  io::SimDisk& log_disk() { return system().disk(log()); }

  struct Write {
    std::string disk;
    std::uint64_t offset = 0;
  };
  std::vector<Write>& writes() { return writes_; }

 private:
  std::vector<Write> writes_;
};

// Five commits while the data disks are slow. Whether all went well.
bool put_five(World& world, Store& store) {
  bool good = put(store, "first", "1").ok();
  world.slow_down();
  for (int i = 0; i < 5; ++i) good = good && put(store, std::to_string(i), "x").ok();
  return good;
}

struct Answer {
  bool good = false;
  io::Nanos took = 0;
  Lsn lsn = 0;
  Lsn durable = 0;        // when it was answered
  Lsn durable_later = 0;  // 50 ms later
  bool readable = false;
  std::string note;
};

Answer one_commit(World& world, LogDurability durability) {
  Answer answer;
  REQUIRE(world.with_store(durability, [&](Store& store) {
    answer.good = put(store, "first", "1").ok();
    world.sleep(100'000'000);
    world.slow_down();
    const io::Nanos begin = world.now();
    const Result<Lsn> lsn = put(store, "second", noise(200, 2));
    answer.took = world.now() - begin;
    answer.good = answer.good && lsn.ok();
    answer.lsn = lsn.ok() ? *lsn : Lsn{0};
    answer.durable = store.status().last_lsn;
    answer.readable = get(store, "second") == noise(200, 2);
    world.sleep(50'000'000);
    answer.durable_later = store.status().last_lsn;
    for (const std::string& note : store.status().notes) {
      if (note.find("log durability is fast") == 0) answer.note = note;
    }
    world.speed_up();
  }) == "");
  return answer;
}

TEST_CASE("log durability: full waits for all copies, fast for the fast one") {
  World world;
  const Answer full = one_commit(world, LogDurability::kFull);
  REQUIRE(full.good);
  REQUIRE(full.durable == full.lsn);
  REQUIRE(full.note == "");

  const Answer fast = one_commit(world, LogDurability::kFast);
  REQUIRE(fast.good);
  REQUIRE(fast.durable < fast.lsn);
  REQUIRE(fast.readable);
  REQUIRE(fast.durable_later >= fast.lsn);
  REQUIRE(fast.took * 5 < full.took);
  REQUIRE(fast.note.find("50 ms") != std::string::npos);
}

TEST_CASE("log durability: without a fast device, fast is full") {
  World world(World::Fast::kDataDevices);
  const Answer fast = one_commit(world, LogDurability::kFast);
  REQUIRE(fast.good);
  REQUIRE(fast.durable == fast.lsn);
  REQUIRE(fast.note.find("full durability is used") != std::string::npos);
}

TEST_CASE("log durability: a crash alone takes nothing that was answered") {
  World world;
  bool good = false;
  REQUIRE(world.with_store(LogDurability::kFast, [&](Store& store) {
    good = put_five(world, store);
    world.system().power_cut();
  }) == "");
  world.speed_up();
  REQUIRE(good);
  int found = 0;
  REQUIRE(world.with_store(LogDurability::kFull, [&](Store& store) {
    for (int i = 0; i < 5; ++i) found += get(store, std::to_string(i)) == "x" ? 1 : 0;
  }) == "");
  REQUIRE(found == 5);
}

TEST_CASE("log durability: the fast device and a crash take at most what was answered last") {
  for (const bool wait : {false, true}) {
    CAPTURE(wait);
    World world;
    bool good = false;
    REQUIRE(world.with_store(LogDurability::kFast, [&](Store& store) {
      good = put_five(world, store);
      if (wait) world.sleep(50'000'000);
      world.system().power_cut();
    }) == "");
    world.speed_up();
    REQUIRE(good);
    world.log_disk().vanish();
    int found = 0;
    bool prefix = true;
    std::string first;
    std::string findings;
    REQUIRE(world.with_store(LogDurability::kFull, [&](Store& store) {
      first = get(store, "first");
      for (int i = 0; i < 5; ++i) {
        const bool there = get(store, std::to_string(i)) == "x";
        prefix = prefix && (!there || found == i);
        found += there ? 1 : 0;
      }
      findings = deep_findings(store);
    }) == "");
    REQUIRE(first == "1");
    REQUIRE(prefix);
    REQUIRE(findings == "");
    if (wait) REQUIRE(found == 5);
  }
}

TEST_CASE("log durability: the loss of the fast device while open loses nothing") {
  World world;
  bool good = false;
  REQUIRE(world.with_store(LogDurability::kFast, [&](Store& store) {
    good = put_five(world, store);
    world.log_disk().vanish();
    world.speed_up();
    good = good && put(store, "last", noise(9000, 3)).ok();
    good = good && store.sync().ok();
    for (int i = 0; i < 5; ++i) good = good && get(store, std::to_string(i)) == "x";
    good = good && get(store, "last") == noise(9000, 3);
  }) == "");
  REQUIRE(good);
}

TEST_CASE("log durability: commits wait for a copy that takes longer than the loss window") {
  World world;
  std::vector<Lsn> behind;
  bool good = true;
  REQUIRE(world.with_store(LogDurability::kFast, [&](Store& store) {
    good = put(store, "first", "1").ok();
    world.slow_down(3000);  // 100 ms and more
    for (int i = 0; i < 12; ++i) {
      const io::Nanos begin = world.now();
      const Result<Lsn> lsn = put(store, "a", std::to_string(i));
      good = good && lsn.ok();
      // Whoever is answered after 50 ms finds no older answer that is still in danger.
      if (lsn.ok() && world.now() - begin > 50'000'000) {
        behind.push_back(*lsn - store.status().last_lsn);
      }
      world.sleep(15'000'000);
    }
    world.speed_up();
  }) == "");
  REQUIRE(good);
  REQUIRE_FALSE(behind.empty());
  for (const Lsn commits : behind) REQUIRE(commits <= 4);
}

TEST_CASE("log durability: data-first writes the log when the cells are durable") {
  World world;
  bool good = false;
  std::uint64_t second = 0;
  std::uint64_t third = 0;
  auto writes = world.writes();
  REQUIRE(world.with_store(LogDurability::kDataFirst, [&](Store& store) {
    // Rounds of one put. Zones are made ahead by commits, too: they are awaited before.
    const auto rounds_of = [&](const char* name, const std::string& data) {
      world.sleep(10'000'000'000);
      const std::uint64_t before = counter(store, "commit_rounds");
      world.writes().clear();
      good = put(store, name, data).ok() && good;
      return counter(store, "commit_rounds") - before;
    };
    good = put(store, "first", noise(400'000, 1)).ok();
    second = rounds_of("second", noise(400'000, 2));
    writes = world.writes();
    // Nothing to prove, nothing ahead: one round.
    third = rounds_of("third", "inline");
    good = good && get(store, "second") == noise(400'000, 2);
  }) == "");
  REQUIRE(good);
  REQUIRE(second == 2);
  REQUIRE(third == 1);
  // The six cells of the stripe stand before the first block of the log.
  std::size_t before = 0;
  while (before < writes.size() && writes[before].disk != world.log()) {
    ++before;
  }
  REQUIRE(before == 6);
}

TEST_CASE("commit_pipeline: a transaction of more than 64 MiB writes its cells first (R8)") {
  FormatOptions format = small_format();
  format.device_size = 48_MiB;
  StoreFixture fixture(format);
  RuntimeOptions options;
  options.max_transaction = 128_MiB;
  options.max_in_flight = 256_MiB;
  options.cache_size = 0;
  Store store = fixture.open(Access::kReadWrite, options);
  // Rounds beside groups. The background commits, too: a group of its own counts in both, but not
  // at one moment, so both are read until nothing has happened between.
  struct Counts {
    std::uint64_t rounds = 0;
    std::uint64_t groups = 0;
    bool operator==(const Counts&) const = default;
  };
  const auto settled = [&] {
    for (std::optional<Counts> before;;) {
      REQUIRE(store.sync().ok());
      const Counts now{counter(store, "commit_rounds"), counter(store, "commit_groups")};
      if (before == now) return now;
      before = now;
    }
  };
  const auto rounds_of = [&](std::size_t mebibytes) {
    const Counts before = settled();
    const std::string value = noise(1_MiB, mebibytes);
    Transaction t;
    for (std::size_t i = 0; i < mebibytes; ++i) {
      t.put(kDefaultCollection, std::to_string(i), value);
    }
    REQUIRE(store.commit(std::move(t)).ok());
    REQUIRE((get(store, std::to_string(mebibytes - 1)) == value));
    const Counts after = settled();
    return after.rounds - before.rounds - (after.groups - before.groups - 1);
  };
  REQUIRE(rounds_of(1) == 1);
  REQUIRE(rounds_of(40) == 1);  // 60 MiB of cells
  REQUIRE(rounds_of(45) == 2);  // 67.5 MiB
  REQUIRE(deep_findings(store) == "");
}

}  // namespace
}  // namespace hexad::testing
