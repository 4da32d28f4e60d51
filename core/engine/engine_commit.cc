// The path of a transaction up to the lane: prepare on the caller's thread, then, under the
// sequencer's lock, allocate, plan, draw the LSN, apply to the memtable and enqueue.
#include <algorithm>
#include <utility>

#include "core/api/op_facts.h"
#include "core/blob/piece_cut.h"
#include "core/engine/attempt.h"
#include "core/engine/engine.h"
#include "core/plan/counted_source.h"
#include "core/plan/staged_object.h"
#include "core/record/keys.h"
#include "core/report/space_report.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

std::vector<PayloadPiece*> blob_pieces(const Transaction& transaction, PreparedOps& prepared) {
  std::vector<PayloadPiece*> pieces;
  const auto add = [&](PreparedOp& op) {
    for (PayloadPiece& piece : op.pieces) {
      if (piece.bytes.empty()) pieces.push_back(&piece);
    }
  };
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    add(prepared[i]);
    if (transaction.ops()[i].staged != nullptr) add(transaction.ops()[i].staged->young);
  }
  return pieces;
}

namespace {

// How often a transaction waits for crowded pages before it takes them as they are.
constexpr int kMaxRewrites = 8;

// Payloads in the log, bytes, from which on a commit without space makes a checkpoint that packs
// them before it looks elsewhere: half of what the longest pack stripe holds. Of less come short
// stripes that are not full, in a store that has to move others for each of their units; and what
// is promised to less, a unit or a few for each blob, is little.
std::uint64_t worth_packing(const StoreShape& shape) {
  return shape.max_pack_units * shape.unit * shape.k() / 2;
}

// The metadata as a plan reads it: the newest state, and no walk over a great many keys that were
// deleted.
class PlanReader : public PlanSource {
 public:
  // `warm`: of the index this alone, and what is in memory; null: everything.
  PlanReader(NewestState& newest, const WarmKeys* warm) : newest_(newest), warm_(warm) {
    if (warm != nullptr) walked.reading = MetaView::Reading::kMemory;
  }

  Result<std::optional<std::string>> get(std::string_view key) override {
    if (warm_ == nullptr) return newest_.get(key);
    HEXAD_TRY_ASSIGN(Metadata::Peeked found, newest_.peek(key, *warm_));
    if (found.known) return std::move(found.value);
    walked.lacked = true;
    return Error{ErrorCode::kUnavailable, "a key of the metadata is not in memory", ""};
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    return newest_.scan_within(prefix, from, visit, walked);
  }
  std::shared_ptr<KnownPage> known_page(BodyId body, std::uint32_t page) override {
    return newest_.known_page(body, page);
  }

  MetadataWalk walked = {kMostDeleted};

 private:
  NewestState& newest_;
  const WarmKeys* warm_;
};

}  // namespace

// How pieces of a transaction were cut that found no run of their length: core/blob/piece_cut.h.
struct Engine::Cuts {
  std::uint32_t most_units = kAnyUnits;
  std::vector<std::uint32_t> whole;  // units of the pieces as they would be uncut

  std::uint32_t shortest() const {
    return whole.empty() ? 1 : shortest_cut(*std::max_element(whole.begin(), whole.end()));
  }
};

Status Engine::writable() const {
  if (lane_ == nullptr) {
    return Error{ErrorCode::kReadOnly, "the store is open for reading only",
                 "Open it with Access::kReadWrite."};
  }
  if (closing_.is_closed()) {
    return Error{ErrorCode::kClosed, "the store has been closed", "Open it again."};
  }
  HEXAD_TRY(parts_.members->check_not_fenced());  // TO1, whoever has met it
  if (const auto stopped = lane_->stopped()) {
    return Error{ErrorCode::kReadOnly, "the store has turned read-only: " + stopped->message,
                 "Close it, check its devices, and open it again."};
  }
  return {};
}

// Under the sequencer's lock. Where no zone has room, whoever repeats the attempt makes another one
// first, without that lock: its headers are written to devices (make_zone_for()).
Result<alloc::Extent> Engine::allocate_locked(std::uint32_t units, Attempt& attempt) {
  Space& space = *parts_.space;
  const auto is_full = [](const Result<alloc::Extent>& extent) {
    return !extent.ok() && extent.error().code == ErrorCode::kNoSpace;
  };
  Result<alloc::Extent> extent = space.allocate(units);
  if (is_full(extent)) {
    // Once more, so that what comes back after this was read is a reason to repeat.
    attempt.note_room(space, *lane_);
    extent = space.allocate(units);
  }
  if (is_full(extent)) {
    attempt.no_space = true;
    // A new one has all units of a slab in a row but that of the header.
    attempt.wants_zone = units < space.slab_units() && space.slabs_left();
    attempt.space_error = extent.error();
  }
  if (extent.ok()) attempt.allocated.push_back(*extent);
  return extent;
}

// One alone takes as much when it is placed ahead as it is promised, and keeps it.
std::size_t young_blobs(const Transaction& transaction, PreparedOps& prepared) {
  const std::vector<PayloadPiece*> pieces = blob_pieces(transaction, prepared);
  return static_cast<std::size_t>(
      std::count_if(pieces.begin(), pieces.end(),
                    [](const PayloadPiece* piece) { return piece->prepared.is_young(); }));
}

std::vector<std::uint32_t> units_of(const std::vector<PayloadPiece*>& pieces) {
  std::vector<std::uint32_t> units;
  units.reserve(pieces.size());
  for (const PayloadPiece* piece : pieces) units.push_back(piece->prepared.units);
  return units;
}

// Stripes that a record has room for, beside all else that is in it.
std::uint32_t most_stripes(std::uint64_t max_record, const StoreShape& shape) {
  // An extent and the proof of its stripe, and in each a sum for every cell.
  const std::uint64_t each =
      100 + std::uint64_t{2} * shape.cells() * checksum_size(shape.record.checksum);
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(max_record / 2 / each, 1 << 20));
}

// Whether no op of it makes the metadata longer by more than tombstones.
bool only_frees(const Transaction& transaction) {
  return std::all_of(
      transaction.ops().begin(), transaction.ops().end(),
      [](const TransactionOp& op) { return facts_of(op.kind).effect != OpEffect::kGrows; });
}

// Each young blob is promised a stripe of its own, which it will hardly need: many small ones share
// one. Where there is not so much for all of them, they are placed before their group is known, in
// as much as they take. Under the sequencer's lock.
Status Engine::place_ahead(Submission& submission, Attempt& attempt) {
  for (std::uint32_t units = parts_.shape->max_pack_units;; units /= 2) {
    const std::size_t before = attempt.allocated.size();
    attempt.no_space = false;
    Status taken = take_places(placer_->plan(submission.young, units), submission, attempt);
    // Shorter stripes fit where no long run is free, and none is to come.
    if (taken.ok() || !attempt.no_space || attempt.wants_zone || units <= 1) return taken;
    for (; attempt.allocated.size() > before; attempt.allocated.pop_back()) {
      parts_.space->abandon(attempt.allocated.back());
    }
    submission.packs.clear();
    for (YoungBlob& blob : submission.young) blob.where = {};
  }
}

Status Engine::take_places(const PlacementPlan& plan, Submission& submission, Attempt& attempt) {
  for (const PackPlan& pack : plan.packs) {
    HEXAD_TRY_ASSIGN(const alloc::Extent where, allocate_locked(pack.units, attempt));
    submission.packs.push_back({pack, where});
  }
  const StoreShape& shape = *parts_.shape;
  for (const std::size_t item : plan.own_stripe) {
    YoungBlob& blob = submission.young[item];
    const std::uint64_t cell = ec::cell_bytes(blob.stored.size(), shape.k(), shape.block);
    const auto units = static_cast<std::uint32_t>(divide_up(cell, shape.unit));
    HEXAD_TRY_ASSIGN(blob.where, allocate_locked(units, attempt));
  }
  return {};
}

// For an attempt that found no run for some piece, nor slabs for another zone: the pieces are cut
// shorter and prepared again where there are shorter runs enough. False: there are not.
Result<bool> Engine::cut_shorter(const Transaction& transaction, PreparedOps& prepared,
                                 Cuts& cuts) {
  const std::vector<std::uint32_t> units = units_of(blob_pieces(transaction, prepared));
  if (cuts.whole.empty()) cuts.whole = units;
  const std::uint32_t longest = units.empty() ? 0 : *std::max_element(units.begin(), units.end());
  const std::vector<std::uint32_t> runs = parts_.space->spare_runs(longest);
  const std::uint32_t cut =
      choose_cut({units, runs, most_stripes(max_record(), *parts_.shape), cuts.shortest()});
  if (cut == 0) return false;
  cuts.most_units = cut;
  Preparing preparing{{}, SharedCopies(transaction.payload_bytes()), cut};
  const auto too_long = [cut](const PreparedOp& op) {
    return std::any_of(op.pieces.begin(), op.pieces.end(),
                       [cut](const PayloadPiece& piece) { return piece.prepared.units > cut; });
  };
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (too_long(prepared[i])) {
      HEXAD_TRY(
          prepare_op(transaction, i, prepared[i].base, Inlining::kOfNone, preparing, prepared));
    }
    const std::shared_ptr<StagedObject>& staged = transaction.ops()[i].staged;
    if (staged == nullptr || !too_long(staged->young)) continue;
    // All of it anew, however many pieces it is in by now.
    HEXAD_TRY_ASSIGN(staged->young, prepare_payload(*preparer_, staged->young_bytes.bytes(),
                                                    staged->young_hint, staged->young_policy, 0,
                                                    Inlining::kOfNone, &preparing.copies, cut));
  }
  return true;
}

// Once the transaction has its place.
void Engine::count_cuts(const Cuts& cuts, std::size_t pieces) {
  if (pieces <= cuts.whole.size()) return;
  const auto cut = static_cast<std::uint64_t>(
      std::count_if(cuts.whole.begin(), cuts.whole.end(),
                    [&](std::uint32_t units) { return units > cuts.most_units; }));
  parts_.counters->add(CounterId::kPiecesCut, cut);
  parts_.counters->add(CounterId::kPiecesCutInto, cut + pieces - cuts.whole.size());
}

// Under the sequencer's lock. Unless it is sequenced nothing is left.
Result<Engine::Outcome> Engine::try_sequence(const Transaction& transaction, PreparedOps& prepared,
                                             Submission& submission, Attempt& attempt) {
  const ReadPins::Pin pin = reads_->pin_visible();  // YB4 of core/space/log_blobs.h
  Result<Outcome> outcome = plan_and_place(transaction, prepared, submission, attempt);
  for (const alloc::Extent& extent : attempt.allocated) parts_.space->abandon(extent);
  parts_.space->give_back(attempt.reserved);
  if (outcome.ok()) return outcome;
  if (attempt.too_many_deleted) return Outcome::kTombstones;
  if (attempt.no_space) return Outcome::kNeedsRoom;
  return outcome;
}

// try_sequence(), all but the cleaning up: what it has taken stands in the attempt.
Result<Engine::Outcome> Engine::plan_and_place(const Transaction& transaction,
                                               PreparedOps& prepared, Submission& submission,
                                               Attempt& attempt) {
  HEXAD_TRY(writable());
  HEXAD_TRY(may_draw_ids());
  const std::vector<PayloadPiece*> blobs = blob_pieces(transaction, prepared);
  std::vector<alloc::Extent> places(blobs.size());  // empty: reserved only
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const PreparedBlob& blob = blobs[i]->prepared;
    if (blob.is_young() && attempt.places_ahead) continue;
    if (blob.is_young() && parts_.space->try_reserve(blob.units)) {
      attempt.reserved += PromisedUnits(blob.units);
      continue;
    }
    HEXAD_TRY_ASSIGN(places[i], allocate_locked(blob.units, attempt));
  }
  PlanContext context;
  context.lsn = lane_->next_lsn();
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    Blob& blob = blobs[i]->prepared.blob;
    if (blobs[i]->prepared.is_young()) {
      blob.log = {context.lsn, static_cast<std::uint32_t>(i)};
    } else {
      blob.where = places[i];
    }
  }
  context.time = parts_.system->clock().wall_time();
  context.shape = parts_.shape->record;
  context.default_compression = parts_.compression;
  context.new_body = [this] { return new_body(); };
  context.keep_versions = attempt.keep_versions;
  context.accept_crowded = attempt.accept_crowded;
  context.ranges_at_once = parts_.ranges_at_once;
  context.log_blobs = parts_.log_blobs.get();
  PlanReader reader(newest_, attempt.warm);
  CountedSource source(reader);
  Result<Plan> planned = plan_transaction(transaction, prepared, context, source);
  newest_.note_hold(source.keys() + reader.walked.deleted +
                    (planned.ok() ? planned->record.images.size() : 0));
  attempt.too_many_deleted = reader.walked.gave_up;
  if (reader.walked.lacked) return Outcome::kCold;
  HEXAD_TRY_ASSIGN(Plan plan, std::move(planned));
  if (!plan.redo.empty()) {
    attempt.redo_ops = std::move(plan.redo);
    return Outcome::kRedo;
  }
  if (!plan.crowded.empty()) {
    attempt.crowded = std::move(plan.crowded);
    return Outcome::kFragmented;
  }
  if (!plan.layered.empty()) {
    attempt.layered = std::move(plan.layered);
    return Outcome::kLayered;
  }
  if (!plan.cut.empty()) {
    attempt.cut = std::move(plan.cut);
    return Outcome::kCut;
  }
  HEXAD_TRY(parts_.space->check_deaths(plan.record));
  parts_.space->note_in_place(plan.record);
  submission.young.clear();
  submission.packs.clear();
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const PreparedBlob& prepared_blob = blobs[i]->prepared;
    const Blob& blob = prepared_blob.blob;
    if (!plan.refers_to(blob.id())) continue;
    if (!prepared_blob.is_young()) {
      plan.record.allocated.push_back({blob.where, blob.cell_bytes, false, blob.cell_sums, 0,
                                       parts_.space->unusable_slots(blob.where)});
      continue;
    }
    BlobOwner& owner = *plan.owners[blob.log.index];
    const bool promised = places[i].units == 0 && !attempt.places_ahead;
    submission.young.push_back({blob.log, prepared_blob.stored, std::move(owner.key), owner.offset,
                                promised ? prepared_blob.units : 0, places[i]});
  }
  if (attempt.places_ahead) HEXAD_TRY(place_ahead(submission, attempt));
  for (PostImage& image : plan.totals) plan.record.images.push_back(std::move(image));
  if (!attempt.keep_versions && !only_frees(transaction) && !parts_.space->reserve_whole() &&
      !parts_.space->slabs_left()) {
    attempt.no_space = true;
    attempt.note_room(*parts_.space, *lane_);
    attempt.space_error =
        Error{ErrorCode::kNoSpace,
              "what is left, " +
                  format_size(attempt.free_units * parts_.shape->unit * parts_.shape->k()) +
                  ", is kept for checkpoints: only what frees something is taken in",
              alloc::kMakeRoom};
    return attempt.space_error;
  }
  submission.lsn = context.lsn;
  newest_.encode_as_patches(plan.record.images);
  submission.encoded = encode_own_part(plan.record, parts_.shape->record);
  HEXAD_TRY_ASSIGN(const bool reserved, lane_->try_reserve(submission));
  if (!reserved) {
    attempt.record_bytes = lane_->record_bound(submission);
    return Outcome::kNeedsRoom;
  }

  // From here on nothing fails.
  newest_.record_concurrent_changes(plan.record.images, reader);
  newest_.apply(submission.lsn, plan.record.images);
  for (DecodedPage& page : plan.pages) newest_.remember(std::move(page));
  if (!attempt.keep_versions) users_committed_.store(true, std::memory_order_relaxed);
  for (const PartlyShown& list : plan.partly_shown) {
    cleaner_->fragmented().note(list.key, list.bytes, submission.lsn);
  }
  attempt.allocated.clear();
  for (const YoungBlob& blob : submission.young) attempt.reserved -= PromisedUnits(blob.units);
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    PreparedBlob& prepared_blob = blobs[i]->prepared;
    const bool wanted = plan.refers_to(prepared_blob.blob.id());
    if (wanted && prepared_blob.blob.is_compressed()) {
      // Of a small one what it takes of a stripe that it shares.
      const std::uint64_t stripe = places[i].units * shape().unit * shape().k();
      parts_.counters->add(CounterId::kCompressedAllocated,
                           prepared_blob.is_young() ? prepared_blob.blob.stored : stripe);
    }
    if (!wanted) {
      if (places[i].units > 0) parts_.space->abandon(places[i]);
    } else if (!prepared_blob.is_young()) {
      submission.stripes.push_back({places[i], std::move(prepared_blob)});
    }
  }
  for (const LogPlace& death : plan.record.young_deaths) {
    parts_.space->give_back(parts_.log_blobs->kill(death));
  }
  for (const TransactionOp& op : transaction.ops()) {
    if (op.staged != nullptr) op.staged->published = true;
  }
  for (const std::shared_ptr<CopiedPages>& copied : plan.copies) copied->taken = true;
  submission.record = std::move(plan.record);
  lane_->enqueue(std::move(submission));
  if (!plan.doomed.empty()) deletion_job_->schedule(std::move(plan.doomed));
  return Outcome::kSequenced;
}

// For what has no LSN, so that nothing of it has happened. When the store has stopped, that is what
// it says, and not what those are told whose outcome is unknown: the commits and the checkpoint
// that it waited for.
Status Engine::unplaced(const Status& why) const {
  const bool unknown = !why.ok() && why.error().code == ErrorCode::kUnknown;
  return unknown && lane_->stopped().has_value() ? writable() : why;
}

Error Engine::called_back_early() {
  return {ErrorCode::kUnavailable,
          "the thread was called back while a commit waited for its place in the order",
          "Nothing has changed: try again when the devices answer."};
}

Status Engine::make_way_apart(const Attempt& attempt) {
  struct Way {
    Attempt attempt;
    io::Nanos patience = 0;
    int packings = 0;
  };
  const auto way = std::make_shared<Way>(Way{attempt});
  way->attempt.warm = nullptr;
  way->attempt.patience = &way->patience;
  way->attempt.packings = &way->packings;
  if (attempt.patience != nullptr) way->patience = *attempt.patience;
  if (attempt.packings != nullptr) way->packings = *attempt.packings;
  HEXAD_TRY(
      errands_.run("room was made for a commit", [this, way] { return make_way(way->attempt); }));
  if (attempt.patience != nullptr) *attempt.patience = way->patience;
  if (attempt.packings != nullptr) *attempt.packings = way->packings;
  return {};
}

// What an attempt lacked, or met.
Status Engine::make_way(const Attempt& attempt) {
  if (io::Recall::here() != nullptr) return make_way_apart(attempt);
  const io::NoUnwinding none("what makes room for a commit");
  // It takes all tombstones away that were there when it began.
  if (attempt.too_many_deleted) return run_checkpoint();
  for (const LayeredObject& object : attempt.layered) HEXAD_TRY(merge_layers(object));
  for (const BodyId body : attempt.cut) HEXAD_TRY(deletion_job_->reclaim_cuts(body));
  return attempt.layered.empty() && attempt.cut.empty() ? make_room(attempt) : Status();
}

// A zone for an attempt that found room in none, unless somebody has made one since: so whoever
// comes back without an error finds more zones than before, of which there is an end, or more room
// in the log, or devices have left. Nothing rests on a zone that nobody takes anything of after
// all: it is there for others. Headers of one that got no record mean nothing, and are written
// over.
Status Engine::make_zone_for(const Attempt& attempt) {
  Lacking lacking;
  {
    const io::Lock lock(zone_mutex_);
    if (parts_.space->counters().total > attempt.all_units) return {};
    HEXAD_TRY(make_zone_locked(ZoneFor::kWaiting, lacking));
  }
  if (lacking.log_bytes == 0) return {};
  // The checkpoint may need a zone itself.
  Attempt without_room;
  without_room.record_bytes = lacking.log_bytes;
  return make_room(without_room);
}

// What rides in the log has more promised to it than it takes packed. A checkpoint for that packs
// all there is, so callers that find no space at once need one, not one each.
Status Engine::pack_for_room(std::uint64_t least) {
  const auto needless = [&] { return parts_.log_blobs->payload_bytes() < least; };
  if (needless()) return {};
  HEXAD_TRY(checkpointer_->run(Checkpointer::Close::kGoesOn, needless));
  reclaim();
  return {};
}

// Room in the log, a zone, or space that is freed but not yet reusable.
Status Engine::make_room(const Attempt& attempt) {
  if (attempt.record_bytes > 0) {
    const Lsn before = parts_.index->applied_lsn();
    // Unless somebody else has made room.
    HEXAD_TRY(checkpointer_->run(Checkpointer::Close::kGoesOn,
                                 [&] { return lane_->has_room_for(attempt.record_bytes); }));
    // Others may have taken the room already; then the next one finds more to trim.
    if (parts_.index->applied_lsn() > before || lane_->has_room_for(attempt.record_bytes)) {
      return {};
    }
    return Error{ErrorCode::kNoSpace, "the log has no room even after a checkpoint", ""};
  }
  Status zone;
  if (attempt.wants_zone) {
    zone = make_zone_for(attempt);
    // Where there is no room below the devices, what was freed may do.
    if (zone.ok() || zone.error().code != ErrorCode::kNoSpace) return zone;
  } else if (parts_.space->zone_under_way()) {
    const io::Lock until_it_is_there(zone_mutex_);
    return {};
  }
  // What is kept back because of them may be all that is missing (V3).
  if (!parts_.space->suspects().empty()) return lose_devices({});
  // Pages of removed objects, and payloads in the log, which take more room alone than packed.
  // What cannot be reclaimed is the background's affair: there may be space without it.
  if (const Result<bool> deleted = deletion_job_->step(); deleted.ok() && *deleted) return {};
  // A merge that goes on beside is a luxury, and has taken some.
  if (mergers_->give_up()) return {};
  // Slabs that move keep zones closed.
  if (parts_.space->room_is_closed() && devices_->moves().mover().give_up()) return {};
  const std::uint64_t reserved = parts_.space->reserved();
  // Somebody who was in the way has gone meanwhile, or there is a new zone.
  if (reserved < attempt.promised || parts_.space->counters().free > attempt.free_units) return {};
  if (reserved > 0) {
    // What is in flight gives back most of what it has reserved, and so does packing.
    HEXAD_TRY(lane_->wait_durable(lane_->next_lsn() - 1));
    HEXAD_TRY(pack_for_room(worth_packing(*parts_.shape)));
    const bool more = parts_.space->counters().free > attempt.free_units;
    if (more || parts_.space->reserved() < reserved) return {};
  }
  // Space freed at LSN f comes back when a durable block carries a watermark of at least f (R9).
  if (parts_.space->has_deferred()) {
    const Lsn freed = lane_->next_lsn() - 1;
    HEXAD_TRY(lane_->wait_durable(freed));
    const Status recorded = lane_->wait_recorded(freed);
    const bool full = !recorded.ok() && recorded.error().code == ErrorCode::kNoSpace;
    if (!full) {
      HEXAD_TRY(recorded);
    } else {
      HEXAD_TRY(run_checkpoint());  // its root records as much
    }
    if (outlast_reads(attempt)) return {};
  }
  // What is dead beside something that is alive: core/clean/cleaner.h.
  const Result<bool> moved = cleaner_->step(Cleaner::For::kCommit);
  if (moved.ok() && *moved) return {};
  if (!moved.ok()) jobs_->note(*clean_job_, moved.status());
  // While this looked elsewhere, others may have recorded what was freed, or ended their reads.
  const Lsn recorded = lane_->recorded();
  const bool looked_at = reclaim() < recorded;
  if (parts_.space->counters().free > attempt.free_units) return {};
  // Others have gone on meanwhile, with what came back perhaps, and what they replace comes back in
  // turn: only who finds nobody going on has found the store full.
  const Lsn newest = lane_->next_lsn() - 1;
  if (newest > attempt.durable && attempt.tries < kMaxPatience) {
    return lane_->wait_durable(newest);
  }
  // Nobody goes on, and nothing can be moved: now the little counts, too, that rides in the log,
  // and what is packed can be moved by the next try. After that nothing rides there but what others
  // have brought since, so whoever is alone comes here once.
  if (*attempt.packings > 0 && parts_.log_blobs->payload_bytes() > 0) {
    --*attempt.packings;
    return pack_for_room(1);
  }
  // Whoever reads an old version for long gives way before a commit fails.
  const std::uint64_t held = parts_.space->held_units();
  if (held > 0 && pins_.end_oldest()) {
    reclaim();
    return {};
  }
  if (!zone.ok()) return zone;
  if (outlast_moves(attempt)) return {};
  if (const std::string who = reports_.space->describe_held(); !who.empty()) {
    return attempt.space_error.with_context(who);
  }
  if (looked_at && parts_.space->has_deferred()) {
    return attempt.space_error.with_context(
        "what was deleted or overwritten is being read just now");
  }
  return attempt.space_error;
}

Lsn Engine::reclaim() {
  const Lsn recorded = lane_->recorded();
  Lsn looked_at = recorded;
  pins_.reclaim(recorded, [&](const ReadPins::Limits& limits) {
    looked_at = limits.wide;
    parts_.space->reclaim(limits.wide, limits.narrow, limits.oldest);
    parts_.log_blobs->forget(limits.oldest);
  });
  return looked_at;
}

// Repeats until the transaction has its place or has failed. `rests_on`: the LSN that must be
// durable before a failure may be told.
Status Engine::sequence(const Transaction& transaction, PreparedOps& prepared,
                        Submission& submission, Lsn* rests_on, Author author) {
  int rewrites = 0;
  int cold = 0;
  bool places_ahead = false;
  io::Nanos patience = kPatienceWithReads;
  int packings = kMaxPackings;
  Cuts cuts;
  WarmKeys warm;
  if (parts_.metadata->reads_devices()) HEXAD_TRY(unplaced(warm_names(transaction, warm)));
  for (int i = 0; i < kMaxAttempts; ++i) {
    Attempt attempt;
    attempt.tries = i;
    attempt.patience = &patience;
    attempt.packings = &packings;
    attempt.places_ahead = places_ahead;
    if (cold < kMaxCold) attempt.warm = &warm;
    attempt.keep_versions = author == Author::kEngine;
    attempt.accept_crowded = author == Author::kEngine || rewrites >= kMaxRewrites;
    Result<Outcome> outcome = Outcome::kSequenced;
    {
      if (!sequencer_.lock_unless_recalled()) return called_back_early();
      const SequencerLock lock(sequencer_, std::adopt_lock);
      outcome = try_sequence(transaction, prepared, submission, attempt);
      if (!outcome.ok() && Attempt::rests_on_state(outcome.error().code)) {
        *rests_on = lane_->next_lsn() - 1;
      }
    }
    if (!outcome.ok()) return unplaced(outcome.status());
    switch (*outcome) {
      case Outcome::kSequenced:
        if (!cuts.whole.empty()) count_cuts(cuts, blob_pieces(transaction, prepared).size());
        return {};
      case Outcome::kRedo:
        HEXAD_TRY(prepare_again(transaction, attempt.redo_ops, cuts.most_units, prepared));
        break;
      case Outcome::kFragmented:
        ++rewrites;
        for (const CrowdedPage& page : attempt.crowded) {
          // A page that cannot be rewritten (its cells are lost, there is no space) stays as it is
          // for as long as its pieces can be counted.
          const Status rewritten = errands_.run("a page of many pieces was rewritten",
                                                [this, page] { return rewrite_page(page); });
          if (io::Recall::has_come()) return called_back_early();
          if (!rewritten.ok()) rewrites = kMaxRewrites;
        }
        break;
      case Outcome::kNeedsRoom: {
        const bool is_full = attempt.no_space && !attempt.wants_zone;
        const bool may_share = is_full && young_blobs(transaction, prepared) > 1;
        if (may_share && !std::exchange(places_ahead, true)) break;
        if (is_full) {
          HEXAD_TRY_ASSIGN(const bool shorter, cut_shorter(transaction, prepared, cuts));
          if (shorter) break;
        }
        HEXAD_TRY(unplaced(make_way(attempt)));
        break;
      }
      case Outcome::kCold:
        parts_.counters->add(CounterId::kColdAttempts);
        if (++cold < kMaxCold) rehearse(transaction, prepared, warm);
        break;
      case Outcome::kLayered:
      case Outcome::kCut:
      case Outcome::kTombstones:
        HEXAD_TRY(unplaced(make_way(attempt)));
        break;
    }
  }
  return Error{ErrorCode::kConflict,
               "gave up after " + std::to_string(kMaxAttempts) +
                   " attempts: the objects of this transaction change faster than it can follow",
               "Retry, or write them from fewer threads."};
}

Status Engine::prepare_again(const Transaction& transaction, const std::vector<Redo>& redo_ops,
                             std::uint32_t most_units, PreparedOps& prepared) {
  Preparing preparing{{}, SharedCopies(0), most_units};
  for (const Redo& redo : redo_ops) {
    if (redo.copy != 0) {
      std::shared_ptr<CopiedPages>& copied = prepared[redo.op].copied;
      const ShiftedRange range = cloned_range(transaction.ops()[redo.op]);
      HEXAD_TRY_ASSIGN(copied, copy_pages(redo.copy, range, std::move(copied)));
      continue;
    }
    if (!redo.count.empty()) {
      HEXAD_TRY_ASSIGN(prepared[redo.op].counted, count_names(redo.count));
      continue;
    }
    HEXAD_TRY(prepare_op(transaction, redo.op, redo.base, redo.inlining, preparing, prepared));
  }
  return {};
}

}  // namespace hexad::core
