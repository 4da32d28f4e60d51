#include "core/clean/owned_extents.h"

#include <utility>

#include "core/record/keys.h"

namespace hexad::core {

Result<std::optional<OwnedExtents>> OwnedExtents::decode(std::string_view key,
                                                         std::string_view value,
                                                         const RecordShape& shape) {
  OwnedExtents owned;
  owned.is_page_ = key.starts_with(kPageKeys);
  if (owned.is_page_) {
    HEXAD_TRY_ASSIGN(const PageKey page, parse_page_key(key));
    HEXAD_TRY_ASSIGN(owned.record_.extents, decode_page(value, page.page, shape));
  } else {
    if (is_hidden_entry(value)) return std::optional<OwnedExtents>();
    HEXAD_TRY_ASSIGN(owned.record_, decode_object(value, shape));
  }
  return std::optional<OwnedExtents>(std::move(owned));
}

std::string OwnedExtents::encode(const RecordShape& shape) const {
  return is_page_ ? encode_page(record_.extents, shape) : encode_object(record_, shape);
}

Result<std::optional<FoundExtents>> find_extents(const std::string& owner, std::uint64_t offset,
                                                 const RecordShape& shape, const GetValue& get) {
  std::string key = owner;
  for (int step = 0; step < 2; ++step) {
    if (!has_extents(key)) break;
    HEXAD_TRY_ASSIGN(const std::optional<std::string> value, get(key));
    if (!value.has_value()) break;
    HEXAD_TRY_ASSIGN(std::optional<OwnedExtents> list, OwnedExtents::decode(key, *value, shape));
    if (!list.has_value()) break;
    if (list->body() == 0) {
      return std::optional<FoundExtents>(FoundExtents{std::move(key), *std::move(list)});
    }
    key = page_key(list->body(), static_cast<std::uint32_t>(offset / kPageSpan));
  }
  return std::optional<FoundExtents>();
}

}  // namespace hexad::core
