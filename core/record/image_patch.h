// What a long value has become, as what changed in it: pieces in the place of others. A page of a
// large object that takes small overwrites is some kilobytes of which each changes a few dozen
// bytes, here and there, and the log is written m+1 times.
//
// Pure functions. doc/format.md#log-record has the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace hexad::core {

// One step through the value before, behind the step before.
struct PatchPiece {
  std::uint32_t keep = 0;  // bytes of the value before that stay,
  std::uint32_t drop = 0;  // bytes of it after those that go,
  std::string insert;      // and what comes in their place
  bool operator==(const PatchPiece&) const = default;
};

struct ImagePatch {
  std::uint32_t base_crc = 0;      // crc32c of all of the value before
  std::vector<PatchPiece> pieces;  // what is behind the last one stays
  bool operator==(const ImagePatch&) const = default;
};

// What is known of a change before anybody knows whether it can be a patch: the value before, and
// the pieces that make the one now of it.
struct ImageChange {
  std::string base;
  std::vector<PatchPiece> pieces;
  bool operator==(const ImageChange&) const = default;
};

// Values shorter than this are written whole.
constexpr std::size_t kSmallestPatched = 256;

// From `base` to `value`; nothing where that takes more than half of what `value` does. Not the
// shortest one. Cost: one pass over both, and up to a microsecond per piece.
std::optional<ImagePatch> make_patch(std::string_view base, std::string_view value);
// The patch that the change is, to a value of so many bytes; nothing on the same condition.
std::optional<ImagePatch> make_patch(ImageChange&& change, std::size_t value_size);
// The value again. Errors: kCorruption (`base` is not what the patch was made for).
Result<std::string> apply_patch(std::string_view base, const ImagePatch& patch);

}  // namespace hexad::core
