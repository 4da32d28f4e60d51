// Any two values, and any patch. What turns one value into the other does; a patch of any pieces
// gives a value that is not longer than what it was made of, or is refused.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "core/record/image_patch.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr std::size_t kMostPieces = 50;

// The input's first bytes, repeated until they are long enough to be worth a patch.
std::string long_value(std::string_view text) {
  std::string value(text);
  while (value.size() < 2 * kSmallestPatched) value += value.empty() ? "x" : value;
  return value;
}

void try_patch_between(std::string_view base, std::string_view value) {
  const std::optional<ImagePatch> patch = make_patch(base, value);
  if (!patch.has_value()) return;
  const Result<std::string> again = apply_patch(base, *patch);
  HEXAD_ASSERT(again.ok() && *again == value);
  std::size_t inserted = 0;
  for (const PatchPiece& piece : patch->pieces) inserted += piece.insert.size();
  HEXAD_ASSERT(2 * inserted <= value.size());
  // Of any other value it is refused.
  HEXAD_ASSERT(!apply_patch(std::string(base) + "x", *patch).ok());
}

// `value` with pieces of it replaced as the input says.
std::string edited(std::string value, Decoder in) {
  while (in.remaining() > 0) {
    const std::size_t at = in.le16() % (value.size() + 1);
    const std::size_t drop = std::min<std::size_t>(in.u8(), value.size() - at);
    const std::size_t wanted = in.u8();
    const std::size_t insert = std::min(wanted, in.remaining());
    value.replace(at, drop, in.raw(insert));
    if (!in.ok()) break;
  }
  return value;
}

void try_any_patch(std::string_view base, Decoder in) {
  ImagePatch patch;
  patch.base_crc = crc32c(as_bytes(base));
  std::size_t inserted = 0;
  while (in.remaining() > 0 && in.ok() && patch.pieces.size() < kMostPieces) {
    PatchPiece& piece = patch.pieces.emplace_back();
    piece.keep = static_cast<std::uint32_t>(in.varint_up_to(0xffffffff));
    piece.drop = static_cast<std::uint32_t>(in.varint_up_to(0xffffffff));
    const std::size_t wanted = in.u8();
    piece.insert = in.raw(std::min(wanted, in.remaining()));
    inserted += piece.insert.size();
  }
  const Result<std::string> value = apply_patch(base, patch);
  if (value.ok()) HEXAD_ASSERT(value->size() <= base.size() + inserted);
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  using namespace std::string_literals;
  return {"\x05words"s + "\x20\0\x03\x04here"s + "\x80\0\0\x02it"s,
          "\x10"s + "0123456789abcdef"s + "\x0a\x05\x03new"s};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Decoder in(ByteView(reinterpret_cast<const std::byte*>(data), size));
  const std::size_t length = in.u8();
  const std::string base = long_value(in.raw(std::min(length, in.remaining())));
  const std::string value = edited(base, in);
  try_patch_between(base, value);
  try_patch_between(value, base);
  try_any_patch(base, in);
  return 0;
}
