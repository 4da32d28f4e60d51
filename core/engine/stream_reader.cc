#include "core/engine/stream_reader.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "core/api/stream.h"
#include "core/metadata/page_cursor.h"

namespace hexad::core {

Result<std::unique_ptr<StreamReader>> StreamReader::open(Engine& engine,
                                                         std::string_view collection,
                                                         std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, engine.reads().read_state());
  std::unique_ptr<StreamReader> reader(new StreamReader(engine));
  reader->collection_ = collection;
  reader->name_ = name;
  reader->subject_ = "object " + printable(collection) + "/" + printable(name);
  HEXAD_TRY_ASSIGN(const CollectionRecord in,
                   engine.reads().find_collection(*state.view, collection));
  reader->space_ = in.space_of(name);
  HEXAD_TRY_ASSIGN(reader->record_, engine.reads().find_object(*state.view, collection, name));
  HEXAD_TRY_ASSIGN(reader->stat_, engine.reads().stat_of(*state.view, reader->record_));
  HEXAD_TRY(reader->copy_pages(*state.view));
  const Lsn newest = state.view->lsn();
  state.view.reset();
  // Later reads of what has not been copied look at states of their own.
  if (reader->copied_) {
    reader->pin_ = std::move(state.pin);
    reader->pin_.narrow(newest);
    reader->listed_ =
        engine.readers().add({reader->collection_, reader->name_,
                              engine.executor().clock().wall_time(), reader->pin_.needed()});
  }
  return reader;
}

Status StreamReader::copy_pages(MetaView& view) {
  if (record_.body == 0) return {};
  std::uint64_t bytes = 0;
  HEXAD_TRY_ASSIGN(PageCursor cursor, PageCursor::open(view, record_, {0, kEndOfPages}));
  while (cursor.valid()) {
    bytes += cursor.value().size();
    if (bytes > engine_.options().stream_buffer) {
      copied_ = false;
      pages_.clear();
      return {};
    }
    pages_.emplace(cursor.page(), cursor.value());
    HEXAD_TRY(cursor.next());
  }
  return {};
}

Status StreamReader::read_copied(std::uint64_t offset, MutByteView out) {
  const auto page_of = [this](std::uint32_t index) -> Result<ExtentList> {
    const auto found = pages_.find(index);
    if (found == pages_.end()) return ExtentList();
    return decode_page(found->second, index, engine_.shape().record);
  };
  const ReadPins::Pin::Reading reading(pin_);
  if (reading.ended()) {
    return Error{ErrorCode::kConflict,
                 "has been overwritten or removed, and its old version was given up: commits had "
                 "no other space left",
                 "Read it again from the start, or read faster."};
  }
  return engine_.reads().read_pages(record_, offset, out, page_of);
}

Status StreamReader::read_present(std::uint64_t offset, MutByteView out) {
  HEXAD_TRY_ASSIGN(ReadState state, engine_.reads().read_state());
  const Result<CollectionRecord> in = engine_.reads().find_collection(*state.view, collection_);
  const Result<ObjectRecord> now = engine_.reads().find_object(*state.view, collection_, name_);
  if (!now.ok() && now.error().code != ErrorCode::kNotFound) return now.error();
  if (!now.ok() || now->version != record_.version || in->space_of(name_) != space_) {
    return Error{ErrorCode::kConflict,
                 "has changed while it was read, and is too large for its old version to be kept",
                 "Read it again, or give the reader a larger stream_buffer."};
  }
  return engine_.reads().read_range(*state.view, *now, offset, out);
}

Result<std::uint64_t> StreamReader::read(MutByteView into) {
  HEXAD_TRY(engine_.here());
  if (position_ >= record_.size) return std::uint64_t{0};
  const std::uint64_t length = std::min<std::uint64_t>(into.size(), record_.size - position_);
  const MutByteView out = into.first(length);
  // As long as nothing has changed, what everybody reads, and what the cache has of it.
  const Result<bool> present = engine_.reads().read_if_unchanged(collection_, name_, space_,
                                                                 record_.version, position_, out);
  if (!present.ok()) return present.error().with_context(subject_);
  if (!*present) {
    const Status status = copied_ ? read_copied(position_, out) : read_present(position_, out);
    if (!status.ok()) return status.error().with_context(subject_);
    engine_.stats().add(CounterId::kBytesRead, length);
  }
  position_ += length;
  return length;
}

}  // namespace hexad::core

namespace hexad {

ObjectReader::ObjectReader(std::unique_ptr<core::StreamReader> impl) : impl_(std::move(impl)) {}
ObjectReader::~ObjectReader() {
  // Its pin is one of the parent's.
  if (impl_ != nullptr && impl_->in_child()) static_cast<void>(impl_.release());
}
const ObjectStat& ObjectReader::stat() const { return impl_->stat(); }
const Attributes& ObjectReader::attributes() const { return impl_->attributes(); }
Result<std::uint64_t> ObjectReader::read(MutByteView into) {
  return without_bad_alloc([&] { return impl_->read(into); });
}
void ObjectReader::seek(std::uint64_t offset) { impl_->seek(offset); }

}  // namespace hexad
