#include "core/record/plain_object.h"

#include "base/codec.h"
#include "core/record/extent_codec.h"
#include "core/record/object_head.h"

namespace hexad::core {

namespace {

// What record.cc asks of attributes, without keeping any.
void skip_attributes(Decoder& in) {
  const std::uint64_t count = in.count(3);
  if (count == 0) in.fail();
  std::uint64_t bytes = 0;
  std::string_view before;
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    const std::string_view name = in.bytes();
    bytes += name.size() + in.bytes().size();
    if (name.empty() || name.size() > kMaxAttributeName || (i > 0 && name <= before)) in.fail();
    before = name;
  }
  if (bytes > kMaxAttributeBytes) in.fail();
}

}  // namespace

bool read_plain(std::string_view value, const RecordShape& shape, PlainObject& into) {
  Decoder in(value);
  const ObjectHead head = decode_head(in);
  constexpr std::uint8_t kMore = kIsPaged | kHasMoreHints | kHasOmap | kHasLayers;
  if ((head.flags & kMore) != 0 || !is_valid(static_cast<Hint>(head.summary.compression_hint))) {
    return false;
  }
  in.le64();  // when it was changed
  if ((head.flags & kHasAttributes) != 0) skip_attributes(in);
  if (!in.ok() || !decode_one_blob(in, shape, into.blob) || in.remaining() != 0) return false;
  into.size = head.summary.size;
  const bool unplaced = into.blob.placement == Placement::kLog;
  return into.size == into.blob.raw && unplaced == ((head.flags & kHasUnplaced) != 0);
}

}  // namespace hexad::core
