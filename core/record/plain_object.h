// The usual small object, read from its record without making a list of extents of it: all of its
// bytes are one blob, and neither an omap nor pages belong to it.
//
//   PO1 a record that read_plain() takes is one that decode_object() takes, and says the same of
//       the object's size and of its one extent, which shows all of the blob. Its blob is not
//       forwarded
#pragma once

#include <cstdint>
#include <string_view>

#include "core/record/record.h"

namespace hexad::core {

struct PlainObject {
  std::uint64_t size = 0;  // bytes, those of the blob before compression
  Blob blob;
};

// False: the record says more than that, or is broken; decode_object() knows, and `into` is of no
// meaning. `into`: as it is made. Cost: half of decode_object(), and no memory but that of frames
// and of more than two sums.
bool read_plain(std::string_view value, const RecordShape& shape, PlainObject& into);

}  // namespace hexad::core
