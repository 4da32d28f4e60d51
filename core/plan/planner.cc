#include "core/plan/planner.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "base/units.h"
#include "core/plan/plan_clones.h"
#include "core/plan/plan_collections.h"
#include "core/plan/plan_cuts.h"
#include "core/plan/plan_data.h"
#include "core/plan/plan_guards.h"
#include "core/plan/plan_result.h"
#include "core/plan/plan_state.h"
#include "core/plan/plan_totals.h"
#include "core/plan/staged_object.h"
#include "core/record/keys.h"
#include "core/record/name_parts.h"
#include "core/record/object_extents.h"

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
        state_(context, source),
        collections_(context, source, state_, plan_),
        clones_(context, state_, plan_, adopted_) {}

  Result<Plan> run() {
    Result<Plan> plan = try_run();
    if (!plan.ok() || plan->is_for_again()) state_.give_pages_back();
    return plan;
  }

 private:
  Result<Plan> try_run() {
    HEXAD_TRY(check_guards(transaction_, prepared_, state_, plan_));
    if (!plan_.redo.empty()) return std::move(plan_);
    for (std::size_t i = 0; i < transaction_.ops().size(); ++i) {
      HEXAD_TRY(apply(transaction_.ops()[i], i));
      // What comes behind would see the op's objects as they are not.
      if (plan_.redo.empty() || !plan_.redo.back().stops()) continue;
      HEXAD_TRY(clones_.foresee(transaction_.ops(), prepared_, i));
      return std::move(plan_);
    }
    if (!plan_.is_for_again()) HEXAD_TRY(check_pages(state_, context_, plan_));
    if (!plan_.is_for_again()) HEXAD_TRY(check_cuts(state_, plan_));
    if (plan_.is_for_again()) return std::move(plan_);
    collections_.finish();
    HEXAD_TRY(plan_totals(state_, plan_));
    HEXAD_TRY(finish_plan(state_, source_, prepared_, context_, adopted_, plan_));
    return std::move(plan_);
  }

  // --- ops ---

  Status apply(const TransactionOp& op, std::size_t index) {
    switch (op.kind) {
      case OpKind::kCreateCollection:
        return collections_.create(op);
      case OpKind::kRemoveCollection:
        return collections_.remove(op);
      case OpKind::kSetPolicy:
      case OpKind::kSetQuota:
        return collections_.set(op);
      case OpKind::kSplitCollection:
        return collections_.split(op, prepared_[index], index);
      case OpKind::kMergeCollection:
        return collections_.merge(op);
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
        return state_.remove(op, plan_.record);
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
        return clones_.clone(op, prepared_[index], index);
      case OpKind::kCloneRange:
        return clones_.clone_range(op, prepared_[index], index);
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

  Status writable_only(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    // touch never changes an existing object
    if (slot->current == nullptr) state_.writable(*slot);
    return {};
  }

  Status create(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    if (slot->current != nullptr) {
      return Error{ErrorCode::kAlreadyExists, object_text(op) + " exists already", ""};
    }
    state_.writable(*slot);
    return {};
  }

  Status put(const TransactionOp& op, const PreparedOp& prepared) {
    HEXAD_TRY_ASSIGN(ObjectContent * content, emptied(state_, op));
    content->record.size = op.payload.size();
    if (op.hint != Hint::kNone) content->record.hint = static_cast<std::uint16_t>(op.hint);
    return place(state_, *content, prepared);
  }

  Status write(const TransactionOp& op, const PreparedOp& prepared, std::size_t index,
               std::uint64_t offset) {
    HEXAD_TRY_ASSIGN(ObjectContent * content, state_.writable(op));
    if (op.payload.empty()) return {};
    if (prepared.base != offset) {
      plan_.redo.push_back(Redo{index, offset, Inlining::kOfSmall});
      // Later ops of this transaction need the size right.
      content->record.size = std::max(content->record.size, offset + op.payload.size());
      return {};
    }
    const bool any_inline =
        std::any_of(prepared.pieces.begin(), prepared.pieces.end(),
                    [](const PayloadPiece& piece) { return !piece.bytes.empty(); });
    if (!any_inline) {
      content->record.size = std::max(content->record.size, offset + op.payload.size());
      return place_over(state_, *content, prepared);
    }
    for (const PayloadPiece& piece : prepared.pieces) {
      HEXAD_TRY_ASSIGN(Page * at,
                       state_.page(*content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
      std::uint64_t inline_bytes = piece.bytes.size();
      for (const Extent& extent : at->now()) inline_bytes += extent.bytes.size();
      if (!piece.bytes.empty() && inline_bytes > kPageInlineLimit) {
        plan_.redo.push_back(Redo{index, offset, Inlining::kOfNone});
        content->record.size = std::max(content->record.size, offset + op.payload.size());
        return {};
      }
      punch(at->change(), piece.offset, piece.length);
    }
    content->record.size = std::max(content->record.size, offset + op.payload.size());
    return place(state_, *content, prepared);
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
    HEXAD_TRY_ASSIGN(ObjectContent * content, state_.writable(op));
    if (op.length == 0) return {};
    HEXAD_TRY(punch_range(state_, *content, op.offset, op.length));
    content->record.size = std::max(content->record.size, op.offset + op.length);
    return {};
  }

  Status truncate(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, state_.object(op.collection, op.name));
    if (slot->current == nullptr || slot->current->record.size == op.offset) return {};
    ObjectContent* content = state_.writable(*slot);
    if (op.offset == 0) {
      HEXAD_TRY_ASSIGN(content, emptied(state_, op));
    } else if (op.offset < content->record.size) {
      HEXAD_TRY(drop_data(state_, *content, op.offset));
    }
    content->record.size = op.offset;
    return {};
  }

  Status remove_range(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const CollectionSlot* slot, state_.existing_collection(op.collection));
    const std::uint64_t room = kMaxRangeRemovals - range_removals_;
    HEXAD_TRY_ASSIGN(const std::vector<Slot*> slots,
                     state_.range(*slot->current, op.name, op.other, room + 1));
    HEXAD_TRY(
        note_removals("collection " + printable(op.collection), "objects", slots.size(), room));
    for (Slot* object : slots) object->current = nullptr;
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

  Status set_attributes(const TransactionOp& op, ObjectContent& content,
                        const Attributes& attributes) {
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
    entry->current = state_.new_content();
    entry->current->all_pages = true;
    entry->current->changed = true;
    entry->current->record.size = op.payload.size();
    return place(state_, *entry->current, prepared);
  }

  // What is not there is tolerated.
  Status omap_take_away(ObjectContent& object, std::string_view key) {
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
    to->current = std::exchange(from->current, nullptr);
    return {};
  }

  Status publish(const TransactionOp& op) {
    StagedObject& staged = *op.staged;
    HEXAD_TRY(staged.problem);
    HEXAD_TRY_ASSIGN(ObjectContent * content, emptied(state_, op));
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
      content->pages[index] = Page::made_of(extents);
    }
    const bool keep_body = staged.spilled > 0;
    content->record.body = keep_body ? staged.body : BodyId{0};
    content->stored_body = keep_body ? staged.body : BodyId{0};
    content->all_pages = !keep_body;
    if (keep_body) {
      plan_.record.images.push_back({writer_key(staged.body), std::nullopt});
      adopted_.push_back(slot->current);
    }
    for (const StripeProof& stripe : staged.stripes) plan_.record.allocated.push_back(stripe);
    for (const PayloadPiece& piece : staged.unplaced.pieces) {
      if (!piece.prepared.is_unplaced())
        plan_.published_stripes.push_back(piece.prepared.blob.id());
    }
    return place(state_, *content, staged.unplaced);
  }

  const Transaction& transaction_;
  const PreparedOps& prepared_;
  const PlanContext& context_;
  PlanSource& source_;
  PlanState state_;
  std::vector<ObjectContent*> adopted_;  // that took over the body of a writer
  std::uint64_t range_removals_ = 0;     // objects and keys
  Plan plan_;
  CollectionOps collections_;
  CloneOps clones_;
};

}  // namespace

bool Plan::is_for_again() const {
  return !redo.empty() || !crowded.empty() || !layered.empty() || !cut.empty();
}

bool Plan::refers_to(const BlobId& blob) const {
  if (blob.log.lsn == 0) return std::binary_search(stripes.begin(), stripes.end(), blob);
  return blob.log.index < owners.size() && owners[blob.log.index].has_value();
}

Result<std::optional<std::string_view>> PlanSource::look_up(std::string_view key,
                                                            std::string& room) {
  HEXAD_TRY_ASSIGN(std::optional<std::string> value, get(key));
  if (!value.has_value()) return std::optional<std::string_view>();
  room = *std::move(value);
  return std::optional<std::string_view>(room);
}

std::unique_ptr<KnownPage> PlanSource::take_page(BodyId /*body*/, std::uint32_t /*page*/) {
  return nullptr;
}

void PlanSource::give_page_back(BodyId /*body*/, std::uint32_t /*page*/,
                                std::unique_ptr<KnownPage> /*known*/) {}

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
