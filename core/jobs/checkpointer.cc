#include "core/jobs/checkpointer.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "alloc/root_choice.h"
#include "core/record/keys.h"
#include "core/runs/fast_index.h"
#include "core/space/reserve.h"
#include "io/no_unwinding.h"

namespace hexad::core {

namespace {

// Beside merges that are under way there are at most so many; without them kv/run/run_merge.h has
// its own bound.
constexpr std::size_t kMostRuns = 16;

class PayloadPause {
 public:
  explicit PayloadPause(CommitPipeline& pipeline) : pipeline_(pipeline) {
    pipeline_.pause_payloads();
  }
  ~PayloadPause() { pipeline_.resume_payloads(); }
  PayloadPause(const PayloadPause&) = delete;
  PayloadPause& operator=(const PayloadPause&) = delete;

 private:
  CommitPipeline& pipeline_;
};

}  // namespace

// What changed up to `lsn`, frozen, and where the log can be cut then.
struct Checkpointer::Frozen {
  Lsn lsn = 0;
  std::shared_ptr<const kv::Memtable> table;  // null: nothing has changed
  std::vector<alloc::ZoneImage> images;
  std::set<DeviceId> whole;    // they were behind, and lack nothing of what is live as of `lsn`
  std::set<DeviceId> filling;  // devices that the images say are (SL7)
  kv::LogPoint point;
};

Checkpointer::Checkpointer(Parts parts)
    : parts_(std::move(parts)),
      mutex_(parts_.executor),
      last_(parts_.index.applied_lsn()),
      looks_mutex_(parts_.executor) {}

// A run needs space. Where no zone has any more, one is made in between, for that takes locks that
// come before the checkpoint's.
Status Checkpointer::run(Close close, const std::function<bool()>& needless, Doors doors) {
  constexpr int kMostZones = 16;
  const io::NoUnwinding none("a checkpoint");
  for (int i = 0;; ++i) {
    Status status;
    const std::uint64_t units = parts_.space.counters().total;
    const std::uint64_t refusals = parts_.space.refusals();
    {
      const io::Lock lock(mutex_);
      if (needless && needless()) return {};
      status = run_locked(close);
    }
    if (status.ok() || status.error().code != ErrorCode::kNoSpace || i == kMostZones) return status;
    // A full file system or log, or no address space for the index: no zone helps.
    if (parts_.space.refusals() == refusals) return status;
    if (parts_.mergers->give_up()) continue;
    if (doors == Doors::kOpen && parts_.hooks.open_zones()) continue;
    // Somebody is making one, and of the last slabs there may be no other.
    if (parts_.space.zone_under_way()) parts_.hooks.await_zone();
    if (parts_.space.counters().total > units) continue;
    if (!parts_.space.slabs_left()) return status;
    HEXAD_TRY(parts_.hooks.make_zone());
  }
}

Result<Checkpointer::Frozen> Checkpointer::freeze(const RunDraft& draft) {
  // From here on nothing new rides in the log, so that everything up to the checkpoint has a place.
  const PayloadPause no_payloads(*parts_.pipeline);
  HEXAD_TRY(parts_.hooks.pack_payloads());
  Frozen frozen;
  const SequencerLock lock(parts_.sequencer);
  HEXAD_TRY(parts_.pipeline->drain());
  frozen.lsn = parts_.pipeline->next_lsn() - 1;
  if (frozen.lsn > last_) {
    frozen.table = parts_.metadata.freeze(frozen.lsn);
    const std::vector<alloc::Extent> replaced = parts_.runs.deferred_in_images(draft);
    Result<std::vector<alloc::ZoneImage>> dirty = parts_.space.dirty_images(frozen.lsn, replaced);
    if (!dirty.ok()) {
      parts_.metadata.unfreeze();
      return dirty.error();
    }
    frozen.images = std::move(dirty).value();
    for (const DeviceId id : parts_.members.behind()) {
      if (parts_.space.is_in_place(id)) continue;  // RP3
      if (parts_.space.lacking_units(id, replaced) == 0) {
        frozen.whole.insert(id);  // BK6
      } else if (parts_.members.is_filling(id)) {
        frozen.filling.insert(id);
      }
    }
  }
  frozen.point = parts_.pipeline->point_at(frozen.lsn);
  return frozen;
}

// BK2: nobody draws an LSN meanwhile, and all that has one is published, so without them; no run
// and no merge is being written.
Status Checkpointer::begin_return(const std::set<DeviceId>& back, const std::set<DeviceId>& fresh) {
  const io::Lock lock(mutex_);
  parts_.mergers->forget();
  const SequencerLock sequenced(parts_.sequencer);
  HEXAD_TRY(parts_.pipeline->drain());
  HEXAD_TRY(parts_.membership->take_in(back, fresh));
  back_ = back;
  return {};
}

// Behind `advance` any checkpoint does it, also one that somebody else asks for.
Status Checkpointer::finish_return(const std::function<Status()>& advance) {
  Status status = advance();
  if (status.ok()) status = run(Close::kGoesOn);
  const io::Lock lock(mutex_);
  if (back_.empty()) return status;
  HEXAD_ASSERT(!status.ok());
  end_return(status.error().message);
  return status;
}

// What was written to them meanwhile is there, and is not asked for. As Membership::take_in(), the
// other way: no group is in flight that waits for a flush through them, so that their handles can
// be given up, and no root is being sent.
void Checkpointer::end_return(const std::string& why) {
  const std::set<DeviceId> back = std::exchange(back_, {});
  if (back.empty()) return;
  const io::NoUnwinding none("a change of the membership");
  parts_.pipeline->pause();
  {
    const io::Lock lock(parts_.membership->mutex());
    parts_.pipeline->wait_quiet();
    for (const DeviceId id : back) {
      if (parts_.members.usable(id))
        parts_.members.mark_failed(id, "it was not taken in again: " + why);
    }
  }
  parts_.pipeline->resume();
}

Status Checkpointer::run_locked(Close close) {
  // The root of a clean close says that nothing comes behind it, and a return has a fence there.
  if (close == Close::kClean) end_return("the store was closed meanwhile");
  HEXAD_TRY(parts_.runs.release());
  RunDraft draft = parts_.runs.begin();
  if (parts_.pipeline->next_lsn() - 1 > last_ && !parts_.memory_only) {
    merge_into(draft, close);
  }
  Result<Frozen> frozen = freeze(draft);
  if (!frozen.ok() || frozen->table == nullptr) {
    HEXAD_TRY(discard(draft));
    if (!frozen.ok() || close != Close::kClean) return frozen.status();
    return commit_root(*frozen, nullptr, close);
  }
  const Epoch epoch = parts_.pipeline->epoch();
  CheckpointChanges changes;
  changes.extras = encode_images(frozen->images);
  // The totals count this checkpoint, too.
  const std::uint64_t bytes = bytes_of(*frozen->table, changes.extras);
  if (parts_.index.has_fast()) parts_.counters.add(CounterId::kIndexBytes, bytes);
  parts_.counters.add(CounterId::kCheckpoints);
  parts_.hooks.fold_counters();
  changes.extras.emplace(meta_key(kCounterTotals), parts_.counters.encode_totals());
  changes.extras.emplace(meta_key(kCheckpointWriter),
                         encode_checkpoint_writer(parts_.membership->nonce()));
  changes.extras.merge(parts_.hooks.device_records(frozen->whole, frozen->lsn, epoch));  // BK9
  Status written = list_changes(*frozen->table, parts_.log_blobs, parts_.shape.record, changes);
  // What is in memory only has nothing that runs could bring back.
  const bool with_run = !parts_.memory_only;
  if (written.ok() && with_run) written = write_run(draft, *frozen, epoch, changes);
  if (!written.ok()) {
    parts_.metadata.unfreeze();
    HEXAD_TRY(discard(draft));
    return written.error().with_context("checkpoint at LSN " + std::to_string(frozen->lsn));
  }
  if (Status status = commit_root(*frozen, with_run ? &draft.address : nullptr, close);
      !status.ok()) {
    // Whether a root names the draft is not known, so nothing of it may be used for anything else.
    return parts_.membership->turn_read_only(status.error());
  }
  parts_.hooks.device_records_written();
  if (with_run) {
    parts_.runs.adopt(std::move(draft));
    parts_.index.advance(parts_.runs.set());
  }
  HEXAD_TRY(apply_to_index(frozen->lsn, epoch, changes));
  parts_.metadata.drop_frozen();
  {
    const SequencerLock lock(parts_.sequencer);
    parts_.hooks.forget_pages();  // C10
  }
  parts_.log_blobs.retire(frozen->lsn, parts_.pipeline->visible());
  parts_.space.images_written();
  HEXAD_TRY(parts_.runs.release());
  set_reserve();
  parts_.hooks.reclaim();
  if (with_run && close != Close::kClean) merge_beside();
  if (!parts_.index.has_fast()) parts_.hooks.want_index();
  return {};
}

// What has been merged since the last checkpoint, and what cannot go on beside this one: because
// the reserve, which is for a merge of all runs, is wanted for that now; because the store is
// closed; because runs have become too many, since checkpoints are faster than merges, the short
// ones as well. Then commits wait when the log is full, and that is as it should be.
void Checkpointer::merge_into(RunDraft& draft, Close close) {
  if (!parts_.space.reserve_whole()) parts_.mergers->give_up();
  if (close == Close::kClean) parts_.mergers->finish();
  const bool installed = parts_.mergers->install(draft);
  // K8: what this draft brings is live only when a root names it, so it is not merged again here.
  if (parts_.mergers->install_until(draft, kMostRuns) || installed || parts_.mergers->busy())
    return;
  const std::optional<RunMerge> plan = parts_.runs.plan_merge(draft);
  if (!plan.has_value()) return;
  if (close != Close::kClean && draft.manifest.runs.size() <= kMostRuns && room_beside(*plan))
    return;
  Result<MergedRun> merged = parts_.runs.merge(*plan, parts_.preparer, draft.failed);
  // Where it fails there is one run more, and the next checkpoint tries again.
  parts_.hooks.note_merge(merged.status());
  if (merged.ok() && !parts_.runs.install(draft, *merged)) parts_.runs.drop(*merged);
}

void Checkpointer::merge_beside() {
  std::optional<RunMergers::Next> next = parts_.mergers->plan(parts_.runs.begin());
  if (!next.has_value() || !room_beside(next->plan)) return;
  next->by->start(std::move(next->plan));
  parts_.hooks.wake_merger(*next->by);
}

// Whether what it writes, beside what is under way, leaves the reserve to others, for as long as it
// takes.
bool Checkpointer::room_beside(const RunMerge& plan) {
  const Space::Room room = parts_.space.room();
  return room.zones_to_come > 0 || room.units.free >= room.reserved + room.reserve +
                                                          units_of(plan.inputs) +
                                                          parts_.mergers->units_to_come();
}

// Run and manifest, durable on all devices that count.
Status Checkpointer::write_run(RunDraft& draft, const Frozen& frozen, Epoch epoch,
                               const CheckpointChanges& changes) {
  const RunCatalogue::EachChange each = [&](const RunCatalogue::AddChange& add) -> Status {
    if (parts_.runs.set()->lsn() > 0 || parts_.index.applied_lsn() == 0) {
      for (const kv::IndexChange& change : changes.list) HEXAD_TRY(add(change.key, change.value));
      return {};
    }
    // A store from before there were runs: the first one holds all that the index does.
    return each_with_index(parts_.index, changes.list, add);
  };
  HEXAD_TRY(parts_.runs.add_run(draft, parts_.preparer, frozen.lsn, epoch, each));
  HEXAD_TRY(parts_.runs.write_manifest(draft));
  // R13: they leave before anything rests on what was written.
  return lose_failed(draft);
}

Status Checkpointer::lose_failed(RunDraft& draft) {
  const std::set<DeviceId> failed = std::exchange(draft.failed, {});
  return failed.empty() ? Status() : parts_.membership->lose_devices(failed);
}

// Nothing rests on what it has written, but devices that did not take it have failed all the same:
// who keeps that to itself meets them again at the next attempt, and commits that wait for it never
// learn why. Errors: those of Membership::lose_devices().
Status Checkpointer::discard(RunDraft& draft) {
  parts_.runs.discard(draft);
  return lose_failed(draft);
}

// `manifest` null: that of the last root stays. Errors: nobody knows whether the root counts.
Status Checkpointer::commit_root(const Frozen& frozen, const alloc::ManifestAddress* manifest,
                                 Close close) {
  const auto fill = [&](alloc::Root& next) {
    next.checkpoint_lsn = frozen.lsn;
    next.recorded_watermark = frozen.lsn;
    const kv::LogPoint& point = frozen.point;
    next.log_trim = {point.position, point.end, point.crc, point.epoch, point.lsn};
    next.clean_close = close == Close::kClean;
    if (manifest != nullptr) next.manifest = *manifest;
    for (const DeviceId id : frozen.whole) alloc::mark_whole(next, id);
    for (const DeviceId id : frozen.filling) alloc::mark_filling(next, id);
    if (frozen.table != nullptr && parts_.members.any_filling()) {
      const std::set<DeviceId> lost = parts_.members.lost();
      const auto by = Space::LackingBy::kNewestImages;
      alloc::set_lost_in_zone(next, parts_.space.lost_in_zone(lost, by), lost);
    }
  };
  const auto committed = [&]() HEXAD_REQUIRES(mutex_) {
    last_ = frozen.lsn;
    parts_.pipeline->note_recorded(frozen.lsn);
    // Before the next change of membership, which copies the log from the trim point on.
    parts_.pipeline->trim(frozen.point);
    for (const DeviceId id : frozen.whole) parts_.members.note_whole(id);
  };
  if (back_.empty()) return parts_.membership->write_checkpoint(fill, committed);
  HEXAD_TRY(parts_.membership->write_return(back_, fill, committed));
  back_.clear();
  return {};
}

// An index that does not take it is behind for good: the runs answer until there is a new one.
// Without runs its changes stay in memory, and so does the store.
Status Checkpointer::apply_to_index(Lsn lsn, Epoch epoch, const CheckpointChanges& changes) {
  Status applied = parts_.index.apply(lsn, epoch, changes.list);
  if (!applied.ok() && parts_.memory_only)
    return parts_.membership->turn_read_only(applied.error());
  if (parts_.memory_only) return applied;
  if (!applied.ok()) parts_.index.detach();
  {
    const io::Lock lock(looks_mutex_);
    index_problem_ = applied.ok() ? "" : applied.error().to_string();
  }
  return {};
}

// So that this checkpoint's successor, and a merge of all runs, always find space.
void Checkpointer::set_reserve() {
  if (parts_.memory_only) return;
  ReserveInput in;
  for (const DeviceId id : parts_.log_devices) {
    const Member* const member = parts_.members.find(id);
    if (member != nullptr) in.log_bytes = std::max(in.log_bytes, member->layout.log_size);
  }
  in.run_bytes = parts_.runs.bytes();
  in.runs = parts_.runs.manifest().runs.size();
  in.zones = parts_.space.zone_ids().size() + 1;
  in.zone_units = parts_.space.slab_units();
  parts_.space.set_reserve(reserve_units(in, parts_.shape), reserve_run(in, parts_.shape),
                           move_units(parts_.shape));
  const io::Lock lock(looks_mutex_);
  reserve_input_ = in;
}

ReserveInput Checkpointer::reserve_input() {
  const io::Lock lock(looks_mutex_);
  return reserve_input_;
}

std::string Checkpointer::index_problem() {
  const io::Lock lock(looks_mutex_);
  return index_problem_;
}

}  // namespace hexad::core
