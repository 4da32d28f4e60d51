// Values by columns: the first byte of each, then the second byte of each that has one, and so on.
// Records of one kind have the same fields in the same places, so what counts up or stays equal
// lies together, apart from their checksums; compression finds that at once
// (doc/decisions/011-blocks-of-runs.md).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hexad::kv {

// `values`: one behind the other, of `sizes` bytes, which add up to its length. Cost of both: a few
// steps a byte, whatever the sizes.
std::string to_columns(std::string_view values, std::span<const std::uint32_t> sizes);
std::string from_columns(std::string_view columns, std::span<const std::uint32_t> sizes);

}  // namespace hexad::kv
