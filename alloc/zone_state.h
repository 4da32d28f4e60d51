// One zone in memory: the states of its units and the marks on them. The rules are those of
// alloc/zone_set.h, which owns the zones and chooses among them; nobody else uses this.
// Not thread-safe. check_invariants() checks Z1 to Z3 and Z5 for this zone, and that its counters
// equal what its units add up to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloc/bitmap.h"
#include "alloc/deferred_runs.h"
#include "alloc/stripe_births.h"
#include "alloc/unit_set.h"
#include "alloc/zone.h"
#include "alloc/zone_image.h"
#include "base/error.h"
#include "base/ids.h"

namespace hexad::alloc {

// Units per slab, header units not counted: times the unit and k is user bytes. total is the sum of
// the five that follow it.
struct SpaceCounters {
  std::uint64_t total = 0;
  std::uint64_t free = 0;         // allocatable now, the reserve included
  std::uint64_t closed_free = 0;  // free in zones closed for allocation
  std::uint64_t in_flight = 0;
  std::uint64_t live = 0;
  std::uint64_t deferred = 0;
  std::uint64_t missing = 0;  // counted per slot, a part of live and deferred

  bool operator==(const SpaceCounters&) const = default;
  SpaceCounters& operator+=(const SpaceCounters& other);
  SpaceCounters& operator-=(const SpaceCounters& other);
};

class ZoneState {
 public:
  // Empty. Preconditions: as ZoneSet::add_zone() checks them.
  ZoneState(ZoneId id, std::vector<ZoneSlot> slots, std::uint32_t units);
  // Errors: kCorruption (the image breaks Z1 or Z3).
  static Result<ZoneState> from_image(const ZoneImage& image);

  ZoneId id() const { return id_; }
  std::uint32_t units() const { return taken_.size(); }
  const std::vector<ZoneSlot>& slots() const { return slots_; }
  void replace_slot(std::uint32_t slot, ZoneSlot with);
  Lsn image_lsn() const { return image_lsn_; }
  bool is_open() const { return open_; }
  void open() { open_ = true; }
  void close() { open_ = false; }
  bool is_empty() const { return taken_.used_count() == 1; }
  bool is_dirty() const { return dirty_; }
  void clear_dirty() { dirty_ = false; }
  SpaceCounters counters() const;
  // Longest run to allocate from; 0 when closed.
  std::uint32_t longest() const { return open_ ? taken_.largest_free_run() : 0; }
  std::uint32_t free_run_count() const { return taken_.free_run_count(); }
  // To allocate from; none when closed.
  std::vector<UnitRun> free_runs() const {
    return open_ ? taken_.free_runs() : std::vector<UnitRun>{};
  }
  // The lowest LSN among the deferred runs; nothing when there are none.
  std::optional<Lsn> oldest_deferred() const { return deferred_.oldest(); }

  bool has(UnitRun run) const;  // inside, not empty, without the header unit
  bool is_live(UnitRun run) const;
  bool may_die(UnitRun run) const;

  // The shortest free run of at least `units`; nothing when there is none. O(units / 64 + runs).
  std::optional<UnitRun> shortest_free(std::uint32_t units) const;
  UnitRun take(std::uint32_t units);           // precondition: units <= longest()
  UnitRun take_shortest(std::uint32_t units);  // likewise; the start of shortest_free()
  void discard(UnitRun run);
  void publish_alloc(UnitRun run, Lsn lsn);
  Status publish_free(UnitRun run, Lsn lsn);
  // The stripe that begins at `unit`, published just now, holds what was there at `born` already.
  void born_before(std::uint32_t unit, Lsn born) { births_.born_before(unit, born); }
  void reclaim(Lsn limit, std::span<const ReadRange> readers = {});
  // What is held for none of `readers` any more is held for another of them, or free. Both sorted.
  void review_held(std::span<const ReadRange> readers);
  bool holds_any() const { return deferred_.holds_any(); }
  std::uint64_t held_for(const ReadRange& reader) const {  // units
    return deferred_.held_for(reader);
  }
  // Births at or before `lsn` need not be known any more.
  void forget_births(Lsn lsn) { births_.forget(lsn); }
  bool has_births() const { return !births_.empty(); }

  // Precondition of the next three: has(run).
  Status replay_alloc(UnitRun run, Lsn lsn);
  Status replay_free(UnitRun run, Lsn lsn);
  Status mark_used(UnitRun run);

  // Precondition of the next four: slot < slots().size().
  Status mark_missing(UnitRun run, std::uint32_t slot);
  void clear_missing(UnitRun run, std::uint32_t slot);
  bool is_missing(UnitRun run, std::uint32_t slot) const;
  std::vector<UnitRun> missing_runs(std::uint32_t slot) const;
  void publish_pack(UnitRun run, Lsn lsn, std::uint64_t live, std::uint32_t footer = 0);
  Status replay_pack(UnitRun run, Lsn lsn, std::uint64_t live, std::uint32_t footer = 0);
  Status drop_live(std::uint32_t unit, std::uint64_t bytes, Lsn lsn);
  Status replay_drop_live(std::uint32_t unit, std::uint64_t bytes, Lsn lsn);
  std::optional<PackStripe> pack_at(std::uint32_t unit) const;
  std::vector<PackStripe> packs() const;

  Result<ZoneImage> image(Lsn lsn, std::span<const Extent> replaced) const;
  std::vector<UnitRun> live_runs() const;
  std::vector<UnitRun> used_runs() const;
  std::uint32_t used_units() const { return taken_.used_count() - 1; }
  std::vector<UnitRun> in_flight_runs() const;
  Status check_invariants() const;

 private:
  UnitRun take_run(UnitRun run);
  std::string name(UnitRun run) const;
  // What was deferred, and nobody may look at any more.
  void free(UnitRun run);
  void forget_missing(UnitRun run);
  void forget_packs(UnitRun run);

  ZoneId id_;
  std::vector<ZoneSlot> slots_;
  UnitBitmap taken_;                                  // all but free, Z2
  std::map<std::uint32_t, std::uint32_t> in_flight_;  // first unit -> units
  DeferredRuns deferred_;
  StripeBirths births_;
  std::vector<UnitSet> missing_;  // per slot
  struct Pack {
    std::uint32_t units = 0;
    std::uint32_t footer = 0;
    std::uint64_t live = 0;
    Lsn born = 0;
  };
  std::map<std::uint32_t, Pack> packs_;  // by first unit
  std::uint64_t in_flight_units_ = 0;
  Lsn image_lsn_ = 0;
  Lsn last_lsn_ = 0;          // highest published
  std::uint32_t cursor_ = 1;  // where the last allocation ended
  bool open_ = true;
  bool dirty_ = true;
};

}  // namespace hexad::alloc
