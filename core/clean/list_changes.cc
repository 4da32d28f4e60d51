#include "core/clean/list_changes.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "core/record/forward_keys.h"
#include "core/record/keys.h"

namespace hexad::core {

Result<ListChanges::Changing*> ListChanges::load(const std::string& key) {
  const auto [at, fresh] = lists_.try_emplace(key);
  Changing& changing = at->second;
  if (!fresh) return &changing;
  HEXAD_TRY_ASSIGN(const std::optional<std::string> value, source_.get(key));
  if (!value.has_value()) return &changing;
  HEXAD_TRY_ASSIGN(changing.list, OwnedExtents::decode(key, *value, shape_));
  if (!changing.list.has_value()) return &changing;
  log_blobs_.resolve_all(changing.list->extents());  // CL5
  changing.before = changing.list->extents();
  return &changing;
}

Result<std::uint64_t> ListChanges::owners_of(ShareId share) {
  if (share == 0) return std::uint64_t{1};
  HEXAD_TRY_ASSIGN(const std::optional<std::string> value, source_.get(share_key(share)));
  if (!value.has_value()) return std::uint64_t{1};
  return decode_owners(*value);
}

Result<bool> ListChanges::move(const std::vector<ShowingList>& lists, const PackedPlace& to) {
  std::vector<Changing*> showing;  // parallel; null: it does not show the blob any more
  std::uint64_t count = 0;
  for (const ShowingList& list : lists) {
    HEXAD_TRY_ASSIGN(Changing * changing, load(list.key));
    const bool still = changing->list.has_value() && shows(changing->list->extents(), list.blob);
    showing.push_back(still ? changing : nullptr);
    if (still) ++count;
  }
  if (count == 0) return false;
  HEXAD_TRY_ASSIGN(const std::uint64_t owners, owners_of(lists.front().blob.share));
  if (count != owners) return false;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (showing[i] == nullptr) continue;
    const Forward forward = i == 0 ? Forward::kNone : Forward::kDue;  // FW1
    move_blob(showing[i]->list->extents(), lists[i].blob, to, forward);
    showing[i]->changed = true;
  }
  return true;
}

void ListChanges::write(LogRecord& record) {
  ForwardKeys forwards;
  for (auto& [key, changing] : lists_) {
    if (!changing.changed) continue;
    forwards.change({key}, changing.before, {key}, changing.list->extents());
    record.images.push_back({key, changing.list->encode(shape_), {}, true});
  }
  forwards.write(record.images);
}

}  // namespace hexad::core
