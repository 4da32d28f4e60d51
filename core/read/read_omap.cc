// Reading omaps. An entry's value is stored like the data of an object, under a key of its own
// (core/record/keys.h); the object's record names the omap.
#include <optional>
#include <utility>

#include "base/units.h"
#include "core/metadata/omap_cursor.h"
#include "core/read/store_reader.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

// Values of one page of a listing, beyond the first.
constexpr std::uint64_t kPageBytes = 64 << 20;

Error about(const Error& error, std::string_view collection, std::string_view name,
            std::string_view key) {
  return error.with_context("object " + printable(collection) + "/" + printable(name) +
                            ", omap key \"" + printable(key, 64) + "\"");
}

}  // namespace

Result<std::optional<ObjectRecord>> StoreReader::find_entry(MetaView& view,
                                                            const ObjectRecord& object,
                                                            std::string_view key) {
  std::optional<ObjectRecord> entry;
  for (const OmapId layer : omap_layers(object)) {
    HEXAD_TRY_ASSIGN(const auto value, view.get(omap_key(layer, key)));
    if (!value.has_value()) continue;
    if (is_hidden_entry(*value)) return entry;
    HEXAD_TRY_ASSIGN(entry, decode_object(*value, shape_.record));
    return entry;
  }
  return entry;
}

Result<Bytes> StoreReader::read_entry(MetaView& view, const ObjectRecord& entry) {
  Bytes value(entry.size);
  HEXAD_TRY(read_range(view, entry, 0, value));
  counters_.add(CounterId::kBytesRead, value.size());
  return value;
}

Result<std::map<std::string, Bytes>> StoreReader::omap_get(std::string_view collection,
                                                           std::string_view name,
                                                           std::span<const std::string> keys) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> object,
                   find_cached(*state.view, collection, name));
  std::map<std::string, Bytes> found;
  std::uint64_t total = 0;
  for (const std::string& key : keys) {
    HEXAD_TRY_ASSIGN(const auto entry, find_entry(*state.view, object->object, key));
    if (!entry.has_value() || found.count(key) > 0) continue;
    total += entry->size;
    if (total > kMaxGetSize) {
      return Error{ErrorCode::kTooBig,
                   "object " + printable(collection) + "/" + printable(name) +
                       ": the values have more than " + format_size(kMaxGetSize) + " together",
                   "Read them in several calls."};
    }
    Result<Bytes> value = read_entry(*state.view, *entry);
    if (!value.ok()) return about(value.error(), collection, name, key);
    found.emplace(key, std::move(value).value());
  }
  counters_.add(CounterId::kReads);
  return found;
}

Result<Bytes> StoreReader::omap_header(std::string_view collection, std::string_view name) {
  const std::string header;  // has the empty key
  HEXAD_TRY_ASSIGN(auto found, omap_get(collection, name, {&header, 1}));
  return found.empty() ? Bytes() : std::move(found.begin()->second);
}

Result<OmapPage> StoreReader::omap_list(std::string_view collection, std::string_view name,
                                        const OmapOptions& options) {
  for (const std::string* bound : {&options.start_after, &options.end}) {
    if (bound->size() <= kMaxOmapKey) continue;
    return Error{ErrorCode::kInvalidArgument,
                 "omap listing: a bound of " + std::to_string(bound->size()) +
                     " bytes, keys have at most " + std::to_string(kMaxOmapKey),
                 ""};
  }
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> object,
                   find_cached(*state.view, collection, name));
  OmapPage page;
  const std::uint64_t limit = std::min(options.limit, kMaxListPage);
  if (!object->object.has_omap() || limit == 0) return page;
  // Behind `start_after`; the header has the empty key and stands before all.
  HEXAD_TRY_ASSIGN(OmapCursor cursor, OmapCursor::open(*state.view, omap_layers(object->object),
                                                       options.start_after + '\0', options.end));
  std::uint64_t bytes = 0;
  while (cursor.valid()) {
    HEXAD_TRY_ASSIGN(const ObjectRecord entry, decode_object(cursor.value(), shape_.record));
    bytes += options.values ? entry.size : 0;
    const bool full = page.entries.size() == limit || bytes > kPageBytes;
    if (full && !page.entries.empty()) {
      page.next = page.entries.back().key;
      break;
    }
    OmapEntry& row = page.entries.emplace_back();
    row.key = cursor.key();
    row.size = entry.size;
    if (options.values) {
      Result<Bytes> value = read_entry(*state.view, entry);
      if (!value.ok()) return about(value.error(), collection, name, row.key);
      row.value = std::move(value).value();
    }
    HEXAD_TRY(cursor.next());
  }
  counters_.add(CounterId::kReads);
  return page;
}

}  // namespace hexad::core
