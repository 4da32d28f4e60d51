// The shapes in which fuzz targets try records: a byte says which.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/record/record.h"

namespace hexad::core {

inline constexpr std::array<RecordShape, 4> kFuzzShapes = {
    RecordShape{}, RecordShape{2, 1, ChecksumType::kCrc32c, 16384},
    RecordShape{10, 4, ChecksumType::kXxh3, 4096}, RecordShape{1, 2, ChecksumType::kXxh3, 65536}};

inline const RecordShape& fuzz_shape(std::uint8_t byte) {
  return kFuzzShapes[byte % kFuzzShapes.size()];
}

}  // namespace hexad::core
