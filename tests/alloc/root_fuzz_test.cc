// Any bytes as a root, behind a checksum that fits: what is accepted is valid and comes back.
#include "alloc/root.h"
#include "tests/alloc/sealed_fuzz.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::alloc;

std::vector<std::string> hexad::testing::fuzz_seeds() {
  return {alloc::testing::body_of(golden_bytes("root")),
          alloc::testing::body_of(golden_bytes("root_writers")),
          alloc::testing::body_of(golden_bytes("root_changes"))};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kHeaderSlotSize) return 0;  // nothing longer is read
  const Result<Root> root =
      alloc::testing::decode_both("HEXADROT", data, size, decode_root, encode_root);
  if (root.ok()) HEXAD_ASSERT(check_root(*root).ok());
  return 0;
}
