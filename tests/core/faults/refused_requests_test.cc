// Requests that fail while their devices are as good as ever: no memory, no descriptor, no space
// below a file. Whatever becomes of the call, no device is lost, and nothing that was acknowledged
// is (R18). In simulated time: the waits cost none.
#include <catch2/catch.hpp>
#include <cerrno>
#include <map>
#include <memory>

#include "tests/base/thinned.h"
#include "tests/core/noise.h"
#include "tests/core/sim_origin.h"

namespace hexad::testing {
namespace {

using io::Fault;
using io::FaultKind;
using io::IoOp;
using io::SimOp;
using io::SimSystem;

constexpr io::Nanos kSecond = 1'000'000'000;

std::string value_of(int i) { return noise(i % 3 == 0 ? 100 : 5000 * i, i); }

// Objects 0 to 9: the first half behind a checkpoint, the others in the log alone.
std::string fill(Store& store) {
  for (int i = 0; i < 10; ++i) {
    Transaction t;
    t.put(kDefaultCollection, std::to_string(i), value_of(i));
    const Result<Lsn> done = store.commit(std::move(t));
    if (!done.ok()) return done.error().to_string();
    if (i == 4 && !store.checkpoint().ok()) return "no checkpoint";
  }
  return "";
}

std::string lost_devices(Store& store) {
  std::string lost;
  for (const DeviceStatus& device : store.status().devices) {
    if (device.state != "ok") lost += device.path + ": " + device.state + "; ";
  }
  return lost;
}

// Nothing, or what is wrong: a device, an object, or what fsck finds.
std::string check(Store& store, int objects = 10) {
  if (const std::string lost = lost_devices(store); !lost.empty()) return lost;
  for (int i = 0; i < objects; ++i) {
    const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
    if (!found.ok()) return std::to_string(i) + ": " + found.error().to_string();
    if (as_text(*found) != std::string_view(value_of(i)))
      return std::to_string(i) + ": other bytes";
  }
  const Result<FsckReport> report = store.fsck({true, false});
  if (!report.ok()) return report.error().to_string();
  return report->findings.empty() ? "" : report->findings[0].problem;
}

// A pool that was not closed: recovery has something to prove and to write.
struct Crashed {
  Crashed() : seeded(origin.start(1)) {
    REQUIRE(with_store(*seeded, origin.pool(), fill) == "");
    for (const std::string& name : origin.disks()) {
      content[name] = seeded->disk(name).snapshot();
    }
  }
  std::unique_ptr<SimSystem> start(std::uint64_t seed) {
    origin.start(seed).reset();  // puts the index back
    auto system = std::make_unique<SimSystem>(io::SimOptions{.seed = seed});
    for (const auto& [name, image] : content) system->add_disk(name, image, {});
    return system;
  }
  SimOrigin origin;
  std::unique_ptr<SimSystem> seeded;
  std::map<std::string, std::shared_ptr<const io::CowImage>> content;
};

// Refuses so many reads and writes from the nth on.
void refuse_from(SimSystem& system, std::uint64_t n, std::uint64_t count) {
  system.set_hook([n, count, seen = std::uint64_t{0}](const SimOp& op) mutable {
    std::optional<FaultKind> fault;
    if (op.op != IoOp::kRead && op.op != IoOp::kWrite) return fault;
    const std::uint64_t number = seen++;
    if (number >= n && number - n < count) fault = FaultKind::kRefused;
    return fault;
  });
}

TEST_CASE("refused: any requests of an opening cost the call and no more") {
  Crashed crashed;
  // One alone; so many that no copy of the log can be read, but what comes after can; all.
  const std::uint64_t count = GENERATE(std::uint64_t{1}, std::uint64_t{30}, Fault::kForever);
  const Access access = GENERATE(Access::kReadWrite, Access::kReadOnly);
  RuntimeOptions options;
  options.access = access;
  std::uint64_t requests = 0;
  {
    const auto system = crashed.start(1);
    REQUIRE(with_store(
                *system, crashed.origin.pool(), [](Store&) {}, options) == "");
    requests = system->requests();
  }
  REQUIRE(requests > 40);
  std::uint64_t failed = 0;
  for (std::uint64_t n = 0; n < requests; n += kThinned) {
    CAPTURE(n, count, static_cast<int>(access));
    const auto system = crashed.start(n);
    refuse_from(*system, n, count);
    std::optional<Error> error;
    std::string lost;
    system->run([&] {
      Result<Store> store = Store::open(crashed.origin.pool(), options, system.get());
      if (!store.ok()) {
        error = store.error();
      } else {
        lost = lost_devices(*store);
      }
    });
    // Who reads goes on without a device that could not be read, and leaves nothing behind.
    if (access == Access::kReadWrite) REQUIRE(lost == "");
    if (error.has_value()) {
      ++failed;
      // For reading, what could not be read may also leave too few devices.
      if (access == Access::kReadWrite) {
        REQUIRE(error->code == ErrorCode::kExhausted);
        REQUIRE_THAT(error->message, Catch::Contains("Cannot allocate memory"));
      }
    }
    system->set_hook(nullptr);
    REQUIRE(with_store(*system, crashed.origin.pool(), [](Store& store) { return check(store); }) ==
            "");
  }
  // A thinned sweep may miss one more of them than its share.
  REQUIRE(failed > (kThinned == 1 ? 20 : 20 / kThinned - 1));
}

TEST_CASE("refused: any request of commits and checkpoints, once, costs no device") {
  SimOrigin origin;
  // So many requests until all is done, and one that is refused among them.
  const auto run = [&](std::uint64_t seed, std::optional<std::uint64_t> n,
                       std::uint64_t& requests) {
    const std::unique_ptr<SimSystem> system = origin.start(seed);
    std::string said = with_store(*system, origin.pool(), [&](Store& store) -> std::string {
      const std::uint64_t before = system->requests();
      if (n.has_value()) refuse_from(*system, *n, 1);
      for (int i = 0; i < 10; ++i) {
        for (int attempt = 0;; ++attempt) {
          Transaction t;
          t.put(kDefaultCollection, std::to_string(i), value_of(i));
          const Result<Lsn> done = store.commit(std::move(t));
          if (done.ok()) break;
          // A read that a commit needed, or room that it had to make.
          if (done.error().code != ErrorCode::kExhausted || attempt > 0) {
            return "commit: " + done.error().to_string();
          }
        }
        if (i % 3 == 2) store.checkpoint().ignore();
      }
      requests = system->requests() - before;
      system->set_hook(nullptr);
      return check(store);
    });
    if (!said.empty()) return said;
    system->set_hook(nullptr);
    return with_store(*system, origin.pool(), [](Store& store) { return check(store); });
  };
  std::uint64_t requests = 0;
  REQUIRE(run(1, std::nullopt, requests) == "");
  REQUIRE(requests > 150);
  for (std::uint64_t n = 0; n < requests; n += kThinned) {
    CAPTURE(n);
    std::uint64_t ignored = 0;
    REQUIRE(run(n, n, ignored) == "");
  }
}

// What a commit is told, and what status() says, when a device refuses every write for so long.
struct Waited {
  Result<Lsn> commit = Error{};
  io::Nanos took = 0;
  StoreStatus meanwhile;
  StoreStatus afterwards;
};

Waited wait_out(SimSystem& system, const PoolDescription& pool, int number, io::Nanos length) {
  Waited waited;
  REQUIRE(with_store(system, pool, [&](Store& store) {
            system.disk(pool.devices[1])
                .inject({.kind = FaultKind::kRefused,
                         .times = Fault::kForever,
                         .amount = static_cast<std::uint64_t>(number)});
            const auto helper = system.executor().start("helper", [&] {
              system.executor().sleep_for(length / 2);
              waited.meanwhile = store.status();
              system.executor().sleep_for(length - length / 2);
              system.disk(pool.devices[1]).clear_faults();
            });
            const io::Nanos began = system.clock().now();
            Transaction t;
            t.put(kDefaultCollection, "0", value_of(7));
            waited.commit = store.commit(std::move(t));
            waited.took = system.clock().now() - began;
            helper->join();
            waited.afterwards = store.status();
          }) == "");
  return waited;
}

TEST_CASE("refused: a commit waits until its writes are taken, and says so") {
  const int number = GENERATE(ENOSPC, EDQUOT, EFBIG, ENOMEM, EAGAIN, EACCES);
  CAPTURE(number);
  SimOrigin origin({}, fill);
  const auto system = origin.start(1);
  const Waited waited = wait_out(*system, origin.pool(), number, 5 * kSecond);
  REQUIRE(waited.commit.ok());
  REQUIRE(waited.took >= 5 * kSecond);
  REQUIRE(waited.took < 8 * kSecond);
  REQUIRE(waited.meanwhile.warnings.size() == 1);
  REQUIRE_THAT(waited.meanwhile.warnings[0],
               Catch::Contains("commits have been waiting for 2 s") && Catch::Contains("dev1"));
  REQUIRE(waited.afterwards.warnings.empty());
  REQUIRE(waited.afterwards.health == Health::kOk);
  REQUIRE_FALSE(waited.afterwards.read_only);
}

TEST_CASE("refused: a wait without end leaves the outcome open, and every device in the pool") {
  SimOrigin origin({}, fill);
  const auto system = origin.start(1);
  const Waited waited = wait_out(*system, origin.pool(), ENOSPC, 100 * kSecond);
  REQUIRE_FALSE(waited.commit.ok());
  REQUIRE(waited.commit.error().code == ErrorCode::kUnknown);
  REQUIRE_THAT(waited.commit.error().message, Catch::Contains("dev1") &&
                                                  Catch::Contains("No space left on device") &&
                                                  Catch::Contains("no device is lost"));
  REQUIRE(waited.took >= 30 * kSecond);
  REQUIRE(waited.took < 40 * kSecond);
  REQUIRE(waited.afterwards.read_only);
  REQUIRE(waited.afterwards.health == Health::kOk);
  // Room has been made: everything is as it was, but for the commit, which may be there.
  REQUIRE(with_store(*system, origin.pool(), [](Store& store) -> std::string {
            Transaction t;
            t.put(kDefaultCollection, "0", value_of(0));
            const Result<Lsn> done = store.commit(std::move(t));
            return done.ok() ? check(store) : done.error().to_string();
          }) == "");
}

// A log device is lost, and while its place is taken by another one, and the fence is written, a
// third device refuses that: the wait is that of a commit (R18).
TEST_CASE("refused: a change of membership waits until its writes are taken") {
  const bool fence = GENERATE(false, true);
  const io::Nanos length = GENERATE(8 * kSecond, 100 * kSecond);
  CAPTURE(fence, length);
  SimOrigin origin({}, fill);
  const auto system = origin.start(1);
  bool dead = false;
  bool copied = false;  // of the log's blocks, some have gone to the new copy
  std::optional<io::Nanos> since;
  Result<Lsn> committed = Error{};
  StoreStatus afterwards;
  REQUIRE(with_store(*system, origin.pool(), [&](Store& store) {
            system->set_hook([&](const SimOp& op) -> std::optional<FaultKind> {
              if (op.op != IoOp::kWrite) return std::nullopt;
              if (op.disk == "dev2") {
                dead = true;
                return FaultKind::kWriteErrorBefore;
              }
              copied = copied || (dead && op.cause == io::IoCause::kHeal);
              const bool of_change =
                  fence ? copied && op.cause == io::IoCause::kLog : op.cause == io::IoCause::kHeal;
              if (!dead || op.disk != "dev1" || !of_change) return std::nullopt;
              if (!since.has_value()) since = system->clock().now();
              if (system->clock().now() >= *since + length) return std::nullopt;
              return FaultKind::kRefused;
            });
            Transaction t;
            t.put(kDefaultCollection, "0", value_of(7));
            committed = store.commit(std::move(t));
            afterwards = store.status();
            system->set_hook(nullptr);
          }) == "");
  REQUIRE(since.has_value());
  const io::Nanos took = system->clock().now() - *since;
  if (length < 30 * kSecond) {
    REQUIRE(committed.ok());
    REQUIRE(took >= length);
    REQUIRE_FALSE(afterwards.read_only);
    REQUIRE(afterwards.warnings.empty());
    REQUIRE(afterwards.health == Health::kDegraded);
  } else {
    REQUIRE_FALSE(committed.ok());
    REQUIRE(committed.error().code == ErrorCode::kUnknown);
    REQUIRE_THAT(committed.error().message,
                 Catch::Contains("dev1") && Catch::Contains(", for 30 s"));
    REQUIRE(took >= 30 * kSecond);
    REQUIRE(took < 60 * kSecond);
    REQUIRE(afterwards.read_only);
  }
  for (const DeviceStatus& device : afterwards.devices) {
    CAPTURE(device.path);
    REQUIRE((device.state == "ok") == (device.path != "dev2"));
  }
  // Nothing that was acknowledged is lost, with the third device or without it.
  REQUIRE(with_store(*system, origin.pool(), [](Store& store) -> std::string {
            Transaction t;
            t.put(kDefaultCollection, "0", value_of(0));
            const Result<Lsn> done = store.commit(std::move(t));
            if (!done.ok()) return done.error().to_string();
            for (int i = 0; i < 10; ++i) {
              const Result<Bytes> found = store.get(kDefaultCollection, std::to_string(i));
              if (!found.ok()) return found.error().to_string();
              if (as_text(*found) != std::string_view(value_of(i))) return "other bytes";
            }
            const Result<FsckReport> report = store.fsck({true, false});
            if (!report.ok()) return report.error().to_string();
            return report->findings.empty() ? "" : report->findings[0].problem;
          }) == "");
}

TEST_CASE("refused: a stream that finds no space below its devices fails, and nothing else does") {
  SimPoolOptions options;
  options.device_size = 16_MiB;
  SimOrigin origin(options, fill);
  const auto system = origin.start(1);
  REQUIRE(with_store(*system, origin.pool(), [&](Store& store) -> std::string {
            Result<std::unique_ptr<ObjectWriter>> writer =
                store.open_writer(kDefaultCollection, "large");
            if (!writer.ok()) return writer.error().to_string();
            system->disk("dev2").inject({.kind = FaultKind::kWriteNoSpace, .times = 1});
            const std::string piece = noise(1_MiB, 3);
            Status status;
            for (int i = 0; i < 8 && status.ok(); ++i) status = (*writer)->append(as_bytes(piece));
            if (status.ok()) status = (*writer)->commit().status();
            if (status.ok()) return "it was stored";
            if (status.error().code != ErrorCode::kNoSpace) return status.error().to_string();
            writer->reset();
            return check(store);
          }) == "");
}

}  // namespace
}  // namespace hexad::testing
