#include "core/clean/stripe_owners.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "core/clean/moved_extents.h"
#include "core/clean/owned_extents.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Forward keys that are looked at for one stripe.
constexpr std::size_t kMostForwards = 4096;

Error unknown_owners() { return Error{ErrorCode::kNotFound, "not all owners are known", ""}; }

class Search {
 public:
  Search(const alloc::Extent& where, const RecordShape& shape, const LogBlobs& log_blobs,
         const StateReads& reads)
      : where_(where), shape_(shape), log_blobs_(log_blobs), reads_(reads) {}

  // Where the footer leads. An older store's footer may name an object that has got pages since.
  Status follow(const PackEntry& entry) {
    const auto [at, fresh] = leads_.try_emplace({entry.owner, entry.offset / kPageSpan});
    if (fresh) {
      HEXAD_TRY_ASSIGN(std::optional<FoundExtents> found,
                       find_extents(entry.owner, entry.offset, shape_,
                                    [this](std::string_view key) { return get(key); }));
      if (found.has_value()) at->second = take(found->key, std::move(found->list));
    }
    if (at->second != nullptr) note(entry, *at->second);
    return {};
  }

  // What else shows blobs of the stripe.
  Status follow_forwards(const PackFooter& footer) {
    std::size_t seen = 0;
    const auto visit = [&](std::string_view at) -> Result<bool> {
      if (++seen > kMostForwards) return unknown_owners();
      HEXAD_TRY_ASSIGN(const ForwardKey forward, parse_forward_key(at));
      const std::string key(forward.list);
      HEXAD_TRY_ASSIGN(const std::optional<std::string> value, get(key));
      if (!value.has_value()) return true;
      HEXAD_TRY_ASSIGN(std::optional<OwnedExtents> list, OwnedExtents::decode(key, *value, shape_));
      if (!list.has_value()) return true;
      const List& known = *take(key, *std::move(list));
      for (const PackEntry& entry : footer.entries) note(entry, known);
      return true;
    };
    return reads_.scan(forward_prefix(where_.zone, where_.unit), visit);
  }

  // Those whose owners are all known.
  Result<std::vector<OwnedBlob>> found(const OwnersQuery& query) {
    std::vector<OwnedBlob> blobs;
    std::uint64_t live = 0;
    for (auto& [place, owned] : owned_) {
      HEXAD_TRY_ASSIGN(const bool whole, is_whole(owned, query.most_list_bytes));
      if (!whole) continue;
      live += owned.entry.stored;
      blobs.push_back(std::move(owned));
    }
    if (live < query.live || blobs.empty()) return unknown_owners();
    return blobs;
  }

 private:
  struct List {
    std::string key;
    ExtentList extents;
    std::uint64_t bytes = 0;
  };

  Result<std::optional<std::string>> get(std::string_view key) {
    HEXAD_TRY_ASSIGN(std::optional<std::string> value, reads_.get(key));
    if (value.has_value()) bytes_ = value->size();
    return value;
  }

  // The value that was got last. Many leads may end in one list.
  const List* take(const std::string& key, OwnedExtents list) {
    const auto [at, fresh] = lists_.try_emplace(key);
    if (fresh) {
      log_blobs_.resolve_all(list.extents());
      at->second = {key, std::move(list.extents()), bytes_};
    }
    return &at->second;
  }

  void note(const PackEntry& entry, const List& list) {
    const PackedPlace place{where_.zone, where_.unit, entry.cell, entry.cell_offset};
    const Extent* const extent = find_packed(list.extents, place);
    if (extent == nullptr || extent->blob.stored != entry.stored) return;
    OwnedBlob& owned = owned_[{entry.cell, entry.cell_offset}];
    const auto is_this = [&](const ShowingList& known) { return known.key == list.key; };
    if (std::any_of(owned.lists.begin(), owned.lists.end(), is_this)) return;
    if (owned.lists.empty()) {
      owned.entry = entry;
      // A clone may show the middle of a blob where the object begins.
      owned.entry.offset =
          extent->offset - std::min<std::uint64_t>(extent->offset, extent->blob_offset);
    }
    owned.lists.push_back({list.key, extent->blob, list.bytes});
  }

  // OW2: as many lists as are counted.
  Result<bool> is_whole(const OwnedBlob& owned, std::uint64_t most_list_bytes) {
    const ShareId share = owned.lists.front().blob.share;
    std::uint64_t owners = 1;
    if (share != 0) {
      HEXAD_TRY_ASSIGN(const std::optional<std::string> value, get(share_key(share)));
      if (value.has_value()) {
        HEXAD_TRY_ASSIGN(owners, decode_owners(*value));
      }
    }
    std::uint64_t bytes = 0;
    for (const ShowingList& list : owned.lists) {
      if (list.blob.share != share) return false;
      bytes += list.key.size() + list.value_bytes;
    }
    return owned.lists.size() == owners && (owners == 1 || bytes <= most_list_bytes);
  }

  const alloc::Extent where_;
  const RecordShape& shape_;
  const LogBlobs& log_blobs_;
  const StateReads& reads_;
  std::uint64_t bytes_ = 0;
  std::map<std::string, List> lists_;
  std::map<std::pair<std::string, std::uint64_t>, const List*> leads_;  // by owner and page
  std::map<std::pair<std::uint32_t, std::uint32_t>, OwnedBlob> owned_;  // by cell and offset
};

}  // namespace

Result<std::vector<OwnedBlob>> find_owners(const OwnersQuery& query, const PackFooter& footer,
                                           const RecordShape& shape, const LogBlobs& log_blobs,
                                           const StateReads& reads) {
  Search search(query.where, shape, log_blobs, reads);
  for (const PackEntry& entry : footer.entries) HEXAD_TRY(search.follow(entry));
  HEXAD_TRY(search.follow_forwards(footer));
  return search.found(query);
}

}  // namespace hexad::core
