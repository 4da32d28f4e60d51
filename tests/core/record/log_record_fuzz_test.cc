// Any bytes as a log record: what decodes encodes to the same bytes.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "core/record/log_record.h"
#include "io/rng.h"
#include "tests/core/fuzz_shape.h"
#include "tests/core/random_records.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

std::vector<std::string> hexad::testing::fuzz_seeds() {
  std::vector<std::string> seeds;
  io::Rng rng(3);
  for (std::uint8_t byte = 0; byte < kFuzzShapes.size(); ++byte) {
    for (int i = 0; i < 5; ++i) {
      const LogRecord record = random_log_record(rng, fuzz_shape(byte));
      seeds.push_back(static_cast<char>(byte) + encode_log_record(record, fuzz_shape(byte)));
    }
  }
  const std::string before(300, 'x');
  const std::string after = std::string(before).replace(100, 1, "yz");
  LogRecord patched;
  patched.images.push_back({object_key(1, "a"), after, make_patch(before, after)});
  seeds.push_back('\0' + encode_log_record(patched, fuzz_shape(0)));
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const RecordShape& shape = fuzz_shape(data[0]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Result<LogRecord> record = decode_log_record(bytes, shape);
  if (record.ok()) HEXAD_ASSERT(encode_log_record(*record, shape) == bytes);
  return 0;
}
