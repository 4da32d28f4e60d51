#include "core/jobs/checkpoint_changes.h"

#include <memory>
#include <utility>

#include "core/record/forward_keys.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// The record with the places of its unplaced blobs, all of which have one by now.
// `extras` gets the forward keys that were due (FW3).
Result<std::string> resolve_record(std::string_view key, std::string_view value,
                                   const LogBlobs& log_blobs, const RecordShape& shape,
                                   std::map<std::string, std::string>& extras) {
  const auto resolve = [&](ExtentList& extents) {
    log_blobs.resolve_all(extents);
    write_due_keys(key, extents,
                   [&](std::string forward) { extras.try_emplace(std::move(forward)); });
  };
  std::string resolved;
  if (const Result<PageKey> page = parse_page_key(key); page.ok()) {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(value, page->page, shape));
    resolve(extents);
    resolved = encode_page(extents, shape);
  } else {
    HEXAD_TRY_ASSIGN(ObjectRecord record, decode_object(value, shape));
    resolve(record.extents);
    resolved = encode_object(record, shape);
  }
  if (has_unplaced_blob(resolved)) {
    return Error{
        ErrorCode::kCorruption,
        "metadata key " + printable(key, 64) + " has a blob without a place",
        "The log still has everything: close the store, open it again, run hexad fsck POOL."};
  }
  return resolved;
}

}  // namespace

std::map<std::string, std::string> encode_images(const std::vector<alloc::ZoneImage>& images) {
  std::map<std::string, std::string> extras;
  for (const alloc::ZoneImage& image : images) {
    extras.emplace(zone_key(image.zone), alloc::encode_zone_image(image));
  }
  return extras;
}

std::uint64_t bytes_of(const kv::Memtable& table,
                       const std::map<std::string, std::string>& extras) {
  std::uint64_t bytes = 0;
  for (const auto& [key, value] : extras) bytes += key.size() + value.size();
  kv::Memtable::Iterator it = table.iterate();
  for (it.seek_to_first(); it.valid(); it.next()) {
    bytes += it.key().size() + (it.value().has_value() ? it.value()->size() : 0);
  }
  return bytes;
}

Status list_changes(const kv::Memtable& table, const LogBlobs& log_blobs, const RecordShape& shape,
                    CheckpointChanges& changes) {
  const auto is_unplaced = [](const kv::Memtable::Iterator& at) {
    return at.value().has_value() && has_extents(at.key()) && has_unplaced_blob(*at.value());
  };
  kv::Memtable::Iterator it = table.iterate();
  for (it.seek_to_first(); it.valid(); it.next()) {
    if (!is_unplaced(it)) continue;
    HEXAD_TRY_ASSIGN(changes.resolved.emplace_back(),
                     resolve_record(it.key(), *it.value(), log_blobs, shape, changes.extras));
  }
  const std::map<std::string, std::string>& extras = changes.extras;
  std::vector<kv::IndexChange>& list = changes.list;
  list.reserve(table.keys() + extras.size());
  auto extra = extras.begin();
  auto resolved = changes.resolved.begin();
  for (it.seek_to_first(); it.valid(); it.next()) {
    for (; extra != extras.end() && extra->first < it.key(); ++extra) {
      list.push_back({extra->first, extra->second});
    }
    if (it.key().starts_with(kUnplacedForwardKeys)) continue;         // FW3
    if (extra != extras.end() && extra->first == it.key()) continue;  // what is due says more
    if (is_unplaced(it)) {
      list.push_back({it.key(), *resolved++});
    } else {
      list.push_back({it.key(), it.value()});
    }
  }
  for (; extra != extras.end(); ++extra) list.push_back({extra->first, extra->second});
  return {};
}

Status each_with_index(kv::TieredIndex& index, const std::vector<kv::IndexChange>& list,
                       const RunCatalogue::AddChange& add) {
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexReader> reader, index.snapshot());
  HEXAD_TRY_ASSIGN(const std::unique_ptr<kv::IndexCursor> cursor, reader->cursor());
  HEXAD_TRY(cursor->seek_to_first());
  auto change = list.begin();
  while (cursor->valid() || change != list.end()) {
    const bool old = cursor->valid() && (change == list.end() || cursor->key() < change->key);
    if (old) {
      HEXAD_TRY(add(cursor->key(), cursor->value()));
      HEXAD_TRY(cursor->next());
      continue;
    }
    if (cursor->valid() && cursor->key() == change->key) HEXAD_TRY(cursor->next());
    HEXAD_TRY(add(change->key, change->value));
    ++change;
  }
  return {};
}

}  // namespace hexad::core
