#include "third_party/round_trip.h"

#include <zstd.h>

namespace hexad::third_party {

std::string zstd_round_trip(const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  const std::size_t packed_size =
      ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3);
  if (ZSTD_isError(packed_size) != 0) return {};
  std::string out(text.size(), '\0');
  const std::size_t size = ZSTD_decompress(out.data(), out.size(), packed.data(), packed_size);
  return size == text.size() ? out : std::string();
}

}  // namespace hexad::third_party
