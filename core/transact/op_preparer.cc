#include "core/transact/op_preparer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/plan/staged_object.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::uint64_t kCompareAtOnce = 4 << 20;  // bytes read for one guard at a time

using ReadAt = std::function<Status(std::uint64_t offset, MutByteView out)>;

// Where the name of the op's object is, by its collection's record; nothing: there is none.
Result<std::optional<CollectionId>> space_of(const TransactionOp& op,
                                             const Result<std::optional<std::string>>& value) {
  HEXAD_TRY(value.status());
  if (!value->has_value()) return std::optional<CollectionId>();
  HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(**value));
  return std::optional<CollectionId>(record.space_of(op.name));
}

}  // namespace

Result<std::optional<ObjectSummary>> OpPreparer::newest_summary(std::string_view collection,
                                                                std::string_view name) {
  std::optional<ObjectSummary> summary;
  HEXAD_TRY_ASSIGN(const auto found, parts_.metadata.get_latest(collection_key(collection)));
  if (!found.has_value()) return summary;
  HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(*found));
  HEXAD_TRY_ASSIGN(const auto value, parts_.metadata.get_latest(record.key_of(name)));
  if (!value.has_value()) return summary;
  HEXAD_TRY_ASSIGN(summary, decode_summary(*value));
  return summary;
}

void OpPreparer::propagate_hints(const Transaction& transaction, PreparedOps& prepared) {
  const std::vector<TransactionOp>& ops = transaction.ops();
  const auto sets = [](const TransactionOp& op) {
    return op.kind == OpKind::kSetHint || (op.kind == OpKind::kPut && op.hint != Hint::kNone);
  };
  // Whoever brings a hint of its own needs to be told nothing.
  const auto asks = [&sets](const TransactionOp& op) {
    return op.hint == Hint::kNone && needs_preparing(op) && !sets(op);
  };
  if (ops.size() < 2 || std::none_of(ops.begin(), ops.end(), asks) ||
      std::none_of(ops.begin(), ops.end(), sets)) {
    return;
  }
  std::map<std::pair<std::string_view, std::string_view>, Hint> told;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const TransactionOp& op = ops[i];
    if (sets(op)) {
      told[{op.collection, op.name}] = op.hint;
    } else if (const auto found = told.find({op.collection, op.name}); found != told.end()) {
      prepared[i].told = found->second;
    }
  }
}

Result<Hint> OpPreparer::stored_hint(std::string_view collection, std::string_view name,
                                     const compression::Policy& policy) {
  const bool heeded =
      policy.mode == compression::Mode::kPassive || policy.mode == compression::Mode::kAggressive;
  if (!heeded) return Hint::kNone;
  HEXAD_TRY_ASSIGN(const auto summary, newest_summary(collection, name));
  return summary.has_value() ? static_cast<Hint>(summary->compression_hint) : Hint::kNone;
}

// What the op will ask for, unless something before it, or somebody else, changes that.
Result<std::shared_ptr<CountedNames>> OpPreparer::count_names(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(const auto value, parts_.metadata.get_latest(collection_key(op.collection)));
  if (!value.has_value()) return std::shared_ptr<CountedNames>();
  HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(*value));
  return count_names(ranges_of(record.all_parts(), op.name, prefix_end(op.name).value_or("")));
}

// One state, the newest there is; what comes later NewestState adds.
Result<std::shared_ptr<CountedNames>> OpPreparer::count_names(std::vector<NameRange> ranges) {
  auto counted = std::make_shared<CountedNames>();
  counted->ranges = std::move(ranges);
  for (const NameRange& range : counted->ranges) {
    counted->keys.push_back({range.first_key(), range.end_key()});
  }
  const ReadPins::Pin pin = parts_.reads.pin_visible();  // and what is newer
  std::unique_ptr<MetaView> view;
  {
    if (!parts_.order.sequencer.lock_unless_recalled()) return WriteGate::called_back_early();
    const SequencerLock lock(parts_.order.sequencer, std::adopt_lock);
    HEXAD_TRY_ASSIGN(view, parts_.metadata.view(parts_.pipeline.next_lsn() - 1));
    parts_.order.newest.add_count(counted);
  }
  for (const CountedNames::Keys& keys : counted->keys) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor objects, view->cursor({keys.first, keys.end}));
    HEXAD_TRY(objects.seek(keys.first));
    while (objects.valid()) {
      HEXAD_TRY_ASSIGN(const ObjectSummary object, decode_summary(objects.value()));
      add_to(counted->there, object.size);
      HEXAD_TRY(objects.next());
    }
  }
  return counted;
}

Status OpPreparer::wait_until_read(Lsn lsn) {
  parts_.pipeline.hurry(lsn);
  Status readable = parts_.pipeline.wait_durable(lsn, LsnWaiters::Until::kAnswered);
  HEXAD_TRY(
      parts_.gate
          .check());  // what has stopped the pipeline meanwhile has not touched this transaction
  return readable;
}

Result<ComparedBytes> OpPreparer::compare_bytes(const TransactionOp& op) {
  ComparedBytes compared;
  HEXAD_TRY_ASSIGN(const auto newest, newest_summary(op.collection, op.name));
  if (!newest.has_value()) return compared;
  if (newest->version > parts_.pipeline.visible()) {
    // An older version would be compared in vain.
    HEXAD_TRY(wait_until_read(newest->version));
  }
  // Before the state: what it shows is not older, unless commits are not visible yet.
  HEXAD_TRY_ASSIGN(const std::optional<CollectionId> newest_space,
                   space_of(op, parts_.metadata.get_latest(collection_key(op.collection))));
  HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
  HEXAD_TRY_ASSIGN(std::optional<CollectionId> space,
                   space_of(op, state.view->get(collection_key(op.collection))));
  if (space != newest_space) {
    // So would be a state from before a split or merge that gives the name to another object.
    state = {};
    HEXAD_TRY(wait_until_read(parts_.pipeline.next_lsn() - 1));
    HEXAD_TRY_ASSIGN(state, parts_.reads.read_state());
    HEXAD_TRY_ASSIGN(space, space_of(op, state.view->get(collection_key(op.collection))));
  }
  if (!space.has_value()) return compared;
  compared.space = *space;
  const auto found = parts_.reads.find_cached(*state.view, op.collection, op.name);
  if (!found.ok() && found.error().code == ErrorCode::kNotFound) return compared;
  HEXAD_TRY(found.status());
  const CachedRecord& record = **found;
  ReadAt read_at = [&](std::uint64_t offset, MutByteView out) {
    return parts_.reads.read_through_cache(*state.view, record, offset, out);
  };
  std::optional<ObjectRecord> entry;
  if (op.kind == OpKind::kExpectOmap) {
    HEXAD_TRY_ASSIGN(entry, parts_.reads.find_entry(*state.view, record.object, op.other));
    if (!entry.has_value() || entry->size != op.payload.size()) return compared;
    read_at = [&](std::uint64_t offset, MutByteView out) {
      return parts_.reads.read_range(*state.view, *entry, offset, out);
    };
  } else if (record.object.size < op.offset + op.payload.size()) {
    return compared;
  }
  compared.version = record.object.version;
  Bytes shown(std::min<std::uint64_t>(op.payload.size(), kCompareAtOnce));
  for (std::uint64_t done = 0; done < op.payload.size();) {
    const ByteView expected =
        op.payload.subspan(done, std::min<std::uint64_t>(op.payload.size() - done, kCompareAtOnce));
    const MutByteView out = MutByteView(shown).first(expected.size());
    const Status read = read_at(op.offset + done, out);
    if (!read.ok()) {
      return read.error().with_context("object " + printable(op.collection) + "/" +
                                       printable(op.name));
    }
    const auto differs = std::mismatch(expected.begin(), expected.end(), out.begin()).first;
    if (differs != expected.end()) {
      const auto at = static_cast<std::uint64_t>(differs - expected.begin());
      compared.differs_at = op.offset + done + at;
      return compared;
    }
    done += expected.size();
  }
  compared.equal = true;
  return compared;
}

Result<compression::Policy> OpPreparer::policy_of(std::string_view collection) {
  HEXAD_TRY_ASSIGN(const auto value, parts_.metadata.get_latest(collection_key(collection)));
  if (!value.has_value()) return parts_.default_compression;
  HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(*value));
  return record.compression;
}

Status OpPreparer::prepare_op(const Transaction& transaction, const Redo& how, Preparing& preparing,
                              PreparedOps& prepared) {
  const std::size_t index = how.op;
  const TransactionOp& op = transaction.ops()[index];
  if (op.kind == OpKind::kExpectBytes || op.kind == OpKind::kExpectOmap) {
    HEXAD_TRY_ASSIGN(prepared[index].compared, compare_bytes(op));
    return {};
  }
  auto known = std::find_if(preparing.policies.begin(), preparing.policies.end(),
                            [&op](const auto& each) { return each.first == op.collection; });
  if (known == preparing.policies.end()) {
    HEXAD_TRY_ASSIGN(const compression::Policy looked_up, policy_of(op.collection));
    if (preparing.policies.size() == Preparing::kMostPolicies) preparing.policies.clear();
    preparing.policies.push_back({op.collection, looked_up});
    known = preparing.policies.end() - 1;
  }
  const compression::Policy& policy = known->second;
  const std::optional<Hint> told = prepared[index].told;
  Hint hint = op.hint;
  if (hint == Hint::kNone && told.has_value()) {
    hint = *told;
  } else if (hint == Hint::kNone) {
    HEXAD_TRY_ASSIGN(hint, stored_hint(op.collection, op.name, policy));
  }
  HEXAD_TRY_ASSIGN(prepared[index],
                   prepare_payload(parts_.blobs, op.payload, hint, policy, how.base, how.inlining,
                                   &preparing.copies, preparing.most_units));
  prepared[index].told = told;
  return {};
}

Result<PreparedOps> OpPreparer::prepare(const Transaction& transaction) {
  PreparedOps prepared(transaction.ops().size());
  propagate_hints(transaction, prepared);
  Preparing preparing{{}, SharedCopies(transaction.payload_bytes())};
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    const TransactionOp& op = transaction.ops()[i];
    if (op.kind == OpKind::kSplitCollection) {
      HEXAD_TRY_ASSIGN(prepared[i].counted, count_names(op));
    }
    if (!needs_preparing(op)) continue;
    std::uint64_t base = op.kind == OpKind::kWrite ? op.offset : 0;
    if (op.kind == OpKind::kAppend) {
      // A guess; the planner asks for another cut when the object has grown by then.
      HEXAD_TRY_ASSIGN(const auto summary, newest_summary(op.collection, op.name));
      if (summary.has_value()) base = summary->size;
    }
    HEXAD_TRY(prepare_op(transaction, {i, base}, preparing, prepared));
  }
  return prepared;
}

Status OpPreparer::prepare_again(const Transaction& transaction, const std::vector<Redo>& redo_ops,
                                 std::uint32_t most_units, PreparedOps& prepared) {
  Preparing preparing{{}, SharedCopies(0), most_units};
  for (const Redo& redo : redo_ops) {
    if (redo.copy != 0) {
      std::shared_ptr<CopiedPages>& copied = prepared[redo.op].copied;
      const ShiftedRange range = cloned_range(transaction.ops()[redo.op]);
      HEXAD_TRY_ASSIGN(copied, parts_.copier.copy(redo.copy, range, std::move(copied)));
      continue;
    }
    if (!redo.count.empty()) {
      HEXAD_TRY_ASSIGN(prepared[redo.op].counted, count_names(redo.count));
      continue;
    }
    HEXAD_TRY(prepare_op(transaction, redo, preparing, prepared));
  }
  return {};
}

Status OpPreparer::cut(const Transaction& transaction, std::uint32_t most_units,
                       PreparedOps& prepared) {
  Preparing preparing{{}, SharedCopies(transaction.payload_bytes()), most_units};
  const auto too_long = [most_units](const PreparedOp& op) {
    return std::any_of(op.pieces.begin(), op.pieces.end(), [most_units](const PayloadPiece& piece) {
      return piece.prepared.units > most_units;
    });
  };
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (too_long(prepared[i])) {
      HEXAD_TRY(
          prepare_op(transaction, {i, prepared[i].base, Inlining::kOfNone}, preparing, prepared));
    }
    const std::shared_ptr<StagedObject>& staged = transaction.ops()[i].staged;
    if (staged == nullptr || !too_long(staged->unplaced)) continue;
    // All of it anew, however many pieces it is in by now.
    HEXAD_TRY_ASSIGN(staged->unplaced,
                     prepare_payload(parts_.blobs, staged->unplaced_bytes.bytes(),
                                     staged->unplaced_hint, staged->unplaced_policy, 0,
                                     Inlining::kOfNone, &preparing.copies, most_units));
  }
  return {};
}

}  // namespace hexad::core
