#include "core/stream_reader.h"

#include <algorithm>
#include <utility>

namespace hexad::core {

Result<std::unique_ptr<StreamReader>> StreamReader::open(Engine& engine,
                                                         std::string_view collection,
                                                         std::string_view name) {
  HEXAD_TRY_ASSIGN(ReadState state, engine.read_state());
  std::unique_ptr<StreamReader> reader(new StreamReader(engine, std::move(state)));
  HEXAD_TRY_ASSIGN(reader->record_, engine.find_object(*reader->state_.view, collection, name));
  HEXAD_TRY_ASSIGN(reader->stat_, engine.stat_of(*reader->state_.view, reader->record_));
  reader->subject_ = "object " + printable(collection) + "/" + printable(name);
  return reader;
}

Result<std::uint64_t> StreamReader::read(MutByteView into) {
  if (position_ >= record_.size) return std::uint64_t{0};
  const std::uint64_t length = std::min<std::uint64_t>(into.size(), record_.size - position_);
  const Status status = engine_.read_range(*state_.view, record_, position_, into.first(length));
  if (!status.ok()) return status.error().with_context(subject_);
  position_ += length;
  engine_.stats().add(CounterId::kBytesRead, length);
  return length;
}

}  // namespace hexad::core

namespace hexad {

ObjectReader::ObjectReader(std::unique_ptr<core::StreamReader> impl) : impl_(std::move(impl)) {}
ObjectReader::~ObjectReader() = default;
const ObjectStat& ObjectReader::stat() const { return impl_->stat(); }
const Attributes& ObjectReader::attributes() const { return impl_->attributes(); }
Result<std::uint64_t> ObjectReader::read(MutByteView into) { return impl_->read(into); }
void ObjectReader::seek(std::uint64_t offset) { impl_->seek(offset); }

}  // namespace hexad
