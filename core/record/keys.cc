#include "core/record/keys.h"

#include "base/bytes.h"
#include "base/codec.h"

namespace hexad::core {
namespace {

constexpr char kCollectionTag = kCollectionKeys[0];
constexpr char kDeletionTag = kDeletionKeys[0];
constexpr char kCutTag = kCutKeys[0];
constexpr char kForwardTag = kForwardKeys[0];
constexpr char kUnplacedForwardTag = kUnplacedForwardKeys[0];
constexpr char kLayerTag = kLayerKeys[0];
constexpr char kMetaTag = kMetaKeys[0];
constexpr char kObjectTag = kObjectKeys[0];
constexpr char kOmapTag = kOmapKeys[0];
constexpr char kShareTag = kShareKeys[0];
constexpr char kTotalsTag = kTotalsKeys[0];
constexpr char kWriterTag = kWriterKeys[0];
constexpr char kPageTag = kPageKeys[0];
constexpr char kZoneTag = kZoneKeys[0];

std::string tagged(char tag, std::size_t reserve) {
  std::string key;
  key.reserve(1 + reserve);
  key.push_back(tag);
  return key;
}

Error broken_key(std::string_view kind, std::string_view key) {
  return Error{ErrorCode::kCorruption, "metadata key \"" + printable(key, 64) + "\" of " +
                                           std::to_string(key.size()) + " bytes is no " +
                                           std::string(kind) + " key"};
}

bool has_shape(std::string_view key, char tag, std::size_t size) {
  return key.size() == size && key[0] == tag;
}

// `fixed` bytes (tag included), then a name of a legal length.
bool has_named_shape(std::string_view key, char tag, std::size_t fixed) {
  return key.size() > fixed && key.size() <= fixed + kMaxNameSize && key[0] == tag;
}

}  // namespace

std::string collection_key(std::string_view name) {
  std::string key = tagged(kCollectionTag, name.size());
  key.append(name);
  return key;
}

std::string cut_key(BodyId body) {
  std::string key = tagged(kCutTag, 8);
  append_be64(key, body);
  return key;
}

std::string deletion_key(CollectionId space, std::string_view from) {
  std::string key = tagged(kDeletionTag, 4 + from.size());
  append_be32(key, space);
  key.append(from);
  return key;
}

std::string forward_key(alloc::ZoneId zone, std::uint32_t unit, std::string_view list) {
  std::string key = tagged(kForwardTag, 8 + list.size());
  append_be32(key, zone);
  append_be32(key, unit);
  key.append(list);
  return key;
}

std::string forward_prefix(alloc::ZoneId zone, std::uint32_t unit) {
  return forward_key(zone, unit, {});
}

std::string unplaced_forward_key(Lsn lsn, std::uint32_t index, std::string_view list) {
  std::string key = tagged(kUnplacedForwardTag, 12 + list.size());
  append_be64(key, lsn);
  append_be32(key, index);
  key.append(list);
  return key;
}

std::string layer_key(OmapId omap) {
  std::string key = tagged(kLayerTag, 8);
  append_be64(key, omap);
  return key;
}

std::string meta_key(std::string_view what) {
  std::string key = tagged(kMetaTag, what.size());
  key.append(what);
  return key;
}

std::string object_key(CollectionId space, std::string_view name) {
  std::string key = tagged(kObjectTag, kObjectPrefixSize - 1 + name.size());
  append_be32(key, space);
  key.append(name);
  return key;
}

std::string object_prefix(CollectionId space) { return object_key(space, {}); }

LookupKey LookupKey::object(CollectionId space, std::string_view name) {
  LookupKey key;
  if (kObjectPrefixSize + name.size() > kInside) {
    key.outside_ = object_key(space, name);
    return key;
  }
  char* const at = key.inside_.data();
  at[0] = kObjectTag;
  for (int i = 0; i < 4; ++i) at[1 + i] = static_cast<char>(space >> (24 - 8 * i));  // be32
  name.copy(at + kObjectPrefixSize, name.size());
  key.size_ = kObjectPrefixSize + name.size();
  return key;
}

LookupKey LookupKey::collection(std::string_view name) {
  LookupKey key;
  if (1 + name.size() > kInside) {
    key.outside_ = collection_key(name);
    return key;
  }
  key.inside_[0] = kCollectionTag;
  name.copy(key.inside_.data() + 1, name.size());
  key.size_ = 1 + name.size();
  return key;
}

std::string omap_key(OmapId omap, std::string_view key) {
  std::string full = tagged(kOmapTag, 8 + key.size());
  append_be64(full, omap);
  full.append(key);
  return full;
}

std::string omap_prefix(OmapId omap) { return omap_key(omap, {}); }

std::string share_key(ShareId share) {
  std::string key = tagged(kShareTag, 8);
  append_be64(key, share);
  return key;
}

std::string totals_key(CollectionId collection) {
  std::string key = tagged(kTotalsTag, 4);
  append_be32(key, collection);
  return key;
}

std::string writer_key(BodyId body) {
  std::string key = tagged(kWriterTag, 8);
  append_be64(key, body);
  return key;
}

std::string page_key(BodyId body, std::uint32_t page) {
  std::string key = tagged(kPageTag, 12);
  append_be64(key, body);
  append_be32(key, page);
  return key;
}

std::string page_prefix(BodyId body) {
  std::string key = tagged(kPageTag, 8);
  append_be64(key, body);
  return key;
}

std::string zone_key(alloc::ZoneId zone) {
  std::string key = tagged(kZoneTag, 4);
  append_be32(key, zone);
  return key;
}

bool has_extents(std::string_view key) {
  return !key.empty() && (key[0] == kObjectTag || key[0] == kOmapTag || key[0] == kPageTag);
}

Result<ForwardKey> parse_forward_key(std::string_view key) {
  constexpr std::size_t kFixed = 9;
  if (key.size() <= kFixed || key.size() > kFixed + kMaxKeySize || key[0] != kForwardTag ||
      !has_extents(key.substr(kFixed)) || read_be32(key, 5) == 0) {
    return broken_key("forward", key);
  }
  return ForwardKey{read_be32(key, 1), read_be32(key, 5), key.substr(kFixed)};
}

Result<ObjectKey> parse_object_key(std::string_view key) {
  if (!has_named_shape(key, kObjectTag, 5)) return broken_key("object", key);
  return ObjectKey{read_be32(key, 1), key.substr(5)};
}

Result<OmapKey> parse_omap_key(std::string_view key) {
  if (key.size() < 9 || key.size() > 9 + kMaxOmapKey || key[0] != kOmapTag) {
    return broken_key("omap", key);
  }
  return OmapKey{read_be64(key, 1), key.substr(9)};
}

Result<OmapId> parse_layer_key(std::string_view key) {
  if (!has_shape(key, kLayerTag, 9)) return broken_key("omap layer", key);
  return OmapId{read_be64(key, 1)};
}

Result<ShareId> parse_share_key(std::string_view key) {
  if (!has_shape(key, kShareTag, 9)) return broken_key("shared blob", key);
  return ShareId{read_be64(key, 1)};
}

Result<CollectionId> parse_totals_key(std::string_view key) {
  if (!has_shape(key, kTotalsTag, 5)) return broken_key("totals", key);
  return CollectionId{read_be32(key, 1)};
}

Result<DeletionKey> parse_deletion_key(std::string_view key) {
  const bool whole = has_shape(key, kDeletionTag, 5);
  if (!whole && !has_named_shape(key, kDeletionTag, 5)) return broken_key("removed objects", key);
  return DeletionKey{read_be32(key, 1), key.substr(5)};
}

Result<PageKey> parse_page_key(std::string_view key) {
  if (!has_shape(key, kPageTag, 13)) return broken_key("extent page", key);
  return PageKey{read_be64(key, 1), read_be32(key, 9)};
}

Result<BodyId> parse_cut_key(std::string_view key) {
  if (!has_shape(key, kCutTag, 9)) return broken_key("cut pages", key);
  return BodyId{read_be64(key, 1)};
}

Result<BodyId> parse_writer_key(std::string_view key) {
  if (!has_shape(key, kWriterTag, 9)) return broken_key("writer", key);
  return BodyId{read_be64(key, 1)};
}

Result<alloc::ZoneId> parse_zone_key(std::string_view key) {
  if (!has_shape(key, kZoneTag, 5)) return broken_key("zone", key);
  return alloc::ZoneId{read_be32(key, 1)};
}

Result<std::string_view> parse_collection_key(std::string_view key) {
  if (!has_named_shape(key, kCollectionTag, 1)) return broken_key("collection", key);
  return key.substr(1);
}

std::optional<std::string> prefix_end(std::string_view prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.remove_suffix(1);
  if (prefix.empty()) return std::nullopt;
  std::string end(prefix);
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

}  // namespace hexad::core
