#include "core/planner.h"

#include <algorithm>
#include <set>

#include "core/keys.h"
#include "core/object_extents.h"
#include "core/staged_object.h"

namespace hexad::core {

namespace {

// One page of an object's extents, before and after.
struct Page {
  ExtentList before;
  ExtentList now;
  bool dirty = false;
};

// The parts of one object, wherever its name ends up. `pages` holds the pages looked at; when the
// object's pages have keys of their own (record.body != 0) others may exist in the metadata.
struct Content {
  ObjectRecord record;     // `extents` unused: page 0 stands in `pages`
  BodyId stored_body = 0;  // of the keys in the metadata; 0: page 0 was in the record
  std::map<std::uint32_t, Page> pages;
  bool all_pages = false;  // `pages` is complete
  bool changed = false;
};

struct Slot {
  CollectionId collection = 0;
  std::string name;
  std::shared_ptr<Content> original;  // null: absent
  std::shared_ptr<Content> current;
};

struct CollectionSlot {
  std::optional<CollectionRecord> original;
  std::optional<CollectionRecord> current;
};

std::string object_text(const TransactionOp& op) {
  return "object " + printable(op.collection) + "/" + printable(op.name);
}

class Planner {
 public:
  Planner(const Transaction& transaction, const PreparedOps& prepared, const PlanContext& context,
          PlanSource& source)
      : transaction_(transaction), prepared_(prepared), context_(context), source_(source) {}

  Result<Plan> run() {
    HEXAD_TRY(check_guards());
    for (std::size_t i = 0; i < transaction_.ops().size(); ++i) {
      HEXAD_TRY(apply(transaction_.ops()[i], i));
    }
    if (plan_.redo.empty()) HEXAD_TRY(check_pages());
    if (plan_.redo.empty() && plan_.crowded.empty()) HEXAD_TRY(finish());
    return std::move(plan_);
  }

 private:
  // --- loading ---

  Result<CollectionSlot*> collection(std::string_view name) {
    const auto [it, fresh] = collections_.try_emplace(std::string(name));
    if (fresh) {
      HEXAD_TRY_ASSIGN(const auto value, source_.get(collection_key(name)));
      if (value.has_value()) {
        HEXAD_TRY_ASSIGN(it->second.original, decode_collection(*value));
        it->second.current = it->second.original;
      }
    }
    return &it->second;
  }

  Result<CollectionId> existing_collection(std::string_view name) {
    HEXAD_TRY_ASSIGN(const CollectionSlot* slot, collection(name));
    if (!slot->current.has_value()) {
      return Error{ErrorCode::kNotFound, "collection " + printable(name) + " does not exist",
                   "Create it first (hexad bucket create)."};
    }
    return slot->current->id;
  }

  Result<Slot*> object(std::string_view collection_name, std::string_view name) {
    HEXAD_TRY_ASSIGN(const CollectionId id, existing_collection(collection_name));
    std::string key = object_key(id, name);
    const auto [it, fresh] = objects_.try_emplace(key);
    Slot& slot = it->second;
    if (fresh) {
      slot.collection = id;
      slot.name = name;
      HEXAD_TRY_ASSIGN(const auto value, source_.get(key));
      if (value.has_value()) {
        HEXAD_TRY_ASSIGN(ObjectRecord record, decode_object(*value, context_.shape));
        auto content = std::make_shared<Content>();
        content->stored_body = record.body;
        if (record.body == 0) {
          content->pages[0] = Page{record.extents, record.extents, false};
          content->all_pages = true;
        }
        record.extents.clear();
        content->record = std::move(record);
        slot.original = slot.current = std::move(content);
      }
    }
    return &slot;
  }

  Result<Slot*> existing_object(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
    if (slot->current == nullptr) {
      return Error{ErrorCode::kNotFound, object_text(op) + " does not exist", ""};
    }
    return slot;
  }

  // The content to change, made when the object is missing.
  Result<Content*> writable(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
    if (slot->current == nullptr) {
      slot->current = std::make_shared<Content>();
      slot->current->all_pages = true;
    }
    slot->current->changed = true;
    return slot->current.get();
  }

  Result<Page*> page(Content& content, std::uint32_t index) {
    const auto [it, fresh] = content.pages.try_emplace(index);
    if (fresh && content.stored_body != 0 && !content.all_pages) {
      HEXAD_TRY_ASSIGN(const auto value, source_.get(page_key(content.stored_body, index)));
      if (value.has_value()) {
        HEXAD_TRY_ASSIGN(it->second.before, decode_page(*value, index, context_.shape));
        it->second.now = it->second.before;
      }
    }
    return &it->second;
  }

  // Every page of the object, for whoever removes or cuts it.
  Status load_pages(Content& content, std::uint32_t from = 0) {
    if (content.all_pages) return {};
    HEXAD_TRY(source_.scan(page_prefix(content.stored_body),
                           [&](std::string_view key, std::string_view value) -> Result<bool> {
                             HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
                             if (parsed.page < from || content.pages.count(parsed.page) > 0)
                               return true;
                             HEXAD_TRY_ASSIGN(ExtentList extents,
                                              decode_page(value, parsed.page, context_.shape));
                             content.pages[parsed.page] = Page{extents, extents, false};
                             return true;
                           }));
    if (from == 0) content.all_pages = true;
    return {};
  }

  // --- guards: all of them first, before any change ---

  Status check_guards() {
    for (const TransactionOp& op : transaction_.ops()) {
      const bool guard = op.kind == OpKind::kExpectAbsent || op.kind == OpKind::kExpectExists ||
                         op.kind == OpKind::kExpectVersion;
      if (!guard) continue;
      std::shared_ptr<Content> found;
      HEXAD_TRY_ASSIGN(const CollectionSlot* slot, collection(op.collection));
      if (slot->current.has_value()) {
        HEXAD_TRY_ASSIGN(const Slot* object_slot, object(op.collection, op.name));
        found = object_slot->current;
      }
      const auto conflict = [&](const std::string& what) {
        return Error{ErrorCode::kConflict, object_text(op) + what,
                     "Read the object again and retry."};
      };
      if (op.kind == OpKind::kExpectAbsent && found != nullptr) {
        return conflict(" was expected to be absent and exists");
      }
      if (op.kind != OpKind::kExpectAbsent && found == nullptr) {
        return conflict(" was expected to exist and does not");
      }
      if (op.kind == OpKind::kExpectVersion && found->record.version != op.offset) {
        return conflict(" has version " + std::to_string(found->record.version) + ", expected " +
                        std::to_string(op.offset));
      }
    }
    return {};
  }

  // --- ops ---

  Status apply(const TransactionOp& op, std::size_t index) {
    switch (op.kind) {
      case OpKind::kCreateCollection:
        return create_collection(op);
      case OpKind::kRemoveCollection:
        return remove_collection(op);
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
      case OpKind::kRename:
        return rename(op);
      case OpKind::kPublish:
        return publish(op);
      case OpKind::kExpectAbsent:
      case OpKind::kExpectExists:
      case OpKind::kExpectVersion:
        return {};
    }
    return Error{ErrorCode::kInvalidArgument, "unknown op in a transaction", ""};
  }

  Status create_collection(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(CollectionSlot * slot, collection(op.collection));
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
    HEXAD_TRY_ASSIGN(const CollectionId id, existing_collection(op.collection));
    std::string survivor;
    for (const auto& [key, slot] : objects_) {
      if (slot.collection == id && slot.current != nullptr) survivor = slot.name;
    }
    if (survivor.empty()) {
      HEXAD_TRY(source_.scan(object_prefix(id),
                             [&](std::string_view key, std::string_view) -> Result<bool> {
                               if (objects_.count(std::string(key)) > 0) return true;
                               HEXAD_TRY_ASSIGN(const ObjectKey parsed, parse_object_key(key));
                               survivor = parsed.name;
                               return false;
                             }));
    }
    if (!survivor.empty()) {
      return Error{
          ErrorCode::kNotEmpty,
          "collection " + printable(op.collection) + " still holds object " + printable(survivor),
          "Remove its objects first."};
    }
    HEXAD_TRY_ASSIGN(CollectionSlot * slot, collection(op.collection));
    slot->current.reset();
    return {};
  }

  Status writable_only(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* slot, object(op.collection, op.name));
    if (slot->current != nullptr) return {};  // touch never changes an existing object
    return writable(op).status();
  }

  Status create(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(const Slot* slot, object(op.collection, op.name));
    if (slot->current != nullptr) {
      return Error{ErrorCode::kAlreadyExists, object_text(op) + " exists already", ""};
    }
    return writable(op).status();
  }

  Status put(const TransactionOp& op, const PreparedOp& prepared) {
    HEXAD_TRY_ASSIGN(Content * content, writable(op));
    HEXAD_TRY(drop_data(*content, 0));
    content->record.size = op.payload.size();
    content->record.hint = static_cast<std::uint8_t>(op.hint);
    return place(*content, prepared);
  }

  Status write(const TransactionOp& op, const PreparedOp& prepared, std::size_t index,
               std::uint64_t offset) {
    HEXAD_TRY_ASSIGN(Content * content, writable(op));
    if (op.payload.empty()) return {};
    if (prepared.base != offset) {
      plan_.redo.push_back(Redo{index, offset, false});
      // Later ops of this transaction need the size right.
      content->record.size = std::max(content->record.size, offset + op.payload.size());
      return {};
    }
    for (const PayloadPiece& piece : prepared.pieces) {
      HEXAD_TRY_ASSIGN(Page * at,
                       page(*content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
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
    HEXAD_TRY_ASSIGN(const Slot* slot, object(op.collection, op.name));
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
    HEXAD_TRY_ASSIGN(Content * content, writable(op));
    if (op.length == 0) return {};
    HEXAD_TRY(punch_range(*content, op.offset, op.length));
    content->record.size = std::max(content->record.size, op.offset + op.length);
    return {};
  }

  Status truncate(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
    if (slot->current == nullptr || slot->current->record.size == op.offset) return {};
    HEXAD_TRY_ASSIGN(Content * content, writable(op));
    if (op.offset < content->record.size) HEXAD_TRY(drop_data(*content, op.offset));
    content->record.size = op.offset;
    return {};
  }

  Status remove(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
    slot->current.reset();
    return {};
  }

  Status set_attr(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * slot, existing_object(op));
    return set_attribute(op, *slot->current, op.other, std::string(as_text(op.payload)));
  }

  Status set_attribute(const TransactionOp& op, Content& content, const std::string& name,
                       std::string value) {
    content.changed = true;
    content.record.attributes[name] = std::move(value);
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
    HEXAD_TRY_ASSIGN(Slot * slot, existing_object(op));
    if (slot->current->record.attributes.erase(op.other) > 0) slot->current->changed = true;
    return {};
  }

  Status rename(const TransactionOp& op) {
    HEXAD_TRY_ASSIGN(Slot * from, existing_object(op));
    HEXAD_TRY_ASSIGN(Slot * to, object(op.other_collection, op.other));
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

  Status publish(const TransactionOp& op) {
    StagedObject& staged = *op.staged;
    HEXAD_TRY(staged.problem);
    HEXAD_TRY_ASSIGN(Content * content, writable(op));
    HEXAD_TRY_ASSIGN(const Slot* slot, object(op.collection, op.name));
    HEXAD_TRY(drop_data(*content, 0));
    content->record.size = staged.size;
    content->record.hint = static_cast<std::uint8_t>(staged.hint);
    for (const auto& [name, value] : staged.attributes) {
      HEXAD_TRY(set_attribute(op, *content, name, value));
    }
    // The old pages have other keys: release them now, and take the writer's body over.
    release_pages(*content);
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
    return {};
  }

  // --- data ---

  Status place(Content& content, const PreparedOp& prepared) {
    for (const PayloadPiece& piece : prepared.pieces) {
      HEXAD_TRY_ASSIGN(Page * at,
                       page(content, static_cast<std::uint32_t>(piece.offset / kPageSpan)));
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
    HEXAD_TRY(load_pages(content, static_cast<std::uint32_t>(from / kPageSpan)));
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
    HEXAD_TRY(load_pages(content, static_cast<std::uint32_t>(offset / kPageSpan)));
    const std::uint64_t end = offset + length;
    for (auto& [index, at] : content.pages) {
      const std::uint64_t begin = std::uint64_t{index} * kPageSpan;
      if (begin + kPageSpan <= offset || begin >= end || at.now.empty()) continue;
      const std::uint64_t first = std::max(begin, offset);
      punch(at.now, first, std::min(begin + kPageSpan, end) - first);
      at.dirty = true;
    }
    return {};
  }

  // --- pages in too many pieces ---

  // A page that was crowded before is to be rewritten first; one that this transaction alone cuts
  // up gains nothing by that, and waits for the next.
  Status check_pages() {
    for (const auto& [key, slot] : objects_) {
      if (slot.current == nullptr) continue;
      for (const auto& [index, at] : slot.current->pages) {
        if (!at.dirty || at.now.size() <= kCrowdedExtents) continue;
        const bool helps = at.before.size() > kCrowdedExtents / 2;
        if (helps && !context_.accept_crowded) {
          note_crowded(*slot.current, index);
        } else if (at.now.size() > kMaxPageExtents) {
          return Error{ErrorCode::kTooBig,
                       "object " + printable(slot.name) + ": " + std::to_string(at.now.size()) +
                           " pieces between byte " + std::to_string(index * kPageSpan) +
                           " and the next MiB, at most " + std::to_string(kMaxPageExtents) +
                           " are possible",
                       "Write larger pieces, or fewer of them in one transaction."};
        }
      }
    }
    return {};
  }

  void note_crowded(const Content& content, std::uint32_t index) {
    for (const auto& [key, slot] : objects_) {
      if (slot.original.get() != &content) continue;
      for (const auto& [name, collection] : collections_) {
        if (collection.original.has_value() && collection.original->id == slot.collection) {
          plan_.crowded.push_back({name, slot.name, index});
        }
      }
    }
  }

  // --- the result ---

  void free_blobs(const ExtentList& before, const ExtentList& now) {
    for (const Blob& blob : blobs_released(before, now)) {
      plan_.record.freed.push_back(blob.where);
    }
  }

  // All stored pages of the content go: their blobs are freed, their keys deleted.
  void release_pages(Content& content) {
    for (auto& [index, at] : content.pages) {
      free_blobs(at.before, {});
      if (content.stored_body != 0 && !at.before.empty()) {
        plan_.record.images.push_back({page_key(content.stored_body, index), std::nullopt});
      }
      at.before.clear();
    }
  }

  Status finish() {
    for (auto& [name, slot] : collections_) {
      if (slot.original == slot.current) continue;
      std::optional<std::string> value;
      if (slot.current.has_value()) value = encode_collection(*slot.current);
      plan_.record.images.push_back({collection_key(name), std::move(value)});
    }
    if (next_collection_ != 0) {
      std::string value;
      Encoder(value).le32(next_collection_);
      plan_.record.images.push_back({meta_key(kNextCollection), std::move(value)});
    }

    std::set<const Content*> kept;
    for (const auto& [key, slot] : objects_) {
      if (slot.current != nullptr) kept.insert(slot.current.get());
    }
    // The pages of a published writer stand in the metadata, under no object's key. Those of an
    // object that was there before are released with it.
    for (const std::shared_ptr<Content>& content : adopted_) {
      if (kept.count(content.get()) > 0) continue;
      HEXAD_TRY(load_pages(*content));
      release_pages(*content);
    }
    for (auto& [key, slot] : objects_) {
      if (slot.original != nullptr && kept.count(slot.original.get()) == 0) {
        HEXAD_TRY(load_pages(*slot.original));
        release_pages(*slot.original);
      }
      if (slot.current == nullptr) {
        if (slot.original != nullptr) plan_.record.images.push_back({key, std::nullopt});
      } else if (slot.current->changed || slot.current != slot.original) {
        emit_object(key, *slot.current);
      }
    }
    plan_.record.time = context_.time;
    note_references();
    return {};
  }

  // Which of the new stripes are still wanted at the end: a later op may have replaced what an
  // earlier one wrote.
  void note_references() {
    for (const auto& [key, slot] : objects_) {
      if (slot.current == nullptr) continue;
      for (const auto& [index, at] : slot.current->pages) {
        for (const Extent& extent : at.now) {
          if (!extent.is_inline()) plan_.referenced.insert(extent.blob.where);
        }
      }
    }
    for (const StripeProof& stripe : plan_.record.allocated) {
      if (plan_.referenced.count(stripe.where) == 0) plan_.record.freed.push_back(stripe.where);
    }
  }

  void emit_object(const std::string& key, Content& content) {
    ObjectRecord& record = content.record;
    if (!context_.keep_versions) {
      record.version = context_.lsn;
      record.mtime = context_.time;
    }
    const bool beyond_first =
        std::any_of(content.pages.begin(), content.pages.end(),
                    [](const auto& entry) { return entry.first > 0 && !entry.second.now.empty(); });
    if (record.body == 0 && beyond_first) record.body = context_.new_body();
    for (auto& [index, at] : content.pages) {
      free_blobs(at.before, at.now);
      if (record.body == 0) continue;
      // Page 0 moves to a key of its own together with the object's first later page.
      const bool moved = content.stored_body == 0 && !at.now.empty();
      if (!at.dirty && !moved) continue;
      std::optional<std::string> value;
      if (!at.now.empty()) value = encode_page(at.now, context_.shape);
      plan_.record.images.push_back({page_key(record.body, index), std::move(value)});
    }
    if (record.body == 0) {
      const auto first = content.pages.find(0);
      record.extents = first == content.pages.end() ? ExtentList{} : first->second.now;
    }
    plan_.record.images.push_back({key, encode_object(record, context_.shape)});
  }

  const Transaction& transaction_;
  const PreparedOps& prepared_;
  const PlanContext& context_;
  PlanSource& source_;
  std::map<std::string, CollectionSlot, std::less<>> collections_;
  std::map<std::string, Slot, std::less<>> objects_;  // by key: the order of the post-images
  std::vector<std::shared_ptr<Content>> adopted_;     // that took over the body of a writer
  CollectionId next_collection_ = 0;                  // 0: not needed so far
  Plan plan_;
};

}  // namespace

Result<Plan> plan_transaction(const Transaction& transaction, const PreparedOps& prepared,
                              const PlanContext& context, PlanSource& source) {
  return Planner(transaction, prepared, context, source).run();
}

}  // namespace hexad::core
