// What collections are, and what they hold.
#include "core/engine.h"
#include "core/keys.h"
#include "core/object_extents.h"

namespace hexad::core {

namespace {

Result<CollectionInfo> info_of(MetaView& view, std::string_view name,
                               const CollectionRecord& record) {
  CollectionInfo info;
  info.name = name;
  info.id = record.id;
  info.compression = record.compression;
  info.quota = record.quota;
  HEXAD_TRY_ASSIGN(const auto value, view.get(totals_key(record.id)));
  if (!value.has_value()) return info;
  HEXAD_TRY_ASSIGN(const CollectionTotals totals, decode_totals(*value));
  info.objects = totals.objects;
  info.bytes = totals.bytes;
  return info;
}

void add_extents(const ExtentList& extents, CollectionUsage& usage) {
  usage.stored += stored_bytes(extents);
  usage.extents += extents.size();
  for (const Blob& blob : blobs_of(extents)) {
    if (!blob.is_compressed()) continue;
    usage.compressed_original += blob.raw;
    usage.compressed += blob.stored;
  }
}

}  // namespace

Result<std::vector<CollectionInfo>> Engine::collections() {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  std::vector<CollectionInfo> found;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor());
  const std::string prefix = collection_key("");
  HEXAD_TRY(cursor.seek(prefix));
  while (cursor.valid()) {
    if (cursor.key().compare(0, prefix.size(), prefix) != 0) break;
    HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(cursor.value()));
    const std::string_view name = std::string_view(cursor.key()).substr(prefix.size());
    HEXAD_TRY_ASSIGN(CollectionInfo info, info_of(*state.view, name, record));
    found.push_back(std::move(info));
    HEXAD_TRY(cursor.next());
  }
  return found;
}

Result<CollectionInfo> Engine::collection(std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection(*state.view, name));
  return info_of(*state.view, name, record);
}

Result<CollectionUsage> Engine::collection_usage(std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord collection, find_collection(*state.view, name));
  const RecordShape& shape = parts_.shape->record;
  CollectionUsage usage;
  std::vector<BodyId> bodies;  // pages lie elsewhere: one walk after the other
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor());
  const auto in_prefix = [&](const std::string& prefix) {
    return cursor.valid() && cursor.key().compare(0, prefix.size(), prefix) == 0;
  };
  const std::string objects = object_prefix(collection.id);
  HEXAD_TRY(cursor.seek(objects));
  while (in_prefix(objects)) {
    HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(cursor.value(), shape));
    ++usage.objects;
    usage.bytes += record.size;
    add_extents(record.extents, usage);
    if (record.body != 0) bodies.push_back(record.body);
    HEXAD_TRY(cursor.next());
  }
  for (const BodyId body : bodies) {
    const std::string pages = page_prefix(body);
    HEXAD_TRY(cursor.seek(pages));
    while (in_prefix(pages)) {
      HEXAD_TRY_ASSIGN(const PageKey key, parse_page_key(cursor.key()));
      HEXAD_TRY_ASSIGN(const ExtentList extents, decode_page(cursor.value(), key.page, shape));
      add_extents(extents, usage);
      HEXAD_TRY(cursor.next());
    }
  }
  return usage;
}

}  // namespace hexad::core
