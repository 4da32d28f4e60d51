// Any bytes as an encoded profile and as the text of one: what is accepted is valid and comes back.
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "ec/profile.h"

using namespace hexad;
using namespace hexad::ec;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteView input(reinterpret_cast<const std::byte*>(data), size);
  Decoder in(input);
  if (const Result<Profile> profile = decode_profile(in); profile.ok()) {
    std::string again;
    Encoder out(again);
    encode_profile(out, *profile);
    HEXAD_ASSERT(again == as_text(input.first(again.size())));
  }
  const std::string_view text = as_text(input);
  const std::size_t space = text.find(' ');
  const std::string_view codec =
      space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  if (const Result<Profile> profile = parse_profile(text.substr(0, space), codec); profile.ok()) {
    const Result<Profile> again = parse_profile(to_string(*profile), codec_to_string(*profile));
    HEXAD_ASSERT(again.ok() && *again == *profile);
  }
  return 0;
}
