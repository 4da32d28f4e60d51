// The rules of the commit path (doc/testing.md#mutations) where they show only in one order of
// events: what is acknowledged when, and what is used again.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/base/thinned.h"
#include "tests/core/rules_world.h"

namespace hexad::testing {
namespace {

RuntimeOptions with_fast_answers() {
  RuntimeOptions options;
  options.log_durability = LogDurability::kFast;
  return options;
}

// --- R3 ---

TEST_CASE("rules: R3 a group that is durable waits for the one before it") {
  World world;
  Answer first;
  Answer second;
  bool early = false;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // The first cell of the first group.
    bool held = false;
    world.hold([&](const SimOp& op) { return is_cell(op) && !std::exchange(held, true); });
    store.submit(put_of("a", noise(kLarge, 1)), first.callback());
    store.submit(put_of("b", noise(kLarge, 2)), second.callback());
    world.sleep();
    early = first.given || second.given;
    world.release();
    world.sleep();
    return held ? "" : "no cell was written";
  }) == "");
  REQUIRE_FALSE(early);
  REQUIRE((first.given && second.given));
  REQUIRE((!first.code.has_value() && !second.code.has_value()));
}

TEST_CASE("rules: R3 every copy of the log and every cell is waited for") {
  // Whichever single request of a commit is held back, nobody is told.
  int requests = 0;
  for (int nth = 0; nth == 0 || nth < requests; ++nth) {
    CAPTURE(nth);
    World world;
    Answer answer;
    bool early = false;
    int seen = 0;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      world.hold([&](const SimOp& op) { return op.op == io::IoOp::kWrite && seen++ == nth; });
      store.submit(put_of("a", noise(kLarge, 1)), answer.callback());
      world.sleep();
      early = answer.given;
      world.release();
      world.sleep();
      return "";
    }) == "");
    requests = std::max(requests, seen);
    REQUIRE_FALSE(early);
    REQUIRE(answer.given);
  }
  REQUIRE(requests == 10);  // six cells, four copies of the log
}

TEST_CASE("rules: R3 without a fast device fast answers wait for every copy of the log") {
  for (int nth = 0; nth < 9; ++nth) {
    CAPTURE(nth);
    World world;
    world.system().disk(world.log()).vanish();
    Answer answer;
    bool early = false;
    int seen = 0;
    REQUIRE(world.with_store(
                [&](Store& store) -> std::string {
                  world.hold(
                      [&](const SimOp& op) { return op.op == io::IoOp::kWrite && seen++ == nth; });
                  store.submit(put_of("a", noise(kLarge, 1)), answer.callback());
                  world.sleep();
                  early = answer.given;
                  world.release();
                  world.sleep();
                  return "";
                },
                with_fast_answers()) == "");
    REQUIRE(seen >= 9);  // six cells, three copies of the log
    REQUIRE_FALSE(early);
    REQUIRE(answer.given);
  }
}

TEST_CASE("rules: R3 what was acknowledged is not in caches") {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    World world({.volatile_caches = true, .seed = seed});
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      const bool good = store.commit(put_of("a", noise(kLarge, 1))).ok();
      world.power_cut();
      return good ? "" : "commit";
    }) == "");
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      return text(store, "a") == noise(kLarge, 1) ? findings(store) : "a";
    }) == "");
  }
}

// --- R9 ---

// A store that is full but for one object's space; "gap" held it and is gone. Its release has been
// acknowledged, and no block that is durable says so: both of its transactions were in flight
// together. Returns what went wrong.
std::string make_gap(World& world, Store& store) {
  for (int i = 0;; ++i) {
    const Result<Lsn> put = store.commit(put_of("fill" + std::to_string(i), noise(kLarge, i)));
    if (!put.ok() && put.error().code == ErrorCode::kNoSpace) break;
    if (!put.ok()) return put.error().to_string();
  }
  Transaction one;
  one.remove(kDefaultCollection, "fill0");
  if (!store.commit(std::move(one)).ok()) return "remove";
  if (!store.checkpoint().ok()) return "checkpoint";
  Answer put;
  Answer removed;
  bool holding = true;
  world.hold([&](const SimOp& op) { return holding && is_small(op); });
  store.submit(put_of("gap", noise(kLarge, 1000)), put.callback());
  Transaction t;
  t.remove(kDefaultCollection, "gap");
  t.put(kDefaultCollection, "witness", "here");
  store.submit(std::move(t), removed.callback());
  world.sleep();
  if (put.given || removed.given) return "acknowledged without the log";
  holding = false;
  world.release();
  world.sleep();
  if (!put.given || put.code.has_value()) return "the gap was not filled";
  return removed.given && !removed.code.has_value() ? "" : "the gap was not made";
}

TEST_CASE("rules: R9 space is not used again before its release is recorded") {
  World world({.device_size = 4_MiB});
  Answer late;
  bool recorded = false;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (const std::string problem = make_gap(world, store); !problem.empty()) return problem;
    // Its cells are written, its log blocks are not: nothing of it may be left in the log. A block
    // before the first cell is none of its own: it records that the gap's release was durable.
    bool cells = false;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      cells = cells || is_cell(op);
      recorded = recorded || (!cells && is_small(op));
      if (cells && is_small(op)) return FaultKind::kWriteErrorBefore;
      return std::nullopt;
    });
    auto submitter = world.system().executor().start(
        "submitter", [&] { store.submit(put_of("late", noise(kLarge, 2000)), late.callback()); });
    world.sleep();
    world.power_cut();
    submitter->join();
    return cells ? "" : "the gap was not used";
  }) == "");
  REQUIRE(recorded);
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (text(store, "witness") != "here") return "an acknowledged transaction is lost";
    return findings(store);
  }) == "");
}

TEST_CASE("rules: R9 the watermark of a block covers nothing that is still in flight") {
  World world;
  Answer first;
  Answer second;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // Of two groups everything is written but the cells of the first: one is not there yet, the
    // others are lost.
    int cells = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (!is_cell(op) || ++cells > 6) return std::nullopt;
      return cells == 1 ? FaultKind::kHang : FaultKind::kWriteLost;
    });
    store.submit(put_of("a", noise(kLarge, 1)), first.callback());
    store.submit(put_of("b", noise(kLarge, 2)), second.callback());
    world.sleep();
    const bool early = first.given || second.given;
    world.power_cut();
    return early ? "told early" : cells == 12 ? "" : "not two groups";
  }) == "");
  // The block of the second is there, and must not say that the first was durable.
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (store.stat(kDefaultCollection, "a").ok()) return "kept without its data";
    return findings(store);
  }) == "");
}

// --- R11 ---

TEST_CASE("rules: R11 a flush that failed while a zone was made costs its domain all the same") {
  World world({.one_cache = 2});
  bool struck = false;
  int failed = 0;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // What commits send to the shared cache is flushed together; only the header of a new zone
    // carries its own flush.
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (struck || op.op != io::IoOp::kWrite || op.mode != io::WriteMode::kDurable) {
        return std::nullopt;
      }
      struck = op.disk == "dev0";
      return struck ? std::optional(FaultKind::kWriteErrorBefore) : std::nullopt;
    });
    for (int i = 0; i < 40 && !struck; ++i) {
      if (!store.commit(put_of(std::to_string(i), noise(kLarge, i))).ok()) return "fill";
    }
    world.sleep();
    // The cache takes flushes again, and one of them covers this.
    if (!store.commit(put_of("after", noise(kLarge, 100))).ok()) return "after";
    failed = failed_devices(store);
    return struck ? "" : "no zone was made";
  }) == "");
  REQUIRE(failed == 2);
}

// --- a group that is sealed while a device fails ---

TEST_CASE("rules: a seal that a change of membership interrupts is made good afterwards") {
  constexpr int kFibers = 8;
  constexpr int kCommits = 3;
  const auto name_of = [](int fiber, int i) {
    return std::to_string(fiber) + "/" + std::to_string(i);
  };
  for (std::uint64_t seed = 1; seed <= 40; seed += kThinned) {
    CAPTURE(seed);
    World world({.immediate = true, .seed = seed});
    std::string problem;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      // Before one of the writes fails, others get turns, so that one of them may be sealing.
      io::Mutex turns(world.system().executor());
      std::uint64_t writes = 0;
      world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
        if (op.op != io::IoOp::kWrite || ++writes != 20 + seed) return std::nullopt;
        for (std::uint64_t i = 0; i < 4 * seed; ++i) const io::Lock lock(turns);
        return FaultKind::kWriteErrorBefore;
      });
      std::vector<std::unique_ptr<io::Thread>> fibers;
      for (int fiber = 0; fiber < kFibers; ++fiber) {
        fibers.push_back(world.system().executor().start("commits", [&, fiber] {
          for (int i = 0; i < kCommits; ++i) {
            const std::string value = noise(kLarge, fiber * kCommits + i);
            const Status put = store.commit(put_of(name_of(fiber, i), value)).status();
            if (!put.ok()) problem = put.error().to_string();
          }
        }));
      }
      for (const auto& fiber : fibers) fiber->join();
      world.power_cut();
      return problem;
    }) == "");
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      for (int fiber = 0; fiber < kFibers; ++fiber) {
        for (int i = 0; i < kCommits; ++i) {
          const std::string name = name_of(fiber, i);
          if (text(store, name) != noise(kLarge, fiber * kCommits + i)) return name;
        }
      }
      return findings(store);
    }) == "");
  }
}

// --- what is reserved for blobs in the log ---

TEST_CASE("rules: what was reserved comes back when a blob is packed, or dies in the log") {
  for (const bool packed : {false, true}) {
    CAPTURE(packed);
    World world({.device_size = 4_MiB});
    // More blobs, one after the other, than there are units for one each.
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      const Result<SpaceUsage> usage = store.space();
      if (!usage.ok()) return "space";
      const auto blobs = static_cast<int>(usage->capacity / 8192);
      for (int i = 0; i < blobs; ++i) {
        const std::string name = std::to_string(i % (packed ? 50 : 3));
        const Status put = store.commit(put_of(name, noise(3000, i))).status();
        if (!put.ok()) return "blob " + std::to_string(i) + ": " + put.error().to_string();
        if (packed && i % 50 == 49 && !store.checkpoint().ok()) return "checkpoint";
      }
      return findings(store);
    }) == "");
  }
}

// --- R12, R13 ---

TEST_CASE("rules: R12 the membership changes when every request has its outcome") {
  World world;
  Answer first;
  Answer second;
  int while_held = 0;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    // The first write fails, the last of the second group is held back.
    int writes = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.op != io::IoOp::kWrite) return std::nullopt;
      ++writes;
      if (writes == 1) return FaultKind::kWriteErrorBefore;
      if (writes == 20) return FaultKind::kHang;
      if (writes > 20) ++while_held;
      return std::nullopt;
    });
    store.submit(put_of("a", noise(kLarge, 1)), first.callback());
    store.submit(put_of("b", noise(kLarge, 2)), second.callback());
    world.sleep();
    const bool early = first.given || second.given;
    const int seen = writes;
    world.release();
    world.sleep();
    if (early) return "told early";
    return seen >= 20 ? "" : "there were " + std::to_string(seen) + " writes";
  }) == "");
  REQUIRE(while_held == 0);
  REQUIRE((first.given && second.given));
  REQUIRE((!first.code.has_value() && !second.code.has_value()));
}

TEST_CASE("rules: R12 copies of the log that no answer waits for have their outcome as well") {
  World world;
  Answer answer;
  int while_held = 0;
  REQUIRE(world.with_store(
              [&](Store& store) -> std::string {
                // A cell fails, and the copies on data devices are held back.
                int writes = 0;
                int cells = 0;
                world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
                  if (op.op != io::IoOp::kWrite) return std::nullopt;
                  if (++writes > 10) ++while_held;
                  if (writes > 10) return std::nullopt;
                  if (is_cell(op) && ++cells == 1) return FaultKind::kWriteErrorBefore;
                  if (is_small(op) && op.disk != world.log()) return FaultKind::kHang;
                  return std::nullopt;
                });
                store.submit(put_of("a", noise(kLarge, 1)), answer.callback());
                world.sleep();
                const bool early = answer.given;
                const int seen = writes;
                world.release();
                world.sleep();
                if (early) return "told early";
                return seen >= 10 ? "" : "there were " + std::to_string(seen) + " writes";
              },
              with_fast_answers()) == "");
  REQUIRE(while_held == 0);
  REQUIRE((answer.given && !answer.code.has_value()));
}

TEST_CASE("rules: R13 nobody is told before the device that failed has left") {
  World world;
  Answer answer;
  bool early = false;
  bool failed = false;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    bool after = false;
    int writes = 0;
    world.hook([&](const SimOp& op) -> std::optional<FaultKind> {
      if (op.op != io::IoOp::kWrite) return std::nullopt;
      if (++writes == 1) return FaultKind::kWriteErrorBefore;
      // The ten of the commit go through; what the change of membership writes does not.
      after = after || writes > 10;
      return after ? std::optional(FaultKind::kHang) : std::nullopt;
    });
    store.submit(put_of("a", noise(kLarge, 1)), answer.callback());
    world.sleep();
    early = answer.given;
    // Released again and again: one write follows on the other.
    world.hook(nullptr);
    for (int i = 0; i < 10 && !answer.given; ++i) {
      world.release();
      world.sleep();
    }
    for (const DeviceStatus& device : store.status().devices) {
      failed = failed || device.state == "failed";
    }
    return after ? "" : "nothing was written for the membership";
  }) == "");
  REQUIRE_FALSE(early);
  REQUIRE(answer.given);
  REQUIRE_FALSE(answer.code.has_value());
  REQUIRE(failed);
}

TEST_CASE("rules: R13 a data device that held the log is replaced by one that gets all of it") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("before", noise(kLarge, 1))).ok()) return "before";
    world.system().disk("dev0").vanish();
    const bool good = store.commit(put_of("a", noise(kLarge, 2))).ok();
    world.power_cut();
    return good ? "" : "commit";
  }) == "");
  // The replacement has the only copy that is left to read: more is lost of the log than the
  // profile survives, and no more than that of the data.
  world.system().disk(world.log()).vanish();
  world.system().disk("dev1").vanish();
  io::Fault unreadable_log;
  unreadable_log.kind = FaultKind::kReadError;
  unreadable_log.offset = alloc::kHeadEnd;
  unreadable_log.length = SimPoolOptions{}.log_size;
  unreadable_log.times = io::Fault::kForever;
  world.system().disk("dev2").inject(unreadable_log);
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (text(store, "before") != noise(kLarge, 1)) return "before";
    return text(store, "a") == noise(kLarge, 2) ? "" : "a";
  }) == "");
}

TEST_CASE("rules: R13 what a device misses after it has left is noted in its zones") {
  for (const bool replayed : {false, true}) {
    CAPTURE(replayed);
    World world;
    REQUIRE(world.with_store([&](Store& store) -> std::string {
      world.system().disk("dev3").vanish();
      if (!store.commit(put_of("notices", noise(kLarge, 1))).ok()) return "notices";
      if (!store.checkpoint().ok()) return "checkpoint";
      if (!store.commit(put_of("misses", noise(kLarge, 2))).ok()) return "misses";
      if (replayed) world.power_cut();
      return replayed || store.close().ok() ? "" : "close";
    }) == "");
    const std::uint64_t before = world.missing_units();
    if (replayed) {
      REQUIRE(world.with_store([&](Store& store) -> std::string {
        return store.close().ok() ? "" : "close";
      }) == "");
    }
    // Cells of 16 KiB are four units; with the footer of a shared stripe, a fifth.
    REQUIRE((before >= (replayed ? 4 : 8)));
    REQUIRE(world.missing_units() >= 8);
    // Two runs and two manifests take a unit each.
    REQUIRE(world.missing_units() <= 14);
  }
}

TEST_CASE("rules: R13 the commit that finds a device gone is missing on it after a crash") {
  World world;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    world.system().disk("dev3").vanish();
    const bool good = store.commit(put_of("notices", noise(kLarge, 1))).ok();
    world.power_cut();
    return good ? "" : "notices";
  }) == "");
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    return store.close().ok() ? "" : "close";
  }) == "");
  // A cell of 16 KiB; with the footer of a shared stripe, a unit more.
  REQUIRE(world.missing_units() >= 4);
  // A run and a manifest take a unit each.
  REQUIRE(world.missing_units() <= 7);
}

// --- R14 ---

TEST_CASE("rules: R14 an answer that rests on a pending transaction waits for it") {
  World world;
  Answer pending;
  Answer absent;
  Answer create;
  Answer not_found;
  bool early = false;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (!store.commit(put_of("gone", "x")).ok()) return "commit";
    world.hold(is_small);
    Transaction t;
    t.put(kDefaultCollection, "here", "x");
    t.remove(kDefaultCollection, "gone");
    store.submit(std::move(t), pending.callback());
    Transaction guard;
    guard.expect_absent(kDefaultCollection, "here");
    guard.put(kDefaultCollection, "other", "x");
    store.submit(std::move(guard), absent.callback());
    Transaction again;
    again.create(kDefaultCollection, "here");
    store.submit(std::move(again), create.callback());
    Transaction attribute;
    attribute.set_attr(kDefaultCollection, "gone", "name", "value");
    store.submit(std::move(attribute), not_found.callback());
    world.sleep();
    early = pending.given || absent.given || create.given || not_found.given;
    world.release();
    world.sleep();
    return "";
  }) == "");
  REQUIRE_FALSE(early);
  REQUIRE((pending.given && !pending.code.has_value()));
  REQUIRE((absent.given && absent.code == ErrorCode::kConflict));
  REQUIRE((create.given && create.code == ErrorCode::kAlreadyExists));
  REQUIRE((not_found.given && not_found.code == ErrorCode::kNotFound));
}

TEST_CASE("rules: R14 transactions that share a group are replayed in their order") {
  World world;
  std::vector<Answer> answers(12);
  std::string last;
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    world.hold(is_small);
    // As many groups as there may be; the rest share the next one. Sizes are inline, in the log,
    // and in stripes.
    for (std::size_t i = 0; i < answers.size(); ++i) {
      last = noise(i % 3 == 0 ? 100 : i % 3 == 1 ? 3000 : 12000, i);
      store.submit(put_of("same", last), answers[i].callback());
    }
    world.sleep();
    world.release();
    world.sleep();
    std::uint64_t groups = 0;
    for (const Counter& counter : store.counters()) {
      if (counter.name == "commit_groups") groups = counter.since_open;
    }
    world.power_cut();
    return groups < answers.size() ? "" : "no group had two";
  }) == "");
  for (const Answer& answer : answers) REQUIRE((answer.given && !answer.code.has_value()));
  REQUIRE(world.with_store([&](Store& store) -> std::string {
    if (text(store, "same") != last) return "not the last value";
    if (store.stat(kDefaultCollection, "same")->version != answers.back().lsn) return "version";
    return findings(store);
  }) == "");
}

// --- R15 ---

TEST_CASE("rules: R15 sync() waits for all copies of the log, whatever commits wait for") {
  World world;
  Answer answer;
  bool early = false;
  bool synced = false;
  REQUIRE(world.with_store(
              [&](Store& store) -> std::string {
                world.hold([&](const SimOp& op) { return is_small(op) && op.disk != world.log(); });
                store.submit(put_of("a", "small"), answer.callback());
                world.sleep();
                const bool answered = answer.given;
                bool returned = false;
                auto sync = world.system().executor().start("sync", [&] {
                  synced = store.sync().ok();
                  returned = true;
                });
                world.sleep();
                early = returned;
                world.release();
                sync->join();
                return answered ? "" : "the fast copy was not enough";
              },
              with_fast_answers()) == "");
  REQUIRE_FALSE(early);
  REQUIRE(synced);
}

}  // namespace
}  // namespace hexad::testing
