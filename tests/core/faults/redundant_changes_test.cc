// Pools without parity whose devices change, and whose power fails meanwhile: no root lists one as
// left (P13 of alloc/root_choice.h), and what cannot be read is not taken for the end of the log.
#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "tests/base/thinned.h"
#include "tests/core/faults/silent_disks.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

SimPoolOptions three_disks() {
  SimPoolOptions options = large_disks();
  options.profile = {2, 0, ec::CodecKind::kIsaVandermonde, 0};
  options.data_disks = 3;
  return options;
}

constexpr DeviceId kAdded = 4;  // 3 is the fast one's
constexpr const char* kNew = "new";

RuntimeOptions quiet() {
  RuntimeOptions options = without_cache();
  options.returns = Returns::kWhenAsked;
  options.memtable_size = 64_KiB;
  return options;
}

// Requests from the `left`-th on: none reaches a disk. Or they fail on one disk alone.
struct Cut {
  std::uint64_t left;
  std::string disk;  // empty: the power
  bool struck = false;
};

void arm(io::SimSystem& system, Cut& cut) {
  system.set_hook([&cut](const io::SimOp& op) -> std::optional<io::FaultKind> {
    if (!cut.disk.empty() && op.disk != cut.disk) return std::nullopt;
    if (cut.left > 0) {
      --cut.left;
      return std::nullopt;
    }
    cut.struck = true;
    return io::FaultKind::kDeviceError;
  });
}

std::string state_of_number(Store& store, DeviceId id) {
  for (const DeviceStatus& one : store.status().devices) {
    if (!one.role.empty() && one.id == id) return one.state;
  }
  return "none";
}

std::size_t data_devices(Store& store) {
  const std::vector<DeviceStatus> all = store.status().devices;
  return static_cast<std::size_t>(std::count_if(
      all.begin(), all.end(), [](const DeviceStatus& one) { return one.role == "data"; }));
}

std::string commit_some(Store& store, int from, int count) {
  for (int i = from; i < from + count; ++i) {
    Transaction t;
    t.put(kDefaultCollection, "w" + std::to_string(i), noise(i % 3 == 0 ? 200'000 : 2'000, i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return "commit: " + done.error().to_string();
  }
  return "";
}

std::string check_some(Store& store, int count) {
  for (int i = 0; i < count; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, "w" + std::to_string(i));
    if (!found.ok()) return "w" + std::to_string(i) + ": " + found.error().to_string();
    if (as_text(*found) != noise(i % 3 == 0 ? 200'000 : 2'000, i)) return "w" + std::to_string(i);
  }
  const Result<FsckReport> fsck = store.fsck({.deep = true});
  if (!fsck.ok()) return "fsck: " + fsck.error().to_string();
  if (!fsck->findings.empty()) {
    return fsck->findings.front().subject + ": " + fsck->findings.front().problem;
  }
  return read_all(store);
}

// Opens it and looks at all.
std::string look(io::SimSystem& system, const PoolDescription& pool, int count,
                 const std::function<std::string(Store&)>& use = {}) {
  Result<Store> store = Store::open(pool, quiet(), &system);
  if (!store.ok()) return "open: " + store.error().to_string();
  std::string problem = check_some(*store, count);
  if (problem.empty() && use) problem = use(*store);
  if (problem.empty()) problem = message_of(store->close());
  return problem;
}

PoolDescription with_new(PoolDescription pool) {
  pool.devices.push_back(kNew);
  return pool;
}

TEST_CASE("redundant changes: the power fails behind each request of adding one") {
  SimOrigin origin(three_disks(), fill);
  bool whole = false;
  int added = 0;
  int foreign = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = origin.start(100 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    Cut cut{at, ""};
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 3);
      arm(*system, cut);
      const Result<DeviceId> done = store->add_device(kNew);
      whole = done.ok() && !cut.struck;
      if (!done.ok() && !cut.struck) problem = "add: " + done.error().to_string();
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    system->run([&] {
      problem = look(*system, with_new(origin.pool()), 3, [&](Store& store) -> std::string {
        const std::string state = state_of_number(store, kAdded);
        ++(state == "none" ? foreign : added);
        if (state == "none") {
          const Result<DeviceId> again = store.add_device(kNew);
          if (!again.ok()) return "again: " + again.error().to_string();
        } else if (state != "ok") {
          return "it is " + state;
        }
        if (data_devices(store) != 4) return "not four devices";
        return commit_some(store, 3, 3);
      });
      if (problem.empty()) problem = look(*system, with_new(origin.pool()), 6);
      // It is needed as the others are.
      system->disk(kNew).vanish();
      const Result<Store> without = Store::open(with_new(origin.pool()), quiet(), system.get());
      if (problem.empty() && without.ok()) problem = "opens without it";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(added > 0);
  REQUIRE(foreign > 0);
}

TEST_CASE(
    "redundant changes: what is refused, or not answered when it is asked again, is not bad") {
  SimOrigin origin(three_disks(), fill);
  for (const bool refused : {true, false}) {
    CAPTURE(refused);
    const auto system = origin.start(600);
    std::string problem;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      int seen = 0;
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.op != io::IoOp::kRead || op.disk.rfind("dev", 0) != 0) return std::nullopt;
        if (refused) return io::FaultKind::kRefused;
        return seen++ == 0 ? io::FaultKind::kReadError : io::FaultKind::kHang;
      });
      const Result<Bytes> got = store->get(kDefaultCollection, "0");
      const ErrorCode wanted = refused ? ErrorCode::kExhausted : ErrorCode::kUnavailable;
      if (got.ok() || got.error().code != wanted) problem = message_of(got.status());
      if (store->status().damaged_blobs != 0) problem += " damaged";
      system->set_hook(nullptr);
      for (const char* disk : {"dev0", "dev1", "dev2"}) system->disk(disk).release_hung();
      system->executor().sleep_for(kSecond);
      system->queue().has_abandoned();
      if (problem.empty()) problem = read_all(*store);
    });
    REQUIRE(problem == "");
  }
}

// R7: what was acknowledged is above the watermark still, and one of its bytes cannot be read.
TEST_CASE("redundant changes: a read error at the opening after a crash loses no commit") {
  struct Write {
    std::string disk;
    std::uint64_t offset;
  };
  SimOrigin origin(three_disks(), fill);
  const bool only_copy = GENERATE(false, true);
  const int last = GENERATE(1, 3);  // a small object is the last one; a large one
  int refused = 0;
  bool over = false;
  for (std::size_t at = 0; !over; ++at) {
    CAPTURE(only_copy, last, at);
    const auto system = origin.start(700);
    if (only_copy) system->disk(origin.disks().back()).vanish();
    std::string problem;
    std::vector<Write> writes;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, last);
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.op == io::IoOp::kWrite) writes.push_back({op.disk, op.offset});
        return std::nullopt;
      });
      if (problem.empty()) problem = commit_some(*store, last, 1);
      system->set_hook(nullptr);
      system->power_cut();
    });
    REQUIRE(problem == "");
    over = at + 1 >= writes.size();
    REQUIRE(at < writes.size());
    const Write bad = writes[at];
    system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
      const bool touches =
          op.disk == bad.disk && op.offset <= bad.offset && bad.offset < op.offset + op.length;
      if (op.op != io::IoOp::kRead || !touches) return std::nullopt;
      return io::FaultKind::kReadError;
    });
    system->run([&] {
      const Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (store.ok()) return;
      ++refused;
      if (store.error().code != ErrorCode::kUnavailable) problem = store.error().to_string();
      if (store.error().message.find(bad.disk) == std::string::npos)
        problem = store.error().to_string();
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->run([&] { problem = look(*system, origin.pool(), last + 1); });
    REQUIRE(problem == "");
  }
  const bool in_two_copies = !only_copy && last == 1;  // of the log
  REQUIRE((refused > 0) == !in_two_copies);
}

TEST_CASE("redundant changes: one that fails while it is added is none, and the store goes on") {
  SimOrigin origin(three_disks(), fill);
  bool whole = false;
  int gone = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    const auto system = origin.start(300 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    Cut cut{at, kNew};
    bool is_added = false;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      arm(*system, cut);
      is_added = store->add_device(kNew).ok();
      whole = is_added && !cut.struck;
      if (!is_added) {
        ++gone;
        problem = commit_some(*store, 0, 3);
        if (problem.empty() && state_of_number(*store, kAdded) != "none") problem = "a member";
        if (problem.empty() && store->status().health != Health::kOk) problem = "health";
      }
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    if (is_added) continue;
    system->run([&] {
      // Neither here nor there, whatever it shows.
      problem = look(*system, origin.pool(), 3);
      if (problem.empty()) {
        problem = look(*system, with_new(origin.pool()), 3, [&](Store& store) -> std::string {
          return state_of_number(store, kAdded) == "none" ? "" : "a member";
        });
      }
      PoolDescription alone = origin.pool();
      alone.devices = {kNew};
      if (problem.empty() && Store::open(alone, quiet(), system.get()).ok()) problem = "alone";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(gone > 0);
}

TEST_CASE("redundant changes: one that does not answer while it is added is given up") {
  SimOrigin origin(three_disks(), fill);
  bool struck = true;
  int gone = 0;
  for (std::uint64_t at = 0; struck; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 2000);
    struck = false;
    const auto system = origin.start(1100 + at);
    system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
    std::string problem;
    std::uint64_t seen = 0;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
        if (op.disk != kNew || seen++ < at) return std::nullopt;
        struck = true;
        return io::FaultKind::kHang;
      });
      const Result<DeviceId> added = store->add_device(kNew);
      if (struck && !added.ok()) {
        ++gone;
        if (state_of_number(*store, kAdded) != "none") problem = "a member";
      }
      if (!struck && !added.ok()) problem = added.error().to_string();
      if (!added.ok() && problem.empty()) problem = commit_some(*store, 0, 3);
      system->set_hook(nullptr);
      system->disk(kNew).release_hung();
      system->executor().sleep_for(kSecond);
      system->queue().has_abandoned();
    });
    REQUIRE(problem == "");
  }
  REQUIRE(gone > 0);
}

// P13: until the new one has it, no other has seen a root that needs it.
TEST_CASE("redundant changes: one fails while it is added, then the power, and it is not needed") {
  SimOrigin origin(three_disks(), fill);
  bool struck = true;
  int failed = 0;
  for (std::uint64_t at = 0; struck; at += kThinned) {
    REQUIRE(at < 2000);
    struck = false;
    bool ended = false;  // the call, before the power failed
    for (std::uint64_t later = 0; !ended; later += later < 8 ? 1 : later) {
      CAPTURE(at, later);
      REQUIRE(later < 20000);
      const auto system = origin.start(900 + at);
      system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
      std::string problem;
      std::uint64_t seen = 0;    // requests to the new one
      std::uint64_t behind = 0;  // any, since it has failed
      bool cut = false;
      bool added = false;
      system->run([&] {
        Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
        if (!store.ok()) problem = store.error().to_string();
        if (!problem.empty()) return;
        problem = commit_some(*store, 0, 2);
        system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
          const bool its = op.disk == kNew;
          if (seen > at && ++behind > later) cut = true;
          if (its) ++seen;
          return cut || (its && seen > at) ? std::optional(io::FaultKind::kDeviceError)
                                           : std::nullopt;
        });
        added = store->add_device(kNew).ok();
        ended = !cut;
      });
      REQUIRE(problem == "");
      struck = struck || seen > at;
      system->set_hook(nullptr);
      system->power_cut();
      if (seen <= at || added) {
        ended = true;
        break;
      }
      ++failed;
      system->disk(kNew).vanish();
      system->run([&] { problem = look(*system, origin.pool(), 2); });
      REQUIRE(problem == "");
    }
  }
  REQUIRE(failed > 0);
}

TEST_CASE("redundant changes: the power fails behind each request of removing the log's device") {
  SimOrigin origin(three_disks(), [](Store& store) -> std::string {
    if (std::string problem = fill(store); !problem.empty()) return problem;
    if (const Status drained = store.drain_device(0); !drained.ok()) return message_of(drained);
    return message_of(store.move_slabs().status());
  });
  bool whole = false;
  int removed = 0;
  int left = 0;
  for (std::uint64_t at = 0; !whole; at += kThinned) {
    CAPTURE(at);
    REQUIRE(at < 3000);
    const auto system = origin.start(500 + at);
    std::string problem;
    Cut cut{at, ""};
    bool done = false;
    system->run([&] {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 3);
      // Slabs are kept for a moment.
      system->executor().sleep_for(10 * kSecond);
      const Result<MoveReport> moved = store->move_slabs();
      if (problem.empty() && !moved.ok()) problem = moved.error().to_string();
      arm(*system, cut);
      const Status status = store->remove_device(0);
      done = status.ok();
      whole = done && !cut.struck;
      if (!done && !cut.struck) problem = "remove: " + message_of(status);
      if (whole) {
        system->set_hook(nullptr);
        problem = commit_some(*store, 3, 3);
      }
    });
    REQUIRE(problem == "");
    system->set_hook(nullptr);
    system->power_cut();
    system->run([&] {
      problem = look(*system, origin.pool(), whole ? 6 : 3, [&](Store& store) -> std::string {
        const std::string state = state_of_number(store, 0);
        ++(state == "none" ? removed : left);
        if (done && state != "none") return "it is there, and was removed";
        if (state == "none") {
          return data_devices(store) == 2 ? commit_some(store, 6, 2) : "not two devices";
        }
        return "";
      });
      if (!problem.empty()) return;
      // Alone it is nobody's ground.
      PoolDescription alone = origin.pool();
      alone.devices = {"dev0"};
      alone.fast_directories.clear();
      if (Store::open(alone, quiet(), system.get()).ok()) problem = "it opens alone";
    });
    REQUIRE(problem == "");
  }
  REQUIRE(removed > 0);
  REQUIRE(left > 0);
}

TEST_CASE("redundant changes: the only copy of the log moves when its device is removed") {
  SimOrigin origin(three_disks(), fill);
  const auto system = origin.start(8);
  PoolDescription pool = origin.pool();
  system->disk(origin.disks().back()).vanish();  // whose log would be another copy
  std::string problem;
  int written = 0;
  system->run([&] {
    {
      Result<Store> store = Store::open(pool, quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      if (const Status drained = store->drain_device(0); !drained.ok()) {
        problem = message_of(drained);
      }
      const Result<MoveReport> moved = store->move_slabs();
      if (problem.empty() && !moved.ok()) problem = moved.error().to_string();
      system->executor().sleep_for(10 * kSecond);
      const Result<MoveReport> again = store->move_slabs();
      if (problem.empty() && !again.ok()) problem = again.error().to_string();
      bool over = false;
      const auto committer = system->executor().start("committer", [&] {
        while (!over && problem.empty()) problem = commit_some(*store, written++, 1);
      });
      const Status removed = store->remove_device(0);
      over = true;
      committer->join();
      if (problem.empty() && !removed.ok()) problem = "remove: " + message_of(removed);
    }
    system->disk("dev0").vanish();
    pool.devices = {"dev1", "dev2"};
    if (problem.empty()) problem = look(*system, pool, written);
  });
  REQUIRE(problem == "");
  REQUIRE(written > 2);
}

// HG2: nothing else ends the wait for a data device. P13: where it has the only copy of the log, it
// stays. From each request of the removal on, while others commit or not.
TEST_CASE("redundant changes: removing one that does not answer ends, and loses nothing") {
  const bool only_copy = GENERATE(false, true);
  const bool beside = GENERATE(false, true);
  SimOrigin origin(three_disks(), [](Store& store) -> std::string {
    if (std::string problem = fill(store); !problem.empty()) return problem;
    if (const Status drained = store.drain_device(0); !drained.ok()) return message_of(drained);
    return message_of(store.move_slabs().status());
  });
  bool struck = true;
  int removed = 0;
  int stayed = 0;
  for (std::uint64_t at = 0; struck; at += kThinned) {
    CAPTURE(only_copy, beside, at);
    REQUIRE(at < 2000);
    struck = false;
    const auto system = origin.start(1300 + at);
    if (only_copy) system->disk(origin.disks().back()).vanish();
    std::string problem;
    std::string said;
    std::uint64_t seen = 0;
    int written = 0;
    bool gone = false;
    system->run([&] {
      {
        Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
        if (!store.ok()) problem = store.error().to_string();
        if (!problem.empty()) return;
        system->executor().sleep_for(10 * kSecond);  // slabs are kept for a moment
        const Result<MoveReport> moved = store->move_slabs();
        if (!moved.ok()) problem = moved.error().to_string();
        problem += commit_some(*store, written++, 1);
        system->set_hook([&](const io::SimOp& op) -> std::optional<io::FaultKind> {
          if (op.disk != "dev0" || seen++ < at) return std::nullopt;
          struck = true;
          return io::FaultKind::kHang;
        });
        bool over = false;
        const auto committer = system->executor().start("committer", [&] {
          const int most = beside ? 12 : 0;
          while (written < most && !over && problem.empty()) {
            problem = commit_some(*store, written, 1);
            ++written;
          }
        });
        const auto watch = system->executor().start("watch", [&] {
          for (int i = 0; i < 180 && !over; ++i) system->executor().sleep_for(kSecond);
          if (over) return;
          problem += " it waits for ever";
          system->set_hook(nullptr);
          system->disk("dev0").release_hung();
        });
        const Status status = store->remove_device(0);
        over = true;
        watch->join();
        gone = status.ok();
        said = message_of(status);
        if (gone != (state_of_number(*store, 0) == "none")) problem += " " + said;
        // Who asks again is refused at once, and no thread more waits.
        if (!gone && store->remove_device(0).ok()) problem += " it is removed";
        system->set_hook(nullptr);
        system->disk("dev0").release_hung();
        committer->join();
        system->executor().sleep_for(kSecond);
        system->queue().has_abandoned();
        if (!gone && state_of_number(*store, 0) != "draining") problem += " it is not as before";
        problem += commit_some(*store, written, 2);
        written += 2;
        problem += check_some(*store, written);
        // Now it answers.
        if (!gone && at % 2 == 0) {
          gone = true;
          if (const Status now = store->remove_device(0); !now.ok()) problem += message_of(now);
        }
        if (at % 3 == 0) problem += message_of(store->close());
      }
      PoolDescription pool = origin.pool();
      if (gone) {
        system->disk("dev0").vanish();
        pool.devices = {"dev1", "dev2"};
      }
      problem += look(*system, pool, written);
    });
    CAPTURE(said);
    REQUIRE(problem == "");
    ++(said.empty() ? removed : stayed);
    if (said.empty()) continue;
    REQUIRE_THAT(said, Catch::Contains("dev0") && Catch::Contains("has not answered for"));
  }
  REQUIRE(removed > 0);
  REQUIRE(stayed > 0);
}

TEST_CASE("redundant changes: one that answers is replaced while the store serves") {
  SimOrigin origin(three_disks(), fill);
  const auto system = origin.start(7);
  system->add_disk(kNew, 16_MiB + alloc::kEndsSize);
  std::string problem;
  PoolDescription after = origin.pool();
  after.devices = {"dev1", "dev2", kNew};
  system->run([&] {
    {
      Result<Store> store = Store::open(origin.pool(), quiet(), system.get());
      if (!store.ok()) problem = store.error().to_string();
      if (!problem.empty()) return;
      problem = commit_some(*store, 0, 4);
      const Result<DeviceId> by = store->replace_device({0, kNew, 0, {}});
      if (problem.empty() && !by.ok()) problem = "replace: " + by.error().to_string();
      if (problem.empty()) problem = commit_some(*store, 4, 4);
      if (problem.empty()) problem = check_some(*store, 8);
      if (problem.empty() && store->status().health != Health::kOk) problem = "health";
      if (problem.empty()) problem = message_of(store->close());
    }
    system->disk("dev0").vanish();
    if (problem.empty()) problem = look(*system, after, 8);
  });
  REQUIRE(problem == "");
}

}  // namespace
}  // namespace hexad::testing
