// A store in a simulation whose requests can be held back, or lost, until the moment in question
// has come; for the rules of the commit path (doc/testing.md#mutations).
#pragma once

#include <catch2/catch.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "alloc/zone_image.h"
#include "core/hexad.h"
#include "core/record/keys.h"
#include "io/sim/sim_system.h"
#include "kv/lmdb/lmdb_index.h"
#include "tests/core/noise.h"
#include "tests/core/sim_pool.h"

namespace hexad::testing {

using io::FaultKind;
using io::SimOp;
using io::SimSystem;

// Cells of the objects here are at least so long, log blocks of theirs shorter.
inline constexpr std::size_t kLarge = 64 << 10;
inline constexpr std::uint64_t kCell = kLarge / 4;

inline bool is_cell(const SimOp& op) { return op.op == io::IoOp::kWrite && op.length >= kCell; }
inline bool is_small(const SimOp& op) { return op.op == io::IoOp::kWrite && op.length < kCell; }
// Once a store is formatted, nothing else is written there.
inline bool is_root(const SimOp& op) {
  return op.op == io::IoOp::kWrite && alloc::is_in_header(op.offset, op.disk_size);
}

struct WorldOptions {
  std::uint64_t device_size = 8_MiB;
  // Without volatile caches, what has completed is durable and what is held back is not.
  bool volatile_caches = false;
  // Requests take no time, so that what happens at once depends on the fibers' turns alone.
  bool immediate = false;
  // So many data disks, the first ones, have one volatile cache.
  std::size_t one_cache = 0;
  std::uint64_t seed = 1;
};

// A store 4+2 on six simulated disks "dev0" to "dev5" and a log on a seventh; the other copies of
// the log are on the first three.
class World : public SimPool {
 public:
  explicit World(const WorldOptions& options = {}) : SimPool(pool_options(options)) {
    // With a zone, so that no commit has to make one.
    REQUIRE(with_store([&](Store& store) -> std::string {
              Transaction t;
              t.put(kDefaultCollection, "first", noise(kLarge, 0));
              uuid_ = store.status().uuid;
              const Status committed = store.commit(std::move(t)).status();
              return committed.ok() ? store.close().ok() ? "" : "close"
                                    : committed.error().to_string();
            }) == "");
  }

  // From now on, requests for which `which` says so are held back, until release() or a power cut.
  void hold(std::function<bool(const SimOp&)> which) {
    system().set_hook([which = std::move(which)](const SimOp& op) -> std::optional<FaultKind> {
      if (which(op)) return FaultKind::kHang;
      return std::nullopt;
    });
  }
  void hook(io::SimHook hook) { system().set_hook(std::move(hook)); }
  void release() {
    system().set_hook(nullptr);
    for (const std::string& name : disks()) system().disk(name).release_hung();
  }
  void power_cut() {
    system().power_cut();
    release();
  }
  void sleep() { SimPool::sleep(100'000'000); }
  // Units that some device misses, as the zone images in the index have it. The store is closed.
  std::uint64_t missing_units() {
    std::uint64_t units = 0;
    std::string problem;
    system().run([&] {
      kv::LmdbOptions options;
      options.dir = (fast_directory() / "index").string();
      options.uuid = uuid_;
      options.mode = io::OpenMode::kReadOnly;
      const Status status = [&]() -> Status {
        HEXAD_TRY_ASSIGN(const auto index, kv::open_lmdb_index(options, system().executor()));
        HEXAD_TRY_ASSIGN(const auto reader, index->snapshot());
        HEXAD_TRY_ASSIGN(const auto cursor, reader->cursor());
        HEXAD_TRY(cursor->seek(core::zone_key(0)));
        while (cursor->valid()) {
          HEXAD_TRY_ASSIGN(const alloc::ZoneImage image,
                           alloc::decode_zone_image(as_bytes(cursor->value())));
          for (const alloc::MissingRun& missing : image.missing) units += missing.run.units;
          HEXAD_TRY(cursor->next());
        }
        return {};
      }();
      if (!status.ok()) problem = status.error().to_string();
    });
    REQUIRE(problem == "");
    return units;
  }

 private:
  static SimPoolOptions pool_options(const WorldOptions& options) {
    SimPoolOptions pool;
    pool.device_size = options.device_size;
    pool.sim.seed = options.seed;
    pool.sim.latency.immediate = options.immediate;
    pool.sim.disk.volatile_cache = options.volatile_caches;
    pool.one_cache = options.one_cache;
    return pool;
  }

  Uuid uuid_;
};

inline Transaction put_of(const std::string& name, std::string_view value) {
  Transaction t;
  t.put(kDefaultCollection, name, value);
  return t;
}

// Remembers the outcome of one submitted transaction.
struct Answer {
  bool given = false;
  std::optional<ErrorCode> code;  // nothing: it went well
  Lsn lsn = 0;

  CommitCallback callback() {
    return [this](const Result<Lsn>& result) {
      given = true;
      if (result.ok()) lsn = *result;
      if (!result.ok()) code = result.error().code;
    };
  }
};

inline std::string text(Store& store, const std::string& name) {
  const Result<Bytes> found = store.get(kDefaultCollection, name);
  return found.ok() ? std::string(as_text(*found)) : found.error().to_string();
}

inline int failed_devices(Store& store) {
  int failed = 0;
  for (const DeviceStatus& device : store.status().devices) failed += device.state == "failed";
  return failed;
}

inline std::string findings(Store& store) {
  const Result<FsckReport> report = store.fsck({true, false});
  if (!report.ok()) return report.error().to_string();
  return report->findings.empty() ? "" : report->findings[0].subject + report->findings[0].problem;
}

}  // namespace hexad::testing
