// Threads that are called back (io/recall.h) while they wait for devices that do not answer: what
// goes on without them, and what has not happened. In simulated time.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/recall.h"
#include "tests/core/faults/silent_disks.h"

namespace hexad::testing {
namespace {

using io::FaultKind;
using io::IoOp;
using io::SimOp;

class Wanted final : public io::Recall {
 private:
  bool is_wanted() noexcept override { return true; }
};

struct Called {
  std::string error;  // or none
  bool unavailable = false;
  bool left = false;
};

// What `call`, which returns a Status, says on a thread that is wanted.
template <typename Call>
Called call_back(const Call& call) {
  Wanted recall;
  const io::Recall::Scope scope(recall);
  const Status status = call();
  Called called;
  if (!status.ok()) called.error = status.error().to_string();
  called.unavailable = !status.ok() && status.error().code == ErrorCode::kUnavailable;
  called.left = recall.has_left_commit();
  return called;
}

// From now on no disk answers any write, nor flush.
void hang_writes(io::SimSystem& system) {
  system.set_hook([](const SimOp& op) -> std::optional<FaultKind> {
    if (op.op != IoOp::kRead) return FaultKind::kHang;
    return std::nullopt;
  });
}

std::uint64_t counter_of(Store& store, std::string_view name) {
  for (const Counter& counter : store.counters()) {
    if (counter.name == name) return counter.since_open;
  }
  return ~std::uint64_t{0};
}

std::string findings_of(Store& store) {
  FsckOptions options;
  options.deep = true;
  const Result<FsckReport> report = store.fsck(options);
  if (!report.ok()) return report.error().to_string();
  std::string all;
  for (const Finding& finding : report->findings) {
    all += finding.subject + ": " + finding.problem + "\n";
  }
  return all;
}

TEST_CASE("called back: a commit that was left is there when the device answers") {
  SimOrigin origin(large_disks(), fill);
  // In a stripe of its own, and beside others.
  for (const std::size_t size : {std::size_t{200'000}, std::size_t{3000}}) {
    for (const bool closes : {false, true}) {
      CAPTURE(size, closes);
      const auto system = origin.start(1);
      Called called;
      bool seen = true;
      std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
        hang_writes(*system);
        {
          std::string lent = noise(size, 5);
          Transaction t;
          t.put_borrowed(kDefaultCollection, "new", as_bytes(lent));
          called = call_back([&] { return store.commit(std::move(t)).status(); });
          lent.assign(size, 'x');  // the caller has it back
        }
        seen = store.get(kDefaultCollection, "new").ok();
        release(*system, origin.disks());
        if (closes) {
          const Status closed = store.close();
          return closed.ok() ? "" : closed.error().to_string();
        }
        system->executor().sleep_for(kSecond);
        const Status synced = store.sync();
        if (!synced.ok()) return synced.error().to_string();
        if (counter_of(store, "txc_failed_count") != 0) return "counted as failed";
        return read_all(store);
      });
      REQUIRE(said == "");
      REQUIRE(called.unavailable);
      REQUIRE(called.left);
      REQUIRE_FALSE(seen);
      said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
        const Result<Bytes> found = store.get(kDefaultCollection, "new");
        if (!found.ok()) return found.error().to_string();
        if (as_text(*found) != std::string_view(noise(size, 5))) return "other bytes";
        return findings_of(store) + read_all(store);
      });
      REQUIRE(said == "");
    }
  }
}

TEST_CASE("called back: reads end, nothing has changed, and nothing counts as damaged") {
  SimOrigin origin(large_disks(), fill);
  const std::vector<std::string> disks = {"dev0", "dev1", "dev2", "dev3", "dev4", "dev5"};
  for (const bool commits : {false, true}) {
    CAPTURE(commits);
    const auto system = origin.start(1);
    Called called;
    io::Nanos took = 0;
    const std::string said = with_store(
        *system, origin.pool(),
        [&](Store& store) -> std::string {
          hang_reads(*system, disks);
          const io::Nanos began = system->clock().now();
          called = call_back([&]() -> Status {
            if (!commits) return store.get(kDefaultCollection, "5").status();
            Transaction t;
            t.expect_bytes(kDefaultCollection, "5", 0, as_bytes(value_of(5)));
            t.put(kDefaultCollection, "5", noise(700, 9));
            return store.commit(std::move(t)).status();
          });
          took = system->clock().now() - began;
          release(*system, disks);
          system->executor().sleep_for(kSecond);
          const Result<std::vector<Damage>> damage = store.damage();
          if (!damage.ok()) return damage.error().to_string();
          if (!damage->empty()) return "damage is noted";
          if (counter_of(store, "cells_healed") != 0) return "healed";
          return findings_of(store) + read_all(store);
        },
        without_cache());
    REQUIRE(said == "");
    REQUIRE(called.unavailable);
    REQUIRE_FALSE(called.left);
    REQUIRE(took < kSecond / 2);
  }
}

TEST_CASE("called back: a scrub and fsck end, instead of asking for all the rest in vain") {
  SimOrigin origin(large_disks(), fill);
  const std::vector<std::string> disks = {"dev0", "dev1", "dev2", "dev3", "dev4", "dev5"};
  const bool scrub = GENERATE(true, false);
  CAPTURE(scrub);
  const auto system = origin.start(1);
  Called called;
  const std::string said = with_store(
      *system, origin.pool(),
      [&](Store& store) -> std::string {
        hang_reads(*system, disks);
        FsckOptions deep;
        deep.deep = true;
        called =
            call_back([&] { return scrub ? store.scrub().status() : store.fsck(deep).status(); });
        release(*system, disks);
        system->executor().sleep_for(kSecond);
        const Result<ScrubReport> report = store.scrub();
        if (!report.ok()) return report.error().to_string();
        std::string all;
        for (const Finding& finding : report->findings) all += finding.problem + "\n";
        return all + findings_of(store) + read_all(store);
      },
      without_cache());
  REQUIRE(said == "");
  CAPTURE(called.error);
  REQUIRE(called.unavailable);
  REQUIRE_FALSE(called.left);
}

// A log of 1 MiB takes records of some 200 KiB: some hundred pages are put aside by a commit of the
// writer's own, which names the stripes that they lie in. Changes of the store's own are waited
// for: whoever has left one could take it for one that failed.
TEST_CASE("called back: what a writer puts aside is waited for, and not given back twice") {
  SimOrigin origin(large_disks(), fill);
  const auto system = origin.start(1);
  Called called;
  const std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
    Result<std::unique_ptr<ObjectWriter>> opened = store.open_writer(kDefaultCollection, "large");
    if (!opened.ok()) return opened.error().to_string();
    std::unique_ptr<ObjectWriter> writer = std::move(opened).value();
    system->set_hook([](const SimOp& op) -> std::optional<FaultKind> {
      if (op.cause == io::IoCause::kLog) return FaultKind::kHang;
      return std::nullopt;
    });
    called = call_back([&]() -> Status {
      for (int page = 0; page < 600; ++page) {
        HEXAD_TRY(writer->append(as_bytes(std::string_view("x"))));
        HEXAD_TRY(writer->skip(1 << 20));
      }
      return {};
    });
    writer.reset();
    release(*system, origin.disks());
    system->executor().sleep_for(30 * kSecond);
    const Status synced = store.sync();
    if (!synced.ok()) return synced.error().to_string();
    for (int i = 0; i < 20; ++i) {  // over what may have been given back
      Transaction t;
      t.put(kDefaultCollection, "more" + std::to_string(i), noise(200'000, 50 + i));
      const Result<Lsn> done = store.commit(std::move(t));
      if (!done.ok()) return done.error().to_string();
    }
    return findings_of(store) + read_all(store);
  });
  REQUIRE(said == "");
  CAPTURE(called.error);
  REQUIRE_FALSE(called.left);
}

// What a store with silent disks is in, before the call that is called back; what it says is as it
// was in the end, deep inside too, whether the store is closed at once or goes on.
struct Early {
  std::string expected;  // of the error
  std::function<void(Store&, io::SimSystem&)> before;
  std::function<Status(Store&)> call;
  std::function<void(Store&)> behind = [](Store&) {};  // when the disks answer
  RuntimeOptions options = without_cache();
};

void check_early(const Early& early) {
  SimOrigin origin(large_disks(), fill);
  for (const bool closes : {false, true}) {
    CAPTURE(closes);
    const auto system = origin.start(closes ? 3 : 4);
    Called called;
    io::Nanos took = 0;
    const auto run = [&](Store& store) -> std::string {
      early.before(store, *system);
      const io::Nanos began = system->clock().now();
      called = call_back([&] { return early.call(store); });
      took = system->clock().now() - began;
      release(*system, origin.disks());
      early.behind(store);
      if (closes) {
        const Status closed = store.close();
        return closed.ok() ? "" : closed.error().to_string();
      }
      system->executor().sleep_for(kSecond);
      for (int i = 0; i < 3; ++i) {
        Transaction t;
        t.put(kDefaultCollection, "more" + std::to_string(i), noise(200'000, 50 + i));
        const Result<Lsn> done = store.commit(std::move(t));
        if (!done.ok()) return done.error().to_string();
      }
      return findings_of(store) + read_all(store);
    };
    REQUIRE(with_store(*system, origin.pool(), run, early.options) == "");
    CAPTURE(called.error);
    REQUIRE(called.unavailable);
    REQUIRE_FALSE(called.left);
    REQUIRE_THAT(called.error, Catch::Contains(early.expected));
    REQUIRE(took < kSecond / 2);
    const std::string later = with_store(*system, origin.pool(), [&](Store& store) {
      if (store.get(kDefaultCollection, "new").ok()) return std::string("there is something new");
      return findings_of(store) + read_all(store);
    });
    REQUIRE(later == "");
  }
}

Status put_new(Store& store) {
  Transaction t;
  t.put(kDefaultCollection, "new", noise(3000, 9));
  return store.commit(std::move(t)).status();
}

void put_buffered(Store& store, const std::string& name, std::size_t size) {
  Transaction t;
  t.put(kDefaultCollection, name, noise(size, 5));
  CommitOptions options;
  options.durability = Durability::kBuffered;
  REQUIRE(store.commit(std::move(t), options).ok());
}

TEST_CASE("called back: who waits for the sequencer, which a checkpoint has") {
  std::unique_ptr<io::Thread> checkpoint;
  Early early;
  early.expected = "waited for its place in the order";
  early.before = [&](Store& store, io::SimSystem& system) {
    put_buffered(store, "buffered", 3000);
    hang_writes(system);
    checkpoint = system.executor().start("checkpoint", [&] { store.checkpoint().ignore(); });
    system.executor().sleep_for(kSecond / 100);
  };
  early.call = put_new;
  early.behind = [&](Store&) { checkpoint->join(); };
  check_early(early);
}

TEST_CASE("called back: who makes room in the log") {
  Early early;
  early.expected = "while room was made for a commit";
  early.before = [](Store&, io::SimSystem& system) {
    // The log goes on for as long as it has room; the checkpoint that makes some does not end.
    system.set_hook([](const SimOp& op) -> std::optional<FaultKind> {
      const bool of_checkpoint = op.cause == io::IoCause::kRun || op.cause == io::IoCause::kSuper;
      if (of_checkpoint && op.op != IoOp::kRead) return FaultKind::kHang;
      return std::nullopt;
    });
  };
  early.call = [](Store& store) -> Status {
    for (int i = 0; i < 2000; ++i) {
      Transaction t;
      t.put(kDefaultCollection, "log" + std::to_string(i % 10), noise(3000, i));
      HEXAD_TRY(store.commit(std::move(t)).status());
    }
    return {};
  };
  check_early(early);
}

TEST_CASE("called back: who copies pages for a clone") {
  Early early;
  early.expected = "while pages of a clone were copied";
  early.before = [](Store& store, io::SimSystem& system) {
    // More pages than a transaction copies itself.
    for (int first = 0; first < 1000; first += 100) {
      Transaction t;
      for (int page = first; page < first + 100; ++page) {
        t.write(kDefaultCollection, "wide", std::uint64_t{1_MiB} * page, as_bytes(noise(10, page)));
      }
      REQUIRE(store.commit(std::move(t)).ok());
    }
    hang_writes(system);
  };
  early.call = [](Store& store) -> Status {
    Transaction t;
    t.clone(kDefaultCollection, "wide", kDefaultCollection, "new");
    return store.commit(std::move(t)).status();
  };
  check_early(early);
}

TEST_CASE("called back: who waits until more may be in flight") {
  std::unique_ptr<io::Thread> other;
  Early early;
  early.expected = "more may be in flight";
  early.options.max_in_flight = 250'000;
  early.options.max_transaction = 250'000;
  early.before = [&](Store& store, io::SimSystem& system) {
    hang_writes(system);
    other = system.executor().start("other", [&] {
      Transaction t;
      t.put(kDefaultCollection, "other", noise(249'000, 5));
      REQUIRE(store.commit(std::move(t)).ok());
    });
    system.executor().sleep_for(kSecond / 100);
  };
  early.call = put_new;
  early.behind = [&](Store&) { other->join(); };
  check_early(early);
}

}  // namespace
}  // namespace hexad::testing
