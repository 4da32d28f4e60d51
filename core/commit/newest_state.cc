#include "core/commit/newest_state.h"

#include <algorithm>
#include <utility>

#include "core/record/image_patch.h"
#include "core/record/keys.h"

namespace hexad::core {

Result<std::optional<std::string>> NewestState::get(std::string_view key) {
  return metadata_.get_latest(key);
}

Status NewestState::scan_within(std::string_view prefix, std::string_view from, const Visit& visit,
                                MetadataWalk& walk) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<MetaView> view, metadata_.view(kMaxLsn));
  return scan_view(*view, prefix, from, visit, walk);
}

Status NewestState::scan_view(MetaView& view, std::string_view prefix, std::string_view from,
                              const Visit& visit, MetadataWalk& walk) {
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor,
                   view.cursor({std::string(from), prefix_end(prefix)}, walk.reading));
  cursor.give_up_after(walk.most_deleted - std::min(walk.deleted, walk.most_deleted));
  const auto go = [&]() -> Status {
    HEXAD_TRY(cursor.seek(from));
    while (cursor.valid()) {
      HEXAD_TRY_ASSIGN(const bool more, visit(cursor.key(), cursor.value()));
      if (!more) break;
      HEXAD_TRY(cursor.next());
    }
    return {};
  };
  Status status = go();
  walk.deleted += cursor.moves().deleted;
  if (!status.ok() && cursor.gave_up()) walk.gave_up = true;
  if (!status.ok() && walk.reading == MetaView::Reading::kMemory && !cursor.gave_up() &&
      status.error().code == ErrorCode::kUnavailable) {
    walk.lacked = true;
  }
  return status;
}

void NewestState::note_hold(std::uint64_t keys) {
  largest_hold_.store(std::max(largest_hold_.load(std::memory_order_relaxed), keys),
                      std::memory_order_relaxed);
}

void NewestState::encode_as_patches(std::vector<PostImage>& images) const {
  for (PostImage& image : images) {
    if (!image.value.has_value() || image.value->size() < kSmallestPatched) {
      image.change.reset();  // it holds the page as it was
      continue;
    }
    if (image.change.has_value()) {
      if (metadata_.is_patch_base(image.key, image.change->base)) {
        image.patch = make_patch(std::move(*image.change), image.value->size());
      }
      image.change.reset();
      continue;
    }
    const std::optional<std::string> base = metadata_.patch_base(image.key);
    if (base.has_value()) image.patch = make_patch(*base, *image.value);
  }
}

void NewestState::apply(Lsn lsn, const std::vector<PostImage>& images) {
  for (const PostImage& image : images) {
    if (image.patch.has_value()) counters_.add(CounterId::kLogPatches);
    metadata_.apply(
        lsn, image.key,
        image.value.has_value() ? std::optional<std::string_view>(*image.value) : std::nullopt,
        image.moved ? Metadata::Changes::kPlaces : Metadata::Changes::kAnything);
    if (!std::string_view(image.key).starts_with(kPageKeys)) continue;
    if (const Result<PageKey> page = parse_page_key(image.key); page.ok()) {
      pages_.forget(page->body, page->page);  // C9
      if (!copying_.empty()) copying_.tell(page->body, page->page);
    }
  }
}

void NewestState::record_concurrent_changes(const std::vector<PostImage>& images,
                                            PlanSource& before) {
  if (counting_.empty()) return;
  std::erase_if(counting_, [](const auto& other) { return other.expired(); });
  for (const std::weak_ptr<CountedNames>& other : counting_) {
    const std::shared_ptr<CountedNames> counted = other.lock();
    if (counted == nullptr) continue;
    for (const PostImage& image : images) {
      if (!counted->has(image.key)) continue;
      const auto add = [&](const std::optional<std::string>& value,
                           CollectionTotals& to) -> Status {
        if (!value.has_value()) return {};
        HEXAD_TRY_ASSIGN(const ObjectSummary object, decode_summary(*value));
        add_to(to, object.size);
        return {};
      };
      const Result<std::optional<std::string>> was = before.get(image.key);
      const bool told =
          was.ok() && add(*was, counted->gone).ok() && add(image.value, counted->come).ok();
      if (!told) counted->lost = true;
    }
  }
}

void NewestState::add_count(const std::shared_ptr<CountedNames>& counted) {
  std::erase_if(counting_, [](const auto& other) { return other.expired(); });
  counting_.push_back(counted);
}

}  // namespace hexad::core
