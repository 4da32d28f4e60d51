// Any bytes as an encoded policy and as the text of one: what is accepted is valid and comes back.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "compression/policy.h"

using namespace hexad;
using namespace hexad::compression;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  Decoder in(input);
  if (const Result<Policy> policy = decode_policy(in); policy.ok()) {
    std::string again;
    Encoder out(again);
    encode_policy(out, *policy);
    HEXAD_ASSERT(again == as_text(input.first(again.size())));
  }
  if (const Result<Policy> policy = parse_policy(as_text(input)); policy.ok()) {
    const Result<Policy> again = parse_policy(to_string(*policy));
    HEXAD_ASSERT(again.ok() && *again == *policy);
  }
  return 0;
}
