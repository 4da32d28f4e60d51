#include "base/uuid_codec.h"

#include <algorithm>

namespace hexad {

void encode_uuid(Encoder& encoder, const Uuid& uuid) {
  for (const std::uint8_t byte : uuid.bytes) encoder.u8(byte);
}

Uuid decode_uuid(Decoder& decoder) {
  Uuid uuid;
  const std::string_view bytes = decoder.raw(uuid.bytes.size());
  std::copy(bytes.begin(), bytes.end(), uuid.bytes.begin());
  return uuid;
}

}  // namespace hexad
