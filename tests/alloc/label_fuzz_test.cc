// Any bytes as a label, behind a checksum that fits: what is accepted is valid and comes back.
#include "alloc/label.h"
#include "tests/alloc/sealed_fuzz.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::alloc;

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {alloc::testing::body_of(golden_bytes("label"))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kHeaderSlotSize) return 0;  // nothing longer is read
  const Result<Label> label =
      alloc::testing::decode_both("HEXADLBL", data, size, decode_label, encode_label);
  if (label.ok()) HEXAD_ASSERT(check_layout(label->layout, label->role).ok());
  return 0;
}
