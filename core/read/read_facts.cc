// What is known of an object without its bytes: that it exists, size, attributes.
#include "core/metadata/page_cursor.h"
#include "core/read/store_reader.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

Result<ObjectStat> StoreReader::stat_of(MetaView& view, const ObjectRecord& record) {
  ObjectStat stat;
  stat.size = record.size;
  stat.version = record.version;
  stat.mtime = record.mtime;
  stat.hint = static_cast<Hint>(record.hint);
  stat.has_omap = record.has_omap();
  if (const auto type = record.attributes.find(kContentType); type != record.attributes.end()) {
    stat.content_type = type->second;
  }
  bool has_inline = false;
  bool has_packed = false;
  bool has_unplaced = false;
  const auto add = [&](const ExtentList& stored) {
    // Most have been resolved already, and are not copied.
    const bool unplaced = any_unplaced(stored);
    const ExtentList found = unplaced ? log_blobs_.resolve(stored) : ExtentList();
    const ExtentList& extents = unplaced ? found : stored;
    stat.stored += stored_bytes(extents);
    stat.extents += extents.size();
    for (const Extent& extent : extents) {
      if (extent.is_inline())
        has_inline = true;
      else if (extent.blob.placement == Placement::kPacked)
        has_packed = true;
      else if (extent.blob.placement == Placement::kLog)
        has_unplaced = true;
    }
  };
  HEXAD_TRY(visit_extents(view, record, {0, kEndOfPages}, shape_.record, add));
  stat.placement = stat.extents == 0  ? "none"
                   : stat.extents > 1 ? "list"
                   : has_inline       ? "inline"
                   : has_packed       ? "pack"
                   : has_unplaced     ? "log"
                                      : "stripe";
  return stat;
}

Result<ObjectStat> StoreReader::stat(std::string_view collection, std::string_view name) {
  {
    const ReadCache::Found found =
        cache_.find_object(collection, name, kMaxLsn, ReadCache::Count::kBoth);
    if (found.record != nullptr && !found.record->exists) return no_object(collection, name);
    // Of an object with pages the numbers come from all of them.
    if (found.record != nullptr && found.record->stat.has_value()) return *found.record->stat;
  }
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  if (record->stat.has_value()) return *record->stat;
  return stat_of(*state.view, record->object);
}

std::optional<ObjectStat> StoreReader::cached_stat(std::string_view collection,
                                                   std::string_view name) {
  const ReadCache::Found found =
      cache_.find_object(collection, name, kMaxLsn, ReadCache::Count::kHits);
  if (found.record == nullptr || !found.record->exists) return std::nullopt;
  return found.record->stat;  // nothing where there are pages
}

std::optional<std::uint64_t> StoreReader::cached_size(std::string_view collection,
                                                      std::string_view name) {
  const ReadCache::Found found = cache_.find_object(
      collection, name, kMaxLsn, ReadCache::Count::kHits, ReadCache::Need::kFacts);
  if (found.record == nullptr || !found.record->exists) return std::nullopt;
  return found.record->object.size;
}

Result<Attributes> StoreReader::attributes(std::string_view collection, std::string_view name) {
  {
    const ReadCache::Found found = cache_.find_object(
        collection, name, kMaxLsn, ReadCache::Count::kBoth, ReadCache::Need::kFacts);
    if (found.record != nullptr && !found.record->exists) return no_object(collection, name);
    if (found.record != nullptr) return found.record->object.attributes;
  }
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name));
  return record->object.attributes;
}

Result<bool> StoreReader::exists(std::string_view collection, std::string_view name) {
  {
    const ReadCache::Found found = cache_.find_object(
        collection, name, kMaxLsn, ReadCache::Count::kBoth, ReadCache::Need::kFacts);
    if (found.record != nullptr) return found.record->exists;
  }
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  const auto record = find_cached(*state.view, collection, name);
  if (!record.ok() && record.error().code == ErrorCode::kNotFound) return false;
  HEXAD_TRY(record.status());
  return true;
}

Result<std::optional<std::string>> StoreReader::attribute(std::string_view collection,
                                                          std::string_view name,
                                                          std::string_view attribute) {
  HEXAD_TRY_ASSIGN(const Attributes all, attributes(collection, name));
  const auto found = all.find(attribute);
  if (found == all.end()) return std::optional<std::string>();
  return std::optional<std::string>(found->second);
}

}  // namespace hexad::core
