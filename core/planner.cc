#include "core/planner.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/units.h"
#include "core/keys.h"
#include "core/name_parts.h"
#include "core/object_extents.h"
#include "core/plan_guards.h"
#include "core/plan_result.h"
#include "core/plan_state.h"
#include "core/plan_totals.h"
#include "core/staged_object.h"

namespace hexad::core {

namespace {

class Planner {
 public:
  Planner(const Transaction& transaction, const PreparedOps& prepared, const PlanContext& context,
          PlanSource& source)
      : transaction_(transaction),
        prepared_(prepared),
        context_(context),
        source_(source),
        state_(context, source) {}

  Result<Plan> run() {
    HEXAD_TRY(check_guards(transaction_, prepared_, state_, plan_));
    if (!plan_.redo.empty()) return std::move(plan_);
    for (std::size_t i = 0; i < transaction_.ops().size(); ++i) {
      HEXAD_TRY(apply(transaction_.ops()[i], i));
    }
    const auto again = [this] {
      return !plan_.redo.empty() || !plan_.crowded.empty() || !plan_.layered.empty();
    };
    if (!again()) HEXAD_TRY(check_pages(state_, context_, plan_));
    if (again()) return std::move(plan_);
    if (next_collection_ != 0) {
      std::string value;
      Encoder(value).le32(next_collection_);
      plan_.record.images.push_back({meta_key(kNextCollection), std::move(value)});
    }
    HEXAD_TRY(plan_totals(state_, plan_));
    HEXAD_TRY(finish_plan(state_, source_, prepared_, context_, adopted_, plan_));
    return std::move(plan_);
  }

 private:
  // --- ops ---

  Status apply(const TransactionOp& op, std::size_t index) {
    switch (op.kind) {
      case OpKind::kCreateCollection:
        return create_collection(op);
      case OpKind::kRemoveCollection:
        return remove_collection(op);
      case OpKind::kSetPolicy:
      case OpKind::kSetQuota:
        return set_collection(op);
      case OpKind::kSplitCollection:
        return split_collection(op, prepared_[index]);
      case OpKind::kMergeCollection:
        return merge_collection(op);
      case OpKind::kTouch:
        return writable_only(op);
      case OpKind::kCreate:
        return create(op);
      case OpKind::kPut:
        return put(op, prepared_[index]);
      case OpKind::kWrite:
        return write(op, prepared_[index], index, op.offset);
      case OpKind::kAppend:
        return append(op, prepared_[index], index);
      case OpKind::kZero:
        return zero(op);
      case OpKind::kTruncate:
        return truncate(op);
      case OpKind::kRemove:
        return remove(op);
      case OpKind::kSetAttr:
        return set_attr(op);
      case OpKind::kRemoveAttr:
        return remove_attr(op);
      case OpKind::kSetAttrs:
        return set_attrs(op);
      case OpKind::kRemoveAttrs:
        return remove_attrs(op);
      case OpKind::kRemoveRange:
        return remove_range(op);
      case OpKind::kSetHint:
        return set_hint(op);
      case OpKind::kRename:
        return rename(op);
      case OpKind::kClone:
        return clone(op);
      case OpKind::kCloneRange:
        return clone_range(op);
      case OpKind::kPublish:
        return publish(op);
      case OpKind::kOmapSet:
        return omap_put(op, op.other, prepared_[index]);
      case OpKind::kOmapSetHeader:
        return omap_put(op, {}, prepared_[index]);
      case OpKind::kOmapRemove:
        return omap_remove(op);
      case OpKind::kOmapRemoveRange:
        return omap_remove_range(op);
      case OpKind::kOmapClear:
        return omap_clear(op);
      case OpKind::kExpectAbsent:
      case OpKind::kExpectExists:
      case OpKind::kExpectVersion:
      case OpKind::kExpectAttr:
      case OpKind::kExpectAttrAbsent:
      case OpKind::kExpectBytes:
      case OpKind::kExpectOmap:
      case OpKind::kExpectOmapAbsent:
        return {};
    }
    return Error{ErrorCode::kInvalidArgument, "unknown op in a transaction", ""};
  }

  Status create_collection(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.collection(op.collection));
    if (slot->current.has_value()) {
      return Error{ErrorCode::kAlreadyExists,
                   "collection " + printable(op.collection) + " exists already", ""};
    }
    if (next_collection_ == 0) {
      HEXAD_TRY_ASSIGN(const auto value, source_.get(meta_key(kNextCollection)));
      if (value.has_value()) {
        Decoder in(*value);
        next_collection_ = in.le32();
        HEXAD_TRY(in.finish("next collection id"));
      }
      if (next_collection_ == 0) next_collection_ = 1;
    }
    slot->current = CollectionRecord{next_collection_++, context_.default_compression};
    return {};
  }

  Status remove_collection(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.existing_collection(op.collection));
    const CollectionId id = slot->current->id;
    if (op.contents == Contents::kRemoved) {
      for (auto& [key, object] : state_.objects()) {
        if (object.collection == id) object.current.reset();
      }
    }
    bool any_left = false;
    for (NameRange& range : ranges_of(slot->current->all_parts())) {
      HEXAD_TRY_ASSIGN(const std::optional<std::string> survivor, state_.first_name(range));
      if (!survivor.has_value()) continue;
      if (op.contents == Contents::kMustBeEmpty) {
        return Error{ErrorCode::kNotEmpty,
                     "collection " + printable(op.collection) + " still holds object " +
                         printable(*survivor),
                     "Remove its objects first, or with it (Contents::kRemoved; hexad bucket rm "
                     "--recursive)."};
      }
      any_left = true;
      plan_.record.images.push_back(
          {doomed_key(range.space, range.from), encode_doomed(range.end)});
      plan_.doomed.names.push_back(std::move(range));
    }
    if (any_left) plan_.removed_whole.push_back(id);
    slot->current.reset();
    return {};
  }

  // The range of names changes hands with all objects in it; what comes back for it is empty (P2).
  Status split_collection(const TransactionOp& op, const PreparedOp& prepared) {
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
    HEXAD_TRY_ASSIGN(const CollectionTotals gone, count_of(going, prepared));
    HEXAD_TRY(state_.move_names(going, gone, from->current->id, to->current->id));
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

  // As it was counted beside the commits, if that was of these names.
  Result<CollectionTotals> count_of(const std::vector<NameRange>& ranges,
                                    const PreparedOp& prepared) {
    const CountedNames* counted = prepared.counted.get();
    if (counted == nullptr || counted->lost || counted->ranges != ranges) {
      return state_.count(ranges);
    }
    return CollectionTotals{counted->there.objects + counted->come.objects - counted->gone.objects,
                            counted->there.bytes + counted->come.bytes - counted->gone.bytes};
  }

  Result<bool> has_object(const std::vector<NameRange>& ranges) {
    for (const NameRange& range : ranges) {
      HEXAD_TRY_ASSIGN(const std::optional<std::string> name, state_.first_name(range));
      if (name.has_value()) return true;
    }
    return false;
  }

  static std::string quoted_prefix(const TransactionOp& op) {
    return "\"" + printable(op.name, 64) + "\"";
  }

  static Status check_parts(const std::string& collection, std::size_t parts) {
    if (parts <= kMaxNameParts) return {};
    return Error{ErrorCode::kTooBig,
                 "collection " + printable(collection) + ": its names would be in more than " +
                     std::to_string(kMaxNameParts) +
                     " ranges that come from different collections in turn",
                 "Rename the objects into it instead, in several transactions."};
  }

  Status merge_collection(const TransactionOp& op) {
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

  // The same names in two spaces: what has objects in turn takes turns.
  Status merge_range(const TransactionOp& op, const NameRange& theirs, const NameRange& mine,
                     std::vector<NameRange>& merged) {
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
                         " exists already, and so it does in collection " +
                         printable(op.collection),
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

  Status set_collection(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(CollectionSlot * slot, state_.existing_collection(op.collection));
    if (op.kind == OpKind::kSetPolicy) {
      slot->current->compression = op.policy;
    } else {
      slot->current->quota = op.quota;
    }
    return {};
  }

  Status writable_only(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    // touch never changes an existing object
    if (slot->current == nullptr) PlanState::writable(*slot);
    return {};
  }

  Status create(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    if (slot->current != nullptr) {
      return Error{ErrorCode::kAlreadyExists, object_text(op) + " exists already", ""};
    }
    PlanState::writable(*slot);
    return {};
  }

  Status put(const TransactionOp& op, const PreparedOp& prepared) {
    HEXAD_TRY_ASSIGN(Content * content, emptied(op));
    content->record.size = op.payload.size();
    if (op.hint != Hint::kNone) content->record.hint = static_cast<std::uint16_t>(op.hint);
    return place(*content, prepared);
  }

  Status write(const TransactionOp& op, const PreparedOp& prepared, std::size_t index,
               std::uint64_t offset) {
    HEXAD_TRY_ASSIGN(Content * content, state_.writable(op));
    if (op.payload.empty()) return {};
    if (prepared.base != offset) {
      plan_.redo.push_back(Redo{index, offset, false});
      // Later ops of this transaction need the size right.
      content->record.size = std::max(content->record.size, offset + op.payload.size());
      return {};
    }
    for (const PayloadPiece& piece : prepared.pieces) {
      HEXAD_TRY_ASSIGN(Page * at,
                       state_.page(*content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
      std::uint64_t inline_bytes = piece.bytes.size();
      for (const Extent& extent : at->now) inline_bytes += extent.bytes.size();
      if (!piece.bytes.empty() && inline_bytes > kPageInlineLimit) {
        plan_.redo.push_back(Redo{index, offset, true});
        content->record.size = std::max(content->record.size, offset + op.payload.size());
        return {};
      }
      punch(at->now, piece.offset, piece.length);
      at->dirty = true;
    }
    content->record.size = std::max(content->record.size, offset + op.payload.size());
    return place(*content, prepared);
  }

  Status append(const TransactionOp& op, const PreparedOp& prepared, std::size_t index) {
    HEXAD_TRY_ASSIGN(const Slot* slot, state_.object(op.collection, op.name));
    const std::uint64_t size = slot->current == nullptr ? 0 : slot->current->record.size;
    if (op.payload.size() > kMaxObjectSize - size) {
      return Error{ErrorCode::kTooBig,
                   object_text(op) + ": appending " + std::to_string(op.payload.size()) +
                       " bytes to " + std::to_string(size) + " passes the limit of " +
                       std::to_string(kMaxObjectSize),
                   ""};
    }
    return write(op, prepared, index, size);
  }

  Status zero(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Content * content, state_.writable(op));
    if (op.length == 0) return {};
    HEXAD_TRY(punch_range(*content, op.offset, op.length));
    content->record.size = std::max(content->record.size, op.offset + op.length);
    return {};
  }

  Status truncate(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    if (slot->current == nullptr || slot->current->record.size == op.offset) return {};
    Content* content = PlanState::writable(*slot);
    if (op.offset == 0) {
      HEXAD_TRY_ASSIGN(content, emptied(op));
    } else if (op.offset < content->record.size) {
      HEXAD_TRY(drop_data(*content, op.offset));
    }
    content->record.size = op.offset;
    return {};
  }

  Status remove(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    slot->current.reset();
    return {};
  }

  Status remove_range(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const CollectionSlot* slot, state_.existing_collection(op.collection));
    const std::uint64_t room = kMaxRangeRemovals - range_removals_;
    HEXAD_TRY_ASSIGN(const std::vector<Slot*> slots,
                     state_.range(*slot->current, op.name, op.other, room + 1));
    HEXAD_TRY(
        note_removals("collection " + printable(op.collection), "objects", slots.size(), room));
    for (Slot* object : slots) object->current.reset();
    return {};
  }

  Status note_removals(const std::string& subject, const std::string& what, std::uint64_t count,
                       std::uint64_t room) {
    range_removals_ += count;
    if (count <= room) return {};
    return Error{ErrorCode::kTooBig,
                 subject + ": the ranges hold more than " + std::to_string(kMaxRangeRemovals) +
                     " " + what + ", the most that one transaction removes by range",
                 "Remove them in several transactions: a listing gives the places to end at."};
  }

  Status set_attr(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.existing_object(op));
    return set_attributes(op, *slot->current, {{op.other, std::string(as_text(op.payload))}});
  }

  Status set_attrs(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.existing_object(op));
    return set_attributes(op, *slot->current, op.attributes);
  }

  Status set_attributes(const TransactionOp& op, Content& content, const Attributes& attributes) {
    if (!attributes.empty()) content.changed = true;
    for (const auto& [name, value] : attributes) content.record.attributes[name] = value;
    std::uint64_t bytes = 0;
    for (const auto& [key, text] : content.record.attributes) bytes += key.size() + text.size();
    if (bytes > kMaxAttributeBytes) {
      return Error{ErrorCode::kTooBig,
                   object_text(op) + ": attributes of " + std::to_string(bytes) +
                       " bytes, the limit is " + std::to_string(kMaxAttributeBytes),
                   "Store large values as objects of their own."};
    }
    return {};
  }

  Status remove_attr(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.existing_object(op));
    if (slot->current->record.attributes.erase(op.other) > 0) slot->current->changed = true;
    return {};
  }

  Status remove_attrs(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* slot, state_.object(op.collection, op.name));
    if (slot->current == nullptr || slot->current->record.attributes.empty()) return {};
    slot->current->record.attributes.clear();
    slot->current->changed = true;
    return {};
  }

  Status set_hint(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* slot, state_.object(op.collection, op.name));
    const auto hint = static_cast<std::uint16_t>(op.hint);
    if (slot->current == nullptr || slot->current->record.hint == hint) return {};
    slot->current->record.hint = hint;
    slot->current->changed = true;
    return {};
  }

  // The value replaces what was there as a whole; `key` empty: the header, which goes when it is
  // empty.
  Status omap_put(const TransactionOp& op, std::string_view key, const PreparedOp& prepared) {
    HEXAD_TRY_ASSIGN(const Slot* object, state_.existing_object(op));
    ObjectRecord& record = object->current->record;
    if (key.empty() && op.payload.empty()) return omap_take_away(*object->current, key);
    object->current->changed = true;
    if (record.omap == 0) record.omap = context_.new_body();
    HEXAD_TRY_ASSIGN(Slot * entry, state_.omap_entry(record.omap, key));
    entry->hidden = false;
    entry->current = std::make_shared<Content>();
    entry->current->all_pages = true;
    entry->current->changed = true;
    entry->current->record.size = op.payload.size();
    return place(*entry->current, prepared);
  }

  // What is not there is tolerated.
  Status omap_take_away(Content& object, std::string_view key) {
    HEXAD_TRY_ASSIGN(const Slot* entry, state_.find_entry(object.record, key));
    if (entry == nullptr) return {};
    object.changed = true;
    return state_.remove_entry(object.record, key);
  }

  Status omap_remove(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* object, state_.existing_object(op));
    return omap_take_away(*object->current, op.other);
  }

  Status omap_remove_range(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* object, state_.existing_object(op));
    const std::uint64_t room = kMaxRangeRemovals - range_removals_;
    ObjectRecord& record = object->current->record;
    HEXAD_TRY_ASSIGN(const PlanState::KeysInRange range,
                     state_.omap_range(record, op.other, op.other_collection, room + 1));
    const std::uint64_t count = range.too_many ? room + 1 : range.keys.size();
    HEXAD_TRY(note_removals(object_text(op), "keys", count, room));
    for (const std::string& key : range.keys) HEXAD_TRY(state_.remove_entry(record, key));
    if (!range.keys.empty()) object->current->changed = true;
    return {};
  }

  Status omap_clear(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* object, state_.object(op.collection, op.name));
    if (object->current == nullptr || !object->current->record.has_omap()) return {};
    object->current->record.omap = 0;
    object->current->record.layers.clear();
    object->current->changed = true;
    return {};
  }

  Status rename(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * from, state_.existing_object(op));
    HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
    if (to->current != nullptr) {
      return Error{ErrorCode::kAlreadyExists,
                   "object " + printable(op.other_collection) + "/" + printable(op.other) +
                       " exists already",
                   "Remove it in the same transaction, before the rename."};
    }
    from->current->changed = true;
    to->current = std::move(from->current);
    from->current.reset();
    return {};
  }

  // --- clones ---

  Status clone(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * from, state_.existing_object(op));
    HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
    Content& source = *from->current;
    HEXAD_TRY(load_for_clone(op, source, 0, PlanState::kNoEnd));
    HEXAD_TRY(freeze_omap(op, source));
    auto copy = std::make_shared<Content>();
    copy->record = source.record;
    copy->record.body = 0;
    copy->all_pages = true;
    copy->changed = true;
    for (auto& [index, at] : source.pages) {
      if (at.now.empty()) continue;
      state_.share(source, at, 0, kMaxObjectSize + 1);
      copy->pages[index] = Page{{}, at.now, true};
    }
    to->current = std::move(copy);
    return {};
  }

  // The source's own omap becomes a layer, which is changed no more.
  Status freeze_omap(const TransactionOp& op, Content& source) {
    ObjectRecord& record = source.record;
    if (record.omap == 0) return {};
    if (record.layers.size() == kMaxOmapLayers) return note_layered(op, record);
    record.layers.insert(record.layers.begin(), record.omap);
    record.omap = 0;
    source.rewritten = true;
    return {};
  }

  // The layers that the metadata has can be merged; those that this transaction makes cannot.
  Status note_layered(const TransactionOp& op, const ObjectRecord& record) {
    for (const auto& [key, slot] : state_.objects()) {
      const std::vector<OmapId>& layers = slot.original_layers;
      if (layers.size() < 2 || layers.back() != record.layers.back()) continue;
      const auto collection = collection_before(state_, key);
      if (collection.has_value()) plan_.layered.push_back({*collection, slot.name});
    }
    if (!plan_.layered.empty()) return {};
    return Error{ErrorCode::kTooBig,
                 object_text(op) + ": the transaction clones and changes its omap more than " +
                     std::to_string(kMaxOmapLayers) + " times in turn",
                 "Use several transactions."};
  }

  Status clone_range(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* from, state_.existing_object(op));
    const std::shared_ptr<Content> source = from->current;
    if (op.offset > source->record.size || op.length > source->record.size - op.offset) {
      return Error{ErrorCode::kInvalidArgument,
                   object_text(op) + ": " + std::to_string(op.length) + " bytes at " +
                       std::to_string(op.offset) + " end behind its " +
                       std::to_string(source->record.size),
                   ""};
    }
    HEXAD_TRY_ASSIGN(Slot * to, state_.object(op.other_collection, op.other));
    Content* target = PlanState::writable(*to);
    if (op.length == 0) return {};
    HEXAD_TRY_ASSIGN(ExtentList shown, extents_for_clone(op, *source));
    HEXAD_TRY(punch_range(*target, op.to_offset, op.length));
    for (Extent& extent : shown) {
      extent.offset = extent.offset - op.offset + op.to_offset;
      HEXAD_TRY(insert_cut(*target, extent));
    }
    target->record.size = std::max(target->record.size, op.to_offset + op.length);
    return check_inline(op, *target, *source);
  }

  Status load_for_clone(const TransactionOp& op, Content& source, std::uint32_t from,
                        std::uint32_t end) {
    HEXAD_TRY(state_.load_pages(source, from, end));
    const auto pages = static_cast<std::uint64_t>(
        std::distance(source.pages.lower_bound(from), source.pages.lower_bound(end)));
    if (pages <= kMaxClonedPages) return {};
    return Error{ErrorCode::kTooBig,
                 object_text(op) + ": " + std::to_string(pages) + " MiB of it hold data, at most " +
                     std::to_string(kMaxClonedPages) + " can be cloned at once",
                 "Clone it in ranges, in several transactions."};
  }

  // What the source shows in the op's range, with share ids.
  Result<ExtentList> extents_for_clone(const TransactionOp& op, Content& source) {
    const std::uint64_t end = op.offset + op.length;
    const auto first = static_cast<std::uint32_t>(op.offset / kPageSpan);
    const auto behind = static_cast<std::uint32_t>(divide_up(end, kPageSpan));
    HEXAD_TRY(load_for_clone(op, source, first, behind));
    ExtentList shown;
    for (auto at = source.pages.lower_bound(first); at != source.pages.end() && at->first < behind;
         ++at) {
      state_.share(source, at->second, op.offset, end);
      for (const Extent& extent : at->second.now) {
        const std::uint64_t begin = std::max(extent.offset, op.offset);
        const std::uint64_t stop = std::min(extent.end(), end);
        if (begin < stop) shown.push_back(slice(extent, begin, stop - begin));
      }
    }
    return shown;
  }

  // Into a hole, cut where the pages of this object begin.
  Status insert_cut(Content& content, const Extent& extent) {
    for (std::uint64_t at = extent.offset; at < extent.end();) {
      const std::uint64_t stop = std::min(extent.end(), round_down(at, kPageSpan) + kPageSpan);
      HEXAD_TRY_ASSIGN(Page * page,
                       state_.page(content, static_cast<std::uint32_t>(at / kPageSpan)));
      insert(page->now, slice(extent, at, stop - at));
      page->dirty = true;
      at = stop;
    }
    return {};
  }

  // More inline bytes in a page than it may have: pages that were there before can be written anew,
  // in one piece and not inline, that of the target and those that they come from.
  Status check_inline(const TransactionOp& op, Content& target, Content& source) {
    for (auto at = target.pages.lower_bound(static_cast<std::uint32_t>(op.to_offset / kPageSpan));
         at != target.pages.end() && at->first * kPageSpan < op.to_offset + op.length; ++at) {
      if (inline_bytes(at->second.now) <= kPageInlineLimit) continue;
      const std::size_t noted = plan_.crowded.size();
      if (!context_.accept_crowded) {
        note_inline(target, at->first);
        const std::uint64_t begin = std::max(at->first * kPageSpan, op.to_offset);
        const std::uint64_t from = begin - op.to_offset + op.offset;
        const auto first = static_cast<std::uint32_t>(from / kPageSpan);
        for (const std::uint32_t page : {first, first + 1}) note_inline(source, page);
      }
      if (plan_.crowded.size() > noted) continue;
      return Error{ErrorCode::kTooBig,
                   object_text(op) + ": too many small pieces for the MiB at byte " +
                       std::to_string(at->first * kPageSpan) + " of the destination",
                   "Write larger pieces, or clone them in a transaction of their own."};
    }
    return {};
  }

  static std::uint64_t inline_bytes(const ExtentList& extents) {
    std::uint64_t bytes = 0;
    for (const Extent& extent : extents) bytes += extent.bytes.size();
    return bytes;
  }

  void note_inline(const Content& content, std::uint32_t index) {
    const auto page = content.pages.find(index);
    if (page == content.pages.end() || inline_bytes(page->second.before) == 0) return;
    note_crowded(state_, content, index, plan_);
  }

  Status publish(const TransactionOp& op) {
    StagedObject& staged = *op.staged;
    HEXAD_TRY(staged.problem);
    HEXAD_TRY_ASSIGN(Content * content, emptied(op));
    HEXAD_TRY_ASSIGN(const Slot* slot, state_.object(op.collection, op.name));
    content->record.size = staged.size;
    if (staged.hint.has_value()) {
      content->record.hint = static_cast<std::uint16_t>(*staged.hint);
    }
    HEXAD_TRY(set_attributes(op, *content, staged.attributes));
    // The old pages have other keys: release them now, and take the writer's body over.
    release_pages(*content, state_.owners(), plan_.record);
    content->pages.clear();
    for (const auto& [index, extents] : staged.pages) {
      content->pages[index] = Page{{}, extents, true};
    }
    const bool keep_body = staged.spilled > 0;
    content->record.body = keep_body ? staged.body : 0;
    content->stored_body = keep_body ? staged.body : 0;
    content->all_pages = !keep_body;
    if (keep_body) {
      plan_.record.images.push_back({writer_key(staged.body), std::nullopt});
      adopted_.push_back(slot->current);
    }
    for (const StripeProof& stripe : staged.stripes) plan_.record.allocated.push_back(stripe);
    return place(*content, staged.young);
  }

  // --- data ---

  // The content to fill anew. What has many pages is given up as a whole, without a look at them.
  Result<Content*> emptied(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    Content* content = PlanState::writable(*slot);
    const bool untouched = slot->current == slot->original;
    if (!untouched || content->stored_body == 0 || content->record.size <= kDoomedSize) {
      HEXAD_TRY(drop_data(*content, 0));
      return content;
    }
    auto fresh = std::make_shared<Content>();
    fresh->record = content->record;
    fresh->record.body = 0;
    fresh->all_pages = true;
    fresh->changed = true;
    slot->current = std::move(fresh);
    return slot->current.get();
  }

  Status place(Content& content, const PreparedOp& prepared) {
    for (const PayloadPiece& piece : prepared.pieces) {
      HEXAD_TRY_ASSIGN(Page * at,
                       state_.page(content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
      Extent extent;
      extent.offset = piece.offset;
      extent.length = piece.length;
      extent.bytes = piece.bytes;
      if (piece.bytes.empty()) extent.blob = piece.prepared.blob;
      insert(at->now, std::move(extent));
      at->dirty = true;
    }
    return {};
  }

  // Drops everything from `from` on.
  Status drop_data(Content& content, std::uint64_t from) {
    HEXAD_TRY(state_.load_pages(content, static_cast<std::uint32_t>(from / kPageSpan)));
    for (auto& [index, at] : content.pages) {
      const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
      if (begin + kPageSpan <= from || at.now.empty()) continue;
      const std::uint64_t cut = std::max(begin, from);
      punch(at.now, cut, begin + kPageSpan - cut);
      at.dirty = true;
    }
    return {};
  }

  Status punch_range(Content& content, std::uint64_t offset, std::uint64_t length) {
    // Only pages that hold something matter, and a range may span millions of empty ones.
    const std::uint64_t end = offset + length;
    HEXAD_TRY(state_.load_pages(content, static_cast<std::uint32_t>(offset / kPageSpan),
                                static_cast<std::uint32_t>(divide_up(end, kPageSpan))));
    for (auto& [index, at] : content.pages) {
      const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
      if (begin + kPageSpan <= offset || begin >= end || at.now.empty()) continue;
      const std::uint64_t first = std::max(begin, offset);
      punch(at.now, first, std::min(begin + kPageSpan, end) - first);
      at.dirty = true;
    }
    return {};
  }

  const Transaction& transaction_;
  const PreparedOps& prepared_;
  const PlanContext& context_;
  PlanSource& source_;
  PlanState state_;
  std::vector<std::shared_ptr<Content>> adopted_;  // that took over the body of a writer
  CollectionId next_collection_ = 0;               // 0: not needed so far
  std::uint64_t range_removals_ = 0;               // objects and keys
  Plan plan_;
};

}  // namespace

Status PlanSource::scan_from(std::string_view prefix, std::string_view from, const Visit& visit) {
  return scan(prefix, [&](std::string_view key, std::string_view value) -> Result<bool> {
    if (key < from) return true;
    return visit(key, value);
  });
}

Result<Plan> plan_transaction(const Transaction& transaction, const PreparedOps& prepared,
                              const PlanContext& context, PlanSource& source) {
  return Planner(transaction, prepared, context, source).run();
}

}  // namespace hexad::core
