// Any bytes as each value of the metadata: objects with their omaps and layers, collections,
// totals, owners, removed names. What decodes encodes to the same bytes.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "core/record/record.h"
#include "io/rng.h"
#include "tests/core/fuzz_shape.h"
#include "tests/core/random_records.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

void try_object(std::string_view value, const RecordShape& shape) {
  const Result<ObjectSummary> summary = decode_summary(value);
  const Result<ObjectRecord> object = decode_object(value, shape);
  if (!object.ok()) return;
  HEXAD_ASSERT(encode_object(*object, shape) == value);
  HEXAD_ASSERT(summary.ok() && summary->version == object->version);
  HEXAD_ASSERT(summary->size == object->size);
  bool unplaced = false;
  for (const Extent& extent : object->extents) {
    unplaced = unplaced || (!extent.is_inline() && extent.blob.placement == Placement::kLog);
  }
  HEXAD_ASSERT(has_unplaced_blob(value) == unplaced);
}

void try_collection(std::string_view value) {
  const Result<CollectionRecord> record = decode_collection(value);
  if (!record.ok()) return;
  HEXAD_ASSERT(encode_collection(*record) == value);
  // Every name has a space, and the parts of the record have all names.
  HEXAD_ASSERT(joined(ranges_of(record->all_parts())).size() <= record->all_parts().size());
  HEXAD_ASSERT(record->space_of("") == record->all_parts().front().space);
}

void try_deletion(std::string_view value) {
  const std::string key = deletion_key(7, "name");
  const Result<NameRange> range = decode_deletion(key, value);
  if (!range.ok()) return;
  HEXAD_ASSERT(encode_deletion(range->end) == value && range->from == "name");
  HEXAD_ASSERT(range->end_key() > range->first_key());
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  std::vector<std::string> seeds;
  io::Rng rng(1);
  for (std::uint8_t byte = 0; byte < kFuzzShapes.size(); ++byte) {
    for (int i = 0; i < 4; ++i) {
      const std::string object =
          encode_object(random_object(rng, fuzz_shape(byte)), fuzz_shape(byte));
      seeds.push_back(static_cast<char>(byte) + object);
    }
  }
  for (int i = 0; i < 3; ++i) {
    seeds.push_back('\0' + encode_collection(random_collection(rng)));
    seeds.push_back('\0' + encode_totals(random_totals(rng)));
    seeds.push_back('\0' + encode_owners(1 + rng.below(1000)));
  }
  seeds.push_back('\0' + encode_deletion("namf"));
  seeds.push_back('\0' + encode_hidden_entry());
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view value(reinterpret_cast<const char*>(data) + 1, size - 1);
  try_object(value, fuzz_shape(data[0]));
  try_collection(value);
  try_deletion(value);
  if (const Result<CollectionTotals> totals = decode_totals(value); totals.ok()) {
    HEXAD_ASSERT(encode_totals(*totals) == value);
  }
  if (const Result<std::uint64_t> owners = decode_owners(value); owners.ok()) {
    HEXAD_ASSERT(encode_owners(*owners) == value);
  }
  HEXAD_ASSERT(!is_hidden_entry(value) || value == encode_hidden_entry());
  return 0;
}
