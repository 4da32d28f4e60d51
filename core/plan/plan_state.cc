#include "core/plan/plan_state.h"

#include <cstring>
#include <tuple>
#include <utility>

#include "core/record/keys.h"
#include "core/record/plain_object.h"

namespace hexad::core {

std::string object_text(const TransactionOp& op) {
  return "object " + printable(op.collection) + "/" + printable(op.name);
}

namespace {

constexpr std::size_t kOwnRoomBytes = 4096;

}  // namespace

PlanState::PlanState(const PlanContext& context, PlanSource& source)
    : context_(context),
      source_(source),
      places_(context.log_blobs == nullptr ? 0 : context.log_blobs->moment()),
      room_(context.room == nullptr ? own_room_.emplace(kOwnRoomBytes) : *context.room),
      use_(room_),
      contents_(use_.memory()),
      collections_(use_.memory()),
      objects_(use_.memory()),
      totals_(use_.memory()),
      owners_(context.lsn) {}

PlanState::~PlanState() {
  for (ObjectContent& content : contents_) {
    for (auto& [index, page] : content.pages) page.give_lists(room_);
  }
}

ObjectContent* PlanState::new_content() { return &contents_.emplace_front(use_.memory()); }

std::string_view PlanState::kept(std::string_view bytes) {
  if (bytes.empty()) return {};
  auto* const to = static_cast<char*>(use_.memory()->allocate(bytes.size(), 1));
  std::memcpy(to, bytes.data(), bytes.size());
  return {to, bytes.size()};
}

std::pair<PlanState::Objects::iterator, bool> PlanState::slot_of(std::string_view key) {
  const auto at = objects_.lower_bound(key);
  if (at != objects_.end() && at->first == key) return {at, false};
  return {objects_.try_emplace(at, kept(key)), true};
}

// Unplaced blobs whose place is known name it from here on: a record that is written after a
// checkpoint must not name a transaction from before it.
ExtentList PlanState::resolved(ExtentList extents) const {
  if (context_.log_blobs == nullptr) return extents;
  return context_.log_blobs->resolve(std::move(extents), places_);
}

Result<CollectionSlot*> PlanState::collection(std::string_view name) {
  const auto known = collections_.find(name);
  if (known != collections_.end()) return &known->second;
  CollectionSlot slot;
  HEXAD_TRY_ASSIGN(const auto value, source_.look_up(LookupKey::collection(name), room_.text()));
  if (value.has_value()) {
    HEXAD_TRY_ASSIGN(slot.original, decode_collection(*value));
    slot.current = slot.original;
  }
  return &collections_.emplace(kept(name), std::move(slot)).first->second;
}

Result<CollectionSlot*> PlanState::existing_collection(std::string_view name) {
  HEXAD_TRY_ASSIGN(CollectionSlot * slot, collection(name));
  if (!slot->current.has_value()) {
    return Error{ErrorCode::kNotFound, "collection " + printable(name) + " does not exist",
                 "Create it first (hexad bucket create POOL BUCKET)."};
  }
  return slot;
}

Result<PageCuts> PlanState::stored_cuts(BodyId body) const {
  HEXAD_TRY_ASSIGN(const auto value, source_.get(cut_key(body)));
  if (!value.has_value()) return PageCuts();
  return decode_cuts(*value);
}

Status PlanState::load(Slot& slot, std::string_view key, std::string_view value) {
  if (slot.omap != 0 && is_hidden_entry(value)) {
    slot.was_hidden = slot.hidden = true;
    return {};
  }
  ObjectContent* const content = new_content();
  ObjectRecord& record = content->record;
  record.extents = list();
  HEXAD_TRY(decode_object(value, context_.shape, record));
  content->stored_body = record.body;
  content->stored_key = key;
  if (record.body == 0) {
    content->pages.try_emplace(0, resolved(std::move(record.extents)));
    content->all_pages = true;
  } else if (!record.cuts.empty()) {
    HEXAD_TRY_ASSIGN(content->stored_cuts, stored_cuts(record.body));
    record.cuts = content->stored_cuts;  // O2: what is cut and has no mark is not there any more
  }
  record.extents.clear();
  slot.original_size = record.size;
  slot.original_omap = record.omap;
  slot.original_layers = record.layers;
  slot.original = slot.current = content;
  return {};
}

Result<PlanState::Named> PlanState::named(std::string_view collection_name, std::string_view name) {
  HEXAD_TRY_ASSIGN(const CollectionSlot* collection, existing_collection(collection_name));
  const CollectionId space = collection->current->space_of(name);
  const auto [it, fresh] = slot_of(LookupKey::object(space, name));
  if (fresh) {
    it->second.collection = collection->current->id;
    it->second.name = it->first.substr(it->first.size() - name.size());
  }
  return Named{it, fresh};
}

Result<Slot*> PlanState::object(std::string_view collection_name, std::string_view name) {
  HEXAD_TRY_ASSIGN(const Named found, named(collection_name, name));
  auto& [key, slot] = *found.at;
  if (found.fresh) {
    HEXAD_TRY_ASSIGN(const auto value, source_.look_up(key, room_.text()));
    if (value.has_value()) HEXAD_TRY(load(slot, key, *value));
  }
  return &slot;
}

Status PlanState::remove(const TransactionOp& op, LogRecord& record) {
  HEXAD_TRY_ASSIGN(const Named found, named(op.collection, op.name));
  auto& [key, slot] = *found.at;
  if (found.fresh) {
    HEXAD_TRY_ASSIGN(const auto value, source_.look_up(key, room_.text()));
    if (!value.has_value()) return {};
    PlainObject plain;
    if (read_plain(*value, context_.shape, plain) && plain.blob.share == 0) {
      slot.released = true;
      slot.original_size = plain.size;
      Blob& blob = plain.blob;
      if (context_.log_blobs != nullptr && blob.placement == Placement::kLog) {
        blob = context_.log_blobs->resolve(std::move(blob), places_);
      }
      add_release(record, blob);
      return {};
    }
    HEXAD_TRY(load(slot, key, *value));
  }
  slot.current = nullptr;
  return {};
}

Result<Slot*> PlanState::omap_entry(OmapId omap, std::string_view key) {
  const auto [it, fresh] = slot_of(omap_key(omap, key));
  Slot& slot = it->second;
  if (fresh) {
    slot.omap = omap;
    slot.name = it->first.substr(it->first.size() - key.size());
    HEXAD_TRY_ASSIGN(const auto value, source_.look_up(it->first, room_.text()));
    if (value.has_value()) HEXAD_TRY(load(slot, it->first, *value));
  }
  return &slot;
}

Result<std::vector<Slot*>> PlanState::slots_between(const std::string& prefix,
                                                    const std::string& first,
                                                    const std::string& end, CollectionId collection,
                                                    std::uint64_t limit) {
  std::vector<Slot*> found;
  if (end <= first) return found;
  std::uint64_t looked_at = 0;
  const PlanSource::Visit take = [&](std::string_view key, std::string_view value) -> Result<bool> {
    if (key >= end || looked_at == limit) return false;
    const auto [it, fresh] = slot_of(key);
    if (!fresh) return true;
    Slot& slot = it->second;
    if (const Result<ObjectKey> object = parse_object_key(it->first); object.ok()) {
      slot.collection = collection;
      slot.name = object->name;
    } else {
      HEXAD_TRY_ASSIGN(const OmapKey entry, parse_omap_key(it->first));
      slot.omap = entry.omap;
      slot.name = entry.key;
    }
    HEXAD_TRY(load(slot, it->first, value));
    ++looked_at;
    return true;
  };
  HEXAD_TRY(source_.scan_from(prefix, first, take));
  for (auto it = objects_.lower_bound(first); it != objects_.end() && it->first < end; ++it) {
    if (it->second.current != nullptr || it->second.hidden) found.push_back(&it->second);
  }
  return found;
}

Result<std::vector<Slot*>> PlanState::range(const CollectionRecord& collection,
                                            std::string_view from, std::string_view to,
                                            std::uint64_t limit) {
  std::vector<Slot*> found;
  for (const NameRange& range : ranges_of(collection.all_parts(), from, to)) {
    if (found.size() >= limit) break;
    HEXAD_TRY_ASSIGN(const std::vector<Slot*> slots,
                     slots_between(object_prefix(range.space), range.first_key(), range.end_key(),
                                   collection.id, limit - found.size()));
    found.insert(found.end(), slots.begin(), slots.end());
  }
  return found;
}

Result<std::optional<std::string>> PlanState::first_name(const NameRange& range) {
  const std::string first = range.first_key();
  const std::string end = range.end_key();
  std::optional<std::string> name;
  for (auto it = objects_.lower_bound(first); it != objects_.end() && it->first < end; ++it) {
    if (it->second.current == nullptr) continue;
    name.emplace(it->second.name);
    break;
  }
  const PlanSource::Visit look = [&](std::string_view key, std::string_view) -> Result<bool> {
    if (key >= end) return false;
    if (objects_.find(key) != objects_.end()) return true;
    HEXAD_TRY_ASSIGN(const ObjectKey object, parse_object_key(key));
    if (!name.has_value() || object.name < *name) name = object.name;
    return false;
  };
  HEXAD_TRY(source_.scan_from(object_prefix(range.space), first, look));
  return name;
}

Result<PlanState::Totals*> PlanState::totals(CollectionId id) {
  const auto known = totals_.find(id);
  if (known != totals_.end()) return &known->second;
  CollectionTotals totals;
  HEXAD_TRY_ASSIGN(const auto value, source_.look_up(totals_key(id), room_.text()));
  if (value.has_value()) {
    HEXAD_TRY_ASSIGN(totals, decode_totals(*value));
  }
  return &totals_.emplace(id, Totals{totals, totals}).first->second;
}

Status PlanState::move_totals(const CollectionTotals& moved, CollectionId from, CollectionId to) {
  HEXAD_TRY_ASSIGN(Totals * source, totals(from));
  HEXAD_TRY_ASSIGN(Totals * target, totals(to));
  CollectionTotals& less = source->moved;
  CollectionTotals& more = target->moved;
  if (moved.objects > less.objects || moved.bytes > less.bytes) {
    return Error{ErrorCode::kCorruption,
                 "collection number " + std::to_string(from) + ": " + std::to_string(less.objects) +
                     " objects and " + std::to_string(less.bytes) +
                     " bytes are counted, and there are more",
                 "Run hexad fsck POOL --repair."};
  }
  if (moved.bytes > kMaxCollectionBytes - more.bytes) {
    return Error{ErrorCode::kTooBig,
                 "objects of " + std::to_string(moved.bytes) + " bytes come to others of " +
                     std::to_string(more.bytes) + ", the limit of a collection is " +
                     std::to_string(kMaxCollectionBytes),
                 "Sizes count with their holes. Use several collections."};
  }
  less.objects -= moved.objects;
  less.bytes -= moved.bytes;
  more.objects += moved.objects;
  more.bytes += moved.bytes;
  return {};
}

Result<CollectionTotals> PlanState::count(const std::vector<NameRange>& ranges) {
  CollectionTotals counted;
  for (const NameRange& range : ranges) {
    const std::string end = range.end_key();
    const PlanSource::Visit add = [&](std::string_view key,
                                      std::string_view value) -> Result<bool> {
      if (key >= end) return false;
      HEXAD_TRY_ASSIGN(const ObjectSummary object, decode_summary(value));
      add_to(counted, object.size);
      return true;
    };
    HEXAD_TRY(source_.scan_from(object_prefix(range.space), range.first_key(), add));
  }
  return counted;
}

// What ops make of the objects goes to whoever has them in the end (core/plan/plan_totals.h).
Status PlanState::move_names(const std::vector<NameRange>& ranges, const CollectionTotals& counted,
                             CollectionId from, CollectionId to) {
  for (const NameRange& range : ranges) {
    const std::string end = range.end_key();
    for (auto it = objects_.lower_bound(range.first_key()); it != objects_.end() && it->first < end;
         ++it) {
      it->second.collection = to;
    }
  }
  return move_totals(counted, from, to);
}

Status PlanState::move_all(CollectionId from, CollectionId to) {
  for (auto& [key, slot] : objects_) {
    if (slot.omap == 0 && slot.collection == from) slot.collection = to;
  }
  HEXAD_TRY_ASSIGN(const Totals* all, totals(from));
  return move_totals(CollectionTotals(all->moved), from, to);
}

Result<const Slot*> PlanState::find_below(const ObjectRecord& object, std::string_view key) {
  const Slot* none = nullptr;
  for (const OmapId layer : object.layers) {
    HEXAD_TRY_ASSIGN(const Slot* slot, omap_entry(layer, key));
    if (slot->current != nullptr) return slot;
    if (slot->hidden) break;
  }
  return none;
}

Result<const Slot*> PlanState::find_entry(const ObjectRecord& object, std::string_view key) {
  if (object.omap != 0) {
    HEXAD_TRY_ASSIGN(const Slot* slot, omap_entry(object.omap, key));
    if (slot->current != nullptr) return slot;
    if (slot->hidden) return static_cast<const Slot*>(nullptr);
  }
  return find_below(object, key);
}

Status PlanState::remove_entry(ObjectRecord& object, std::string_view key) {
  HEXAD_TRY_ASSIGN(const Slot* below, find_below(object, key));
  if (object.omap == 0) object.omap = context_.new_body();
  HEXAD_TRY_ASSIGN(Slot * slot, omap_entry(object.omap, key));
  slot->current = nullptr;
  slot->hidden = below != nullptr;
  return {};
}

Result<PlanState::KeysInRange> PlanState::omap_range(const ObjectRecord& object,
                                                     std::string_view first, std::string_view end,
                                                     std::uint64_t limit) {
  std::vector<OmapId> layers;
  if (object.omap != 0) layers.push_back(object.omap);
  layers.insert(layers.end(), object.layers.begin(), object.layers.end());
  std::map<std::string_view, bool> shown;  // by the first layer that knows the key
  KeysInRange range;
  for (const OmapId layer : layers) {
    const std::string prefix = omap_prefix(layer);
    // The header, which stands before all keys, is none of them.
    const std::string begin = first.empty() ? prefix + '\0' : omap_key(layer, first);
    HEXAD_TRY_ASSIGN(
        const std::vector<Slot*> slots,
        slots_between(prefix, begin, end.empty() ? *prefix_end(prefix) : omap_key(layer, end), 0,
                      limit));
    for (const Slot* slot : slots) shown.emplace(slot->name, slot->current != nullptr);
    if (slots.size() >= limit) range.too_many = true;
  }
  for (const auto& [key, there] : shown) {
    if (there) range.keys.emplace_back(key);
  }
  return range;
}

Result<Slot*> PlanState::existing_object(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
  if (slot->current == nullptr) {
    return Error{ErrorCode::kNotFound, object_text(op) + " does not exist", ""};
  }
  return slot;
}

Result<ObjectContent*> PlanState::writable(const TransactionOp& op) {
  HEXAD_TRY_ASSIGN(Slot * slot, object(op.collection, op.name));
  return writable(*slot);
}

ObjectContent* PlanState::writable(Slot& slot) {
  if (slot.current == nullptr) {
    slot.current = new_content();
    slot.current->all_pages = true;
  }
  slot.current->changed = true;
  return slot.current;
}

Result<Page> PlanState::load_stored(BodyId body, std::uint32_t index) {
  if (std::unique_ptr<KnownPage> known = source_.take_page(body, index)) {
    // What its code does not say of the log, its list does not either.
    if (context_.log_blobs != nullptr && has_unplaced_blob(known->code.value)) {
      context_.log_blobs->resolve_all(known->extents, places_);
    }
    return Page(std::move(known), list());
  }
  HEXAD_TRY_ASSIGN(const auto value, source_.get(page_key(body, index)));
  if (!value.has_value()) return Page();
  HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(*value, index, context_.shape));
  return Page(resolved(std::move(extents)));
}

void PlanState::give_pages_back() {
  const auto give_back = [this](ObjectContent* content) {
    if (content == nullptr || content->stored_body == 0) return;
    for (auto& [index, page] : content->pages) {
      if (std::unique_ptr<KnownPage> known = page.give_back()) {
        source_.give_page_back(content->stored_body, index, std::move(known));
      }
    }
  };
  for (auto& [key, slot] : objects_) {
    give_back(slot.original);
    if (slot.current != slot.original) give_back(slot.current);
  }
}

Result<Page*> PlanState::page(ObjectContent& content, std::uint32_t index) {
  const auto known = content.pages.find(index);
  if (known != content.pages.end()) return &known->second;
  Page& page = content.pages[index];
  const bool cut = is_cut(content.record.cuts, index);
  if (content.stored_body != 0 && (cut || !content.all_pages)) {
    HEXAD_TRY_ASSIGN(page, load_stored(content.stored_body, index));
    if (cut && page.was_there()) page.clear();  // what is cut off goes now
  }
  return &page;
}

Status PlanState::load_pages(ObjectContent& content, std::uint32_t from, std::uint32_t end) {
  return load_some_pages(content, {from, end}, kEndOfPages).status();
}

Result<bool> PlanState::load_some_pages(ObjectContent& content, const PageRange& range,
                                        std::uint64_t limit) {
  if (content.all_pages) return true;
  std::uint64_t loaded = 0;
  bool all = true;
  PageRange left = range;
  const auto take = [&](std::string_view key, std::string_view value) -> Result<bool> {
    HEXAD_TRY_ASSIGN(const PageKey parsed, parse_page_key(key));
    if (parsed.page >= left.end) return false;
    if (content.pages.count(parsed.page) > 0) return true;
    if (loaded == limit) {
      all = false;
      return false;
    }
    ++loaded;
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(value, parsed.page, context_.shape));
    content.pages[parsed.page] = Page(resolved(std::move(extents)));
    return true;
  };
  const std::string prefix = page_prefix(content.stored_body);
  while (all) {
    left = first_uncut(content.record.cuts, left);
    if (left.empty()) break;
    HEXAD_TRY(source_.scan_from(prefix, page_key(content.stored_body, left.from), take));
    left = {left.end, range.end};
  }
  if (all && range.from == 0 && range.end == kEndOfPages) content.all_pages = true;
  return all;
}

void PlanState::share(ObjectContent& content, Page& page, std::uint64_t offset, std::uint64_t end) {
  std::map<BlobId, ShareId> fresh;
  for (const Extent& extent : page.now()) {
    const bool shown = extent.end() > offset && extent.offset < end;
    if (!shown || extent.is_inline() || extent.blob.share != 0) continue;
    const auto [at, is_new] = fresh.try_emplace(extent.blob.id(), 0);
    if (is_new) at->second = ShareId{context_.new_body().value()};
  }
  const auto mark = [&](ExtentList& extents) {
    bool any = false;
    for (Extent& extent : extents) {
      if (extent.is_inline() || extent.blob.share != 0) continue;
      const auto at = fresh.find(extent.blob.id());
      if (at == fresh.end()) continue;
      extent.blob.share = at->second;
      any = true;
    }
    return any;
  };
  if (!fresh.empty()) {
    if (mark(page.annotate())) page.set_dirty();
    ExtentList before = page.before();
    if (mark(before)) page.replace_before(std::move(before));
    content.rewritten = true;
  }
  owners_.note(page.before());
}

}  // namespace hexad::core
