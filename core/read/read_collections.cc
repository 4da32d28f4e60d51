// What collections are, and what they hold: name by name, and in sum.
#include "core/metadata/list_page.h"
#include "core/metadata/omap_cursor.h"
#include "core/metadata/page_cursor.h"
#include "core/read/store_reader.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

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

// What its pages are found by.
void note_pages(const ObjectRecord& record, std::vector<ObjectRecord>& paged) {
  if (record.body == 0) return;
  ObjectRecord& noted = paged.emplace_back();
  noted.body = record.body;
  noted.cuts = record.cuts;
}

}  // namespace

Result<ListPage> StoreReader::list(std::string_view collection, const ListOptions& options,
                                   std::uint64_t& deleted) {
  HEXAD_TRY(check_list_options(options));
  CursorMoves moves;
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection(*state.view, collection));
  Result<ListPage> page = list_page(*state.view, record, options, &moves);
  deleted = moves.deleted;
  return page;
}

Result<std::vector<CollectionInfo>> StoreReader::collections() {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  std::vector<CollectionInfo> found;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor_over(kCollectionKeys));
  while (cursor.valid()) {
    HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(cursor.value()));
    HEXAD_TRY_ASSIGN(const std::string_view name, parse_collection_key(cursor.key()));
    HEXAD_TRY_ASSIGN(CollectionInfo info, info_of(*state.view, name, record));
    found.push_back(std::move(info));
    HEXAD_TRY(cursor.next());
  }
  return found;
}

Result<CollectionInfo> StoreReader::collection(std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection(*state.view, name));
  return info_of(*state.view, name, record);
}

Result<CollectionUsage> StoreReader::collection_usage(std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord collection, find_collection(*state.view, name));
  const RecordShape& shape = shape_.record;
  CollectionUsage usage;
  // Pages and omaps lie elsewhere: one walk after the other.
  std::vector<ObjectRecord> paged;
  std::vector<std::vector<OmapId>> omaps;
  for (const NameRange& range : ranges_of(collection.all_parts())) {
    HEXAD_TRY_ASSIGN(MetaView::Cursor objects,
                     state.view->cursor({range.first_key(), range.end_key()}));
    HEXAD_TRY(objects.seek(range.first_key()));
    while (objects.valid()) {
      HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(objects.value(), shape));
      ++usage.objects;
      usage.bytes += record.size;
      add_extents(record.extents, usage);
      note_pages(record, paged);
      if (record.has_omap()) omaps.push_back(omap_layers(record));
      HEXAD_TRY(objects.next());
    }
  }
  for (const std::vector<OmapId>& omap : omaps) {
    HEXAD_TRY_ASSIGN(OmapCursor entries, OmapCursor::open(*state.view, omap, {}, {}));
    while (entries.valid()) {
      HEXAD_TRY_ASSIGN(const ObjectRecord record, decode_object(entries.value(), shape));
      ++usage.omap_entries;
      add_extents(record.extents, usage);
      note_pages(record, paged);
      HEXAD_TRY(entries.next());
    }
  }
  for (const ObjectRecord& record : paged) {
    const auto add = [&usage](const ExtentList& extents) { add_extents(extents, usage); };
    HEXAD_TRY(visit_extents(*state.view, record, {0, kEndOfPages}, shape, add));
  }
  return usage;
}

}  // namespace hexad::core
