#include "core/transact/transaction_placer.h"

#include <algorithm>
#include <utility>

#include "base/short_list.h"
#include "base/units.h"
#include "core/api/op_facts.h"
#include "core/plan/counted_source.h"
#include "core/plan/staged_object.h"
#include "core/record/keys.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

namespace {

// The metadata as a plan reads it: the newest state, and no walk over a great many keys that were
// deleted.
class PlanReader : public PlanSource {
 public:
  // `warm`: of the index this alone, and what is in memory; null: everything.
  PlanReader(NewestState& newest, const WarmKeys* warm) : newest_(newest), warm_(warm) {
    if (warm != nullptr) walked.reading = MetaView::Reading::kMemory;
  }

  Result<std::optional<std::string>> get(std::string_view key) override {
    std::string room;
    HEXAD_TRY_ASSIGN(const auto value, look_up(key, room));
    if (!value.has_value()) return std::optional<std::string>();
    return std::optional<std::string>(std::move(room));
  }
  Result<std::optional<std::string_view>> look_up(std::string_view key,
                                                  std::string& room) override {
    if (warm_ == nullptr) return newest_.look_up(key, room);
    HEXAD_TRY_ASSIGN(const Metadata::PeekedBytes found, newest_.peek(key, *warm_, hold_, room));
    if (found.known) return found.value;
    walked.lacked = true;
    return Error{ErrorCode::kUnavailable, "a key of the metadata is not in memory", ""};
  }
  Status scan(std::string_view prefix, const Visit& visit) override {
    return scan_from(prefix, prefix, visit);
  }
  Status scan_from(std::string_view prefix, std::string_view from, const Visit& visit) override {
    hold_.let_go();  // a thread has one reader at a time (K10)
    return newest_.scan_within(prefix, from, visit, walked);
  }
  std::unique_ptr<KnownPage> take_page(BodyId body, std::uint32_t page) override {
    return newest_.take_page(body, page);
  }
  void give_page_back(BodyId body, std::uint32_t page, std::unique_ptr<KnownPage> known) override {
    newest_.give_page_back(body, page, std::move(known));
  }

  // The state of the index that look-ups were made in.
  void let_go() { hold_.let_go(); }

  MetadataWalk walked = {kMostDeleted};

 private:
  NewestState& newest_;
  const WarmKeys* warm_;
  IndexHold hold_;
};

// Whether no op of it makes the metadata longer by more than tombstones.
bool only_frees(const Transaction& transaction) {
  return std::all_of(
      transaction.ops().begin(), transaction.ops().end(),
      [](const TransactionOp& op) { return facts_of(op.kind).effect != OpEffect::kGrows; });
}

}  // namespace

// Each unplaced blob is promised a stripe of its own, which it will hardly need: many small ones
// share one. Where there is not so much for all of them, they are placed before their group is
// known, in as much as they take. Under the sequencer's lock.
Status TransactionPlacer::place_ahead(Submission& submission, Attempt& attempt) {
  for (std::uint32_t units = parts_.shape.max_pack_units;; units /= 2) {
    const std::size_t before = attempt.allocated.size();
    attempt.no_space = false;
    Status taken = take_places(parts_.placer.plan(submission.unplaced, units), submission, attempt);
    // Shorter stripes fit where no long run is free, and none is to come.
    if (taken.ok() || !attempt.no_space || attempt.wants_zone || units <= 1) return taken;
    for (; attempt.allocated.size() > before; attempt.allocated.pop_back()) {
      parts_.space.discard(attempt.allocated.back());
    }
    submission.packs.clear();
    for (UnplacedBlob& blob : submission.unplaced) blob.where = {};
  }
}

Status TransactionPlacer::take_places(const PlacementPlan& plan, Submission& submission,
                                      Attempt& attempt) {
  for (const PackPlan& pack : plan.packs) {
    HEXAD_TRY_ASSIGN(const alloc::Extent where,
                     attempt.allocate(pack.units, parts_.space, parts_.pipeline));
    submission.packs.push_back({pack, where});
  }
  const StoreShape& shape = parts_.shape;
  for (const std::size_t item : plan.own_stripe) {
    UnplacedBlob& blob = submission.unplaced[item];
    const std::uint64_t cell = ec::cell_bytes(blob.stored.size(), shape.k(), shape.block);
    const auto units = static_cast<std::uint32_t>(divide_up(cell, shape.unit));
    HEXAD_TRY_ASSIGN(blob.where, attempt.allocate(units, parts_.space, parts_.pipeline));
  }
  return {};
}

Result<Outcome> TransactionPlacer::place(Order& order, const Transaction& transaction,
                                         PreparedOps& prepared, Submission& submission,
                                         Attempt& attempt) {
  const ReadPins::Pin pin = parts_.reads.pin_visible();  // YB4 of core/space/log_blobs.h
  Result<Outcome> outcome = plan_and_place(order, transaction, prepared, submission, attempt);
  for (const alloc::Extent& extent : attempt.allocated) parts_.space.discard(extent);
  parts_.space.release(attempt.reserved);
  if (outcome.ok()) return outcome;
  if (attempt.too_many_deleted) return Outcome::kTombstones;
  if (attempt.no_space) return Outcome::kNeedsRoom;
  return outcome;
}

// place(), all but the cleaning up: what it has taken stands in the attempt.
Result<Outcome> TransactionPlacer::plan_and_place(Order& order, const Transaction& transaction,
                                                  PreparedOps& prepared, Submission& submission,
                                                  Attempt& attempt) {
  HEXAD_TRY(parts_.gate.check());
  HEXAD_TRY(parts_.ids.may_draw());
  const BlobPieces blobs = blob_pieces(transaction, prepared);
  ShortList<alloc::Extent, 16> places;  // empty: reserved only
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const PreparedBlob& blob = blobs[i]->prepared;
    places.push_back({});
    if (blob.is_unplaced() && attempt.places_ahead) continue;
    if (blob.is_unplaced() && parts_.space.try_reserve(blob.units)) {
      attempt.reserved += PromisedUnits(blob.units);
      continue;
    }
    HEXAD_TRY_ASSIGN(places[i], attempt.allocate(blob.units, parts_.space, parts_.pipeline));
  }
  PlanContext context = parts_.basis.context(parts_.pipeline.next_lsn());
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    Blob& blob = blobs[i]->prepared.blob;
    if (blobs[i]->prepared.is_unplaced()) {
      blob.log = {context.lsn, static_cast<std::uint32_t>(i)};
    } else {
      blob.where = places[i];
    }
  }
  context.new_body = [this] { return parts_.ids.draw(); };
  context.room = &room_;
  context.keep_versions = attempt.keep_versions;
  context.accept_crowded = attempt.accept_crowded;
  PlanReader reader(order.newest, attempt.warm);
  CountedSource source(reader);
  Result<Plan> planned = plan_transaction(transaction, prepared, context, source);
  reader.let_go();
  order.newest.note_hold(source.keys() + reader.walked.deleted +
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
  HEXAD_TRY(parts_.space.check_releases(plan.record));
  parts_.space.note_in_place(plan.record);
  submission.unplaced.clear();
  submission.unplaced.reserve(blobs.size());
  submission.packs.clear();
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    const PreparedBlob& prepared_blob = blobs[i]->prepared;
    const Blob& blob = prepared_blob.blob;
    if (!plan.refers_to(blob.id())) continue;
    if (!prepared_blob.is_unplaced()) {
      plan.record.allocated.push_back({blob.where, blob.cell_bytes, false, blob.cell_sums, 0,
                                       parts_.space.unusable_slots(blob.where)});
      continue;
    }
    BlobOwner& owner = *plan.owners[blob.log.index];
    const bool promised = places[i].units == 0 && !attempt.places_ahead;
    submission.unplaced.push_back({blob.log, prepared_blob.stored, std::move(owner.key),
                                   owner.offset, promised ? prepared_blob.units : 0, places[i]});
  }
  if (attempt.places_ahead) HEXAD_TRY(place_ahead(submission, attempt));
  for (PostImage& image : plan.totals) plan.record.images.push_back(std::move(image));
  if (!attempt.keep_versions && !only_frees(transaction) && !parts_.space.reserve_whole() &&
      !parts_.space.slabs_left()) {
    attempt.no_space = true;
    attempt.note_room(parts_.space, parts_.pipeline);
    attempt.space_error = Error{
        ErrorCode::kNoSpace,
        "what is left, " + format_size(attempt.free_units * parts_.shape.unit * parts_.shape.k()) +
            ", is kept for checkpoints: only what frees something is taken in",
        alloc::kMakeRoom};
    return attempt.space_error;
  }
  submission.lsn = context.lsn;
  order.newest.encode_as_patches(plan.record.images);
  submission.encoded = encode_own_part(plan.record, parts_.shape.record);
  HEXAD_TRY_ASSIGN(const bool reserved, parts_.pipeline.try_reserve(submission));
  if (!reserved) {
    attempt.record_bytes = parts_.pipeline.record_bound(submission);
    return Outcome::kNeedsRoom;
  }

  // From here on nothing fails.
  order.newest.record_concurrent_changes(plan.record.images, reader);
  reader.let_go();
  order.newest.apply(submission.lsn, plan.record.images);
  for (DecodedPage& page : plan.pages) order.newest.remember(std::move(page));
  if (!attempt.keep_versions) placed_.store(true, std::memory_order_relaxed);
  for (const PartlyShown& list : plan.partly_shown) {
    parts_.fragmented.note(list.key, list.bytes, submission.lsn);
  }
  attempt.allocated.clear();
  for (const UnplacedBlob& blob : submission.unplaced)
    attempt.reserved -= PromisedUnits(blob.units);
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    PreparedBlob& prepared_blob = blobs[i]->prepared;
    const bool wanted = plan.refers_to(prepared_blob.blob.id());
    if (wanted && prepared_blob.blob.is_compressed()) {
      // Of a small one what it takes of a stripe that it shares.
      const std::uint64_t stripe = places[i].units * parts_.shape.unit * parts_.shape.k();
      parts_.counters.add(CounterId::kCompressedAllocated,
                          prepared_blob.is_unplaced() ? prepared_blob.blob.stored : stripe);
    }
    if (!wanted) {
      if (places[i].units > 0) parts_.space.discard(places[i]);
    } else if (!prepared_blob.is_unplaced()) {
      submission.stripes.push_back({places[i], std::move(prepared_blob)});
    }
  }
  for (const LogPlace& release : plan.record.unplaced_releases) {
    parts_.space.release(parts_.log_blobs.release(release));
  }
  for (const TransactionOp& op : transaction.ops()) {
    if (op.staged != nullptr) op.staged->published = true;
  }
  for (const std::shared_ptr<CopiedPages>& copied : plan.copies) copied->taken = true;
  submission.record = std::move(plan.record);
  parts_.pipeline.enqueue(std::move(submission));
  if (!plan.deletions.empty()) parts_.deletions.schedule(std::move(plan.deletions));
  return Outcome::kSequenced;
}

}  // namespace hexad::core
