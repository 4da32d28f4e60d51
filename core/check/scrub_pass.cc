#include "core/check/scrub_pass.h"

#include <optional>
#include <utility>
#include <vector>

#include "core/check/stripe_walk.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

using Part = ScrubPosition::Part;

ScrubPass::ScrubPass(ScrubRun& run, const InFlightCells& in_flight, DamageList& damage,
                     ScrubPosition at)
    : run_(run),
      parts_(run.parts()),
      in_flight_(in_flight),
      damage_(damage),
      at_(std::move(at)),
      packs_(run, damage),
      stripes_(run) {}

Status ScrubPass::run() {
  while (at_.part != Part::kOver && !run_.is_stopped()) {
    run_.begin_piece();
    HEXAD_TRY(look());
    HEXAD_TRY(run_.rest(at_));
  }
  return {};
}

Status ScrubPass::look() {
  switch (at_.part) {
    case Part::kPacks:
      return look_at_packs();
    case Part::kObjects:
      return look_at_objects();
    case Part::kRuns:
      return look_at_runs();
    case Part::kOver:
      break;
  }
  return {};
}

// --- pack stripes ---

// What is durable at the state's LSN has been published, so that a stripe that is found alive now
// is given up later than that, if at all, and not used again before the pin goes (U1).
Result<ReadState> ScrubPass::settled_state() {
  HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
  // Where the pipeline has stopped, nothing is given up any more.
  HEXAD_TRY(parts_.silence.wait_until_durable(state.pin.lsn(),
                                              "a scrub of pack stripes waits for commits"));
  return state;
}

Status ScrubPass::look_at_packs() {
  HEXAD_TRY_ASSIGN(const ReadState state, settled_state());
  StripeWalk walk(parts_.space, {at_.zone, at_.unit});
  while (const std::optional<StripeWalk::Stripe> stripe = walk.next()) {
    if (run_.is_full()) {
      at_.zone = stripe->where.zone;
      at_.unit = stripe->where.unit;
      return {};
    }
    HEXAD_TRY(packs_.look_at(*state.view, {stripe->where, stripe->footer}));
  }
  at_ = {};
  at_.part = Part::kObjects;
  at_.key = kObjectKeys;
  return {};
}

// --- private stripes ---

Status ScrubPass::look_at_objects() {
  HEXAD_TRY_ASSIGN(const ReadState state, parts_.reads.read_state());
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor({at_.key, prefix_end(kOmapKeys)}));
  HEXAD_TRY(cursor.seek(at_.key));
  while (cursor.valid()) {
    const std::string key(cursor.key());
    if (key != at_.key) at_.page = 0;
    at_.key = key;
    if (run_.is_full()) return {};
    HEXAD_TRY_ASSIGN(const bool done, look_at_object(*state.view, key, cursor.value()));
    if (!done) return {};
    HEXAD_TRY(cursor.next());
  }
  damage_.clear_suspects();
  at_ = {};
  at_.part = Part::kRuns;
  return {};
}

// From page at_.page on. False: the piece is full, and at_ says where to go on.
Result<bool> ScrubPass::look_at_object(MetaView& view, const std::string& key,
                                       std::string_view value) {
  run_.count_step();
  if (is_hidden_entry(value)) return true;
  const RecordShape& shape = parts_.shape.record;
  const Result<ObjectRecord> record = decode_object(value, shape);
  if (!record.ok()) {
    run_.find({"metadata key " + printable(key, 64), record.error().message, false});
    return true;
  }
  if (record->body == 0) {
    HEXAD_TRY(look_at_extents(view, key, record->extents));
    return true;
  }
  const std::string prefix = page_prefix(record->body);
  HEXAD_TRY_ASSIGN(MetaView::Cursor pages, view.cursor({prefix, prefix_end(prefix)}));
  HEXAD_TRY(pages.seek(page_key(record->body, at_.page)));
  for (bool first = true; pages.valid(); first = false) {
    HEXAD_TRY_ASSIGN(const PageKey page, parse_page_key(pages.key()));
    at_.page = page.page;
    if (!first && run_.is_full()) return false;
    run_.count_step();
    const Result<ExtentList> extents = decode_page(pages.value(), page.page, shape);
    if (extents.ok()) {
      HEXAD_TRY(look_at_extents(view, key, *extents));
    } else {
      run_.find({name_of(view, key), extents.error().message, false});
    }
    HEXAD_TRY(pages.next());
  }
  return true;
}

Status ScrubPass::look_at_extents(MetaView& view, const std::string& key,
                                  const ExtentList& extents) {
  for (const Blob& blob : blobs_of(parts_.log_blobs.resolve(extents))) {
    const bool is_private = blob.placement == Placement::kPrivate;
    const bool suspect = blob.placement == Placement::kPacked && damage_.is_suspect(blob.where);
    if (!is_private && !suspect) continue;
    if (blob.share != 0 && !shared_.insert(blob.share).second) continue;
    if (suspect) {
      note_lost(blob);
      continue;
    }
    if (!run_.concerns(blob.where)) continue;
    const auto is_there = [](const auto&) { return true; };
    if (in_flight_.read(blob.where, is_there)) continue;  // U2
    HEXAD_TRY_ASSIGN(CheckedStripe checked, stripes_.look_at(blob));
    if (checked.problems.empty()) continue;
    if (!checked.repaired) note_lost(blob);
    const std::string name = name_of(view, key);
    for (std::string& problem : checked.problems) {
      run_.find({name, std::move(problem), checked.repaired});
    }
  }
  return {};
}

// Reads it as a user would, whose reads are what notes damage.
void ScrubPass::note_lost(const Blob& blob) {
  Bytes bytes(blob.raw);
  parts_.blobs.read(blob, 0, bytes).ignore();
}

// For people; what cannot be found out is left out.
std::string ScrubPass::name_of(MetaView& view, const std::string& key) {
  const Result<ObjectKey> object = parse_object_key(key);
  if (!object.ok()) return "omap entry " + printable(key, 64);
  std::string collection = "collection number " + std::to_string(object->space);
  const auto look_for = [&]() -> Status {
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(kCollectionKeys));
    while (cursor.valid()) {
      const Result<CollectionRecord> record = decode_collection(cursor.value());
      if (record.ok() && record->space_of(object->name) == object->space) {
        collection = printable(cursor.key().substr(kCollectionKeys.size()));
      }
      HEXAD_TRY(cursor.next());
    }
    return {};
  };
  look_for().ignore();
  return "object " + collection + "/" + printable(object->name);
}

// --- stripes of runs ---

Status ScrubPass::look_at_runs() {
  std::vector<RunCatalogue::HeldRun> runs;
  {
    HEXAD_TRY(parts_.silence.lock_unless_silent(parts_.checkpoints,
                                                "a scrub of runs waits for a checkpoint"));
    const io::Lock lock(parts_.checkpoints, std::adopt_lock);
    runs = parts_.runs.held();
  }
  for (const RunCatalogue::HeldRun& run : runs) {
    for (const Blob& blob : blobs_of(run.pieces)) {
      run_.count_step();
      if (!run_.concerns(blob.where)) continue;
      HEXAD_TRY_ASSIGN(CheckedStripe checked, stripes_.look_at(blob));
      for (std::string& problem : checked.problems) {
        run_.find({run.name, std::move(problem), checked.repaired});
      }
      if (!run_.is_full()) continue;
      HEXAD_TRY(run_.rest(at_));
      if (run_.is_stopped()) return {};
      run_.begin_piece();
    }
  }
  at_.part = Part::kOver;
  return {};
}

}  // namespace hexad::core
