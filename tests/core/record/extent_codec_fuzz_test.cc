// Any bytes as a page of extents: what decodes keeps the rules, encodes to the same bytes, and can
// be changed like any other page.
#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/codec.h"
#include "core/record/extent_codec.h"
#include "core/record/object_extents.h"
#include "io/rng.h"
#include "tests/core/fuzz_shape.h"
#include "tests/core/random_records.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

// Bytes before the value: shape, page, and where and how long a hole is made in it.
constexpr std::size_t kHead = 4;

// Whether each blob has one length wherever it is named, as in all that is written: of damage with
// a right checksum either may be the one that a hole leaves.
bool has_one_length_each(const ExtentList& extents) {
  std::map<std::pair<ShareId, BlobId>, std::uint64_t> lengths;
  return std::all_of(extents.begin(), extents.end(), [&](const Extent& extent) {
    if (extent.is_inline()) return true;
    const Blob& blob = extent.blob;
    const std::pair name(blob.share, blob.share == 0 ? blob.id() : BlobId{});
    return lengths.emplace(name, blob.stored).first->second == blob.stored;
  });
}

// Nothing is left in the hole, and everything beside it.
void make_hole(ExtentList extents, std::uint64_t offset, std::uint64_t length,
               std::uint64_t page_start, const RecordShape& shape) {
  const ExtentList before = extents;
  const ExtentList removed = punch(extents, offset, length);
  HEXAD_ASSERT(is_well_formed(extents) && is_well_formed(removed));
  for (const Piece& piece : lookup(extents, offset, length)) {
    HEXAD_ASSERT(piece.kind == PieceKind::kHole);
  }
  std::uint64_t bytes = 0;
  for (const Extent& extent : before) bytes += extent.length;
  for (const Extent& extent : extents) bytes -= extent.length;
  for (const Extent& extent : removed) bytes -= extent.length;
  HEXAD_ASSERT(bytes == 0);
  HEXAD_ASSERT(blobs_released(extents, before).empty());
  if (has_one_length_each(before)) {
    HEXAD_ASSERT(stored_bytes(extents) <= stored_bytes(before));
  }
  // A cut may make one extent more than a page may have.
  if (extents.size() <= before.size()) HEXAD_ASSERT(check_extents(extents, page_start, shape).ok());
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  std::vector<std::string> seeds;
  io::Rng rng(2);
  for (std::uint8_t byte = 0; byte < kFuzzShapes.size(); ++byte) {
    for (int i = 0; i < 5; ++i) {
      const auto page = static_cast<std::uint8_t>(rng.below(3));
      const std::string value =
          encode_page(random_page(rng, page, fuzz_shape(byte)), fuzz_shape(byte));
      std::string head(kHead, '\x11');
      head[0] = static_cast<char>(byte);
      head[1] = static_cast<char>(page);
      seeds.push_back(head + value);
    }
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHead) return 0;
  const RecordShape& shape = fuzz_shape(data[0]);
  const std::uint32_t page = data[1];
  const std::string_view value(reinterpret_cast<const char*>(data) + kHead, size - kHead);
  const Result<ExtentList> extents = decode_page(value, page, shape);
  if (!extents.ok()) return 0;
  HEXAD_ASSERT(check_extents(*extents, page * kPageSpan, shape).ok());
  // The number of an empty page is not in its bytes.
  HEXAD_ASSERT(encode_page(*extents, shape) == value);
  HEXAD_ASSERT(extents->size() <= size && is_well_formed(*extents));
  const std::uint64_t page_start = page * kPageSpan;
  make_hole(*extents, page_start + (std::uint64_t{data[2]} << 12), std::uint64_t{data[3]} << 8,
            page_start, shape);
  return 0;
}
