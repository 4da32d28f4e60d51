#include "core/read/store_reader.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/refused_memory.h"
#include "base/units.h"
#include "core/record/keys.h"
#include "core/record/object_extents.h"

namespace hexad::core {

namespace {

Error too_big(std::string_view collection, std::string_view name, std::uint64_t size) {
  return Error{ErrorCode::kTooBig,
               "object " + printable(collection) + "/" + printable(name) + ": " +
                   std::to_string(size) + " bytes, get() returns at most " +
                   format_size(kMaxGetSize),
               "Read ranges of it, or open_reader()."};
}

Error no_collection(std::string_view collection) {
  return Error{ErrorCode::kNotFound, "collection " + printable(collection) + " does not exist",
               "Create it first (hexad bucket create POOL BUCKET)."};
}

// For who keeps what it points to.
std::shared_ptr<CachedRecord> borrowed(CachedRecord* record) {
  return {std::shared_ptr<CachedRecord>(), record};
}

}  // namespace

Error no_object(std::string_view collection, std::string_view name) {
  return Error{ErrorCode::kNotFound,
               "object " + printable(collection) + "/" + printable(name) + " does not exist", ""};
}

StoreReader::StoreReader(ReadSources sources)
    : shape_(sources.shape),
      metadata_(sources.metadata),
      log_blobs_(sources.log_blobs),
      blobs_(sources.blobs),
      cache_(sources.cache),
      pins_(sources.pins),
      counters_(sources.counters),
      executor_(sources.executor),
      visible_(std::move(sources.visible)) {}

ReadPins::Pin StoreReader::pin_visible() { return pins_.pin(visible_); }

Result<ReadState> StoreReader::read_state() {
  ReadState state;
  state.pin = pin_visible();
  HEXAD_TRY_ASSIGN(state.view, metadata_.view(state.pin.lsn()));
  return state;
}

Result<CollectionRecord> StoreReader::find_collection(MetaView& view, std::string_view collection) {
  HEXAD_TRY_ASSIGN(const auto record, view.collection(collection));
  if (record == nullptr) return no_collection(collection);
  return *record;
}

Result<ObjectRecord> StoreReader::find_object(MetaView& view, std::string_view collection,
                                              std::string_view name) {
  HEXAD_TRY_ASSIGN(const auto record, view.collection(collection));
  if (record == nullptr) return no_collection(collection);
  HEXAD_TRY_ASSIGN(const auto value, view.look_up(LookupKey::object(record->space_of(name), name)));
  if (!value.has_value()) return no_object(collection, name);
  Result<ObjectRecord> object = decode_object(*value, shape_.record);
  if (!object.ok()) {
    return object.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  return object;
}

Status StoreReader::read_range(MetaView& view, const ObjectRecord& record, std::uint64_t offset,
                               MutByteView out) {
  return read_pages(record, offset, out, [&](std::uint32_t page) -> Result<ExtentList> {
    HEXAD_TRY_ASSIGN(const auto value, view.look_up(page_key(record.body, page)));
    if (!value.has_value()) return ExtentList();
    return decode_page(*value, page, shape_.record);
  });
}

Status StoreReader::read_pages(const ObjectRecord& record, std::uint64_t offset, MutByteView out,
                               const PageSource& page_of) {
  HEXAD_ASSERT(offset + out.size() <= record.size);
  ReadGather gather(blobs_, cache_);
  if (record.body == 0) {
    HEXAD_TRY(gather.add(record.extents, 0, nullptr, offset, out));
    return gather.finish();
  }
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t length =
        std::min<std::uint64_t>(out.size() - done, kPageSpan - at % kPageSpan);
    const auto index = static_cast<std::uint32_t>(at / kPageSpan);
    ExtentList stored;
    if (!is_cut(record.cuts, index)) {
      HEXAD_TRY_ASSIGN(stored, page_of(index));
    }
    const auto page = std::make_shared<const ExtentList>(std::move(stored));
    HEXAD_TRY(gather.add(*page, 0, page, at, out.subspan(done, length)));
    done += length;
  }
  return gather.finish();
}

Result<std::shared_ptr<const CachedRecord>> StoreReader::find_cached(MetaView& view,
                                                                     std::string_view collection,
                                                                     std::string_view name,
                                                                     Room* room) {
  ReadCache::Found found =
      cache_.find_object(collection, name, view.lsn(), ReadCache::Count::kNothing);
  if (found.record == nullptr) {
    bool newest = false;
    if (!found.space.has_value()) {
      HEXAD_TRY_ASSIGN(const auto in, view.collection(collection, &newest));
      if (in == nullptr) return no_collection(collection);
      found.space = in->space_of(name);
      if (newest && cache_.enabled())
        cache_.insert_collection(found.ticket, collection, *in, view.lsn());
    }
    HEXAD_TRY_ASSIGN(const auto value,
                     view.look_up(LookupKey::object(*found.space, name), &newest));
    const bool caches = cache_.enabled();
    const bool kept = newest && caches;
    const bool in_room = room != nullptr && !caches;
    if (in_room && value.has_value()) {
      if (read_plain(*value, shape_.record, room->plain.emplace())) {
        return std::shared_ptr<const CachedRecord>();
      }
      room->plain.reset();
    }
    std::shared_ptr<CachedRecord> record =
        in_room ? borrowed(&room->record.emplace()) : std::make_shared<CachedRecord>();
    record->serial = cache_.new_serial();
    record->as_of = view.lsn();
    record->exists = value.has_value();
    if (value.has_value()) {
      Result<ObjectRecord> decoded = decode_object(*value, shape_.record);
      if (!decoded.ok()) {
        return decoded.error().with_context("object " + printable(collection) + "/" +
                                            printable(name));
      }
      record->object = std::move(decoded).value();
      record->object.extents = log_blobs_.resolve(std::move(record->object.extents));
      if (kept && record->object.body == 0) {
        HEXAD_TRY_ASSIGN(record->stat, stat_of(view, record->object));
      }
    }
    if (kept) {
      cache_.insert_object(found.ticket, *found.space, name, record);
    } else {
      record->drop();
    }
    found.record = std::move(record);
  }
  if (!found.record->exists) return no_object(collection, name);
  return std::move(found.record);
}

Result<std::shared_ptr<const CachedRecord>> StoreReader::find_page(MetaView& view, BodyId body,
                                                                   std::uint32_t page) {
  ReadCache::Found found = cache_.find_page(body, page, view.lsn(), ReadCache::Count::kNothing);
  if (found.record != nullptr) return std::move(found.record);
  bool newest = false;
  HEXAD_TRY_ASSIGN(const auto value, view.look_up(page_key(body, page), &newest));
  auto record = std::make_shared<CachedRecord>();
  record->serial = cache_.new_serial();
  record->as_of = view.lsn();
  record->exists = value.has_value();
  if (value.has_value()) {
    HEXAD_TRY_ASSIGN(ExtentList extents, decode_page(*value, page, shape_.record));
    record->page = log_blobs_.resolve(std::move(extents));
    // The cache keeps only pages that stay where they are.
    newest = newest && !any_unplaced(record->page);
  }
  if (newest) {
    cache_.insert_page(found.ticket, body, page, record);
  } else {
    record->drop();
  }
  return std::shared_ptr<const CachedRecord>(std::move(record));
}

// Every entry is looked up in the state of now, one after the other; see N5 of
// core/cache/read_cache.h for why together they are one state all the same.
bool StoreReader::read_from_cache(const CachedRecord& record, std::uint64_t offset,
                                  MutByteView out) {
  if (out.size() > cache_.largest_read()) return false;
  const ObjectRecord& object = record.object;
  if (object.body == 0) {
    return copy_from_cache(cache_, object.extents, record.serial, offset, out);
  }
  // Small reads touch two pages at most, and do without an allocation.
  std::array<std::shared_ptr<const CachedRecord>, 2> first_pages;
  std::vector<std::shared_ptr<const CachedRecord>> more_pages;
  for (std::uint64_t done = 0, i = 0; done < out.size(); ++i) {
    const std::uint64_t at = offset + done;
    const std::uint64_t length =
        std::min<std::uint64_t>(out.size() - done, kPageSpan - at % kPageSpan);
    const auto index = static_cast<std::uint32_t>(at / kPageSpan);
    const MutByteView part = out.subspan(done, length);
    done += length;
    if (is_cut(object.cuts, index)) {
      std::fill(part.begin(), part.end(), std::byte{0});
      continue;
    }
    std::shared_ptr<const CachedRecord> page =
        cache_
            .find_page(object.body, index, kMaxLsn, ReadCache::Count::kBoth,
                       ReadCache::Need::kFacts)
            .record;
    if (page == nullptr || !copy_from_cache(cache_, page->page, page->serial, at, part)) {
      return false;
    }
    if (i < first_pages.size()) {
      first_pages[i] = std::move(page);
    } else {
      more_pages.push_back(std::move(page));
    }
  }
  const auto is_dropped = [](const std::shared_ptr<const CachedRecord>& page) {
    return page != nullptr && page->dropped();
  };
  if (std::any_of(first_pages.begin(), first_pages.end(), is_dropped) ||
      std::any_of(more_pages.begin(), more_pages.end(), is_dropped)) {
    return false;
  }
  return !record.dropped();
}

// For all that is asked of it, and for what will be: a block is what a device is asked for anyway.
Status StoreReader::read_small(const CachedRecord& record, std::uint64_t offset, MutByteView out) {
  const std::uint64_t size = record.object.size;
  HEXAD_ASSERT(record.is_small() && offset + out.size() <= size);
  if (const std::byte* const whole = record.whole(); whole != nullptr) {
    copy_bytes(out, ByteView(whole, size).subspan(offset, out.size()));
    return {};
  }
  AlignedBuffer buffer;
  if (out.size() != size) buffer = AlignedBuffer(size);
  const MutByteView all = out.size() == size ? out : buffer.bytes();
  const auto read = [&](std::uint64_t from, MutByteView into) {
    ReadGather gather(blobs_, cache_);
    Status status = gather.add(record.object.extents, 0, nullptr, from, into);
    return status.ok() ? gather.finish() : status;
  };
  const Status status = read(0, all);
  if (!status.ok()) {
    // What is lost may not be what was asked for.
    return buffer.empty() ? status : read(offset, out);
  }
  cache_.insert_bytes(record, all);
  if (!buffer.empty()) copy_bytes(out, ByteView(all).subspan(offset, out.size()));
  return {};
}

Status StoreReader::gather_range(RangeReader& reader, ReadGather& gather, std::uint64_t offset,
                                 MutByteView out) {
  const ObjectRecord& object = reader.record.object;
  HEXAD_ASSERT(offset + out.size() <= object.size);
  const auto serial_of = [&](const CachedRecord& of) {
    return reader.keep && !of.dropped() ? of.serial : 0;
  };
  if (object.body == 0) {
    return gather.add(object.extents, serial_of(reader.record), nullptr, offset, out);
  }
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t length =
        std::min<std::uint64_t>(out.size() - done, kPageSpan - at % kPageSpan);
    const auto index = static_cast<std::uint32_t>(at / kPageSpan);
    if (is_cut(object.cuts, index)) {
      const MutByteView hole = out.subspan(done, length);
      std::fill(hole.begin(), hole.end(), std::byte{0});
      done += length;
      continue;
    }
    if (reader.page == nullptr || reader.page_index != index) {
      HEXAD_TRY_ASSIGN(reader.page, find_page(reader.view, object.body, index));
      reader.page_index = index;
    }
    HEXAD_TRY(gather.add(reader.page->page, serial_of(*reader.page), reader.page, at,
                         out.subspan(done, length)));
    done += length;
  }
  return {};
}

Status StoreReader::read_found(MetaView& view, const Room& room, const CachedRecord* record,
                               std::uint64_t offset, MutByteView out) {
  if (record == nullptr) {
    const io::Nanos began = cache_.clock().now();
    HEXAD_TRY(blobs_.read(room.plain->blob, offset, out));
    cache_.note_device_read(0, out.size(), cache_.clock().now() - began);
    return {};
  }
  return read_through_cache(view, *record, offset, out);
}

Status StoreReader::read_through_cache(MetaView& view, const CachedRecord& record,
                                       std::uint64_t offset, MutByteView out) {
  if (record.is_small() && !record.dropped()) return read_small(record, offset, out);
  const bool keep = cache_.enabled() && out.size() <= cache_.largest_read();
  RangeReader reader{view, record, keep};
  const auto read = [&]() -> Status {
    ReadGather gather(blobs_, cache_, ReadCache::admit(out.size()));
    HEXAD_TRY(gather_range(reader, gather, offset, out));
    return gather.finish();
  };
  Status status = read();
  if (status.ok() || !keep || out.size() <= ReadCache::kSmallRead) return status;
  // What was read around it, to have whole blocks, may be what is lost.
  reader.keep = false;
  return read();
}

void StoreReader::note_read(io::Nanos began, std::uint64_t bytes) {
  counters_.add(CounterId::kReads);
  counters_.add_latency(CounterId::kReadLatCount, 1, executor_.clock().now() - began);
  counters_.add(CounterId::kBytesRead, bytes);
}

Result<Bytes> StoreReader::get(std::string_view collection, std::string_view name) {
  {
    const ReadCache::Found found =
        cache_.find_bytes(collection, name, {0, kMaxGetSize}, ReadCache::Count::kBoth);
    if (found.bytes.has_value()) return Bytes(found.bytes->begin(), found.bytes->end());
    if (found.record != nullptr) {
      if (!found.record->exists) return no_object(collection, name);
      const std::uint64_t size = found.record->object.size;
      if (size > kMaxGetSize) return too_big(collection, name, size);
      if (size <= cache_.largest_read()) {
        std::optional<Bytes> bytes;
        if (found.record->object.body == 0) {
          bytes = get_from_cache(cache_, found.record->object.extents, found.record->serial, size);
        } else {
          Result<Bytes> paged = make_bytes(size, "its content");
          if (paged.ok() && read_from_cache(*found.record, 0, *paged)) {
            bytes = std::move(paged).value();
          }
        }
        if (bytes.has_value()) {
          cache_.note_served(found.ticket, size);
          return std::move(*bytes);
        }
      }
    }
  }
  const io::Nanos began = executor_.clock().now();
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  Room room;
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name, &room));
  const std::uint64_t size = record == nullptr ? room.plain->size : record->object.size;
  if (size > kMaxGetSize) return too_big(collection, name, size);
  Result<Bytes> made = make_bytes(size, "its content");
  const Status status =
      made.ok() ? read_found(*state.view, room, record.get(), 0, *made) : made.status();
  if (!status.ok()) {
    return status.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  note_read(began, made->size());
  return made;
}

std::optional<PinnedBytes> StoreReader::cached(std::string_view collection, std::string_view name) {
  ReadCache::Found found =
      cache_.find_bytes(collection, name, {0, kMaxGetSize}, ReadCache::Count::kHits);
  if (!found.bytes.has_value()) return std::nullopt;
  return PinnedBytes(*found.bytes, std::move(found.record));
}

Result<std::uint64_t> StoreReader::read(std::string_view collection, std::string_view name,
                                        std::uint64_t offset, MutByteView into) {
  const auto length_of = [&](std::uint64_t size) {
    return offset >= size ? 0 : std::min<std::uint64_t>(into.size(), size - offset);
  };
  {
    const ReadCache::Found found =
        cache_.find_bytes(collection, name, {offset, into.size()}, ReadCache::Count::kBoth);
    if (found.bytes.has_value()) {
      copy_bytes(into, *found.bytes);
      return found.bytes->size();
    }
    if (found.record != nullptr) {
      if (!found.record->exists) return no_object(collection, name);
      const std::uint64_t length = length_of(found.record->object.size);
      if (length == 0) return length;
      if (read_from_cache(*found.record, offset, into.first(length))) {
        cache_.note_served(found.ticket, length);
        return length;
      }
    }
  }
  const io::Nanos began = executor_.clock().now();
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  Room room;
  HEXAD_TRY_ASSIGN(const std::shared_ptr<const CachedRecord> record,
                   find_cached(*state.view, collection, name, &room));
  const std::uint64_t length =
      length_of(record == nullptr ? room.plain->size : record->object.size);
  if (length == 0) return length;
  const Status status = read_found(*state.view, room, record.get(), offset, into.first(length));
  if (!status.ok()) {
    return status.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  note_read(began, length);
  return length;
}

std::optional<std::uint64_t> StoreReader::cached_read(std::string_view collection,
                                                      std::string_view name, std::uint64_t offset,
                                                      MutByteView into) {
  const ReadCache::Found found =
      cache_.find_bytes(collection, name, {offset, into.size()}, ReadCache::Count::kHits);
  if (found.bytes.has_value()) {
    copy_bytes(into, *found.bytes);
    return found.bytes->size();
  }
  if (found.record == nullptr || !found.record->exists) return std::nullopt;
  const std::uint64_t size = found.record->object.size;
  const std::uint64_t length =
      offset >= size ? 0 : std::min<std::uint64_t>(into.size(), size - offset);
  if (length > 0 && !read_from_cache(*found.record, offset, into.first(length))) {
    return std::nullopt;
  }
  cache_.note_served(found.ticket, length);
  return length;
}

Result<bool> StoreReader::read_if_unchanged(std::string_view collection, std::string_view name,
                                            CollectionId space, Lsn version, std::uint64_t offset,
                                            MutByteView out) {
  if (!cache_.enabled() || out.size() > cache_.largest_read()) return false;
  const auto is_it = [version](const CachedRecord& record) {
    return record.exists && record.object.version == version;
  };
  {
    const ReadCache::Found found = cache_.find_object(
        collection, name, kMaxLsn, ReadCache::Count::kBoth, ReadCache::Need::kFacts);
    if (found.record != nullptr) {
      if (found.space != space || !is_it(*found.record)) return false;
      const std::byte* const whole = found.record->whole();
      if (whole != nullptr) {
        copy_bytes(out, ByteView(whole, found.record->object.size).subspan(offset, out.size()));
      }
      if (whole != nullptr || read_from_cache(*found.record, offset, out)) {
        cache_.note_served(found.ticket, out.size());
        return true;
      }
    }
  }
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  const Result<CollectionRecord> in = find_collection(*state.view, collection);
  if (!in.ok() && in.error().code == ErrorCode::kNotFound) return false;
  HEXAD_TRY(in.status());
  if (in->space_of(name) != space) return false;
  const Result<std::shared_ptr<const CachedRecord>> record =
      find_cached(*state.view, collection, name);
  if (!record.ok() && record.error().code == ErrorCode::kNotFound) return false;
  HEXAD_TRY(record.status());
  if (!is_it(**record)) return false;
  HEXAD_TRY(read_through_cache(*state.view, **record, offset, out));
  counters_.add(CounterId::kBytesRead, out.size());
  return true;
}

}  // namespace hexad::core
