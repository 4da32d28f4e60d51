#include "core/plan/plan_collections.h"

#include <optional>
#include <utility>

#include "base/codec.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

std::string quoted_prefix(const TransactionOp& op) { return "\"" + printable(op.name, 64) + "\""; }

Status check_parts(const std::string& collection, std::size_t parts) {
  if (parts <= kMaxNameParts) return {};
  return Error{ErrorCode::kTooBig,
               "collection " + printable(collection) + ": its names would be in more than " +
                   std::to_string(kMaxNameParts) +
                   " ranges that come from different collections in turn",
               "Rename the objects into it instead, in several transactions."};
}

}  // namespace

Status CollectionOps::create(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.collection(op.collection));
  if (slot->current.has_value()) {
    return Error{ErrorCode::kAlreadyExists,
                 "collection " + printable(op.collection) + " exists already", ""};
  }
  if (next_id_ == 0) {
    HEXAD_TRY_ASSIGN(const auto value, source_.get(meta_key(kNextCollection)));
    if (value.has_value()) {
      Decoder in(*value);
      next_id_ = in.le32();
      HEXAD_TRY(in.finish("next collection id"));
    }
    if (next_id_ == 0) next_id_ = 1;
  }
  slot->current = CollectionRecord{next_id_++, context_.default_compression};
  return {};
}

Status CollectionOps::remove(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.existing_collection(op.collection));
  const CollectionId id = slot->current->id;
  if (op.contents == Contents::kRemoved) {
    for (auto& [key, object] : state_.objects()) {
      if (object.collection == id) object.current = nullptr;
    }
  }
  bool any_left = false;
  for (NameRange& range : ranges_of(slot->current->all_parts())) {
    HEXAD_TRY_ASSIGN(const std::optional<std::string> survivor, state_.first_name(range));
    if (!survivor.has_value()) continue;
    if (op.contents == Contents::kMustBeEmpty) {
      return Error{
          ErrorCode::kNotEmpty,
          "collection " + printable(op.collection) + " still holds object " + printable(*survivor),
          "Remove its objects first, or with it (Contents::kRemoved; hexad bucket rm "
          "POOL BUCKET --recursive)."};
    }
    any_left = true;
    plan_.record.images.push_back(
        {deletion_key(range.space, range.from), encode_deletion(range.end)});
    plan_.deletions.names.push_back(std::move(range));
  }
  if (any_left) plan_.removed_whole.push_back(id);
  slot->current.reset();
  return {};
}

// The range of names changes hands with all objects in it; what comes back for it is empty (NR2).
Status CollectionOps::split(const TransactionOp& op, const PreparedOp& prepared,
                            std::size_t index) {
  HEXAD_TRY_ASSIGN(CollectionSlot * from, state_.existing_collection(op.collection));
  HEXAD_TRY_ASSIGN(CollectionSlot * to, state_.existing_collection(op.other_collection));
  const std::string end = prefix_end(op.name).value_or("");
  const NameParts from_parts = from->current->all_parts();
  const NameParts to_parts = to->current->all_parts();
  for (const NameRange& range : ranges_of(to_parts, op.name, end)) {
    HEXAD_TRY_ASSIGN(const std::optional<std::string> taken, state_.first_name(range));
    if (!taken.has_value()) continue;
    return Error{ErrorCode::kNotEmpty,
                 "collection " + printable(op.other_collection) + " holds object " +
                     printable(*taken) + ", which begins with the prefix " + quoted_prefix(op),
                 "Split into a collection that has no object with the prefix."};
  }
  const std::vector<NameRange> going = ranges_of(from_parts, op.name, end);
  HEXAD_TRY_ASSIGN(const bool any, has_object(going));
  if (!any) return {};
  // Both ways: what this transaction has removed is counted where its name is now.
  const std::optional<CollectionTotals> gone = count_of(going, prepared);
  if (!gone.has_value()) {
    plan_.redo.push_back(Redo{index, 0, Inlining::kOfSmall, 0, going});
    return {};
  }
  HEXAD_TRY(state_.move_names(going, *gone, from->current->id, to->current->id));
  // As many as this transaction has removed at most.
  const std::vector<NameRange> coming = ranges_of(to_parts, op.name, end);
  HEXAD_TRY_ASSIGN(const CollectionTotals come, state_.count(coming));
  HEXAD_TRY(state_.move_names(coming, come, to->current->id, from->current->id));
  NameParts left = with_range_of(from_parts, to_parts, op.name, end);
  NameParts grown = with_range_of(to_parts, from_parts, op.name, end);
  HEXAD_TRY(check_parts(op.collection, left.size()));
  HEXAD_TRY(check_parts(op.other_collection, grown.size()));
  from->current->set_parts(std::move(left));
  to->current->set_parts(std::move(grown));
  return {};
}

std::optional<CollectionTotals> CollectionOps::count_of(const std::vector<NameRange>& ranges,
                                                        const PreparedOp& prepared) {
  const CountedNames* counted = prepared.counted.get();
  if (counted == nullptr || counted->lost || counted->ranges != ranges) return std::nullopt;
  return CollectionTotals{counted->there.objects + counted->come.objects - counted->gone.objects,
                          counted->there.bytes + counted->come.bytes - counted->gone.bytes};
}

Result<bool> CollectionOps::has_object(const std::vector<NameRange>& ranges) {
  for (const NameRange& range : ranges) {
    HEXAD_TRY_ASSIGN(const std::optional<std::string> name, state_.first_name(range));
    if (name.has_value()) return true;
  }
  return false;
}

Status CollectionOps::merge(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(CollectionSlot * from, state_.existing_collection(op.collection));
  HEXAD_TRY_ASSIGN(CollectionSlot * into, state_.existing_collection(op.other_collection));
  std::vector<NameRange> merged;
  for (const NameRange& mine : ranges_of(into->current->all_parts())) {
    for (const NameRange& theirs : ranges_of(from->current->all_parts(), mine.from, mine.end)) {
      const NameRange same{mine.space, theirs.from, theirs.end};
      HEXAD_TRY(merge_range(op, theirs, same, merged));
    }
  }
  NameParts parts = joined(merged);
  HEXAD_TRY(check_parts(op.other_collection, parts.size()));
  HEXAD_TRY(state_.move_all(from->current->id, into->current->id));
  into->current->set_parts(std::move(parts));
  from->current.reset();
  return {};
}

Status CollectionOps::merge_range(const TransactionOp& op, const NameRange& theirs,
                                  const NameRange& mine, std::vector<NameRange>& merged) {
  HEXAD_TRY_ASSIGN(std::optional<std::string> their_next, state_.first_name(theirs));
  HEXAD_TRY_ASSIGN(std::optional<std::string> my_next, state_.first_name(mine));
  if (!their_next.has_value() && !my_next.has_value() && !merged.empty()) {
    // Nobody's: to whom the names before it are, so that the two are one part.
    const bool with_theirs = merged.back().space == theirs.space;
    merged.push_back(with_theirs ? theirs : mine);
    return {};
  }
  std::string at = mine.from;
  while (their_next.has_value() && my_next.has_value()) {
    if (*their_next == *my_next) {
      return Error{ErrorCode::kAlreadyExists,
                   "object " + printable(op.other_collection) + "/" + printable(*my_next) +
                       " exists already, and so it does in collection " + printable(op.collection),
                   "Remove or rename one of the two first."};
    }
    const bool theirs_first = *their_next < *my_next;
    const NameRange& turn = theirs_first ? theirs : mine;
    const std::string& stop = theirs_first ? *my_next : *their_next;
    merged.push_back({turn.space, at, stop});
    at = stop;
    HEXAD_TRY_ASSIGN(std::optional<std::string> next,
                     state_.first_name({turn.space, at, turn.end}));
    (theirs_first ? their_next : my_next) = std::move(next);
    // Twice as many ranges as the two had, and one per turn.
    if (merged.size() > 4 * kMaxNameParts) return check_parts(op.other_collection, merged.size());
  }
  merged.push_back({their_next.has_value() ? theirs.space : mine.space, at, mine.end});
  return {};
}

Status CollectionOps::set(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.existing_collection(op.collection));
  if (op.kind == OpKind::kSetPolicy) {
    slot->current->compression = op.policy;
  } else {
    slot->current->quota = op.quota;
  }
  return {};
}

void CollectionOps::finish() {
  if (next_id_ == 0) return;
  std::string value;
  Encoder(value).le32(next_id_);
  plan_.record.images.push_back({meta_key(kNextCollection), std::move(value)});
}

}  // namespace hexad::core
