// The rules of checkpoints and recovery (doc/testing.md#mutations): what a crash leaves of the tail
// and of the log, and what an opening makes of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/core/rules_world.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

// --- R2 ---

TEST_CASE("rules: R2 the place of a block that was cut is not written again") {
  World world;
  std::set<std::pair<std::string, std::uint64_t>> places;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // The log has the block; of the cells one is not there yet and the others are lost.
    int cells = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (is_small(op)) places.emplace(op.disk, op.offset);
      if (!is_cell(op)) return std::nullopt;
      return ++cells == 1 ? FaultKind::kHang : FaultKind::kWriteLost;
    });
    store.submit(put_of("tail", noise(kLarge, 2)), [](const Result<Lsn>&) {});
    world.sleep();
    world.power_cut();
    return "";
  }) == "");
  REQUIRE(places.size() == 4);
  // A write that timed out could still land there.
  int again = 0;
  world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
    if (op.op == io::IoOp::kWrite && places.count({op.disk, op.offset}) > 0) ++again;
    return std::nullopt;
  });
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (store.stat(kDefaultCollection, "tail").ok()) return "it was not cut";
    return store.commit(put_of("after", noise(kLarge, 3))).ok() ? "" : "after";
  }) == "");
  REQUIRE(again == 0);
}

// --- R4, R5 ---

// What an opening has said of the index.
std::string note_of_index(Store& store) {
  for (const std::string& note : store.status().notes) {
    if (note.find("index") != std::string::npos) return note;
  }
  return "";
}

TEST_CASE("rules: R4 the index gets nothing of a checkpoint before its root is durable") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("a", "small")).ok()) return "commit";
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (!is_root(op)) return std::nullopt;
      return op.disk == world.log() ? FaultKind::kHang : FaultKind::kWriteLost;
    });
    auto checkpoint =
        world.system().executor().start("checkpoint", [&] { store.checkpoint().ignore(); });
    world.sleep();
    // What hangs has no effect: no disk has the root.
    io::SimDisk& log = world.system().disk(world.log());
    log.vanish();
    log.release_hung();
    world.power_cut();
    log.appear();
    checkpoint->join();
    return log.struck(FaultKind::kHang) > 0 ? "" : "no root was written";
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (const std::string note = note_of_index(store); !note.empty()) return note;
    return text(store, "a") == "small" ? findings(store) : "a";
  }) == "");
}

TEST_CASE("rules: R5 what is committed while a checkpoint writes its run stays in the log") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("before", "small")).ok()) return "before";
    // Commits write into caches that there are not, runs ask for more.
    int held = 0;
    world.hold([&](const SimOp& op) {
      const bool run = op.op == io::IoOp::kWrite && op.mode == io::WriteMode::kDurable;
      held += run ? 1 : 0;
      return run;
    });
    Status checkpoint;
    auto run =
        world.system().executor().start("checkpoint", [&] { checkpoint = store.checkpoint(); });
    world.sleep();
    const bool early = held == 0;
    const bool good = store.commit(put_of("after", "small")).ok();
    world.release();
    run->join();
    world.power_cut();
    if (!checkpoint.ok()) return checkpoint.error().to_string();
    return early ? "nothing was held back" : good ? "" : "after";
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (text(store, "before") != "small") return "before";
    if (text(store, "after") != "small") return "after";
    return findings(store);
  }) == "");
}

TEST_CASE("rules: R5 the log is not written over before the root that trims it is durable") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    World world({.seed = seed});
    int acknowledged = 0;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      constexpr int kBefore = 60;
      for (int i = 0; i < kBefore; ++i) {
        if (!store.commit(put_of(std::to_string(i), "small")).ok()) return "before";
      }
      // It reaches no disk, but for one, perhaps, and that takes its time.
      world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
        if (!is_root(op)) return std::nullopt;
        return op.disk == world.log() ? FaultKind::kHang : FaultKind::kWriteLost;
      });
      auto checkpoint =
          world.system().executor().start("checkpoint", [&] { store.checkpoint().ignore(); });
      world.sleep();
      auto commits = world.system().executor().start("commits", [&] {
        for (int i = kBefore; i < 400; ++i) {
          if (!store.commit(put_of(std::to_string(i), "small")).ok()) return;
          acknowledged = i;
        }
      });
      world.sleep();
      world.power_cut();
      checkpoint->join();
      commits->join();
      return acknowledged > kBefore ? "" : "nothing was acknowledged";
    }) == "");
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      for (int i = 0; i <= acknowledged; ++i) {
        if (text(store, std::to_string(i)) != "small") return std::to_string(i);
      }
      return findings(store);
    }) == "");
    REQUIRE(acknowledged < 256);  // blocks in the log
  }
}

TEST_CASE("rules: R6 a release in a shared stripe is replayed") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    Transaction t;
    for (int i = 0; i < 8; ++i) t.put(kDefaultCollection, std::to_string(i), noise(6000, i));
    if (!store.commit(std::move(t)).ok() || !store.checkpoint().ok()) return "commit";
    if (store.stat(kDefaultCollection, "3")->placement != "pack") return "not in a shared stripe";
    Transaction removal;
    removal.remove(kDefaultCollection, "3");
    const bool good = store.commit(std::move(removal)).ok();
    world.power_cut();
    return good ? "" : "remove";
  }) == "");
  REQUIRE(world.with_store(findings) == "");
}

// --- R7, R8 ---

void lose_two_cells(World& world) {
  int cells = 0;
  world.hook([cells](const SimOp& op) mutable -> std::optional<FaultKind> {
    if (is_cell(op) && ++cells <= 2) return FaultKind::kWriteLost;
    return std::nullopt;
  });
}

std::string commit_tail_and_cut(World& world, Store& store) {
  const bool good = store.commit(put_of("tail", noise(kLarge, 2))).ok();
  world.power_cut();
  return good ? "" : "commit";
}

TEST_CASE("rules: R7 a tail without k good cells is cut, and stays cut") {
  World world;
  Answer lost;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("before", noise(kLarge, 1))).ok()) return "before";
    // Three cells are lost, and a fourth is not there yet: nobody is told.
    int cells = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (!is_cell(op)) return std::nullopt;
      ++cells;
      if (cells == 4) return FaultKind::kHang;
      if (cells < 4) return FaultKind::kWriteLost;
      return std::nullopt;
    });
    store.submit(put_of("tail", noise(kLarge, 2)), lost.callback());
    world.sleep();
    const bool early = lost.given;
    world.power_cut();
    return early ? "told early" : "";
  }) == "");
  // What comes next takes its LSN, in another epoch.
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (store.stat(kDefaultCollection, "tail").ok()) return "kept without its data";
    if (text(store, "before") != noise(kLarge, 1)) return "before";
    if (!store.commit(put_of("after", noise(kLarge, 3))).ok()) return "after";
    world.power_cut();
    return "";
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (store.stat(kDefaultCollection, "tail").ok()) return "it came back";
    if (text(store, "before") != noise(kLarge, 1)) return "before";
    if (text(store, "after") != noise(kLarge, 3)) return "after";
    return findings(store);
  }) == "");
}

TEST_CASE("rules: R7 R8 a tail with k good cells is kept, and whole after opening") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    lose_two_cells(world);
    return commit_tail_and_cut(world, store);
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // Before a reader could have healed anything.
    if (const std::string found = findings(store); !found.empty()) return found;
    return text(store, "tail") == noise(kLarge, 2) ? "" : "tail";
  }) == "");
}

// In stripes of their own, and in those of many small objects.
TEST_CASE("rules: R8 who only reads finds no damage in a tail that is not whole, and leaves it") {
  for (const std::size_t size : {kLarge, std::size_t{3000}}) {
    CAPTURE(size);
    World world;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      lose_two_cells(world);
      Transaction t;
      for (int i = 0; i < 40; ++i) {
        t.put(kDefaultCollection, "tail" + std::to_string(i), noise(size, i));
      }
      const bool good = store.commit(std::move(t)).ok();
      world.power_cut();
      return good ? "" : "commit";
    }) == "");
    RuntimeOptions reading;
    reading.access = Access::kReadOnly;
    for (int time = 0; time < 2; ++time) {
      REQUIRE(world.with_store(
                  [&](Store& store) -> std::string {
                    if (counter(store, "checksum_errors") > 0) return "counted as errors";
                    const Result<FsckReport> report = store.fsck({.deep = true});
                    if (!report.ok()) return report.error().to_string();
                    if (!report->findings.empty()) return report->findings[0].problem;
                    if (report->torn_cells != 2) return std::to_string(report->torn_cells);
                    for (int i = 0; i < 40; ++i) {
                      const std::string name = "tail" + std::to_string(i);
                      if (text(store, name) != noise(size, i)) return name;
                    }
                    const std::vector<std::string> notes = store.status().notes;
                    const bool told = std::any_of(notes.begin(), notes.end(), [](const auto& one) {
                      return one.find("2 cells of the last commits") != std::string::npos;
                    });
                    return told ? "" : "nobody is told";
                  },
                  reading) == "");
    }
    // What is not for a crash is told.
    REQUIRE(world.with_store(
                [&](Store& store) -> std::string {
                  world.hook([](const SimOp& op) -> std::optional<FaultKind> {
                    if (op.disk != "dev3" || op.op != io::IoOp::kRead) return std::nullopt;
                    return FaultKind::kDeviceError;
                  });
                  const bool told = !findings(store).empty();
                  world.hook(nullptr);
                  return told ? "" : "a device that gives errors is not told of";
                },
                reading) == "");
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      if (const std::string found = findings(store); !found.empty()) return found;
      return counter(store, "cells_healed") == 2 ? "" : "not healed";
    }) == "");
  }
}

TEST_CASE("rules: R8 of a snapshot nobody says that an opening heals it") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    lose_two_cells(world);
    return commit_tail_and_cut(world, store);
  }) == "");
  RuntimeOptions reading;
  reading.access = Access::kReadOnly;
  const auto note_of_cells = [](Store& store) -> std::string {
    for (const std::string& note : store.status().notes) {
      if (note.find("cells of the last commits") != std::string::npos) return note;
    }
    return "";
  };
  std::string note;
  REQUIRE(world.with_store([&](Store& store) { note = note_of_cells(store); }, reading) == "");
  REQUIRE_THAT(note, Catch::EndsWith("the next opening for writing writes them again"));

  // The images of the data devices, as of this moment.
  SimSystem past;
  PoolDescription snapshot;
  for (const std::string& name : world.pool().devices) {
    snapshot.devices.push_back("rbd:log/" + name + "@monday");
    past.add_disk(snapshot.devices.back(), world.system().disk(name).snapshot(), {});
  }
  REQUIRE(with_store(
              past, snapshot,
              [&](Store& store) -> std::string {
                note = note_of_cells(store);
                return text(store, "tail") == noise(kLarge, 2) ? findings(store) : "tail";
              },
              reading) == "");
  REQUIRE_THAT(note, Catch::EndsWith("they stay so in a snapshot: in the pool that it was taken "
                                     "of, its writer or its next opening for writing writes them"));
}

TEST_CASE("rules: R8 what was healed stays healed when the power fails after opening") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    World world({.volatile_caches = true, .seed = seed});
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      lose_two_cells(world);
      return commit_tail_and_cut(world, store);
    }) == "");
    REQUIRE(world.with_store([&](Store&) -> std::string {
      world.power_cut();
      return "";
    }) == "");
    REQUIRE(world.with_store(findings) == "");
  }
}

TEST_CASE("rules: R8 a block that one copy of the log had is on all of them after opening") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (is_small(op) && op.disk != world.log()) return FaultKind::kWriteLost;
      return std::nullopt;
    });
    return commit_tail_and_cut(world, store);
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    const bool good = text(store, "tail") == noise(kLarge, 2);
    world.power_cut();
    return good ? "" : "tail";
  }) == "");
  // Now without the copy that had it.
  world.system().disk(world.log()).vanish();
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    return text(store, "tail") == noise(kLarge, 2) ? "" : "tail";
  }) == "");
}

// --- R11 ---

TEST_CASE("rules: R11 an opening goes on without every device of a domain whose flush failed") {
  World world({.one_cache = 2});
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    const bool good = store.commit(put_of("before", noise(kLarge, 1))).ok();
    world.power_cut();
    return good ? "" : "before";
  }) == "");
  io::Fault fault;
  fault.kind = FaultKind::kFlushError;
  world.system().disk("dev0").inject(fault);
  int failed = 0;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    failed = failed_devices(store);
    return text(store, "before") == noise(kLarge, 1) ? "" : "before";
  }) == "");
  REQUIRE(world.system().disk("dev0").struck(FaultKind::kFlushError) == 1);
  REQUIRE(failed == 2);
}

}  // namespace
}  // namespace hexad::testing
