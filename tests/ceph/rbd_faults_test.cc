// Faults below a store whose devices are images of a cluster: it meets them as it does on files,
// on which each case runs, too.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "core/store.h"
#include "tests/ceph/ceph_images.h"
#include "tests/ceph/faulty_images.h"
#include "tests/core/noise.h"
#include "tests/core/store_fixture.h"
#include "tests/io/temporary.h"

namespace hexad::testing {
namespace {

enum class Below { kImages, kFiles };
constexpr Below kBoth[] = {Below::kImages, Below::kFiles};
enum class Parity { kTwo, kNone };

// 4+2 on six devices beside a fast directory, or 4+0 on four alone.
class Pool {
 public:
  Pool(Below below, Parity parity) {
    FormatOptions format;
    format.device_size = 64_MiB;
    format.log_size = 2_MiB;
    if (parity == Parity::kNone) {
      format.profile = {4, 0, ec::CodecKind::kIsaVandermonde, 0};
      format.redundant_devices = below == Below::kFiles;  // images say so themselves
    } else {
      format.fast_directories = {directory_.path("fast")};
    }
    for (std::uint32_t i = 0; i < format.profile.shards(); ++i) {
      const std::string name = "faults-" + std::to_string(i);
      format.devices.push_back(below == Below::kImages ? images_.address(name)
                                                       : directory_.path(name));
    }
    Result<PoolDescription> made = Store::format(format, &faulty_);
    if (!made.ok()) FAIL(made.error().to_string());
    pool_ = *std::move(made);
  }

  Store open(Access access = Access::kReadWrite, std::uint64_t patience = 60) {
    RuntimeOptions options;
    options.access = access;
    options.cache_size = 0;
    options.device_patience = patience;
    options.catch_up = CatchUp::kWhenAsked;
    options.returns = Returns::kWhenAsked;
    options.flush_sharing = FlushSharing::kNever;  // who shares a cache with others is waited for
    Result<Store> store = Store::open(pool_, options, &faulty_);
    if (!store.ok()) FAIL(store.error().to_string());
    return std::move(store).value();
  }
  const std::string& path(std::size_t device) const { return pool_.devices[device]; }
  ImageFaults& fault(std::size_t device) { return faulty_.at(path(device)); }

 private:
  io::testing::TemporaryDirectory directory_;
  io::testing::CephImages images_;
  const std::unique_ptr<io::System> real_ = io::make_real_system().value();
  FaultyImages faulty_{*real_};
  PoolDescription pool_;
};

// What was acknowledged.
class Ledger {
 public:
  // Packed ones, and some with stripes of their own. The first error.
  std::optional<Error> try_put(Store& store, int count) {
    for (int i = 0; i < count; ++i) {
      const std::uint64_t seed = ++seed_;
      const std::string name = std::to_string(seed % 24);
      const std::string value = noise(seed % 4 == 0 ? 300'000 : 300 + seed * 37 % 9'000, seed);
      const Result<Lsn> done = put(store, name, value);
      if (!done.ok()) {
        // Of a commit whose end is not known either may be there.
        if (done.error().code == ErrorCode::kUnknown) unknown_[name] = value;
        return done.error();
      }
      unknown_.erase(name);
      values_[name] = value;
    }
    return std::nullopt;
  }
  void put_all(Store& store, int count) {
    const std::optional<Error> error = try_put(store, count);
    REQUIRE((error.has_value() ? error->to_string() : "") == "");
  }
  void require_all(Store& store) const {
    for (const auto& [name, value] : values_) {
      CAPTURE(name);
      const std::string found = get(store, name);
      const auto other = unknown_.find(name);
      REQUIRE((found == value || (other != unknown_.end() && found == other->second)));
    }
  }

 private:
  std::uint64_t seed_ = 0;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::string> unknown_;
};

// Nothing is written to it any more until it is taken in again.
void make_leave(Pool& pool, Store& store, Ledger& ledger, std::size_t device, Meets meets) {
  pool.fault(device).set_writes(meets);
  for (int i = 0; i < 100 && state_of(store, pool.path(device)) != "failed"; ++i) {
    ledger.put_all(store, 1);
  }
  REQUIRE(state_of(store, pool.path(device)) == "failed");
}

std::string warnings_of(Store& store) {
  std::string all;
  for (const std::string& warning : store.status().warnings) all += warning + "\n";
  return all;
}

TEST_CASE("rbd_faults: an image that tears writes, and one that loses their answers") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kTwo);
    Ledger ledger;
    {
      Store store = pool.open();
      ledger.put_all(store, 20);
      make_leave(pool, store, ledger, 1, Meets::kTear);
      make_leave(pool, store, ledger, 4, Meets::kLostAnswer);
      ledger.put_all(store, 20);
      const StoreStatus status = store.status();
      REQUIRE(status.health == Health::kDegraded);
      REQUIRE(status.faults_tolerated == 0);
      ledger.require_all(store);
      REQUIRE(deep_findings(store) == "");
      REQUIRE(message_of(store.close()) == "");
    }
    // They work again; an opening for writing takes them in.
    for (const std::size_t device : {1, 4}) pool.fault(device).speak();
    {
      Store store = pool.open(Access::kReadOnly);
      for (const std::size_t device : {1, 4}) REQUIRE(state_of(store, pool.path(device)) == "away");
      ledger.require_all(store);
    }
    Store store = pool.open();
    REQUIRE(message_of(store.catch_up().status()) == "");
    for (const std::size_t device : {1, 4}) REQUIRE(state_of(store, pool.path(device)) == "ok");
    ledger.require_all(store);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("rbd_faults: a third image that fails stops commits, and not reads") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kTwo);
    Ledger ledger;
    {
      Store store = pool.open();
      ledger.put_all(store, 20);
      for (const std::size_t device : {0, 3}) {
        make_leave(pool, store, ledger, device, Meets::kFailure);
      }
      pool.fault(5).set_writes(Meets::kLostAnswer);
      const std::optional<Error> failed = ledger.try_put(store, 100);
      REQUIRE(failed.has_value());
      // In flight, or refused because the background had met it before: nothing has happened then.
      REQUIRE((failed->code == ErrorCode::kUnknown || failed->code == ErrorCode::kReadOnly));
      REQUIRE(store.status().read_only);
      REQUIRE(store.status().health == Health::kUnavailable);
      REQUIRE(code_of(put(store, "new", "value")) == ErrorCode::kReadOnly);
      ledger.require_all(store);
      store.close().ignore();
    }
    for (const std::size_t device : {0, 3, 5}) pool.fault(device).speak();
    Store store = pool.open();
    REQUIRE(message_of(store.catch_up().status()) == "");
    ledger.require_all(store);
    ledger.put_all(store, 20);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("rbd_faults: reads that fail, and other bytes, are made good from the other images") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kTwo);
    Ledger ledger;
    Store store = pool.open();
    ledger.put_all(store, 24);
    REQUIRE(message_of(store.checkpoint()) == "");
    pool.fault(0).set_reads(Meets::kFailure);
    pool.fault(2).set_reads(Meets::kOtherBytes);
    ledger.require_all(store);
    for (const std::size_t device : {0, 2}) REQUIRE(pool.fault(device).met() > 0);
    REQUIRE(counter(store, "cells_reconstructed") > 0);
    for (const std::size_t device : {0, 2}) pool.fault(device).speak();
    ledger.require_all(store);
    REQUIRE(store.status().damaged_blobs == 0);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(message_of(store.close()) == "");
  }
}

TEST_CASE("rbd_faults: cells that were said to be written and are not are found, and written") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kTwo);
    Ledger ledger;
    Store store = pool.open();
    pool.fault(2).set_writes(Meets::kLostCells);
    pool.fault(5).set_writes(Meets::kHalfCells);
    ledger.put_all(store, 24);
    for (const std::size_t device : {2, 5}) {
      REQUIRE(pool.fault(device).met() > 0);
      pool.fault(device).speak();
      REQUIRE(state_of(store, pool.path(device)) == "ok");
    }
    ledger.require_all(store);
    const Result<ScrubReport> scrub = store.scrub({});
    REQUIRE(message_of(scrub.status()) == "");
    for (const Finding& finding : scrub->findings) REQUIRE(finding.repaired);
    REQUIRE(counter(store, "cells_healed") > 0);
    REQUIRE(deep_findings(store) == "");
    ledger.require_all(store);
    REQUIRE(message_of(store.close()) == "");
  }
}

TEST_CASE("rbd_faults: images that do not answer are gone round, and left behind") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kTwo);
    Ledger ledger;
    {
      Store store = pool.open(Access::kReadWrite, 3);
      ledger.put_all(store, 20);
      for (const std::size_t device : {1, 5}) {
        pool.fault(device).set_writes(Meets::kSilence);
        pool.fault(device).set_reads(Meets::kSilence);
      }
      ledger.put_all(store, 20);
      ledger.require_all(store);
      for (const std::size_t device : {1, 5}) {
        REQUIRE(pool.fault(device).kept() > 0);
        REQUIRE(state_of(store, pool.path(device)) == "failed");
      }
      // What is done late is done to what nobody reads.
      for (const std::size_t device : {1, 5}) pool.fault(device).speak();
      ledger.put_all(store, 20);
      ledger.require_all(store);
      REQUIRE(message_of(store.close()) == "");
    }
    Store store = pool.open();
    REQUIRE(message_of(store.catch_up().status()) == "");
    for (const std::size_t device : {1, 5}) REQUIRE(state_of(store, pool.path(device)) == "ok");
    ledger.require_all(store);
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("rbd_faults: without parity a write that fails ends commits, and all is there") {
  for (const Below below : kBoth) {
    for (const Meets meets : {Meets::kTear, Meets::kLostAnswer}) {
      CAPTURE(static_cast<int>(below), static_cast<int>(meets));
      Pool pool(below, Parity::kNone);
      Ledger ledger;
      {
        Store store = pool.open();
        ledger.put_all(store, 20);
        pool.fault(0).set_writes(meets);
        const std::optional<Error> failed = ledger.try_put(store, 100);
        REQUIRE(failed.has_value());
        // As above.
        REQUIRE((failed->code == ErrorCode::kUnknown || failed->code == ErrorCode::kReadOnly));
        REQUIRE(code_of(put(store, "new", "value")) == ErrorCode::kReadOnly);
        REQUIRE(store.status().read_only);
        REQUIRE_THAT(store.status().read_only_reason, Catch::Contains("the pool has no parity"));
        ledger.require_all(store);
        pool.fault(0).speak();
      }
      Store store = pool.open();
      REQUIRE(store.status().health == Health::kOk);
      ledger.require_all(store);
      ledger.put_all(store, 20);
      REQUIRE(deep_findings(store) == "");
    }
  }
}

TEST_CASE("rbd_faults: without parity other bytes are asked for again") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kNone);
    Ledger ledger;
    Store store = pool.open();
    ledger.put_all(store, 24);
    REQUIRE(message_of(store.checkpoint()) == "");
    for (std::size_t device = 0; device < 4; ++device) {
      pool.fault(device).set_reads(Meets::kOtherBytes, 1);
    }
    ledger.require_all(store);
    REQUIRE(counter(store, "cells_asked_again") > 0);
    REQUIRE(store.status().damaged_blobs == 0);
    REQUIRE(deep_findings(store) == "");
  }
}

// Who waits for a commit, and how it ended.
class Ending {
 public:
  void set(const Result<Lsn>& result) {
    const std::lock_guard<std::mutex> lock(mutex_);
    status_ = result.status();
    changed_.notify_all();
  }
  bool is_there() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return status_.has_value();
  }
  Status wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return status_.has_value(); });
    return *status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Status> status_;  // guarded by it
};

TEST_CASE("rbd_faults: without parity an image that does not answer is waited for, and named") {
  for (const Below below : kBoth) {
    CAPTURE(static_cast<int>(below));
    Pool pool(below, Parity::kNone);
    Ledger ledger;
    Store store = pool.open();
    ledger.put_all(store, 20);
    // Of a large one each image has a cell.
    pool.fault(3).set_writes(Meets::kSilence);
    const std::string value = noise(400'000, 1);
    Ending ending;
    Transaction t;
    t.put(kDefaultCollection, "waits", value);
    store.submit(std::move(t), [&](const Result<Lsn>& result) { ending.set(result); });
    const std::string said = "(" + pool.path(3) + ") has not answered for ";
    while (warnings_of(store).find(said) == std::string::npos) std::this_thread::yield();
    REQUIRE_FALSE(ending.is_there());
    REQUIRE(pool.fault(3).kept() > 0);
    pool.fault(3).speak();
    REQUIRE(message_of(ending.wait()) == "");
    REQUIRE((get(store, "waits") == value));
    REQUIRE(warnings_of(store) == "");
    ledger.put_all(store, 20);
    ledger.require_all(store);
    REQUIRE(deep_findings(store) == "");
    REQUIRE(message_of(store.close()) == "");
  }
}

}  // namespace
}  // namespace hexad::testing
