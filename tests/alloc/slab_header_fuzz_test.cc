// Any bytes as the header of a slab, behind a checksum that fits: what is accepted is valid and
// comes back.
#include "alloc/slab_header.h"
#include "tests/alloc/sealed_fuzz.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::alloc;

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {alloc::testing::body_of(golden_bytes("slab_header"))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kHeaderSlotSize) return 0;  // nothing longer is read
  alloc::testing::decode_both("HEXADSLB", data, size, decode_slab_header, encode_slab_header)
      .status()
      .ignore();
  return 0;
}
