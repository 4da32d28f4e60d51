#include "core/clean/compactor.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/refused_memory.h"
#include "core/clean/owned_extents.h"
#include "core/record/forward_keys.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

constexpr std::size_t kListsAtOnce = 64;
constexpr std::uint64_t kMostListBytes = 256 << 10;
constexpr std::size_t kMostPieces = 1024;
constexpr std::uint64_t kMostPieceBytes = 64 << 10;
// Footers and gaps of a stripe that is full.
constexpr std::uint64_t kFooterPart = 32;
// Of the metadata, looked at in one go.
constexpr std::size_t kKeysAtOnce = 4096;
// Where lists are, in the order of the keys.
constexpr std::array<std::string_view, 3> kLists = {kObjectKeys, kOmapKeys, kPageKeys};

// Pieces are short next to a cell, so that cells are filled evenly.
std::uint64_t piece_bytes(std::uint32_t most_units, const StoreShape& shape) {
  return std::min<std::uint64_t>(kMostPieceBytes, most_units * shape.unit / 2);
}

// As it was compressed before, or not at all.
compression::Policy policy_for(compression::Algorithm algorithm) {
  compression::Policy policy;
  policy.algorithm = algorithm;
  const bool any = algorithm != compression::Algorithm::kNone;
  policy.mode = any ? compression::Mode::kForce : compression::Mode::kNone;
  return policy;
}

Blob at_place(Blob blob, const PackedPlace& place) {
  blob.placement = Placement::kPacked;
  blob.log = {};
  blob.where = {place.zone, place.unit, 0};
  blob.cell = place.cell;
  blob.cell_offset = place.cell_offset;
  return blob;
}

// Of the list that the key shows now; nothing: there is none.
Result<std::optional<OwnedExtents>> list_of(std::string_view key,
                                            const std::optional<std::string>& value,
                                            const RecordShape& shape) {
  if (!value.has_value()) return std::optional<OwnedExtents>();
  HEXAD_TRY_ASSIGN(std::optional<OwnedExtents> list, OwnedExtents::decode(key, *value, shape));
  if (list.has_value() && list->body() != 0) list.reset();  // its lists are those of pages
  return list;
}

}  // namespace

Status Compactor::add(const Candidate& at, const CompactPlan& plan, Pieces& pieces) {
  std::vector<Bytes> raw;
  std::vector<BlobReader::Range> ranges;
  for (const CompactPiece& piece : plan.pieces) {
    MutByteView out = raw.emplace_back(piece.length());
    for (const Extent& extent : piece.from) {
      ranges.push_back({&extent.blob, extent.blob_offset, out.first(extent.length)});
      out = out.subspan(extent.length);
    }
  }
  HEXAD_TRY(parts_.blobs.read(ranges));
  Work work{at, pieces.pieces.size(), plan.pieces.size(), plan.frees};
  std::vector<Blob> blobs;
  std::vector<UnplacedBlob> stored;
  const Lsn written = std::max<Lsn>(1, parts_.checkpointed());
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const CompactPiece& piece = plan.pieces[i];
    HEXAD_TRY_ASSIGN(
        PreparedBlob prepared,
        parts_.preparer.prepare(raw[i], compression::Hint::kNone, policy_for(piece.algorithm),
                                BlobPreparer::Form::kShared));
    UnplacedBlob& unplaced = stored.emplace_back();
    unplaced.place.lsn = written;
    unplaced.stored = std::move(prepared.stored);
    work.bytes += unplaced.stored.size();
    unplaced.owner = at.list.key;
    unplaced.offset = piece.offset();
    blobs.push_back(std::move(prepared.blob));
  }
  const auto append = [](auto& to, auto&& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(pieces.pieces, std::vector<CompactPiece>(plan.pieces));
  append(pieces.blobs, std::move(blobs));
  append(pieces.stored, std::move(stored));
  pieces.lists.push_back(std::move(work));
  return {};
}

std::vector<Compactor::Candidate> Compactor::choose(const Need& need, bool& waiting) {
  std::vector<Candidate> all;
  const auto take = [&](FragmentedLists& lists, std::uint32_t most) {
    FragmentedLists::Choice choice =
        lists.best(kListsAtOnce - all.size(), most, parts_.checkpointed());
    waiting = waiting || choice.waiting;
    for (FragmentedLists::Candidate& one : choice.lists) all.push_back({std::move(one), &lists});
  };
  take(partly_, need.most_shown);
  take(lone_, need.most_filled);
  return all;
}

void Compactor::forget(const std::string& key, Lsn changed) {
  partly_.forget(key, changed);
  lone_.forget(key, changed);
}

// KL5
void Compactor::leave_alone(const std::string& key, Lsn changed, const Status& why) {
  partly_.note_unreadable(key, changed);
  lone_.note_unreadable(key, changed);
  note_problem(why);
}

void Compactor::note_problem(const Status& why) {
  if (unreadable_++ == 0) problem_ = why;
  parts_.counters.add(CounterId::kCompactUnreadable);
}

// KL5, of what is no list that anybody has told of.
void Compactor::note_missed(const Status& why) {
  missed_ = true;
  note_problem(why);
}

void Compactor::try_again() {
  if (std::exchange(missed_, false)) walk_ = ListWalk();
  partly_.try_again();
  lone_.try_again();
  problem_ = {};
  unreadable_ = 0;
}

Status Compactor::problem() const {
  if (problem_.ok()) return {};
  return problem_.error().with_context(
      std::to_string(unreadable_) +
      " times a list of extents could not be read, and what it hides does not come back before "
      "that "
      "is tried again, once something was mended or the store has been at rest; the first time");
}

Result<Compactor::Pieces> Compactor::gather(const Need& need) {
  const RecordShape& shape = parts_.shape.record;
  const CompactRules rules{need.most_shown, piece_bytes(need.runs.front(), parts_.shape),
                           stripe_bytes(), need.most_filled};
  const std::uint64_t most_list_bytes = std::min(kMostListBytes, parts_.max_record() / 4);
  Pieces pieces;
  const std::vector<Candidate> candidates = choose(need, pieces.waiting);
  if (candidates.empty()) return pieces;
  std::uint64_t list_bytes = 0;
  std::uint64_t bytes = 0;
  // What is unplaced in this state and has a place is named by that behind the next checkpoint.
  HEXAD_TRY_ASSIGN(const ReadState state, parts_.reads.read_state());
  std::set<std::string_view> taken;
  for (const Candidate& at : candidates) {
    const FragmentedLists::Candidate& list = at.list;
    if (taken.contains(list.key)) continue;
    std::uint64_t value_bytes = 0;
    const auto look = [&]() -> Result<CompactPlan> {
      HEXAD_TRY_ASSIGN(const std::optional<std::string> value, state.view->get(list.key));
      if (value.has_value()) value_bytes = value->size();
      HEXAD_TRY_ASSIGN(std::optional<OwnedExtents> now, list_of(list.key, value, shape));
      return now.has_value() ? plan_compaction(now->extents(), rules) : CompactPlan{};
    };
    const Result<CompactPlan> planned = look();
    if (!planned.ok()) {
      pieces.looked = true;
      leave_alone(list.key, list.changed, planned.status());
      continue;
    }
    const CompactPlan& plan = *planned;
    if (plan.pieces.empty()) {
      pieces.looked = true;
      if (plan.unplaced) {
        pieces.waiting = true;
        at.from->set_aside(list.key, list.changed, state.view->lsn());
      } else {
        at.from->forget(list.key, list.changed);
      }
      continue;
    }
    std::uint64_t more = 0;
    for (const CompactPiece& piece : plan.pieces) more += piece.length();
    const bool fits = list_bytes + list.key.size() + value_bytes <= most_list_bytes &&
                      bytes + more <= need.most_bytes &&
                      pieces.pieces.size() + plan.pieces.size() <= kMostPieces;
    if (!pieces.lists.empty() && !fits) break;
    const std::size_t before = pieces.pieces.size();
    const Status added = without_bad_alloc([&] { return add(at, plan, pieces); });
    if (!added.ok()) {
      cut_to(pieces, before);
      pieces.looked = true;
      leave_alone(list.key, list.changed, added);
      continue;
    }
    taken.insert(list.key);
    list_bytes += list.key.size() + value_bytes;
    bytes += more;
  }
  return pieces;
}

void Compactor::cut_to(Pieces& pieces, std::size_t count) {
  pieces.pieces.resize(count);
  pieces.blobs.resize(count);
  pieces.stored.resize(count);
}

Result<Compactor::Did> Compactor::step(const Need& need) {
  HEXAD_TRY_ASSIGN(Pieces pieces, gather(need));
  if (pieces.lists.empty()) {
    if (pieces.looked) return Did::kLooked;
    return pieces.waiting ? Did::kUnplaced : Did::kNothing;
  }
  Result<Did> did = write(need, pieces);
  if (did.ok() || did.error().code != ErrorCode::kNoSpace || pieces.lists.size() == 1) return did;
  // Of one list it may be less than what is kept for moves.
  pieces.lists.resize(1);
  cut_to(pieces, pieces.lists.front().count);
  return write(need, pieces);
}

Result<Compactor::Did> Compactor::write(const Need& need, const Pieces& pieces) {
  std::uint64_t frees = 0;
  std::uint64_t bytes = 0;
  for (const Work& work : pieces.lists) {
    frees += work.frees;
    bytes += work.bytes;
  }
  std::vector<PackPlan> layouts = lay_out_moved(pieces.stored, need.runs, parts_.shape);
  std::uint64_t takes = units_of(layouts) * stripe_bytes();
  const bool too_short = layouts.empty() || takes >= frees;
  if (too_short) {
    // Whether it would be worth it where there were longer runs.
    const std::vector<std::uint32_t> longer(pieces.stored.size(), parts_.shape.max_pack_units);
    layouts = lay_out_moved(pieces.stored, longer, parts_.shape);
    takes = units_of(layouts) * stripe_bytes();
  }
  if (layouts.empty() || takes >= frees) {
    // KL4. Of many some give up no more than they take at this price of a byte; a few may be worth
    // it together with others that come later, unless they would not fill what they give up even in
    // a stripe without a gap. The others are tried without these.
    const bool many = pieces.lists.size() == kListsAtOnce || 2 * bytes >= need.most_bytes;
    bool any = false;
    for (const Work& work : pieces.lists) {
      const bool worth_it = many ? work.frees * bytes > work.bytes * takes
                                 : work.frees > work.bytes + work.bytes / kFooterPart;
      if (!layouts.empty() && worth_it) continue;
      work.at.from->forget(work.at.list.key, work.at.list.changed);
      parts_.counters.add(CounterId::kCompactNoGain);
      any = true;
    }
    if (any) return Did::kLooked;
    return pieces.waiting ? Did::kUnplaced : Did::kNothing;
  }
  if (too_short) {
    return Error{ErrorCode::kNoSpace, "what is free lies in runs too short to write pieces to", ""};
  }
  Done done;
  MovedStripes moved;
  const FillMoved fill_record = [&](const MovedStripes& where, LogRecord& record) {
    return fill(pieces, where, record, done);
  };
  HEXAD_TRY_ASSIGN(const Lsn written,
                   write_moved(parts_, layouts, pieces.stored, fill_record, moved));
  for (const Work& work : pieces.lists) forget(work.at.list.key, work.at.list.changed);
  if (!done.unreadable.ok()) note_missed(done.unreadable);
  if (written == 0) return Did::kLooked;
  walk_.note_gain();
  for (const Done::Left& left : done.lists) {
    partly_.note(left.key, left.partly, written);
    lone_.note(left.key, left.lone, written);
  }
  for (const StripeWrite& stripe : moved.stripes) {
    parts_.space.note_written(stripe.where, parts_.checkpointed());
  }
  parts_.counters.add(CounterId::kCompactedLists, done.lists.size());
  parts_.counters.add(CounterId::kCompactedBlobs, done.blobs);
  parts_.counters.add(CounterId::kCompactedBytes, done.bytes);
  parts_.counters.add(CounterId::kCleanTooLate, done.late);
  return Did::kWrote;
}

// Under the sequencer's lock.
Status Compactor::fill(const Pieces& pieces, const MovedStripes& moved, LogRecord& record,
                       Done& done) const {
  const RecordShape& shape = parts_.shape.record;
  done = {};
  std::vector<std::uint64_t> live(moved.stripes.size(), 0);
  ForwardKeys forwards;
  for (const Work& work : pieces.lists) {
    const std::string& key = work.at.list.key;
    const auto now = [&]() -> Result<std::optional<OwnedExtents>> {
      HEXAD_TRY_ASSIGN(const std::optional<std::string> value, parts_.commits.get(key));
      return list_of(key, value, shape);
    };
    Result<std::optional<OwnedExtents>> list_now = now();
    if (!list_now.ok()) done.unreadable = list_now.status();  // KL5
    if (!list_now.ok() || !list_now->has_value()) {
      done.late += work.count;
      continue;
    }
    std::optional<OwnedExtents>& list = *list_now;
    ExtentList& extents = list->extents();
    parts_.log_blobs.resolve_all(extents);  // CL5
    const ExtentList before = extents;
    bool changed = false;
    for (std::size_t i = work.first; i < work.first + work.count; ++i) {
      const Blob blob = at_place(pieces.blobs[i], moved.places[i]);
      if (show_instead(extents, pieces.pieces[i].from, blob) == 0) {  // KL1
        ++done.late;
        continue;
      }
      changed = true;
      done.bytes += blob.stored;
      live[moved.stripe_of[i]] += blob.stored;
    }
    if (!changed) continue;
    for (const Blob& blob : blobs_released(before, extents)) {  // KL2
      add_release(record, blob);
      ++done.blobs;
    }
    forwards.change({key}, before, {key}, extents);
    record.images.push_back({key, list->encode(shape), {}, true});
    done.lists.push_back({key, hidden_bytes(extents), spare_bytes(extents, stripe_bytes())});
  }
  if (done.lists.empty()) return nothing_to_move();
  forwards.write(record.images);
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i] > 0) record.allocated.push_back(moved.proof(i, live[i]));  // KL3
  }
  return {};
}

Result<bool> Compactor::find_in(MetaView& view, std::string_view prefix, std::size_t& seen,
                                Lsn now) {
  const RecordShape& shape = parts_.shape.record;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor({std::string(prefix), prefix_end(prefix)}));
  HEXAD_TRY(cursor.seek(std::max(walk_.from(), std::string(prefix))));
  for (; cursor.valid(); ++seen) {
    const std::string key(cursor.key());
    if (seen == kKeysAtOnce) {
      walk_.go_on_at(key);
      return false;
    }
    Result<std::optional<OwnedExtents>> list = list_of(key, std::string(cursor.value()), shape);
    if (!list.ok()) note_missed(list.status());
    if (list.ok() && list->has_value()) {
      ExtentList& extents = (*list)->extents();
      const HiddenBytes partly = hidden_bytes(extents);
      if (partly.hidden > 0) partly_.note(key, partly, now);
      const HiddenBytes lone = spare_bytes(extents, stripe_bytes());
      if (lone.hidden > 0) lone_.note(key, lone, now);
    }
    HEXAD_TRY(cursor.next());
  }
  return true;
}

Result<bool> Compactor::find_some() {
  if (partly_.empty() && lone_.empty()) {
    walk_.maybe_again([this] {
      const bool partly_lost = partly_.take_lost();
      return lone_.take_lost() || partly_lost;
    });
  }
  if (walk_.over()) return false;
  HEXAD_TRY_ASSIGN(const ReadState state, parts_.reads.read_state());
  std::size_t seen = 0;
  for (const std::string_view prefix : kLists) {
    const std::optional<std::string> end = prefix_end(prefix);
    if (end.has_value() && walk_.from() >= *end) continue;
    const Result<bool> found = find_in(*state.view, prefix, seen, state.view->lsn());
    // Nobody knows the keys behind it.
    if (!found.ok()) note_missed(found.status());
    if (found.ok() && !*found) return true;
  }
  walk_.end();
  return true;
}

}  // namespace hexad::core
