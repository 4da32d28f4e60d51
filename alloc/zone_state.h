// One zone in memory: the states of its units and the marks on them. The rules are those of
// alloc/zone_set.h, which owns the zones and chooses among them; nobody else uses this.
// Not thread-safe. check_invariants() checks Z1 to Z3 and Z5 for this zone, and that its counters
// equal what its units add up to.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "alloc/bitmap.h"
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

// What somebody who reads for long may still look at: stripes that were born at or before `upto`,
// of those that were freed behind `from`.
struct ReadRange {
  Lsn from = 0;
  Lsn upto = 0;

  bool needs(Lsn born, Lsn freed) const { return born <= upto && freed > from; }
  auto operator<=>(const ReadRange&) const = default;
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
  std::optional<Lsn> oldest_deferred() const;

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
  void born_before(std::uint32_t unit, Lsn born);
  void reclaim(Lsn limit, std::span<const ReadRange> readers = {});
  // What is held for none of `readers` any more is held for another of them, or free. Both sorted.
  void review_held(std::span<const ReadRange> readers);
  bool holds_any() const { return !held_.empty(); }
  std::uint64_t held_for(const ReadRange& reader) const;  // units
  // Births at or before `lsn` need not be known any more.
  void forget_births(Lsn lsn);
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
  struct Deferred {
    std::uint32_t units = 0;
    Lsn freed = 0;
    Lsn born = 0;
  };
  struct Birth {
    std::uint32_t units = 0;
    Lsn lsn = 0;
  };

  template <typename Map>
  static auto first_overlap(Map& map, UnitRun run);
  template <typename Map>
  static bool overlaps(const Map& map, UnitRun run);

  UnitRun take_run(UnitRun run);
  std::string name(UnitRun run) const;
  std::uint64_t deferred_in(UnitRun run) const;
  void add_deferred(UnitRun run, Lsn lsn, Lsn born);
  // Of units that are live: the first of them, 0 where any may be old. They have none afterwards.
  Lsn take_births(UnitRun run);
  void set_birth(UnitRun run, Lsn lsn);
  void settle(std::uint32_t unit, std::span<const ReadRange> readers);
  // Deferred -> live, for any part of `run` that is deferred.
  void drop_deferred(UnitRun run);
  void forget_missing(UnitRun run);
  void forget_packs(UnitRun run);

  ZoneId id_;
  std::vector<ZoneSlot> slots_;
  UnitBitmap taken_;                                  // all but free, Z2
  std::map<std::uint32_t, std::uint32_t> in_flight_;  // first unit -> units
  std::map<std::uint32_t, Deferred> deferred_;        // by first unit
  // Deferred runs, each in one of two: {freed, first unit} of those that no reclaim() has looked
  // at, and those that it holds for a reader, by first unit.
  std::set<std::pair<Lsn, std::uint32_t>> by_lsn_;
  std::map<ReadRange, std::set<std::uint32_t>> held_;
  std::map<std::uint32_t, Birth> births_;             // of live runs, by first unit: Z6
  std::set<std::pair<Lsn, std::uint32_t>> by_birth_;  // {LSN, first unit}
  std::vector<UnitSet> missing_;                      // per slot
  struct Pack {
    std::uint32_t units = 0;
    std::uint32_t footer = 0;
    std::uint64_t live = 0;
    Lsn born = 0;
  };
  std::map<std::uint32_t, Pack> packs_;  // by first unit
  std::uint64_t in_flight_units_ = 0;
  std::uint64_t deferred_units_ = 0;
  Lsn image_lsn_ = 0;
  Lsn last_lsn_ = 0;          // highest published
  std::uint32_t cursor_ = 1;  // where the last allocation ended
  bool open_ = true;
  bool dirty_ = true;
};

}  // namespace hexad::alloc
