// Checkpoints: what the memtable holds becomes a run in the coded zones, the root says so, the fast
// index gets the same, the log is trimmed.
//
// Order (R4), and why a crash between the steps loses nothing:
//   0  pack       what rides in the log gets a place in a stripe, by records of the engine's own; a
//                 crash here leaves it in the log and, perhaps, in a stripe, whichever the log says
//   1  merge      where some runs have become one beside the checkpoints (core/runs/run_merger.h),
//                 it is taken in; nothing names it yet. Merges in here are those that cannot wait
//   2  freeze     everything assigned is durable and published; LSN c is the last of it
//   3  run        the changes up to c and zone images as of c; nothing names it yet, and its
//                 stripes are free in every state that a crash leaves
//   4  manifest   names the runs, this one included; nothing names it yet
//   5  root       names c, the manifest and the trim point, on all live devices. A crash before it
//                 is committed leaves the old root or this one, and both are whole: the log still
//                 has everything that the older one needs, because only step 7 trims.
//   6  index      the changes up to c, and c itself, in one LMDB commit (or several, c in the
//                 last). A crash here: the index is behind the root, which the next opening sees
//                 by its LSN, and gets from the runs what it lacks (core/runs/fast_index.h). An
//                 error: reads come from the runs, and the index is made again in the background.
//   7  trim       in memory only: blocks before the trim point may be overwritten from now on.
#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "core/engine/engine.h"
#include "core/record/keys.h"
#include "core/space/reserve.h"

namespace hexad::core {

namespace {

// Beside a merge that is under way there are at most so many; without one kv/run/run_merge.h has
// its own bound.
constexpr std::size_t kMostRuns = 16;

class PayloadPause {
 public:
  explicit PayloadPause(Lane& lane) : lane_(lane) { lane_.allow_payloads(false); }
  ~PayloadPause() { lane_.allow_payloads(true); }
  PayloadPause(const PayloadPause&) = delete;
  PayloadPause& operator=(const PayloadPause&) = delete;

 private:
  Lane& lane_;
};

}  // namespace

Status Engine::checkpoint() {
  HEXAD_TRY(writable());
  if (merger_->finished()) {
    // What it gives up is said by zone images, and these by a run, which has to hold an LSN.
    HEXAD_TRY(commit_internal([](LogRecord&) { return Status(); }).status());
  }
  return run_checkpoint(false);
}

// On the merger's thread.
void Engine::on_merged(const Status& merged) {
  // The next checkpoint may be far away, and until then all that is given up would be kept back.
  if (!parts_.space->suspects().empty()) lose_suspects_soon();
  if (!merged.ok()) return;
  checkpoint_job_->note_merged();
  jobs_->wake(*checkpoint_job_);
}

// A run needs space. Where no zone has any more, one is made in between, for that takes locks that
// come before the checkpoint's.
Status Engine::run_checkpoint(bool clean_close, const std::function<bool()>& needless) {
  constexpr int kMostZones = 16;
  const io::NoUnwinding none("a checkpoint");
  for (int i = 0;; ++i) {
    Status status;
    const std::uint64_t units = parts_.space->counters().total;
    {
      const io::Lock lock(checkpoint_mutex_);
      if (needless && needless()) return {};
      status = checkpoint_locked(clean_close);
    }
    if (status.ok() || status.error().code != ErrorCode::kNoSpace || i == kMostZones) return status;
    if (merger_->give_up()) continue;
    // Somebody is making one, and of the last slabs there may be no other.
    if (parts_.space->zone_under_way()) {
      const io::Lock until_it_is_there(zone_mutex_);
    }
    if (parts_.space->counters().total > units) continue;
    if (!parts_.space->slabs_left()) return status;
    HEXAD_TRY(make_zone(ZoneFor::kCheckpoint));
  }
}

// What changed up to `lsn`, frozen, and where the log can be cut then.
struct Engine::Frozen {
  Lsn lsn = 0;
  std::shared_ptr<const kv::Memtable> table;  // null: nothing has changed
  std::vector<alloc::ZoneImage> images;
  kv::LogPoint point;
};

Result<Engine::Frozen> Engine::freeze(const RunDraft& draft) {
  // From here on nothing new rides in the log, so that everything up to the checkpoint has a place.
  const PayloadPause no_payloads(*lane_);
  HEXAD_TRY(pack_payloads());
  Frozen frozen;
  const SequencerLock lock(sequencer_);
  HEXAD_TRY(lane_->drain());
  frozen.lsn = lane_->next_lsn() - 1;
  if (frozen.lsn > checkpoint_lsn_) {
    frozen.table = parts_.metadata->freeze(frozen.lsn);
    Result<std::vector<alloc::ZoneImage>> dirty =
        parts_.space->dirty_images(frozen.lsn, parts_.runs->deferred_in_images(draft));
    if (!dirty.ok()) {
      parts_.metadata->unfreeze();
      return dirty.error();
    }
    frozen.images = std::move(dirty).value();
  }
  frozen.point = lane_->point_at(frozen.lsn);
  return frozen;
}

Status Engine::checkpoint_locked(bool clean_close) {
  HEXAD_TRY(parts_.runs->release());
  RunDraft draft = parts_.runs->begin();
  if (lane_->next_lsn() - 1 > checkpoint_lsn_ && !parts_.memory_only) {
    merge_into(draft, clean_close);
  }
  Result<Frozen> frozen = freeze(draft);
  if (!frozen.ok() || frozen->table == nullptr) {
    HEXAD_TRY(discard(draft));
    if (!frozen.ok() || !clean_close) return frozen.status();
    return commit_root(*frozen, nullptr, true);
  }
  const Epoch epoch = lane_->epoch();
  Changes changes;
  Status written = gather_changes(*frozen, changes);
  // What is in memory only has nothing that runs could bring back.
  const bool with_run = !parts_.memory_only;
  if (written.ok() && with_run) written = write_run(draft, *frozen, epoch, changes);
  if (!written.ok()) {
    parts_.metadata->unfreeze();
    HEXAD_TRY(discard(draft));
    return written.error().with_context("checkpoint at LSN " + std::to_string(frozen->lsn));
  }
  if (Status status = commit_root(*frozen, with_run ? &draft.address : nullptr, clean_close);
      !status.ok()) {
    // Whether a root names the draft is not known, so nothing of it may be used for anything else.
    return membership_->turn_read_only(status.error());
  }
  if (with_run) {
    parts_.runs->adopt(std::move(draft));
    parts_.index->advance(parts_.runs->set());
  }
  HEXAD_TRY(apply_to_index(frozen->lsn, epoch, changes));
  parts_.metadata->drop_frozen();
  {
    const SequencerLock lock(sequencer_);
    pages_.clear();  // C10
  }
  parts_.log_blobs->retire(frozen->lsn, lane_->visible());
  parts_.space->images_written();
  HEXAD_TRY(parts_.runs->release());
  set_reserve();
  reclaim();
  if (with_run && !clean_close) merge_beside();
  if (!parts_.index->has_fast()) want_index();
  return {};
}

void Engine::want_index() {
  if (index_job_->want()) jobs_->wake(*index_job_);
}

// What has been merged since the last checkpoint, and what cannot go on beside this one: because
// the reserve, which is for a merge of all runs, is wanted for that now; because the store is
// closed; because runs have become too many, since checkpoints are faster than merges. Then commits
// wait when the log is full, and that is as it should be.
void Engine::merge_into(RunDraft& draft, bool clean_close) {
  const bool behind = draft.manifest.runs.size() > kMostRuns;
  if (!parts_.space->reserve_whole()) merger_->give_up();
  if (clean_close || behind) merger_->finish();
  // A draft has one merge: what it brings is live only when a root names it.
  if (merger_->install(draft) || merger_->busy()) return;
  const std::optional<RunMerge> plan = parts_.runs->plan_merge(draft);
  if (!plan.has_value()) return;
  if (!clean_close && draft.manifest.runs.size() <= kMostRuns && room_beside(*plan)) return;
  Result<MergedRun> merged = parts_.runs->merge(*plan, *preparer_, draft.failed);
  // Where it fails there is one run more, and the next checkpoint tries again.
  jobs_->note(*merger_, merged.status());
  if (merged.ok() && !parts_.runs->install(draft, *merged)) parts_.runs->drop(*merged);
}

void Engine::merge_beside() {
  if (merger_->busy()) return;
  std::optional<RunMerge> plan = parts_.runs->plan_merge(parts_.runs->begin());
  if (!plan.has_value() || !room_beside(*plan)) return;
  merger_->start(*std::move(plan));
  jobs_->wake(*merger_);
}

// Whether what it writes leaves the reserve to others, for as long as it takes.
bool Engine::room_beside(const RunMerge& plan) {
  const Space::Room room = parts_.space->room();
  return room.zones_to_come > 0 ||
         room.units.free >= room.reserved + room.reserve + units_of(plan.inputs);
}

// Run and manifest, durable on all devices that count.
Status Engine::write_run(RunDraft& draft, const Frozen& frozen, Epoch epoch,
                         const Changes& changes) {
  const RunCatalogue::EachChange each = [&](const RunCatalogue::AddChange& add) -> Status {
    if (parts_.runs->set()->lsn() > 0 || parts_.index->applied_lsn() == 0) {
      for (const kv::IndexChange& change : changes.list) HEXAD_TRY(add(change.key, change.value));
      return {};
    }
    // A store from before there were runs: the first one holds all that the index does.
    return each_with_index(changes.list, add);
  };
  HEXAD_TRY(parts_.runs->add_run(draft, *preparer_, frozen.lsn, epoch, each));
  HEXAD_TRY(parts_.runs->write_manifest(draft));
  // R13: they leave before anything rests on what was written.
  return lose_failed(draft);
}

Status Engine::lose_failed(RunDraft& draft) {
  const std::set<DeviceId> failed = std::exchange(draft.failed, {});
  return failed.empty() ? Status() : lose_devices(failed);
}

// Nothing rests on what it has written, but devices that did not take it have failed all the same:
// who keeps that to itself meets them again at the next attempt, and commits that wait for it never
// learn why. Errors: those of lose_devices().
Status Engine::discard(RunDraft& draft) {
  parts_.runs->discard(draft);
  return lose_failed(draft);
}

// What the index holds, and the changes on top.
Status Engine::each_with_index(const std::vector<kv::IndexChange>& list,
                               const RunCatalogue::AddChange& add) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> reader, parts_.index->snapshot());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> cursor, reader->cursor());
  HEXAD_TRY(cursor->seek_to_first());
  auto change = list.begin();
  while (cursor->valid() || change != list.end()) {
    const bool old = cursor->valid() && (change == list.end() || cursor->key() < change->key);
    if (old) {
      HEXAD_TRY(add(cursor->key(), cursor->value()));
      HEXAD_TRY(cursor->next());
      continue;
    }
    if (cursor->valid() && cursor->key() == change->key) HEXAD_TRY(cursor->next());
    HEXAD_TRY(add(change->key, change->value));
    ++change;
  }
  return {};
}

// `manifest` null: that of the last root stays. Errors: nobody knows whether the root counts.
Status Engine::commit_root(const Frozen& frozen, const alloc::ManifestAddress* manifest,
                           bool clean_close) {
  const auto fill = [&](alloc::Root& next) {
    next.checkpoint_lsn = frozen.lsn;
    next.recorded_watermark = frozen.lsn;
    const kv::LogPoint& point = frozen.point;
    next.log_trim = {point.position, point.end, point.crc, point.epoch, point.lsn};
    next.clean_close = clean_close;
    if (manifest != nullptr) next.manifest = *manifest;
  };
  const auto committed = [&] {
    checkpoint_lsn_ = frozen.lsn;
    lane_->note_recorded(frozen.lsn);
    // Before the next change of membership, which copies the log from the trim point on.
    lane_->trim(frozen.point);
  };
  return membership_->write_checkpoint(fill, committed);
}

// The record with the places of its young blobs, all of which have one by now.
Result<std::string> Engine::resolve_record(std::string_view key, std::string_view value) const {
  const RecordShape& shape = parts_.shape->record;
  std::string resolved;
  if (const Result<PageKey> page = parse_page_key(key); page.ok()) {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(value, page->page, shape));
    resolved = encode_page(parts_.log_blobs->resolve(std::move(extents)), shape);
  } else {
    HEXAD_TRY_ASSIGN(ObjectRecord record, decode_object(value, shape));
    record.extents = parts_.log_blobs->resolve(std::move(record.extents));
    resolved = encode_object(record, shape);
  }
  if (has_young_blob(resolved)) {
    return Error{ErrorCode::kCorruption,
                 "metadata key " + printable(key, 64) + " has a blob without a place",
                 "The log still has everything: close the store, open it again, run hexad fsck."};
  }
  return resolved;
}

// Everything of a checkpoint, sorted: what the memtable has, zone images, the totals of counters.
// Records name stripes: what they say of young blobs is replaced by their places.
Status Engine::gather_changes(const Frozen& frozen, Changes& changes) {
  std::map<std::string, std::string>& extras = changes.extras;
  for (const alloc::ZoneImage& image : frozen.images) {
    extras.emplace(zone_key(image.zone), alloc::encode_zone_image(image));
  }
  // The totals count this checkpoint, too.
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : extras) bytes += key.size() + value.size();
  kv::Memtable::Iterator it = frozen.table->iterate();
  for (it.seek_to_first(); it.valid(); it.next()) {
    bytes += it.key().size() + (it.value().has_value() ? it.value()->size() : 0);
  }
  if (parts_.index->has_fast()) parts_.counters->add(CounterId::kIndexBytes, bytes);
  parts_.counters->add(CounterId::kCheckpoints);
  fold_counters();
  extras.emplace(meta_key(kCounterTotals), parts_.counters->encode_totals());

  std::vector<kv::IndexChange>& list = changes.list;
  list.reserve(frozen.table->keys() + extras.size());
  auto extra = extras.begin();
  for (it.seek_to_first(); it.valid(); it.next()) {
    for (; extra != extras.end() && extra->first < it.key(); ++extra) {
      list.push_back({extra->first, extra->second});
    }
    if (it.value().has_value() && has_extents(it.key()) && has_young_blob(*it.value())) {
      HEXAD_TRY_ASSIGN(changes.resolved.emplace_back(), resolve_record(it.key(), *it.value()));
      list.push_back({it.key(), changes.resolved.back()});
    } else {
      list.push_back({it.key(), it.value()});
    }
  }
  for (; extra != extras.end(); ++extra) list.push_back({extra->first, extra->second});
  return {};
}

// An index that does not take it is behind for good: the runs answer until there is a new one.
// Without runs its changes stay in memory, and so does the store.
Status Engine::apply_to_index(Lsn lsn, Epoch epoch, const Changes& changes) {
  Status applied = parts_.index->apply(lsn, epoch, changes.list);
  if (!applied.ok() && parts_.memory_only) return membership_->turn_read_only(applied.error());
  if (parts_.memory_only) return applied;
  if (!applied.ok()) parts_.index->detach();
  note_index(applied);
  return {};
}

// So that this checkpoint's successor, and a merge of all runs, always find space.
void Engine::set_reserve() {
  if (parts_.memory_only) return;
  ReserveInput in;
  for (const DeviceId id : parts_.root.log_devices) {
    const Member* const member = parts_.members->find(id);
    if (member != nullptr) in.log_bytes = std::max(in.log_bytes, member->layout.log_size);
  }
  in.run_bytes = parts_.runs->bytes();
  in.runs = parts_.runs->manifest().runs.size();
  in.zones = parts_.space->zone_ids().size() + 1;
  in.zone_units = parts_.space->slab_units();
  parts_.space->set_reserve(reserve_units(in, *parts_.shape), reserve_run(in, *parts_.shape));
}

bool Engine::checkpoint_due() {
  return parts_.metadata->memtable_bytes() >= parts_.options.memtable_size ||
         lane_->log_used() >= lane_->log_capacity() / 2;
}

// Called after every group: asks for a zone and a checkpoint when they are due.
void Engine::on_progress() {
  reclaim();
  if (parts_.space->wants_zone() && zone_job_->want()) jobs_->wake(*zone_job_);
  if (checkpoint_due() && checkpoint_job_->note_due()) jobs_->wake(*checkpoint_job_);
}

// The last checkpoint may need a zone, too, when the store is closed for everybody else.
Status Engine::make_zone(ZoneFor whom) {
  const io::Lock lock(zone_mutex_);
  Lacking lacking;
  return make_zone_locked(whom, lacking);
}

// Not under the sequencer's lock: all but the record is I/O, and commits that have room go on.
Status Engine::make_zone_locked(ZoneFor whom, Lacking& lacking) {
  const bool waits = whom == ZoneFor::kWaiting;
  const auto zeroing = waits ? Space::Zeroing::kNone : Space::Zeroing::kAhead;
  Result<ZoneCreation> prepared = Error{};
  for (std::set<DeviceId> failed;;) {
    prepared = parts_.space->prepare_zone(zeroing, &failed);
    if (failed.empty()) break;
    // Whoever has failed is told to have, whatever it was that failed.
    const Status left = lose_devices(std::exchange(failed, {}));
    if (!left.ok() && prepared.ok()) parts_.space->release_zone(*prepared);
    HEXAD_TRY(left);
    // Once more without them: there are no more than m of them until that is an error.
    if (prepared.ok()) break;
  }
  HEXAD_TRY(prepared.status());
  const ZoneCreation& creation = *prepared;
  bool placed = false;
  const FillRecord fill = [&](LogRecord& record) -> Status {
    if (whom == ZoneFor::kCommits) HEXAD_TRY(writable());
    record.zones.push_back(creation);
    return {};
  };
  const auto add = [&] { placed = parts_.space->add_zone(creation).ok(); };
  const auto place = [&]() -> Result<Lsn> {
    // A commit that waits can wait for a checkpoint as well. All others take the room that is kept
    // for packing: room in the log comes from checkpoints, and those may be waiting for this zone.
    if (!waits) return commit_internal(fill, add, LogRoom::kPacking);
    // Nobody waits until the record is durable: it stands in the log before all that takes units of
    // the zone, so whatever of these is durable has it before.
    HEXAD_TRY_ASSIGN(const Lsn at, try_internal(fill, add, LogRoom::kCommon, lacking));
    lane_->pump_beside();
    return at;
  };
  const Result<Lsn> lsn = place();
  if (!placed) parts_.space->release_zone(creation);
  return lsn.status();
}

// What status() says of the index that did not take a checkpoint.
void Engine::note_index(const Status& applied) {
  const io::Lock lock(state_mutex_);
  index_problem_ = applied.ok() ? "" : applied.error().to_string();
}

}  // namespace hexad::core
