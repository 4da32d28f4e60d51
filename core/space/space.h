// Space as the engine sees it: the allocator under a lock, zones made when they are needed, and
// the way from an extent to places on devices.
//
// Its state, each part with the rules that it keeps:
//   core/space/allotment.h     what was promised, and what each may take (V1, V2)
//   core/space/kept_back.h     what failed and late writes may still reach (V3, V4)
//   core/space/zone_slabs.h    which slabs are taken, and zones that are being made of them
//   core/space/moving_slabs.h  slabs that move, and those that have moved (SL)
//   core/space/unwritten.h     what is in flight and lacks cells on a device (BK6, RP)
//   core/space/saved_images.h  what a crash finds of zones (SL8)
//   core/space/pack_dates.h    how old pack stripes are
//
// Lock: no I/O is done under `mutex_`, and no lock taken but that of the unplaced blobs.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "alloc/slab_moves.h"
#include "alloc/unit_set.h"
#include "alloc/zone_set.h"
#include "base/aligned_buffer.h"
#include "base/error.h"
#include "core/record/log_record.h"
#include "core/record/shape.h"
#include "core/space/allotment.h"
#include "core/space/kept_back.h"
#include "core/space/log_blobs.h"
#include "core/space/members.h"
#include "core/space/moving_slabs.h"
#include "core/space/pack_dates.h"
#include "core/space/promised_units.h"
#include "core/space/saved_images.h"
#include "core/space/stripe_map.h"
#include "core/space/unwritten.h"
#include "core/space/zone_slabs.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

class Space : public StripeMap {
 public:
  // All outlive it. `may_heal`: writes to devices are allowed (open for writing, after recovery).
  Space(io::Executor& executor, const StoreShape& shape, Members& members, Counters& counters,
        LogBlobs& log_blobs);

  // --- opening ---
  // Takes the place of a zone that is only known. Errors: kCorruption (slabs that do not exist, of
  // another length, or another zone's; a known zone with other slabs).
  Status load_zone(const alloc::ZoneImage& image);
  // A zone that the manifest names, before any image can be read: empty for now, and there whatever
  // becomes of the record that made it. Idempotent. Errors: as load_zone().
  Status register_zone(alloc::ZoneId zone, const std::vector<alloc::ZoneSlot>& slots,
                       std::uint32_t units);
  // Of every zone; does not change. Any thread.
  std::uint32_t slab_units() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return slabs_.units(); }
  // What root and manifest name (runs, the manifest): live from now on. After the images are loaded
  // and all records replayed, since those may free the units for an owner before. Cells on devices
  // that are not usable count as missing, as publish_internal() had it. Once for each, whatever the
  // images say of it. Errors: kCorruption (no such units, or somebody else's).
  Status mark_used(const alloc::Extent& extent);
  // Zones, allocations and frees of one record; nothing that the zone's image already has.
  // Errors: kCorruption.
  Status replay(Lsn lsn, const LogRecord& record);
  // The zones of a record alone, before it is known whether the record counts; and back again.
  // Errors: as load_zone().
  Status replay_zones(const LogRecord& record);
  Status drop_zones(const LogRecord& record);
  // Slots of the extent's zone whose devices are not usable now: StripeProof::unwritten of what is
  // written together with its record. None where that are more than m: then the store is about to
  // stop, and nothing of it counts. Precondition: the zone is there.
  std::uint64_t unusable_slots(const alloc::Extent& extent);
  // What the record allocated was never written to `device`, which had left by then.
  Status replay_missing(const LogRecord& record, DeviceId device);
  void allow_healing() { may_heal_.store(true, std::memory_order_release); }

  // --- allocation ---
  // Leaves what is reserved, and the reserve, alone. Errors: kNoSpace.
  Result<alloc::Extent> allocate(std::uint32_t units);
  // The free runs that allocate() would take, by V1 and V2: of the longest one that may be what is
  // left of it. Units; in no order. O(units / 64 + runs).
  // `longest`: of the pieces that want them, units. What no zone holds in a row has to be cut
  // however much is free, so that of the zones to come counts, too.
  std::vector<std::uint32_t> spare_runs(std::uint32_t longest);
  // Promises `units`, in a row, to an unplaced blob, so that sealing its group, and packing what
  // rides in the log, find space. False: too little is free for that; then the blob needs an extent
  // of its own now. Each promise ends with one of the next four.
  bool try_reserve(std::uint32_t units);
  void release(const PromisedUnits& promised);
  // What one blob was promised. Errors, and then it still is: kNoSpace (no run that long).
  Result<alloc::Extent> allocate_reserved(std::uint32_t units);
  // `units` in a row for several blobs, instead of what was promised to each. Errors, and then it
  // still is: kNoSpace (no run that long, or others would not get theirs any more).
  Result<alloc::Extent> allocate_shared(std::uint32_t units, const PromisedUnits& promised);
  // A promise whether it can be kept or not: at opening, for a payload that is in the log already;
  // and before units are discarded that are to be promised again.
  void reserve(const PromisedUnits& promised);
  std::uint64_t reserved();  // units
  // How often the functions here and below had no units to give, or none in a row: whoever failed
  // for want of space looks here whether it was space of this kind that was wanting. Any thread, no
  // lock.
  std::uint64_t refusals() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return allotment_.refusals(); }

  // --- what the store keeps for itself: runs and manifests ---
  // Units that only the next functions and allocate_reserved() may take, how many of them are to be
  // one run, and how many are for moves: core/space/reserve.h. None to begin with. Any thread.
  void set_reserve(std::uint64_t units, std::uint32_t longest_run = 0,
                   std::uint32_t move_units = 0);
  std::uint64_t reserve_units();
  std::uint32_t reserve_run();
  // All of the reserve but what is for moves is there, or about to be free again. While it is not,
  // nothing may be taken in that makes the metadata longer and takes no space of its own:
  // core/space/reserve.h, 5.
  bool reserve_whole();
  // May use the reserve, but nothing that is reserved for unplaced blobs; a file leaves the longest
  // run to the manifest. In flight until published or discarded. Errors: kNoSpace.
  enum class Internal : std::uint8_t { kFile, kManifest };
  Result<alloc::Extent> allocate_internal(std::uint32_t units, Internal use = Internal::kFile);
  // For what is moved so that something else comes back: may use what the reserve has for moves,
  // and leaves the rest of it alone. Published by a record, or discard(). Errors: kNoSpace.
  Result<alloc::Extent> allocate_move(std::uint32_t units);
  // The free runs that it would give now, about: the longest first, and of the last ones no more
  // than it would give in all. O(units / 64 + runs).
  std::vector<std::uint32_t> move_runs();
  // In flight -> live, by the checkpoint at `lsn`, whose root is about to name them: in no log
  // record. Cells on devices that are not usable are noted as missing.
  void publish_internal(std::span<const alloc::Extent> extents, Lsn lsn);
  // Live -> deferred: a root is committed, as of `lsn`, that does not name them. Errors, without
  // effect: kCorruption (not live).
  Status free_internal(std::span<const alloc::Extent> extents, Lsn lsn);
  // In flight -> free: of allocate_internal().
  void discard_internal(const alloc::Extent& extent);
  // The same for all other allocations.
  void discard(const alloc::Extent& extent);
  // These devices did not take a write, and nobody knows whether it still comes: told by whoever
  // waited for it, before anything is given up. Until they have left the membership nothing that is
  // discarded or released is used again, since such a write could come over what is written there
  // next (V3). Idempotent.
  void suspect(const std::set<DeviceId>& failed);
  // What they did not take will not come any more: they have left, nothing is under way to them,
  // and they are about to be used again.
  void forget_suspects(const std::set<DeviceId>& gone);
  // Those that are still in use. A change of membership takes them out, whatever it is for.
  std::set<DeviceId> suspects();
  // The membership has changed: what was kept back is free, unless others are suspect by now.
  void free_kept_back();
  // Before the record gets its LSN: whether all that it gives up is in use, and nothing twice, so
  // that publish() will be able to. Errors: kCorruption (the metadata that it was planned from
  // contradicts itself: two objects show one stripe, say).
  Status check_releases(const LogRecord& record);
  // What the record with `lsn` did is durable. Cells on devices that are not usable are noted as
  // missing. In LSN order. Frees that the allocator refuses are our bug, not the device's:
  // check_releases() has let them pass.
  void publish(Lsn lsn, const LogRecord& record);
  std::uint64_t reclaim(Lsn limit) { return reclaim(limit, {}, 0); }
  // As ZoneSet::reclaim().
  std::uint64_t reclaim(Lsn limit, std::span<const alloc::ReadRange> readers, Lsn oldest);
  // Of deferred units, those that wait for readers of old versions alone, as of the last reclaim().
  std::uint64_t held_units();
  // The same by reader, as of one moment.
  struct HeldSpace {
    std::uint64_t units = 0;
    // What several need counts for one of them.
    std::map<alloc::ReadRange, std::uint64_t> by_reader;
    std::uint64_t others = 0;  // units that are deferred, and held for none of these
  };
  HeldSpace held_space();
  bool has_deferred();

  // Chooses slabs for one more zone, which are its own from then on, sees to it that there is room
  // for them below the devices, so that no cell in them lacks it later, and writes their headers
  // durably on the devices that are there; with Zeroing::kAhead the rest of the slabs is written
  // with zeros first, where that makes later writes cheaper. Then either release_zone() gives the
  // slabs back, or a record names the zone: add_zone() when that has its LSN, so that images as of
  // later LSNs hold the zone, and open_zone() when it has its place in the log (A10). `failed` gets
  // the devices that did not take a write, whatever the outcome; they are suspect() then. I/O, and
  // waits for some seconds where a header is refused for want of something that passes
  // (io/refused.h). Errors: kNoSpace (no slabs left, or no room below a device), kUnavailable or
  // that of a device (fewer than k headers).
  enum class Zeroing : std::uint8_t { kNone, kAhead };
  Result<ZoneCreation> prepare_zone(Zeroing zeroing, std::set<DeviceId>* failed = nullptr);
  void release_zone(const ZoneCreation& creation);
  // Less than half a zone is free in the zones there are, the reserve not counted, and another can
  // be made. Cheap.
  bool wants_zone();
  // Nothing is allocated in the zone yet. Errors: those of alloc::ZoneSet::add_zone().
  Status add_zone(const ZoneCreation& creation);
  // From here on. Precondition: add_zone().
  void open_zone(alloc::ZoneId zone);
  // Whether prepare_zone() could succeed. Any thread.
  bool slabs_left();
  // Slabs of a data device, and how many of them belong to a zone, or are kept for one.
  struct Slabs {
    std::uint32_t total = 0;
    std::uint32_t used = 0;
  };
  Slabs slabs(DeviceId device) const;
  // Slots of zones that are on it.
  std::uint32_t slots_on(DeviceId device) const;
  // Members have been added: from now on zones are made on them.
  void learn_devices();
  // How many slabs the device must have at least for what is on it, or is being made or kept there.
  std::uint32_t slabs_needed(DeviceId device) const;
  // It has so many from now on. Errors: kNoSpace (fewer than slabs_needed()).
  Status set_slabs(DeviceId device, std::uint32_t count);

  // --- devices that come back (doc/invariants.md#coming-back) ---
  // Units that live extents, but for those in `replaced`, lack on the device, and those that may
  // turn out to lack when they are published: expect_unwritten(). O(zones / what is noted as
  // missing there).
  std::uint64_t lacking_units(DeviceId device, std::span<const alloc::Extent> replaced = {});
  // Devices have been taken in: what is in flight now may have been written without them, and they
  // count as lacking it until it is published, and marked or there, or discarded (BK6).
  void expect_unwritten();
  // An opening has a new device in the place of one that is lost: it has nothing that lives. After
  // replay.
  void lack_everything(DeviceId device);
  // These units of it, which live.
  void lack(DeviceId device, const alloc::Extent& extent);
  // How many cells a zone has lost at most (BK4), with `also`: on data devices that count as lost,
  // or, where that is more, slabs of one zone that are lost with them, or lack cells on a device
  // that is filling. Any thread. O(devices) while none is filling, O(zones) then.
  std::uint32_t lost_cells(const std::set<DeviceId>& also = {}) const;
  // The second, of these devices (SL8): as a crash would leave it, so by the last images as well as
  // those that are being written, and by what is noted now; or by the newest images alone.
  enum class LackingBy : std::uint8_t { kWhateverIsFound, kNewestImages };
  std::uint32_t lost_in_zone(const std::set<DeviceId>& lost,
                             LackingBy by = LackingBy::kWhateverIsFound) const;
  // Another device is about to be used under the number, in a store that serves, and has nothing.
  // Until a root names it what is published counts as missing there, written or not (RP3): the
  // former device may have the number back. What is in flight was written before, and lacks there
  // what that one has (RP4). Precondition: the device is not usable.
  void begin_in_place(DeviceId device);
  bool is_in_place(DeviceId device) const;
  // It is over: a root names the new device; or none will, and the former has the number back,
  // which lacks what was written to the new one.
  void finish_in_place(DeviceId device);
  void abandon_in_place(DeviceId device);
  // RP4, for the record that is about to get its LSN: which slots lack what it publishes.
  void note_in_place(LogRecord& record) const;
  // Whether some cell of the stripe is noted as missing on a device that is in use. Any thread.
  bool lacks_cells(const alloc::Extent& stripe);
  // Writes the headers of the zones' slabs on the device that are not there, durably. I/O. Errors:
  // those of the device.
  Status complete_headers(DeviceId device);
  // Writes a cell that is noted as missing, durably, and then takes the note away (BK5). `stripe`:
  // all its units, which do not change hands meanwhile: the caller pins them. Waits for the device
  // no longer than io::kSilence. Errors: those of the device, kUnavailable (it does not answer).
  Status fill_missing(const alloc::Extent& stripe, const CellPlace& place, ByteView cell);
  // What fill_missing() has written to a device since the opening. Any thread.
  using Filled = Unwritten::Filled;
  Filled filled(DeviceId device) const;

  // --- slabs that move to another device (doc/invariants.md#slabs-that-move) ---
  // What is to be moved, and what of it may be begun side by side now, at most so many. O(slabs +
  // moves x zones).
  alloc::SlabPlan plan_moves(std::size_t most);
  // Closes the zone: nothing more is allocated there until the move has ended. The new slab is
  // taken. Where the old one's device is lost nothing can be copied: then what the zone has there
  // is noted as missing on the new one, which is filling (SL7). Errors: kUnavailable (not as
  // planned any more, or a device lacks cells), kNoSpace (what is free without the zone is needed).
  Status begin_move(const alloc::SlabMove& move);
  // What is to be copied of a zone that moves; nothing: something there is in flight still.
  std::optional<std::vector<alloc::UnitRun>> settled_runs(alloc::ZoneId zone);
  // Its old slab is lost. Precondition: it has begun to move.
  bool moves_from_lost(alloc::ZoneId zone);
  // Room below the new slab. I/O. Errors: those of the device, kUnavailable (it has left).
  Status reserve_moved(const alloc::SlabMove& move);
  // Writes into the new slab, durably, at an offset in bytes; waits for the device no longer than
  // io::kSilence. The same errors.
  Status write_moved(const alloc::SlabMove& move, std::uint64_t offset, AlignedBuffer bytes);
  Status write_moved_header(const alloc::SlabMove& move);
  // From here on the zone has the new slab. Not while a checkpoint is made. Errors: kUnavailable
  // (something there has not been copied, or is written to; a device has left): nothing is done.
  Status finish_move(const alloc::SlabMove& move, const alloc::UnitSet& copied);
  // Of a move that has not been finished: it has not been. The new slab is free, or kept back (V3).
  void cancel_move(const alloc::SlabMove& move);
  // The same of one that has been finished, unless a root says so. Not while a checkpoint is made,
  // and only where no root has been sent since that nobody knows the fate of.
  // Its new slab may be looked at and repaired by those who have a state of `newest` or before.
  // True: it was undone.
  bool undo_move(const alloc::SlabMove& move, Lsn newest);
  // Zones are closed that would be room for users, were they open.
  bool room_is_closed();
  // So many slabs can be given away, and there is still one for each zone slot of a new zone.
  bool may_spare_zone(std::uint64_t slabs);
  // Slabs that zones have left and that may not be used again yet.
  bool has_retired();
  // Of these, some that time alone is lacking for, io::kSilence at most.
  bool slabs_in_a_moment();
  std::uint32_t moving_zones();

  // --- checkpoints ---
  // Images, as of `lsn`, of the zones that changed since the images that were last written, and of
  // those where something lies that the checkpoint replaces: in the images `replaced` is deferred
  // at `lsn`, here it is live until free_internal(). Precondition: exactly the LSNs up to it have
  // been published. Errors: kCorruption (a replaced unit is not live).
  Result<std::vector<alloc::ZoneImage>> dirty_images(Lsn lsn,
                                                     std::span<const alloc::Extent> replaced = {});
  // The images last handed out are durable.
  void images_written();

  // --- looking ---
  // How much room there is: all of one moment.
  struct Room {
    alloc::SpaceCounters units;
    std::uint64_t zones_to_come = 0;  // as zones_to_come()
    std::uint64_t reserved = 0;       // units, as reserved()
    std::uint64_t reserve = 0;        // units, as reserve_units()
    std::uint64_t internal = 0;       // units of runs and manifests, those being written included
    std::uint64_t held = 0;           // as held_units(): a part of units.deferred
  };
  Room room();
  alloc::SpaceCounters counters();
  // Zones that the slabs left make, those under way included: capacity to come.
  std::uint64_t zones_to_come();
  // Somebody is between prepare_zone() and open_zone().
  bool zone_under_way();
  std::uint64_t used_bytes(DeviceId device);
  std::vector<alloc::ZoneId> zone_ids();
  // Precondition of this and the next: the zone is there.
  ZoneCreation describe_zone(alloc::ZoneId zone);
  std::vector<alloc::ZoneSlot> slots(alloc::ZoneId zone);
  std::vector<alloc::UnitRun> live_runs(alloc::ZoneId zone);
  std::vector<alloc::PackStripe> packs(alloc::ZoneId zone);
  // Of all pack stripes that are published: when that was (0: before this opening), and when what
  // is in them was written, as far as anybody has said. O(pack stripes).
  using PackUse = core::PackUse;
  std::vector<PackUse> pack_uses();
  std::uint64_t pack_live(const alloc::Extent& stripe);  // bytes; 0: there is none
  // A pack stripe holds what was written at `lsn` or before. Any thread.
  void note_written(const alloc::Extent& stripe, Lsn lsn);
  // Bytes of pack stripes that have died since the store was opened. Any thread, no lock.
  std::uint64_t packed_releases() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return packs_.dead(); }
  bool is_live(const alloc::Extent& extent);
  std::uint32_t largest_free_run();
  // Those that a run can be allocated from, V1 and V2 aside; in no order. O(units / 64 + runs),
  // zone by zone: others come in between.
  std::vector<std::uint32_t> free_runs();
  double fragmentation();  // as ZoneSet::fragmentation()
  Status check_invariants();

  // --- StripeMap ---
  Result<std::vector<CellPlace>> locate(const alloc::Extent& where) const override;
  Result<CellPlace> locate_cell(const alloc::Extent& where, std::uint32_t role) const override;
  std::optional<PackIdentity> pack_stripe(const alloc::Extent& where) const override;
  bool may_heal() const override { return may_heal_.load(std::memory_order_acquire); }
  void heal(const CellPlace& place, ByteView cell) override;

 private:
  Result<const std::vector<alloc::ZoneSlot>*> slots_of(const alloc::Extent& where) const
      HEXAD_REQUIRES(mutex_);
  CellPlace place_of_cell(const std::vector<alloc::ZoneSlot>& slots, const alloc::Extent& where,
                          std::uint32_t role) const HEXAD_REQUIRES(mutex_);
  Status add_checked(const ZoneCreation& creation) HEXAD_REQUIRES(mutex_);
  enum class In : std::uint8_t { kReplay, kPublish };
  Status free_unplaced(const LogPlace& release, Lsn lsn, In what) HEXAD_REQUIRES(mutex_);
  void note_missing(const alloc::Extent& extent, std::uint64_t unwritten = 0)
      HEXAD_REQUIRES(mutex_);
  // In flight -> free.
  void discard_settled(const alloc::Extent& extent) HEXAD_REQUIRES(mutex_);
  // They are free, or wait for that (V3, V4).
  void release_slabs(const std::vector<alloc::ZoneSlot>& slabs) HEXAD_REQUIRES(mutex_);
  void give_kept_back() HEXAD_REQUIRES(mutex_);
  std::uint64_t held_locked() const HEXAD_REQUIRES(mutex_);
  alloc::SpaceCounters counters_locked() const HEXAD_REQUIRES(mutex_);
  Status check_move(const alloc::SlabMove& move) const HEXAD_REQUIRES(mutex_);
  Status check_slab_free(const alloc::SlabMove& move) const HEXAD_REQUIRES(mutex_);
  void note_missing_again(const SlabMoving& moving) HEXAD_REQUIRES(mutex_);
  LackingSlots lacking_in(const alloc::ZoneImage& image) const HEXAD_REQUIRES(mutex_);
  std::set<std::uint32_t> lost_slots(alloc::ZoneId zone, const std::set<DeviceId>& lost,
                                     LackingBy by) const HEXAD_REQUIRES(mutex_);

  void settle_late_heals();
  bool heals_late(DeviceId device);
  class CellWrite;
  Status write_back(const CellPlace& place, ByteView cell);
  Status write_for(DeviceId id, io::Device& device, std::uint64_t offset, AlignedBuffer bytes,
                   io::IoCause cause);
  static Error late_answer(const io::Device& device);
  Status reserve_slabs(const ZoneCreation& creation);
  Status zero_slabs(const ZoneCreation& creation, std::set<DeviceId>& failed);
  Status write_headers(const ZoneCreation& creation, std::set<DeviceId>& failed);

  io::Executor& executor_;
  const StoreShape& shape_;
  Members& members_;
  Counters& stats_;
  LogBlobs& log_blobs_;
  std::atomic<bool> may_heal_{false};
  mutable io::Mutex mutex_;
  io::CondVar cell_written_;  // a cell that is written again is, or has failed
  // What any thread asks of these without it are atomics.
  alloc::ZoneSet zones_ HEXAD_GUARDED_BY(mutex_);
  Allotment allotment_ HEXAD_GUARDED_BY(mutex_);
  KeptBack kept_back_ HEXAD_GUARDED_BY(mutex_);
  ZoneSlabs slabs_ HEXAD_GUARDED_BY(mutex_);
  MovingSlabs moves_ HEXAD_GUARDED_BY(mutex_);
  Unwritten unwritten_ HEXAD_GUARDED_BY(mutex_);
  SavedImages images_ HEXAD_GUARDED_BY(mutex_);
  PackDates packs_ HEXAD_GUARDED_BY(mutex_);
};

}  // namespace hexad::core
