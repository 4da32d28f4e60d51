// Reads: a pinned state, the object's record and extents, the blobs behind them.
#include <algorithm>
#include <deque>

#include "core/engine.h"
#include "core/keys.h"
#include "core/object_extents.h"

namespace hexad::core {

namespace {

// User bytes of one read that are asked of the devices at once: enough to keep all of them busy,
// and a bound for the buffers of stored bytes behind it.
constexpr std::uint64_t kReadAtOnce = 8 << 20;

}  // namespace

Result<ReadState> Engine::read_state() {
  ReadState state;
  state.pin = pins_.pin([this] { return lane_ == nullptr ? parts_.last_lsn : lane_->durable(); });
  HEXAD_TRY_ASSIGN(state.view, parts_.metadata->view(state.pin.lsn()));
  return state;
}

Result<CollectionRecord> Engine::find_collection(MetaView& view, std::string_view collection) {
  HEXAD_TRY_ASSIGN(const auto value, view.get(collection_key(collection)));
  if (!value.has_value()) {
    return Error{ErrorCode::kNotFound, "collection " + printable(collection) + " does not exist",
                 "Create it first (hexad bucket create)."};
  }
  return decode_collection(*value);
}

Result<ObjectRecord> Engine::find_object(MetaView& view, std::string_view collection,
                                         std::string_view name) {
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection(view, collection));
  HEXAD_TRY_ASSIGN(const auto value, view.get(object_key(record.id, name)));
  if (!value.has_value()) {
    return Error{ErrorCode::kNotFound,
                 "object " + printable(collection) + "/" + printable(name) + " does not exist", ""};
  }
  Result<ObjectRecord> object = decode_object(*value, parts_.shape->record);
  if (!object.ok()) {
    return object.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  return object;
}

Status Engine::read_range(MetaView& view, const ObjectRecord& record, std::uint64_t offset,
                          MutByteView out) {
  return read_pages(record, offset, out, [&](std::uint32_t page) -> Result<ExtentList> {
    HEXAD_TRY_ASSIGN(const auto value, view.get(page_key(record.body, page)));
    if (!value.has_value()) return ExtentList();
    return decode_page(*value, page, parts_.shape->record);
  });
}

Status Engine::read_pages(const ObjectRecord& record, std::uint64_t offset, MutByteView out,
                          const PageSource& page_of) {
  HEXAD_ASSERT(offset + out.size() <= record.size);
  std::deque<ExtentList> pages;  // of the ranges below, which point into them
  std::vector<BlobReader::Range> ranges;
  std::uint64_t in_flight = 0;
  for (std::uint64_t done = 0; done < out.size();) {
    const std::uint64_t at = offset + done;
    const std::uint64_t length =
        std::min<std::uint64_t>(out.size() - done, kPageSpan - at % kPageSpan);
    const ExtentList* extents = &record.extents;
    if (record.body != 0) {
      HEXAD_TRY_ASSIGN(ExtentList stored, page_of(static_cast<std::uint32_t>(at / kPageSpan)));
      extents = &pages.emplace_back(std::move(stored));
    }
    for (const Piece& piece : lookup(*extents, at, length)) {
      const MutByteView part = out.subspan(piece.offset - offset, piece.length);
      switch (piece.kind) {
        case PieceKind::kHole:
          fill_zero(part);
          break;
        case PieceKind::kInline:
          copy_bytes(part,
                     as_bytes((*extents)[piece.extent].bytes).subspan(piece.from, part.size()));
          break;
        case PieceKind::kBlob:
          ranges.push_back({&(*extents)[piece.extent].blob, piece.from, part});
          in_flight += part.size();
          break;
      }
    }
    done += length;
    if (in_flight >= kReadAtOnce || done == out.size()) {
      HEXAD_TRY(reader_->read(ranges));
      ranges.clear();
      pages.clear();
      in_flight = 0;
    }
  }
  return {};
}

Result<Bytes> Engine::get(std::string_view collection, std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const ObjectRecord record, find_object(*state.view, collection, name));
  if (record.size > kMaxGetSize) {
    return Error{ErrorCode::kTooBig,
                 "object " + printable(collection) + "/" + printable(name) + ": " +
                     std::to_string(record.size) + " bytes, get() returns at most " +
                     format_size(kMaxGetSize),
                 "Read ranges of it, or open_reader()."};
  }
  Bytes bytes(record.size);
  const Status status = read_range(*state.view, record, 0, bytes);
  if (!status.ok()) {
    return status.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  parts_.counters->add(CounterId::kReads);
  parts_.counters->add(CounterId::kBytesRead, bytes.size());
  return bytes;
}

Result<std::uint64_t> Engine::read(std::string_view collection, std::string_view name,
                                   std::uint64_t offset, MutByteView into) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const ObjectRecord record, find_object(*state.view, collection, name));
  if (offset >= record.size) return std::uint64_t{0};
  const std::uint64_t length = std::min<std::uint64_t>(into.size(), record.size - offset);
  const Status status = read_range(*state.view, record, offset, into.first(length));
  if (!status.ok()) {
    return status.error().with_context("object " + printable(collection) + "/" + printable(name));
  }
  parts_.counters->add(CounterId::kReads);
  parts_.counters->add(CounterId::kBytesRead, length);
  return length;
}

Result<ObjectStat> Engine::stat_of(MetaView& view, const ObjectRecord& record) {
  ObjectStat stat;
  stat.size = record.size;
  stat.version = record.version;
  stat.mtime = record.mtime;
  bool has_inline = false;
  bool has_packed = false;
  const auto add = [&](const ExtentList& extents) {
    stat.stored += stored_bytes(extents);
    stat.extents += extents.size();
    for (const Extent& extent : extents) {
      if (extent.is_inline())
        has_inline = true;
      else if (extent.blob.placement == Placement::kPacked)
        has_packed = true;
    }
  };
  if (record.body == 0) {
    add(record.extents);
  } else {
    const std::string prefix = page_prefix(record.body);
    HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, view.cursor());
    HEXAD_TRY(cursor.seek(prefix));
    while (cursor.valid()) {
      if (cursor.key().compare(0, prefix.size(), prefix) != 0) break;
      HEXAD_TRY_ASSIGN(const PageKey key, parse_page_key(cursor.key()));
      HEXAD_TRY_ASSIGN(const ExtentList extents,
                       decode_page(cursor.value(), key.page, parts_.shape->record));
      add(extents);
      HEXAD_TRY(cursor.next());
    }
  }
  stat.placement = stat.extents == 0  ? "none"
                   : stat.extents > 1 ? "list"
                   : has_inline       ? "inline"
                   : has_packed       ? "pack"
                                      : "stripe";
  return stat;
}

Result<ObjectStat> Engine::stat(std::string_view collection, std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const ObjectRecord record, find_object(*state.view, collection, name));
  return stat_of(*state.view, record);
}

Result<Attributes> Engine::attributes(std::string_view collection, std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(ObjectRecord record, find_object(*state.view, collection, name));
  return std::move(record.attributes);
}

Result<ListPage> Engine::list(std::string_view collection, const ListOptions& options) {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  HEXAD_TRY_ASSIGN(const CollectionRecord record, find_collection(*state.view, collection));
  ListPage page;
  if (options.limit == 0) return page;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor());
  const std::string base = object_prefix(record.id);
  const std::string prefix = base + options.prefix;
  std::string from = prefix;
  if (!options.start_after.empty()) {
    // A common prefix that was returned stands for everything below it.
    std::string after = base + options.start_after;
    const bool was_common =
        !options.delimiter.empty() &&
        options.start_after.compare(0, options.prefix.size(), options.prefix) == 0 &&
        options.start_after.size() >= options.prefix.size() + options.delimiter.size() &&
        options.start_after.find(options.delimiter, options.prefix.size()) ==
            options.start_after.size() - options.delimiter.size();
    if (was_common) {
      const auto end = prefix_end(after);
      if (!end.has_value()) return page;
      after = *end;
    } else {
      after.push_back('\0');
    }
    from = std::max(from, after);
  }
  HEXAD_TRY(cursor.seek(from));
  while (cursor.valid() && cursor.key().compare(0, prefix.size(), prefix) == 0) {
    if (page.entries.size() == options.limit) {
      page.next = page.entries.back().name;
      return page;
    }
    const std::string_view name = std::string_view(cursor.key()).substr(base.size());
    ListEntry entry;
    const std::size_t cut = options.delimiter.empty()
                                ? std::string_view::npos
                                : name.find(options.delimiter, options.prefix.size());
    if (cut != std::string_view::npos) {
      entry.name = name.substr(0, cut + options.delimiter.size());
      entry.common_prefix = true;
      const auto end = prefix_end(base + entry.name);
      page.entries.push_back(std::move(entry));
      if (!end.has_value()) return page;
      HEXAD_TRY(cursor.seek(*end));
      continue;
    }
    HEXAD_TRY_ASSIGN(const ObjectSummary summary, decode_summary(cursor.value()));
    entry.name = name;
    entry.size = summary.size;
    entry.version = summary.version;
    page.entries.push_back(std::move(entry));
    HEXAD_TRY(cursor.next());
  }
  return page;
}

Result<std::vector<CollectionInfo>> Engine::collections() {
  HEXAD_TRY_ASSIGN(ReadState state, read_state());
  std::vector<CollectionInfo> found;
  HEXAD_TRY_ASSIGN(MetaView::Cursor cursor, state.view->cursor());
  const std::string prefix = collection_key("");
  HEXAD_TRY(cursor.seek(prefix));
  while (cursor.valid()) {
    if (cursor.key().compare(0, prefix.size(), prefix) != 0) break;
    HEXAD_TRY_ASSIGN(const CollectionRecord record, decode_collection(cursor.value()));
    found.push_back({cursor.key().substr(prefix.size()), record.id});
    HEXAD_TRY(cursor.next());
  }
  return found;
}

}  // namespace hexad::core
