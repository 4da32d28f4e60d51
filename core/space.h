// Space as the engine sees it: the allocator under a lock, zones made when they are needed, and
// the way from an extent to places on devices.
//
// Lock: `mutex_` is a leaf; no I/O and no other lock is taken under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "alloc/zone_plan.h"
#include "alloc/zone_set.h"
#include "base/error.h"
#include "core/counters.h"
#include "core/log_record.h"
#include "core/members.h"
#include "core/shape.h"
#include "core/stripe_map.h"
#include "io/executor.h"

namespace hexad::core {

class Space : public StripeMap {
 public:
  // All outlive it. `may_heal`: writes to devices are allowed (open for writing, after recovery).
  Space(io::Executor& executor, const StoreShape& shape, Members& members, Counters& counters);

  // --- opening ---
  Status load_zone(const alloc::ZoneImage& image);
  // Zones, allocations and frees of one record; nothing that the zone's image already has.
  // Errors: kCorruption.
  Status replay(Lsn lsn, const LogRecord& record);
  // The zones of a record alone, before it is known whether the record counts; and back again.
  Status replay_zones(const LogRecord& record);
  Status drop_zones(const LogRecord& record);
  // What the record allocated was never written to `device`, which had left by then.
  Status replay_missing(const LogRecord& record, DeviceId device);
  void allow_healing() { may_heal_.store(true, std::memory_order_release); }

  // --- allocation ---
  // Errors: kNoSpace.
  Result<alloc::Extent> allocate(std::uint32_t units);
  void abandon(const alloc::Extent& extent);
  // What the record with `lsn` did is durable. Cells on devices that are not usable are noted as
  // missing. In LSN order. Frees that the allocator refuses are our bug, not the device's.
  void publish(Lsn lsn, const LogRecord& record);
  std::uint64_t reclaim(Lsn limit);
  bool has_deferred();

  // Chooses slabs for one more zone and writes their headers durably on the devices that are
  // there; the zone exists once a record that says so is published, and can be allocated from
  // after add_zone(). Errors: kNoSpace (no slabs left). I/O; one caller at a time.
  Result<ZoneCreation> prepare_zone();
  Status add_zone(const ZoneCreation& creation);
  // Whether prepare_zone() could succeed. Any thread.
  bool slabs_left();

  // --- checkpoints ---
  // Images, as of `lsn`, of the zones that changed since the images that were last written;
  // precondition: exactly the LSNs up to it have been published.
  Result<std::vector<alloc::ZoneImage>> dirty_images(Lsn lsn);
  // The images last handed out are durable.
  void images_written();

  // --- looking ---
  alloc::SpaceCounters counters();
  // Units in slabs that no zone has yet, times their cells: capacity to come.
  std::uint64_t zones_to_come();
  std::uint64_t used_bytes(DeviceId device);
  std::vector<alloc::ZoneId> zone_ids();
  std::vector<alloc::UnitRun> live_runs(alloc::ZoneId zone);
  bool is_live(const alloc::Extent& extent);
  std::uint32_t largest_free_run();
  Status check_invariants();

  // --- StripeMap ---
  Result<std::vector<CellPlace>> locate(const alloc::Extent& where) const override;
  void heal(const CellPlace& place, ByteView cell) override;

 private:
  std::vector<alloc::DeviceSpace> free_slabs() const;

  const StoreShape& shape_;
  Members& members_;
  Counters& stats_;
  std::atomic<bool> may_heal_{false};
  mutable io::Mutex mutex_;
  alloc::ZoneSet zones_;
  std::vector<std::vector<bool>> slab_taken_;  // by member index
  std::set<alloc::ZoneId> unsaved_;            // handed out by dirty_images(), not yet written
  alloc::ZoneId next_zone_ = 1;
};

}  // namespace hexad::core
