#include "base/codec.h"

namespace hexad {

Status Decoder::finish(std::string_view what) const {
  HEXAD_TRY(check(what));
  if (!input_.empty()) {
    return Error{ErrorCode::kCorruption,
                 std::string(what) + ": " + std::to_string(input_.size()) + " bytes too many", ""};
  }
  return {};
}

Status Decoder::check(std::string_view what) const {
  if (ok_) return {};
  return Error{ErrorCode::kCorruption,
               std::string(what) + ": too short, or a field outside its range", ""};
}

void append_be32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out.push_back(static_cast<char>(static_cast<unsigned char>(value >> shift)));
  }
}

void append_be64(std::string& out, std::uint64_t value) {
  append_be32(out, static_cast<std::uint32_t>(value >> 32));
  append_be32(out, static_cast<std::uint32_t>(value));
}

std::uint32_t read_be32(std::string_view bytes, std::size_t at) {
  HEXAD_ASSERT(at + 4 <= bytes.size());
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::uint64_t read_be64(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint64_t>(read_be32(bytes, at)) << 32 | read_be32(bytes, at + 4);
}

}  // namespace hexad
