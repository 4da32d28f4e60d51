#include "core/plan/plan_result.h"

#include <algorithm>
#include <set>

#include "base/units.h"
#include "core/plan/plan_cuts.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

BlobId stripe_id(const StripeProof& stripe) {
  return {stripe.where.zone, stripe.where.unit, 0, 0, {}};
}

// The background takes the content's pages back. Whatever else the plan says about the body's
// writer key holds no more.
void schedule_deletion(ObjectContent& content, const RecordShape& shape, BlobOwners& owners,
                       Plan& plan) {
  const std::string marker = writer_key(content.stored_body);
  std::vector<PostImage>& images = plan.record.images;
  std::erase_if(images, [&](const PostImage& image) { return image.key == marker; });
  images.push_back({marker, std::string()});
  plan.deletions.bodies.push_back(content.stored_body);
  // Its pages own what they show until they go: they have to say what is shared by now.
  for (auto& [index, at] : content.pages) {
    if (!at.is_newly_shared()) continue;
    ExtentList shared = at.before();
    owners.keep(content.stored_list(index), shared);
    images.push_back({page_key(content.stored_body, index), encode_page(shared, shape)});
  }
}

// Gives up an object that was there before the transaction. `pages_left`: that may still be freed
// by the transaction itself.
Status release_object(PlanState& state, ObjectContent& content, const RecordShape& shape,
                      std::uint64_t& pages_left, Plan& plan) {
  const std::uint64_t pages = divide_up(content.record.size, kPageSpan);
  // What is cut off does not lie within the size.
  const bool any_cut = !content.record.cuts.empty() || !content.stored_cuts.empty();
  const bool deferred =
      any_cut || content.record.size > kDeferredDeletionSize || pages > pages_left;
  if (content.stored_body != 0 && deferred) {
    schedule_deletion(content, shape, state.owners(), plan);
    return {};
  }
  if (content.stored_body != 0) pages_left -= pages;
  HEXAD_TRY(state.load_pages(content));
  release_pages(content, state.owners(), plan.record);
  return {};
}

// Omaps that no object has any more, neither its own nor a layer: those that were there before are
// scheduled for deletion, with all entries. What this transaction has done to entries of them does
// not count.
Status release_omaps(PlanState& state, PlanSource& source, Plan& plan) {
  std::set<OmapId> kept;  // of objects that have any
  LayerOwners owners;
  for (const auto& [key, slot] : state.objects()) {
    if (slot.omap != 0) continue;
    if (slot.original != nullptr) owners.change(slot.original_layers, -1);
    if (slot.current == nullptr || !slot.current->record.has_omap()) continue;
    const ObjectRecord& record = slot.current->record;
    owners.change(record.layers, 1);
    kept.insert(record.omap);
    kept.insert(record.layers.begin(), record.layers.end());
  }
  for (auto& [key, slot] : state.objects()) {
    if (slot.omap != 0 && kept.count(slot.omap) == 0) {
      slot.current = slot.original;
      slot.hidden = slot.was_hidden;
    }
    const OmapId before = slot.original_omap;
    if (before == 0 || kept.count(before) > 0) continue;
    plan.record.images.push_back({writer_key(before), std::string()});
    plan.deletions.bodies.push_back(before);
  }
  HEXAD_TRY_ASSIGN(const std::vector<OmapId> gone, owners.finish(source, plan.record));
  plan.deletions.bodies.insert(plan.deletions.bodies.end(), gone.begin(), gone.end());
  return {};
}

// The list of page 0 would take a forward key, which is as long as the object's, for each of many
// blobs. Under the key of a page they are short, and none changes when the object is renamed again.
bool has_many_forwards(std::string_view key, ObjectContent& content) {
  constexpr std::size_t kMany = 8;
  const auto first = content.pages.find(0);
  if (content.stored_body != 0 || first == content.pages.end()) return false;
  Page& page = first->second;
  if (page.now().size() <= kMany) return false;
  const bool renamed = content.stored_key != key && page.was_there();
  const std::vector<Blob> blobs =
      renamed ? blobs_of(page.now()) : blobs_released(page.now(), page.before());
  const auto many = std::count_if(blobs.begin(), blobs.end(), [&](const Blob& blob) {
    return blob.placement != Placement::kPrivate && (renamed || blob.share != 0);
  });
  return static_cast<std::size_t>(many) > kMany;
}

void note_hidden(const ListName& list, const HiddenBytes& bytes, Plan& plan) {
  if (bytes.hidden > 0) plan.partly_shown.push_back({list.text(), bytes});
}

// A page under the key that it had, of blobs that one list shows and footers name (OW1, FW1), which
// small writes have changed: what has gone of it is known.
void emit_spliced(const ListName& list, Page& page, const PlanContext& context, Plan& plan) {
  Page::Splice splice = page.splice(context.shape);
  for (const Blob* const blob : splice.released) add_release(plan.record, *blob);
  note_hidden(list, hidden_bytes(page.now(), splice.page.code), plan);
  PostImage image{list.text(), splice.page.code.value};
  image.change = {std::move(splice.value_before), std::move(splice.page.pieces)};
  plan.record.images.push_back(std::move(image));
  page.set_code(std::move(splice.page.code));
}

void emit_page(const ListName& was, const ListName& is, Page& page, const PlanContext& context,
               BlobOwners& owners, Plan& plan) {
  ExtentList& now = page.annotate();  // first: before it both may be one list
  owners.change(was, page.before(), is, now, plan.record);
  if (page.is_dirty() && page.was_there() && !page.now().empty()) {
    note_hidden(is, hidden_bytes(page.now()), plan);
  }
  if (is.body == 0) return;
  // Page 0 moves to a key of its own together with the object's first later page.
  const bool moved = was.body == 0 && !page.now().empty();
  if (!page.is_dirty() && !moved) return;
  std::optional<std::string> value;
  if (!page.now().empty()) {
    PageCode code = page.code(context.shape);
    value = code.value;
    page.set_code(std::move(code));
  }
  plan.record.images.push_back({is.text(), std::move(value)});
}

void emit_object(std::string_view key, ObjectContent& content, const PlanContext& context,
                 BlobOwners& owners, Plan& plan) {
  ObjectRecord& record = content.record;
  if (content.changed && !context.keep_versions) {
    record.version = context.lsn;
    record.mtime = context.time;
  }
  const bool beyond_first =
      std::any_of(content.pages.begin(), content.pages.end(),
                  [](const auto& entry) { return entry.first > 0 && !entry.second.now().empty(); });
  if (record.body == 0 && (beyond_first || has_many_forwards(key, content))) {
    record.body = context.new_body();
  }
  for (auto& [index, at] : content.pages) {
    const ListName was = content.stored_list(index);
    const ListName is = record.body == 0 ? ListName{key} : ListName{{}, record.body, index};
    if (was == is && at.is_spliced()) {
      emit_spliced(is, at, context, plan);
    } else {
      emit_page(was, is, at, context, owners, plan);
    }
  }
  if (record.body != 0) emit_cuts(content, plan);
  const auto first = content.pages.find(0);
  const bool lent = record.body == 0 && first != content.pages.end();
  if (lent) record.extents.swap(first->second.annotate());
  plan.record.images.push_back({std::string(key), encode_object(record, context.shape)});
  if (lent) record.extents.swap(first->second.annotate());
}

void emit_absence(std::string_view key, const Slot& slot, Plan& plan) {
  if (slot.hidden) {
    if (!slot.was_hidden) {
      plan.record.images.push_back({std::string(key), encode_hidden_entry()});
    }
  } else if (slot.was_there() || slot.was_hidden) {
    plan.record.images.push_back({std::string(key), std::nullopt});
  }
}

// Stripes that the transaction brings, of ops and of published writers.
std::vector<BlobId> new_stripes(const PreparedOps& prepared, const Plan& plan) {
  std::vector<BlobId> stripes = plan.published_stripes;
  for (const PreparedOp& op : prepared) {
    for (const PayloadPiece& piece : op.pieces) {
      if (piece.bytes.empty() && !piece.prepared.is_unplaced()) {
        stripes.push_back(piece.prepared.blob.id());
      }
    }
  }
  for (const StripeProof& stripe : plan.record.allocated) stripes.push_back(stripe_id(stripe));
  std::sort(stripes.begin(), stripes.end());
  return stripes;
}

// Which of the new blobs are still wanted at the end: a later op may have replaced what an earlier
// one wrote.
void note_references(PlanState& state, const PreparedOps& prepared, const PlanContext& context,
                     Plan& plan) {
  const std::vector<BlobId> stripes = new_stripes(prepared, plan);
  const auto note = [&](std::string_view key, const ObjectContent& content, std::uint32_t page,
                        const Extent& extent) {
    const BlobId id = extent.blob.id();
    if (id.log.lsn == context.lsn) {
      if (id.log.index >= plan.owners.size()) plan.owners.resize(id.log.index + 1);
      std::optional<BlobOwner>& owner = plan.owners[id.log.index];
      if (owner.has_value()) return;  // the first one that shows it
      // A clone may show the middle of a blob where the object begins.
      // The page's key outlives the object's name.
      const BodyId body = content.record.body;
      owner = {body == 0 ? std::string(key) : page_key(body, page),
               extent.offset - std::min<std::uint64_t>(extent.offset, extent.blob_offset)};
    } else if (extent.blob.placement == Placement::kPrivate &&
               std::binary_search(stripes.begin(), stripes.end(), id)) {
      plan.stripes.push_back(id);
    }
  };
  for (const auto& object : state.objects()) {
    const std::string_view key = object.first;
    const Slot& slot = object.second;
    if (slot.current == nullptr) continue;
    for (const auto& page : slot.current->pages) {
      page.second.each_new([&](const Extent& extent) {
        if (!extent.is_inline()) note(key, *slot.current, page.first, extent);
      });
    }
  }
  std::sort(plan.stripes.begin(), plan.stripes.end());
  plan.stripes.erase(std::unique(plan.stripes.begin(), plan.stripes.end()), plan.stripes.end());
  for (const StripeProof& stripe : plan.record.allocated) {
    if (!plan.refers_to(stripe_id(stripe))) plan.record.freed.push_back(stripe.where);
  }
}

// Last: nobody looks at the pages after it.
void hand_over_pages(PlanState& state, Plan& plan) {
  for (auto& [key, slot] : state.objects()) {
    if (slot.current == nullptr) continue;
    for (auto& [index, at] : slot.current->pages) {
      if (at.is_written()) plan.pages.push_back({slot.current->record.body, index, at.hand_over()});
    }
  }
}

}  // namespace

std::optional<std::string> collection_before(const PlanState& state, std::string_view key) {
  const Result<ObjectKey> object = parse_object_key(key);
  if (!object.ok()) return std::nullopt;
  for (const auto& [name, collection] : state.collections()) {
    if (collection.original.has_value() && collection.original->key_of(object->name) == key) {
      return std::string(name);
    }
  }
  return std::nullopt;
}

void note_crowded(PlanState& state, const ObjectContent& content, std::uint32_t index, Plan& plan) {
  for (const auto& [key, slot] : state.objects()) {
    if (slot.original != &content) continue;
    const std::optional<std::string> collection = collection_before(state, key);
    if (collection.has_value())
      plan.crowded.push_back({*collection, std::string(slot.name), index});
  }
}

// A page that was crowded before is to be rewritten first; one that this transaction alone cuts up
// gains nothing by that, and waits for the next.
Status check_pages(PlanState& state, const PlanContext& context, Plan& plan) {
  for (const auto& [key, slot] : state.objects()) {
    if (slot.current == nullptr) continue;
    for (const auto& [index, at] : slot.current->pages) {
      if (!at.is_dirty() || at.now().size() <= kCrowdedExtents) continue;
      const bool helps = at.extents_before() > kCrowdedExtents / 2;
      if (helps && !context.accept_crowded) {
        note_crowded(state, *slot.current, index, plan);
      } else if (at.now().size() > kMaxPageExtents) {
        return Error{ErrorCode::kTooBig,
                     "object " + printable(slot.name) + ": " + std::to_string(at.now().size()) +
                         " pieces between byte " + std::to_string(index * kPageSpan) +
                         " and the next MiB, at most " + std::to_string(kMaxPageExtents) +
                         " are possible",
                     "Write larger pieces, or fewer of them in one transaction."};
      }
    }
  }
  return {};
}

void release_pages(ObjectContent& content, BlobOwners& owners, LogRecord& record) {
  for (auto& [index, at] : content.pages) {
    owners.give_up(content.stored_list(index), at.before(), record);
    if (content.stored_body != 0 && at.was_there()) {
      record.images.push_back({page_key(content.stored_body, index), std::nullopt});
    }
    at.forget_before();
  }
}

Status finish_plan(PlanState& state, PlanSource& source, const PreparedOps& prepared,
                   const PlanContext& context, const std::vector<ObjectContent*>& adopted,
                   Plan& plan) {
  for (const auto& [name, slot] : state.collections()) {
    if (slot.original == slot.current) continue;
    std::optional<std::string> value;
    if (slot.current.has_value()) value = encode_collection(*slot.current);
    plan.record.images.push_back({collection_key(name), std::move(value)});
  }

  HEXAD_TRY(release_omaps(state, source, plan));
  plan.record.images.reserve(plan.record.images.size() + state.objects().size() + 2);
  plan.owners.reserve(prepared.size());
  for (const auto& [key, slot] : state.objects()) {
    if (slot.current != nullptr) slot.current->kept = true;
  }
  // The pages of a published writer stand in the metadata, under no object's key. Those of an
  // object that was there before are released with it.
  for (ObjectContent* const content : adopted) {
    if (!content->kept) schedule_deletion(*content, context.shape, state.owners(), plan);
  }
  std::uint64_t pages_left = kMaxReleasedPages;
  for (auto& [key, slot] : state.objects()) {
    if (slot.original != nullptr && !slot.original->kept) {
      HEXAD_TRY(release_object(state, *slot.original, context.shape, pages_left, plan));
    }
    if (slot.current == nullptr) {
      emit_absence(key, slot, plan);
    } else if (slot.current->changed || slot.current->rewritten || slot.current != slot.original) {
      emit_object(key, *slot.current, context, state.owners(), plan);
    }
  }
  HEXAD_TRY(state.owners().finish(source, plan.record));
  plan.record.time = context.time;
  note_references(state, prepared, context, plan);
  hand_over_pages(state, plan);
  return {};
}

}  // namespace hexad::core
