// Scrubs beside commits, checkpoints and merges, in simulated time: they wait for each other in
// any order, and a seed repeats it.
#include <catch2/catch.hpp>
#include <map>
#include <memory>

#include "io/rng.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"

namespace hexad::testing {
namespace {

// Space of a small pool is used again and again, by objects of all sizes.
void change(Store& store, io::Rng& rng, int fiber, std::map<std::string, std::string>& content,
            std::string& problem) {
  for (int i = 0; i < 200 && problem.empty(); ++i) {
    const std::string name = std::to_string(fiber) + "/" + std::to_string(rng.below(8));
    Transaction t;
    const std::uint64_t dice = rng.below(10);
    if (dice < 2) {
      t.remove(kDefaultCollection, name);
      content.erase(name);
    } else {
      const std::size_t size = dice < 7 ? 1 + rng.below(20'000) : 1 + rng.below(400'000);
      content[name] = noise(size, rng.next());
      t.put(kDefaultCollection, name, content[name]);
    }
    CommitOptions options;
    if (rng.chance(1, 2)) options.durability = Durability::kBuffered;
    const Result<Lsn> committed = store.commit(std::move(t), options);
    if (!committed.ok()) problem = committed.error().to_string();
    if (rng.chance(1, 10)) store.checkpoint().ignore();
  }
}

std::string text_of(const ScrubReport& report) {
  std::string text;
  for (const Finding& one : report.findings) text += one.subject + ": " + one.problem + "\n";
  return text;
}

TEST_CASE("scrub: beside everything else finds nothing and changes nothing (U1, U2)") {
  const std::uint64_t seed = GENERATE(range(1, 13));
  CAPTURE(seed);
  SimPoolOptions made;
  made.sim.seed = seed;
  made.sim.disk.volatile_cache = seed % 2 == 0;
  SimPool pool(made);
  std::string problem;
  std::uint64_t stripes = 0;
  std::uint64_t healed = 0;
  std::map<std::string, std::string> content[3];
  RuntimeOptions busy;
  busy.memtable_size = 64_KiB;
  busy.cache_size = 0;
  CHECK(pool.with_store(
            [&](Store& store) {
              io::Executor& executor = pool.system().executor();
              std::vector<std::unique_ptr<io::Thread>> fibers;
              int working = 3;
              io::Rng seeds(seed);
              for (int fiber = 0; fiber < 3; ++fiber) {
                fibers.push_back(executor.start("changes", [&, fiber, own = seeds.next()] {
                  io::Rng rng(own);
                  change(store, rng, fiber, content[fiber], problem);
                  --working;
                }));
              }
              fibers.push_back(executor.start("scrub", [&] {
                while (working > 0) {
                  const Result<ScrubReport> report = store.scrub();
                  if (!report.ok()) problem = report.error().to_string();
                  if (report.ok()) problem += text_of(*report);
                  if (report.ok()) stripes += report->stripes_checked;
                }
              }));
              for (const auto& fiber : fibers) fiber->join();
              for (const auto& part : content) {
                for (const auto& [name, value] : part) {
                  const Result<Bytes> found = store.get(kDefaultCollection, name);
                  if (!found.ok() || as_text(*found) != value) problem += name + " is wrong\n";
                }
              }
              for (const Counter& one : store.counters()) {
                if (one.name == "cells_healed") healed = one.since_open;
              }
              const Result<FsckReport> deep = store.fsck({true, false});
              if (!deep.ok() || deep->errors() > 0) problem += "fsck\n";
            },
            busy) == "");
  CHECK(problem == "");
  CHECK(healed == 0);
  CHECK(stripes > 150);
}

// A buffered commit has given a pack stripe up, which is alive until that is durable. While the
// scrub waits for a device, it becomes durable, and the place is used again.
TEST_CASE("scrub: a pack stripe whose last blobs are going is not looked at (U1)") {
  SimPool pool;
  std::string problem;
  bool holding = false;
  int held = 0;
  pool.system().set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
    if (!holding || op.op != io::IoOp::kRead || op.disk != pool.disks()[0]) return std::nullopt;
    ++held;
    return io::FaultKind::kHang;
  });
  RuntimeOptions options;
  options.cache_size = 0;
  CHECK(pool.with_store(
            [&](Store& store) {
              const auto commit = [&](const auto& build, Durability durability) {
                Transaction t;
                build(t);
                CommitOptions how;
                how.durability = durability;
                const Status done = store.commit(std::move(t), how).status();
                if (!done.ok()) problem = done.error().to_string();
              };
              const auto put = [](const std::string& name, std::size_t size, std::uint64_t seed) {
                return [=](Transaction& t) { t.put(kDefaultCollection, name, noise(size, seed)); };
              };
              commit(
                  [](Transaction& t) {
                    for (int i = 0; i < 40; ++i) {
                      t.put(kDefaultCollection, "small" + std::to_string(i), noise(3000, i));
                    }
                  },
                  Durability::kDurable);
              // Something to wait for, whatever becomes of the pack stripe.
              commit(put("stays", 300'000, 1), Durability::kDurable);
              commit([](Transaction& t) { t.remove_range(kDefaultCollection, "small", ""); },
                     Durability::kBuffered);
              holding = true;
              Result<ScrubReport> report = ScrubReport();
              const auto scrub =
                  pool.system().executor().start("scrub", [&] { report = store.scrub(); });
              for (int i = 0; i < 100; ++i) {
                commit(put("round" + std::to_string(i % 20), 100'000, i), Durability::kDurable);
              }
              holding = false;
              pool.disk(0).release_hung();
              scrub->join();
              if (!report.ok()) problem = report.error().to_string();
              if (report.ok()) problem += text_of(*report);
            },
            options) == "");
  CHECK(problem == "");
  CHECK(held > 0);
}

TEST_CASE("scrub: reads at the rate it is told, and leaves out nothing") {
  SimPoolOptions made;
  made.device_size = 32_MiB;
  SimPool pool(made);
  io::Nanos took = 0;
  io::Nanos stopped_after = 0;
  ScrubReport report;
  std::string problem;
  CHECK(pool.with_store([&](Store& store) {
    for (int i = 0; i < 20; ++i) {
      Transaction t;
      t.put(kDefaultCollection, std::to_string(i), noise(1'000'000, i));
      store.commit(std::move(t)).status().ignore();
    }
    const io::Nanos began = pool.now();
    ScrubOptions options;
    options.rate = 4_MiB;
    report = store.scrub(options).value();
    took = pool.now() - began;
    // Closing the store does not wait for the rate.
    io::Executor& executor = pool.system().executor();
    const auto slow = executor.start("scrub", [&] {
      ScrubOptions slower;
      slower.rate = 1024;
      const Result<ScrubReport> cut = store.scrub(slower);
      if (cut.ok() || cut.error().code != ErrorCode::kClosed) problem = "not closed";
      stopped_after = pool.now();
    });
    pool.sleep(1'000'000'000);
    const io::Nanos closing = pool.now();
    store.close().ignore();
    slow->join();
    stopped_after -= closing;
  }) == "");
  CHECK(problem == "");
  CHECK(report.findings.empty());
  CHECK(report.bytes_checked > 30'000'000);
  const double seconds = static_cast<double>(took) / 1e9;
  const double rate = static_cast<double>(report.bytes_checked) / seconds;
  CHECK(rate <= 4.5 * 1024 * 1024);
  CHECK(rate >= 3.5 * 1024 * 1024);
  CHECK(stopped_after < 1'000'000'000);
}

}  // namespace
}  // namespace hexad::testing
