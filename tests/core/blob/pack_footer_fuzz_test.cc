// Any bytes as the footer of a pack stripe, behind a checksum and a length that fit: what decodes
// describes blobs inside their cells and beside one another, and comes back.
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "core/blob/pack_stripe.h"
#include "core/record/keys.h"
#include "tests/core/fuzz_shape.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr std::size_t kCell = 64 << 10;  // bytes of the last data cell
constexpr std::size_t kTail = 12;        // magic, checksum, length

// A cell that ends with the footer whose body this is.
std::string cell_with(std::string_view body) {
  std::string cell(kCell - body.size() - kTail, 'x');
  Encoder out(cell);
  out.raw(body);
  out.raw("HXPF");
  out.le32(crc32c(as_bytes(body)));
  out.le32(static_cast<std::uint32_t>(body.size()));
  return cell;
}

void check(const PackFooter& footer, const RecordShape& shape) {
  std::uint32_t cell = 0;
  std::uint64_t free_from = 0;
  for (const PackEntry& entry : footer.entries) {
    HEXAD_ASSERT(entry.cell >= cell && entry.cell < shape.k);
    if (entry.cell > cell) free_from = 0;
    cell = entry.cell;
    HEXAD_ASSERT(entry.cell_offset >= free_from && entry.cell_offset % kPackAlignment == 0);
    free_from = std::uint64_t{entry.cell_offset} + entry.stored;
    HEXAD_ASSERT(free_from <= kCell - (cell + 1 == shape.k ? footer.length : 0));
  }
  HEXAD_ASSERT(footer.cell_sums.size() == shape.k);
  HEXAD_ASSERT(footer.where.unit > 0 && footer.where.units > 0);
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  std::vector<std::string> seeds;
  for (std::uint8_t byte = 0; byte < kFuzzShapes.size(); ++byte) {
    const RecordShape& shape = fuzz_shape(byte);
    PackFooter footer;
    footer.where = {3, 40, 2};
    footer.entries.push_back({0, 0, 3000, 50, 0, object_key(1, "a")});
    footer.entries.push_back({shape.k - 1, 3008, 1000, 51, 65536, object_key(1, "b")});
    footer.cell_sums = SumList(shape.k, 0xb0b1b2b3);
    const std::string bytes = encode_pack_footer(footer, shape);
    seeds.push_back(static_cast<char>(byte) + bytes.substr(0, bytes.size() - kTail));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > kCell / 2) return 0;
  const RecordShape& shape = fuzz_shape(data[0]);
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  decode_pack_footer(as_bytes(body), shape).status().ignore();
  const std::string cell = cell_with(body);
  const std::optional<std::uint32_t> length = pack_footer_length(as_bytes(cell));
  HEXAD_ASSERT(length.has_value() && *length == body.size() + kTail);
  const Result<PackFooter> footer = decode_pack_footer(as_bytes(cell), shape);
  if (!footer.ok()) return 0;
  check(*footer, shape);
  HEXAD_ASSERT(cell.ends_with(encode_pack_footer(*footer, shape)));
  return 0;
}
