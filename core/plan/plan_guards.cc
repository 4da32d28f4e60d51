#include "core/plan/plan_guards.h"

namespace hexad::core {

namespace {

// What guards are about; null: there is no such object, or no such collection.
Result<const ObjectContent*> content_before(const TransactionOp& op, PlanState& state) {
  HEXAD_TRY_ASSIGN(const CollectionSlot* collection, state.collection(op.collection));
  if (!collection->current.has_value()) return static_cast<const ObjectContent*>(nullptr);
  HEXAD_TRY_ASSIGN(const Slot* slot, state.object(op.collection, op.name));
  return static_cast<const ObjectContent*>(slot->current);
}

std::string quoted(std::string_view bytes) { return "\"" + printable(bytes, 64) + "\""; }

// What is wrong with the attribute, empty: nothing.
std::string attribute_problem(const TransactionOp& op, const ObjectRecord& record) {
  const auto found = record.attributes.find(op.other);
  const bool there = found != record.attributes.end();
  if (op.kind == OpKind::kExpectAttrAbsent) {
    return there ? " was expected to have no attribute " + quoted(op.other) + " and has one" : "";
  }
  const std::string_view expected = as_text(op.payload);
  if (!there) return " has no attribute " + quoted(op.other) + ", expected " + quoted(expected);
  if (found->second == expected) return "";
  return " has attribute " + quoted(op.other) + " = " + quoted(found->second) + ", expected " +
         quoted(expected);
}

// The same for the bytes, which were compared with the version that the object has.
std::string bytes_problem(const TransactionOp& op, const ComparedBytes& compared,
                          const ObjectRecord& record) {
  const std::uint64_t end = op.offset + op.payload.size();
  if (record.size < end) {
    return " has " + std::to_string(record.size) + " bytes, expected at least " +
           std::to_string(end);
  }
  if (op.payload.empty() || compared.equal) return "";
  return " differs at byte " + std::to_string(compared.differs_at) + " from what was expected";
}

// The same for an entry of the omap; null: there is none.
std::string omap_problem(const TransactionOp& op, const ComparedBytes& compared,
                         const ObjectContent* entry) {
  const std::string key = quoted(op.other);
  if (op.kind == OpKind::kExpectOmapAbsent) {
    return entry == nullptr ? "" : " was expected not to have omap key " + key + " and has it";
  }
  if (entry == nullptr) return " has no omap key " + key;
  if (entry->record.size != op.payload.size()) {
    return " has " + std::to_string(entry->record.size) + " bytes under omap key " + key +
           ", expected " + std::to_string(op.payload.size());
  }
  if (op.payload.empty() || compared.equal) return "";
  return " differs under omap key " + key + " at byte " + std::to_string(compared.differs_at) +
         " from what was expected";
}

// Of an object that is there.
CollectionId space_of(const TransactionOp& op, const PlanState& state) {
  return state.collections().find(op.collection)->second.current->space_of(op.name);
}

// Whether what the guard is about now is what was compared.
bool was_compared(const TransactionOp& op, const ComparedBytes& compared,
                  const ObjectRecord& record, const PlanState& state) {
  return compared.version == record.version && compared.space == space_of(op, state);
}

bool is_about_omap(const TransactionOp& op) {
  return op.kind == OpKind::kExpectOmap || op.kind == OpKind::kExpectOmapAbsent;
}

// Null: there is none.
Result<const ObjectContent*> omap_entry(const TransactionOp& op, const ObjectContent& object,
                                        PlanState& state) {
  HEXAD_TRY_ASSIGN(const Slot* slot, state.find_entry(object.record, op.other));
  return slot == nullptr ? nullptr : static_cast<const ObjectContent*>(slot->current);
}

// Of a guard on an object that is there.
std::string problem_of(const TransactionOp& op, const ComparedBytes& compared,
                       const ObjectRecord& record) {
  switch (op.kind) {
    case OpKind::kExpectAbsent:
      return " was expected to be absent and exists";
    case OpKind::kExpectVersion:
      if (record.version == op.offset) return "";
      return " has version " + std::to_string(record.version) + ", expected " +
             std::to_string(op.offset);
    case OpKind::kExpectAttr:
    case OpKind::kExpectAttrAbsent:
      return attribute_problem(op, record);
    case OpKind::kExpectBytes:
      return bytes_problem(op, compared, record);
    default:
      return "";
  }
}

}  // namespace

Status check_guards(const Transaction& transaction, const PreparedOps& prepared, PlanState& state,
                    Plan& plan) {
  for (std::size_t i = 0; i < transaction.ops().size(); ++i) {
    const TransactionOp& op = transaction.ops()[i];
    if (!is_guard(op.kind)) continue;
    HEXAD_TRY_ASSIGN(const ObjectContent* found, content_before(op, state));
    std::string problem;
    if (found == nullptr) {
      if (op.kind != OpKind::kExpectAbsent) problem = " was expected to exist and does not";
    } else {
      const ObjectContent* entry = nullptr;
      if (is_about_omap(op)) {
        HEXAD_TRY_ASSIGN(entry, omap_entry(op, *found, state));
      }
      const bool compares = needs_preparing(op);
      const bool fits = is_about_omap(op)
                            ? entry != nullptr && entry->record.size == op.payload.size()
                            : found->record.size >= op.offset + op.payload.size();
      if (compares && fits && !was_compared(op, prepared[i].compared, found->record, state)) {
        plan.redo.push_back(Redo{i, 0, Inlining::kOfSmall});
        continue;
      }
      problem = is_about_omap(op) ? omap_problem(op, prepared[i].compared, entry)
                                  : problem_of(op, prepared[i].compared, found->record);
    }
    if (problem.empty() && op.space != 0 && op.space != space_of(op, state)) {
      problem = " is another object by now";
    }
    if (!problem.empty()) {
      return Error{ErrorCode::kConflict, object_text(op) + problem,
                   "Read the object again and retry."};
    }
  }
  return {};
}

}  // namespace hexad::core
