#include "alloc/sealed_block.h"

#include "base/assert.h"
#include "base/checksum.h"

namespace hexad::alloc {

namespace {
constexpr std::size_t kCrcEnd = kMagicSize + 4;
}

std::string seal(std::string_view magic, std::string_view body) {
  HEXAD_ASSERT(magic.size() == kMagicSize);
  HEXAD_ASSERT(body.size() < 0xffffffff - kSealSize);
  std::string covered;
  covered.reserve(4 + body.size());
  Encoder inner(covered);
  inner.le32(static_cast<std::uint32_t>(kSealSize + body.size()));
  inner.raw(body);

  std::string out;
  out.reserve(kSealSize + body.size());
  Encoder encoder(out);
  encoder.raw(magic);
  encoder.le32(crc32c(as_bytes(covered)));
  encoder.raw(covered);
  return out;
}

bool has_magic(std::string_view magic, ByteView slot) {
  return slot.size() >= kMagicSize && as_text(slot.first(kMagicSize)) == magic;
}

Result<std::string_view> unseal(std::string_view magic, ByteView slot, std::string_view what) {
  if (!has_magic(magic, slot)) {
    return Error{ErrorCode::kNotFound, "no " + std::string(what) + " here", ""};
  }
  if (slot.size() < kSealSize) {
    return Error{ErrorCode::kCorruption, std::string(what) + ": cut short", ""};
  }
  Decoder decoder(slot.subspan(kMagicSize));
  const std::uint32_t crc = decoder.le32();
  const std::uint32_t length = decoder.le32();
  if (length < kSealSize || length > slot.size()) {
    return Error{ErrorCode::kCorruption,
                 std::string(what) + ": length " + std::to_string(length) + " B outside its " +
                     std::to_string(slot.size()) + " B",
                 ""};
  }
  if (crc32c(slot.subspan(kCrcEnd, length - kCrcEnd)) != crc) {
    return Error{ErrorCode::kCorruption, std::string(what) + ": checksum does not match", ""};
  }
  return as_text(slot.subspan(kSealSize, length - kSealSize));
}

}  // namespace hexad::alloc
