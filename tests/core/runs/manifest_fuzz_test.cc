// Any bytes as a manifest: what decodes keeps the rules and comes back.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "core/runs/manifest.h"
#include "tests/core/fuzz_shape.h"
#include "tests/core/runs/sample_manifests.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

std::vector<std::string> hexad::testing::fuzz_seeds() {
  constexpr std::uint8_t kExampleShape = 1;
  std::vector<std::string> seeds = {static_cast<char>(kExampleShape) +
                                    encode_manifest(example_manifest(), fuzz_shape(kExampleShape))};
  io::Rng rng(4);
  for (std::uint8_t byte = 0; byte < kFuzzShapes.size(); ++byte) {
    for (int i = 0; i < 3; ++i) {
      const Manifest manifest = random_manifest(rng, fuzz_shape(byte));
      seeds.push_back(static_cast<char>(byte) + encode_manifest(manifest, fuzz_shape(byte)));
    }
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RecordShape& shape = fuzz_shape(data[0]);
  const ByteView bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  const Result<Manifest> manifest = decode_manifest(bytes, shape);
  if (!manifest.ok()) return 0;
  HEXAD_ASSERT(check_manifest(*manifest, shape).ok());
  HEXAD_ASSERT(stripes_of(*manifest).size() <= size);
  // Sections of later versions are passed over, and not written again.
  const Result<Manifest> again =
      decode_manifest(as_bytes(encode_manifest(*manifest, shape)), shape);
  HEXAD_ASSERT(again.ok() && *again == *manifest);
  return 0;
}
