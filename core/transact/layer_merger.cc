#include "core/transact/layer_merger.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/units.h"
#include "core/metadata/omap_cursor.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Copied with one record: keys, and bytes of their values in the metadata.
constexpr std::size_t kKeysAtOnce = 1024;
constexpr std::size_t kBytesAtOnce = 64 << 10;

// Up to `limit`.
Result<std::uint64_t> count_entries(MetaView& view, OmapId layer, std::uint64_t limit) {
  std::uint64_t entries = 0;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor_over(omap_prefix(layer)));
  for (; cursor.valid() && entries < limit; ++entries) HEXAD_TRY(cursor.next());
  return entries;
}

// About what the record of the copies has to say of an entry with this key and value.
Result<std::uint64_t> bytes_to_copy(std::string_view key, std::string_view value) {
  constexpr std::uint64_t kPageBytes = 1024;
  constexpr std::uint64_t kBlobBytes = 64;  // of a value that shows one; each may be forwarded
  if (is_hidden_entry(value)) return key.size() + value.size();
  HEXAD_TRY_ASSIGN(const ObjectSummary entry, decode_summary(value));
  const std::uint64_t forwards = divide_up(value.size(), kBlobBytes) * (key.size() + kBlobBytes);
  return key.size() + value.size() + forwards + entry.size / kPageSpan * kPageBytes;
}

// How many of the newest: two, and on as long as the next has no more entries than those above it,
// so that an entry is copied a number of times that is logarithmic in the number of entries.
Result<std::size_t> choose_layers(MetaView& view, const std::vector<OmapId>& layers) {
  std::uint64_t above = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::uint64_t limit = i < 2 ? ~std::uint64_t{0} : above + 1;
    HEXAD_TRY_ASSIGN(const std::uint64_t entries, count_entries(view, layers[i], limit));
    if (i >= 2 && entries > above) return i;
    above += entries;
  }
  return layers.size();
}

Error changed_meanwhile() {
  return Error{ErrorCode::kConflict, "the object has changed while its omap was merged", ""};
}

}  // namespace

struct LayerMerger::Key {
  OmapId layer = 0;
  std::string key;
};

Status LayerMerger::merge(const LayeredObject& object) {
  HEXAD_TRY(parts_.pipeline.wait_durable(parts_.pipeline.next_lsn() - 1));
  std::vector<OmapId> layers;
  auto hidden = OmapCursor::Hidden::kSkipped;
  {
    HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
    const auto found = parts_.reads.find_object(*state.view, object.collection, object.name);
    if (!found.ok() && found.error().code == ErrorCode::kNotFound) return {};
    HEXAD_TRY(found.status());
    layers = found->layers;
    if (layers.size() < 2) return {};
    HEXAD_TRY_ASSIGN(const std::size_t count, choose_layers(*state.view, layers));
    // What hides something further down stays.
    if (count < layers.size()) hidden = OmapCursor::Hidden::kShown;
    layers.resize(count);
  }
  const OmapId merged = parts_.ids.draw();
  const auto copy = [&]() -> Result<bool> {
    std::string from;
    for (bool last = false; !last;) {
      std::vector<Key> keys;
      {
        // Let go before the commit, which takes states of its own.
        HEXAD_TRY_ASSIGN(ReadState state, parts_.reads.read_state());
        HEXAD_TRY_ASSIGN(OmapCursor cursor,
                         OmapCursor::open(*state.view, layers, from, {}, hidden));
        std::size_t bytes = 0;
        while (cursor.valid() && keys.size() < kKeysAtOnce && bytes < kBytesAtOnce) {
          keys.push_back({layers[cursor.layer()], std::string(cursor.key())});
          HEXAD_TRY_ASSIGN(const std::uint64_t more, bytes_to_copy(cursor.key(), cursor.value()));
          bytes += more;
          HEXAD_TRY(cursor.next());
        }
        last = !cursor.valid();
        if (!last) from = cursor.key();
      }
      const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
        return copy_entries(keys, merged, record);
      };
      HEXAD_TRY(parts_.commits.commit_internal(fill).status());
    }
    return replace(object, layers, merged);
  };
  const Result<bool> replaced = copy();
  // Then the copy is for nothing; whoever wanted it looks again.
  if (!replaced.ok() || !*replaced) parts_.deletions.schedule({{merged}, {}});
  if (!replaced.ok() && replaced.error().code == ErrorCode::kConflict) return {};
  return replaced.status();
}

Status LayerMerger::copy_entries(const std::vector<Key>& keys, OmapId to, LogRecord& record) {
  HEXAD_TRY(parts_.ids.may_draw());
  BlobOwners owners;
  record.images.push_back({writer_key(to), std::string()});
  for (const Key& key : keys) HEXAD_TRY(copy_entry(key, to, record, owners));
  return owners.finish(parts_.commits, record);
}

// As it is now: others may have given its blobs share ids meanwhile.
Status LayerMerger::copy_entry(const Key& key, OmapId to, LogRecord& record, BlobOwners& owners) {
  const RecordShape& shape = parts_.shape;
  std::vector<PostImage>& images = record.images;
  const std::string from_key = omap_key(key.layer, key.key);
  const std::string to_key = omap_key(to, key.key);
  HEXAD_TRY_ASSIGN(const auto value, parts_.commits.get(from_key));
  if (!value.has_value()) return changed_meanwhile();
  if (is_hidden_entry(*value)) {
    images.push_back({to_key, *value});
    return {};
  }
  const auto share = [&](const ListName& from, ExtentList& extents) {
    extents = parts_.log_blobs.resolve(std::move(extents));
    const bool fresh =
        give_share_ids(extents, [this] { return ShareId{parts_.ids.draw().value()}; });
    owners.note(extents);
    if (fresh) owners.keep(from, extents);
    return fresh;
  };
  HEXAD_TRY_ASSIGN(ObjectRecord entry, decode_object(*value, shape));
  if (share({from_key}, entry.extents)) images.push_back({from_key, encode_object(entry, shape)});
  owners.change({}, {}, {to_key}, entry.extents, record);
  if (entry.body != 0) {
    const BodyId body = parts_.ids.draw();
    const PlanSource::Visit take = [&](std::string_view page_of,
                                       std::string_view bytes) -> Result<bool> {
      HEXAD_TRY_ASSIGN(const PageKey page, parse_page_key(page_of));
      HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(bytes, page.page, shape));
      if (share({page_of}, extents)) {
        images.push_back({std::string(page_of), encode_page(extents, shape)});
      }
      owners.change({}, {}, {{}, body, page.page}, extents, record);
      images.push_back({page_key(body, page.page), encode_page(extents, shape)});
      return true;
    };
    HEXAD_TRY(parts_.commits.scan_to_fill(page_prefix(entry.body), page_prefix(entry.body), take));
    entry.body = body;
  }
  images.push_back({to_key, encode_object(entry, shape)});
  return {};
}

Result<bool> LayerMerger::replace(const LayeredObject& object, const std::vector<OmapId>& layers,
                                  OmapId by) {
  std::vector<OmapId> gone;
  const InternalCommits::FillRecord fill = [&](LogRecord& record) -> Status {
    HEXAD_TRY_ASSIGN(const auto collection, parts_.commits.get(collection_key(object.collection)));
    if (!collection.has_value()) return changed_meanwhile();
    HEXAD_TRY_ASSIGN(const CollectionRecord found, decode_collection(*collection));
    const std::string key = found.key_of(object.name);
    HEXAD_TRY_ASSIGN(const auto value, parts_.commits.get(key));
    if (!value.has_value()) return changed_meanwhile();
    HEXAD_TRY_ASSIGN(ObjectRecord now, decode_object(*value, parts_.shape));
    const auto at = std::search(now.layers.begin(), now.layers.end(), layers.begin(), layers.end());
    if (at == now.layers.end()) return changed_meanwhile();
    now.layers.insert(now.layers.erase(at, at + static_cast<std::ptrdiff_t>(layers.size())), by);
    now.extents = parts_.log_blobs.resolve(std::move(now.extents));
    BlobOwners blobs;
    blobs.keep({key}, now.extents);
    HEXAD_TRY(blobs.finish(parts_.commits, record));
    record.images.push_back({key, encode_object(now, parts_.shape)});
    record.images.push_back({writer_key(by), std::nullopt});
    LayerOwners owners;
    owners.change(layers, -1);
    owners.change({by}, 1);
    HEXAD_TRY_ASSIGN(gone, owners.finish(parts_.commits, record));
    return {};
  };
  const Result<Lsn> committed = parts_.commits.commit_internal(fill);
  if (!committed.ok() && committed.error().code == ErrorCode::kConflict) return false;
  HEXAD_TRY(committed.status());
  parts_.deletions.schedule({std::move(gone), {}});
  return true;
}

}  // namespace hexad::core
