// The objects and collections that one transaction touches, as they are before it and as its ops
// change them one after the other. Nothing here writes: core/plan/plan_result.h makes post-images
// of it.
#pragma once

#include <algorithm>
#include <forward_list>
#include <map>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/api/transaction.h"
#include "core/plan/owners.h"
#include "core/plan/page.h"
#include "core/plan/plan_room.h"
#include "core/plan/planner.h"
#include "core/record/record.h"

namespace hexad::core {

// The parts of one object, wherever its name ends up. `pages` holds the pages looked at; when the
// object's pages have keys of their own (record.body != 0) others may exist in the metadata.
struct ObjectContent {
  explicit ObjectContent(std::pmr::memory_resource* memory) : pages(memory) {}

  ObjectRecord record;               // `extents` unused: page 0 stands in `pages`
  BodyId stored_body = 0;            // of the keys in the metadata; 0: page 0 was in the record
  std::string_view stored_key = {};  // of the record in the metadata; lives as long as the state
  std::pmr::map<std::uint32_t, Page> pages;
  // Marks that the metadata has. Of pages that are not in `pages`, `record.cuts` says which show
  // nothing (O1 of core/record/page_cuts.h).
  PageCuts stored_cuts = {};
  bool all_pages = false;  // `pages` has all that show something
  bool changed = false;
  bool rewritten = false;  // only what it is made of: its version stays
  bool kept = false;       // some name has it after the ops: finish_plan() says so

  // Of a page that the metadata has.
  ListName stored_list(std::uint32_t page) const {
    return stored_body == 0 ? ListName{stored_key} : ListName{{}, stored_body, page};
  }
};

// An object, or an entry of an omap. Contents live as long as the state.
struct Slot {
  CollectionId collection = 0;        // of an object: whose it is after the ops so far
  OmapId omap = 0;                    // of an entry: which one's
  std::string_view name;              // or key; in the key of the slot
  ObjectContent* original = nullptr;  // null: absent
  std::uint64_t original_size = 0;    // bytes; `original` changes with `current` where it stays
  OmapId original_omap = 0;           // that the object had
  std::vector<OmapId> original_layers = {};
  // The metadata has it, it is gone since, and what it was made of is released in the plan's record
  // already (PO2); `original` is null then.
  bool released = false;
  // Of an entry that is not there: layers below may have one, and it does not count.
  bool was_hidden = false;
  bool hidden = false;
  ObjectContent* current = nullptr;

  // Before the transaction.
  bool was_there() const { return original != nullptr || released; }
};

struct CollectionSlot {
  std::optional<CollectionRecord> original;
  std::optional<CollectionRecord> current;
};

// "object photos/a.jpg", for messages.
std::string object_text(const TransactionOp& op);

class PlanState {
 public:
  // Both outlive it. Of the context's room it takes what it needs, and gives it back at its end.
  PlanState(const PlanContext& context, PlanSource& source);
  PlanState(const PlanState&) = delete;
  PlanState& operator=(const PlanState&) = delete;
  ~PlanState();

  // Pointers stay valid. Errors of all: kCorruption (a record does not decode), those of reading.
  Result<CollectionSlot*> collection(std::string_view name);
  Result<CollectionSlot*> existing_collection(std::string_view name);  // kNotFound
  Result<Slot*> object(std::string_view collection_name, std::string_view name);
  Result<Slot*> existing_object(const TransactionOp& op);  // kNotFound
  // The object goes, if there is one. What one was made of that no op has touched before is
  // released at once, in `record`, where its record is plain and its blob its own:
  //   PO2 it is released then and there alone: no later op finds it, and nothing of it is shared
  Status remove(const TransactionOp& op, LogRecord& record);
  // The content to change, made when the object is missing.
  Result<ObjectContent*> writable(const TransactionOp& op);
  ObjectContent* writable(Slot& slot);
  // A new one, of no pages yet.
  ObjectContent* new_content();
  // For what lives no longer than the state.
  std::pmr::memory_resource* memory() const { return use_.memory(); }
  // As PlanRoom has it.
  ExtentList list() { return room_.list(); }
  // The objects that are there with names of [from, to), by name; empty `to`: to the last. Looks at
  // no more than `limit` of those that no op has touched yet, and so returns more than `limit` only
  // when ops have touched some.
  Result<std::vector<Slot*>> range(const CollectionRecord& collection, std::string_view from,
                                   std::string_view to, std::uint64_t limit);
  // The first name in the range that an object has after the ops so far; nothing: none has.
  Result<std::optional<std::string>> first_name(const NameRange& range);
  // The objects that the metadata has in the ranges, whatever ops have done to them.
  Result<CollectionTotals> count(const std::vector<NameRange>& ranges);
  // The objects of the ranges go from one collection to the other, which is told what count() says:
  // the caller changes the records. Errors also: kTooBig (kMaxCollectionBytes).
  Status move_names(const std::vector<NameRange>& ranges, const CollectionTotals& counted,
                    CollectionId from, CollectionId to);
  // The same for all objects of a collection, at the cost of those that ops have touched.
  Status move_all(CollectionId from, CollectionId to);
  // The totals of a collection that the metadata has, and what moves so far have made of them.
  struct Totals {
    CollectionTotals before;
    CollectionTotals moved;
  };
  Result<Totals*> totals(CollectionId id);
  // The entry of an omap or a layer; `key` empty: its header.
  Result<Slot*> omap_entry(OmapId omap, std::string_view key);
  // What an object shows under the key; null: nothing. For looking only: it may be a layer's.
  Result<const Slot*> find_entry(const ObjectRecord& object, std::string_view key);
  // Takes what the object shows under the key away. Precondition: it shows something.
  Status remove_entry(ObjectRecord& object, std::string_view key);
  // Keys of [first, end) that an object shows, by key; empty `end`: to the last. Looks at no more
  // than `limit` entries of each layer, and at so many only when there are too many.
  struct KeysInRange {
    std::vector<std::string> keys;
    bool too_many = false;
  };
  Result<KeysInRange> omap_range(const ObjectRecord& object, std::string_view first,
                                 std::string_view end, std::uint64_t limit);
  Result<Page*> page(ObjectContent& content, std::uint32_t index);
  // Every page of the object from `from` up to `end`, for whoever removes or clones it.
  Status load_pages(ObjectContent& content, std::uint32_t from = 0,
                    std::uint32_t end = kEndOfPages);
  // The same, up to `limit` of them. Whether that was all.
  Result<bool> load_some_pages(ObjectContent& content, const PageRange& range, std::uint64_t limit);
  // Pages that an op may look at only to drop them, and that it has.
  std::uint64_t drops_left() const { return std::min(context_.drops_at_once, drops_left_); }
  void note_drops(std::uint64_t pages) { drops_left_ -= std::min(drops_left_, pages); }
  // Gives share ids to the blobs that the page shows in [offset, end), bytes of the object. What it
  // shows stays the same, and so does the object's version.
  void share(ObjectContent& content, Page& page, std::uint64_t offset, std::uint64_t end);
  // The plan came to nothing: pages that were remembered are again, as they were.
  void give_pages_back();

  using Collections = std::pmr::map<std::string_view, CollectionSlot>;
  using Objects = std::pmr::map<std::string_view, Slot>;
  const Collections& collections() const { return collections_; }
  // Entries of omaps among them. By key: the order of the post-images. A key lives as long as the
  // state.
  Objects& objects() { return objects_; }
  BlobOwners& owners() { return owners_; }
  // Those that have been looked at: of collections that have given or got objects by a move.
  const std::pmr::map<CollectionId, Totals>& known_totals() const { return totals_; }

 private:
  ExtentList resolved(ExtentList extents) const;
  // Of the object of that name, and whether no op has asked for it before: what the metadata has is
  // not looked at yet then.
  struct Named {
    Objects::iterator at;
    bool fresh = false;
  };
  Result<Named> named(std::string_view collection_name, std::string_view name);
  // What a page was, where the metadata has it.
  Result<Page> load_stored(BodyId body, std::uint32_t index);
  // Those that are there, and entries that are hidden.
  Result<std::vector<Slot*>> slots_between(const std::string& prefix, const std::string& first,
                                           const std::string& end, CollectionId collection,
                                           std::uint64_t limit);
  Status move_totals(const CollectionTotals& moved, CollectionId from, CollectionId to);
  Result<const Slot*> find_below(const ObjectRecord& object, std::string_view key);
  // Bytes that live as long as the state.
  std::string_view kept(std::string_view bytes);
  // The slot of the key, and whether it is fresh.
  std::pair<Objects::iterator, bool> slot_of(std::string_view key);
  // Fills a fresh slot with what the metadata has under its key, which outlives the content.
  Status load(Slot& slot, std::string_view key, std::string_view value);
  // Marks; none: nothing of the body is cut off and there still.
  Result<PageCuts> stored_cuts(BodyId body) const;

  const PlanContext& context_;
  PlanSource& source_;
  const LogBlobs::Moment places_;     // YB5
  std::optional<PlanRoom> own_room_;  // where the context has none
  PlanRoom& room_;
  const PlanRoom::Use use_;  // what stands below has its memory there
  std::pmr::forward_list<ObjectContent> contents_;
  Collections collections_;
  Objects objects_;
  std::pmr::map<CollectionId, Totals> totals_;
  BlobOwners owners_;
  std::uint64_t drops_left_ = kMaxDroppedPages;
};

}  // namespace hexad::core
