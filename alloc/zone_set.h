// The allocator: all zones of one profile, in memory. Extents move through these states:
//
//               allocate()              publish_alloc(lsn)           publish_free(lsn)
//      free  -------------->  in flight  ------------->  live  ------------->  deferred  --+
//       ^                        |  discard()                                              |
//       +------------------------+-------------------- reclaim(watermark) ----------------+
//
// In flight exists in memory only: a crash returns it. Deferred units are free for counting and
// taken for allocating: somebody may still read them, or a crash may bring their owner back (R9).
// A zone image holds live and deferred, never in flight.
//
// Choice of place: allocations go to one zone, each behind the last, for a stretch of units; then
// to the next zone in order of creation. So neighbours in time are neighbours on the devices,
// and all zones share the work. O(log zones + log units).
//
// Invariants, checked by check_invariants()
//   Z1  a unit is exactly one of free, in flight, live, deferred; unit 0 is header and none of them
//   Z2  taken bits of a zone = header + in flight + live + deferred
//   Z3  missing units lie in live or deferred units, pack stripes in live ones, each in its own
//   Z4  the counters equal what the zones add up to
//   Z5  every deferred run carries the LSN that freed it, and is either in the order index too or
//       held for one reader that needs it
//   Z6  births are known of live runs: of all that were published behind the last forget_births()
//
// Not thread-safe: the caller locks.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "alloc/max_tree.h"
#include "alloc/zone.h"
#include "alloc/zone_image.h"
#include "alloc/zone_state.h"
#include "base/error.h"
#include "base/ids.h"

namespace hexad::alloc {

// kUser leaves the reserve alone. kInternal (checkpoint, cleaner) may use it: so deletes, which
// need a checkpoint to take effect, always work.
enum class Purpose : std::uint8_t { kUser, kInternal };
// kNext: behind the last allocation. kShortest: in the zone whose longest free run is the shortest
// one that is long enough, from the start of the shortest such run there; so the longest run of all
// stays whole if any other will do. O(zones + units of one / 64), for when space is short.
enum class Fit : std::uint8_t { kNext, kShortest };

class ZoneSet {
 public:
  // `slots`: n = k+m of the profile. `reserve_units`: what only kInternal may use.
  explicit ZoneSet(std::uint32_t slots, std::uint64_t reserve_units = 0);
  ~ZoneSet();
  ZoneSet(const ZoneSet&) = delete;
  ZoneSet& operator=(const ZoneSet&) = delete;

  // --- zones ---

  // A new, empty zone of `units` per slab, the header unit included.
  // Errors: kAlreadyExists, kInvalidArgument (slots, units out of range).
  Status add_zone(ZoneId zone, std::vector<ZoneSlot> slots, std::uint32_t units);
  // A zone as its image has it. Errors: as add_zone(), kCorruption (the image breaks Z1 or Z3).
  Status load_zone(const ZoneImage& image);
  // Forgets an empty zone, so that its slabs can be used again. Errors: kNotFound, kNotEmpty.
  Status remove_zone(ZoneId zone);
  // No allocation from it (its device is to be emptied, too many members have left), or again.
  // Errors: kNotFound.
  Status close_zone(ZoneId zone);
  Status open_zone(ZoneId zone);
  // Puts another slab in a slot: its device was replaced. Errors: kNotFound, kInvalidArgument.
  Status replace_slot(ZoneId zone, std::uint32_t slot, ZoneSlot with);

  std::size_t zone_count() const;
  std::vector<ZoneId> zone_ids() const;  // ascending
  // nullptr when there is no such zone. Valid until the zone is removed or a slot replaced.
  const std::vector<ZoneSlot>* slots(ZoneId zone) const;
  // Units per slab of a zone, 0 when there is none.
  std::uint32_t zone_units(ZoneId zone) const;
  // The LSN of the image a zone was loaded from; 0 for a new one.
  Lsn image_lsn(ZoneId zone) const;

  // --- life of an extent ---

  // A run of `units` contiguous units. Errors: kNoSpace (no run that long, or only in the reserve;
  // the message has the numbers), kInvalidArgument (0 units).
  Result<Extent> allocate(std::uint32_t units, Purpose purpose = Purpose::kUser,
                          Fit fit = Fit::kNext);
  // In flight -> free. Precondition of this and the next: `extent` is in flight, as allocate()
  // returned it; anything else is our own bug.
  void discard(const Extent& extent);
  // In flight -> live, by the transaction `lsn`.
  void publish_alloc(const Extent& extent, Lsn lsn);
  // Live -> deferred, by `lsn`; any part of what was allocated. Live counts inside go away, missing
  // units stay until reclaimed. Errors, without effect: kCorruption (some unit is not live: freed
  // twice or never allocated; or there are no such units).
  Status publish_free(const Extent& extent, Lsn lsn);
  // Deferred -> free for all that was freed at LSN <= limit. `limit` is the caller's minimum of the
  // recorded watermark, what snapshots pin and what readers need (R9). Returns units. Cost: O(log)
  // per run reclaimed.
  std::uint64_t reclaim(Lsn limit) { return reclaim(limit, {}, 0); }
  // The same, but what one of `readers` (sorted) needs, by when it was born and freed, is held
  // until a later call does without that reader. Nobody will ever come who reads a state from
  // before `oldest`, those readers included. Births: the LSN of publish_alloc(), or an earlier one
  // that born_before() tells; 0 for what was there when the store was opened.
  std::uint64_t reclaim(Lsn limit, std::span<const ReadRange> readers, Lsn oldest);
  // Precondition: `extent` was published as a whole, and none of it freed since.
  void born_before(const Extent& extent, Lsn born);
  // Units that are held for a reader.
  std::uint64_t held_for(const ReadRange& reader) const;

  // --- replay: before anything is allocated ---

  // Effects of one log record; ignored (ok) when lsn <= image_lsn(zone). Allocating deferred units
  // reclaims them: the writer had done so. Errors: kCorruption (allocates what is live, frees what
  // is not, a zone or units that do not exist).
  Status replay_alloc(const Extent& extent, Lsn lsn);
  Status replay_free(const Extent& extent, Lsn lsn);
  // For what root and manifest name (runs, manifest, images: never in the log): live afterwards,
  // whatever it was; cells that an earlier owner of the units missed are not missed any more.
  // Idempotent. Errors: kCorruption (outside, or in a pack stripe).
  Status mark_used(const Extent& extent);

  // --- cells that are not there (R13) ---

  // Every unit is live or deferred, else kInvalidArgument; idempotent. Marks go away when the units
  // are reclaimed, or with clear_missing() once the cells have been rebuilt.
  Status mark_missing(const Extent& extent, std::uint32_t slot);
  Status clear_missing(const Extent& extent, std::uint32_t slot);
  // True when any unit of the extent is missing on the slot.
  bool is_missing(const Extent& extent, std::uint32_t slot) const;
  std::vector<UnitRun> missing_runs(ZoneId zone, std::uint32_t slot) const;

  // --- live bytes of pack stripes ---

  // In flight -> live, by `lsn`: a stripe that holds `live` bytes (not 0) of several owners.
  // `footer`: as in PackStripe.
  void publish_pack(const Extent& extent, Lsn lsn, std::uint64_t live, std::uint32_t footer = 0);
  // `bytes` of the pack stripe that begins at `unit` die. With the last of them the stripe is freed
  // as by publish_free(). Errors, without effect: kCorruption (no such stripe, or not so many
  // bytes).
  Status drop_live(ZoneId zone, std::uint32_t unit, std::uint64_t bytes, Lsn lsn);
  // The same for replay: ignored (ok) when lsn <= image_lsn(zone). Errors: kCorruption.
  Status replay_pack(const Extent& extent, Lsn lsn, std::uint64_t live, std::uint32_t footer = 0);
  Status replay_drop_live(ZoneId zone, std::uint32_t unit, std::uint64_t bytes, Lsn lsn);
  std::optional<PackStripe> pack_at(ZoneId zone, std::uint32_t unit) const;
  std::vector<PackStripe> packs(ZoneId zone) const;

  // --- persistence ---

  // The zone as of `lsn`. Precondition: exactly the LSNs <= lsn have been published. `replaced`:
  // extents that the checkpoint being made gives up (the runs, manifest and images it replaces); in
  // the image they are deferred at `lsn`, here they stay live until the caller, the root being
  // committed, frees them with publish_free(extent, lsn). Those of other zones are skipped.
  // Errors: kNotFound, kCorruption (a replaced unit is not live; or the zone holds effects of a
  // later LSN, as an image from a damaged device may).
  Result<ZoneImage> image(ZoneId zone, Lsn lsn, std::span<const Extent> replaced = {}) const;
  // Zones changed by publishing, reclaiming or marking since their last image() with
  // clear_dirty(): the others need no new image.
  std::vector<ZoneId> dirty_zones() const;
  void clear_dirty(ZoneId zone);

  // --- looking ---

  const SpaceCounters& counters() const { return counters_; }
  std::uint64_t reserve_units() const { return reserve_; }
  void set_reserve(std::uint64_t units) { reserve_ = units; }
  // Longest run that allocate(kInternal) would give.
  std::uint32_t largest_free_run() const { return longest_.max(); }
  // 0: the free space of every zone is one run; 1: no two free units touch. Free runs beyond one
  // per zone, divided by free units beyond one per zone. O(units / 64).
  double fragmentation() const;
  // The lengths of all free runs of open zones, in no order. O(units / 64 + runs).
  std::vector<std::uint32_t> free_run_lengths() const;
  // The same of one zone; of one that is not there none.
  std::vector<std::uint32_t> free_run_lengths(ZoneId zone) const;
  bool is_live(const Extent& extent) const;
  // Every unit is live, or in flight: publish_free() takes it once what is in flight is published,
  // if nobody else frees it first.
  bool may_die(const Extent& extent) const;
  // Every live run of a zone, in order: for fsck and for emptying a device. O(units / 64 + runs).
  std::vector<UnitRun> live_runs(ZoneId zone) const;
  // Every run of units that are not free, but for the header, in order. The same cost.
  std::vector<UnitRun> used_runs(ZoneId zone) const;
  std::uint32_t used_units(ZoneId zone) const;  // how many these are; O(log zones)
  // Every extent of a zone that is in flight, in order.
  std::vector<UnitRun> in_flight_runs(ZoneId zone) const;

  // Z1 to Z5. Errors: kCorruption naming the invariant. O(everything).
  Status check_invariants() const;

 private:
  struct Zone;

  Zone* find(ZoneId zone);
  const Zone* find(ZoneId zone) const;
  // The zone of units that have to exist: kCorruption otherwise, for what came from a device.
  Result<Zone*> find_for(const Extent& extent);
  // The same for arguments: kInvalidArgument.
  Result<Zone*> find_slot(const Extent& extent, std::uint32_t slot);
  // One that is named by its number: kNotFound when there is none.
  Result<Zone*> find_named(ZoneId zone);
  // The zone in which bytes die: kCorruption when there is none.
  Result<Zone*> find_dying(ZoneId zone);
  // Has `change` done to the state of the zone that was found; on success sums and indexes follow.
  template <typename Change>
  Status update(Result<Zone*> found, const Change& change);
  Status check_new(ZoneId zone, const std::vector<ZoneSlot>& slots, std::uint32_t units) const;
  void insert(ZoneState state);
  void refresh(Zone& zone);
  Error no_space(std::uint32_t units, std::uint64_t reserved) const;
  std::optional<std::size_t> next_fit(std::uint32_t units);
  std::optional<std::size_t> shortest_fit(std::uint32_t units) const;

  std::uint32_t slots_;
  std::uint64_t reserve_;
  SpaceCounters counters_;
  std::map<ZoneId, std::size_t> by_id_;       // index into zones_
  std::vector<std::unique_ptr<Zone>> zones_;  // in order of creation; null where removed
  MaxTree longest_;                           // per zone, 0 where closed or removed
  // Zones with deferred runs, by the lowest LSN among them: {LSN, index}.
  std::set<std::pair<Lsn, std::size_t>> oldest_deferred_;
  std::set<std::size_t> holding_;      // zones that hold something for readers
  std::set<std::size_t> with_births_;  // ... that know births
  std::size_t cursor_ = 0;             // zone that allocate() is filling
  std::uint64_t stretch_left_;         // units before it moves on
};

}  // namespace hexad::alloc
