// A pack stripe with edits of the input in its cells, some of them with a footer that fits again,
// and some cells that cannot be read. Whatever the judge says about it can be seen to be so (J1 to
// J3 of core/blob/pack_verify.h), and the cells are as they were.
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"
#include "base/codec.h"
#include "core/blob/pack_verify.h"
#include "tests/core/blob/random_packs.h"
#include "tests/core/random_records.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::core;

namespace {

constexpr ChecksumType kSums = ChecksumType::kCrc32c;
constexpr std::size_t kMostEdits = 16;

// A stripe as it was written. Its cells are one unit long.
struct Stripe {
  explicit Stripe(ec::Profile profile)
      : shape(shape_for(profile, kSums, 512)), codec(ec::make_codec(profile).value()) {
    io::Rng rng(profile.k);
    for (;;) {
      const std::vector<UnplacedBlob> blobs = random_unplaced(rng, 6, 200);
      const PlacementPlan plan = plan_for(blobs, shape);
      if (plan.packs.empty()) continue;
      identity.where = {1, 40, plan.packs[0].units};
      written = build_pack(plan.packs[0], blobs, identity.where, shape, *codec).value();
      identity.footer = written.footer;
      for (const PackPlan::Slot& slot : plan.packs[0].slots) {
        const ByteView stored = blobs[slot.item].stored.bytes();
        expected.push_back({slot.cell, slot.offset, static_cast<std::uint32_t>(stored.size()),
                            checksum(kSums, stored)});
      }
      break;
    }
    const std::size_t cell = written.blob.cell_bytes;
    buffer = AlignedBuffer(2 * written.stride * shape.cells());
    for (std::uint32_t i = 0; i < 2 * shape.cells(); ++i) {
      (i < shape.cells() ? cells : right)
          .push_back(buffer.bytes().subspan(std::size_t{i} * written.stride, cell));
    }
  }

  StoreShape shape;
  std::unique_ptr<ec::Codec> codec;
  PreparedBlob written;
  PackIdentity identity;
  std::vector<ExpectedBlob> expected;
  AlignedBuffer buffer;
  std::vector<MutByteView> cells;
  std::vector<MutByteView> right;
};

Stripe& stripe_of(std::uint8_t byte) {
  static Stripe stripes[] = {Stripe({4, 2}), Stripe({2, 1}), Stripe({3, 3})};
  return stripes[byte % std::size(stripes)];
}

// Makes the footer say what the data cells hold now, and have a checksum that fits.
void repair(Stripe& stripe) {
  const std::uint32_t last = stripe.shape.k() - 1;
  Result<PackFooter> footer = decode_pack_footer(stripe.written.cell(last), stripe.shape.record);
  HEXAD_ASSERT(footer.ok());
  const std::size_t begin = stripe.cells[last].size() - footer->length;
  for (std::uint32_t role = 0; role <= last; ++role) {
    const MutByteView cell = stripe.cells[role];
    footer->cell_sums[role] = checksum(kSums, role == last ? cell.first(begin) : cell);
  }
  copy_bytes(stripe.cells[last].subspan(begin),
             as_bytes(encode_pack_footer(*footer, stripe.shape.record)));
  // As if that had been written.
  stripe.identity.footer = decode_pack_footer(stripe.cells[last], stripe.shape.record).value().crc;
}

void edit(Stripe& stripe, Decoder& in) {
  for (std::size_t i = 0; in.remaining() > 0 && i < kMostEdits; ++i) {
    const std::uint8_t what = in.u8();
    if (what == 0xff) {
      repair(stripe);
      continue;
    }
    const MutByteView cell = stripe.cells[what % stripe.shape.cells()];
    const std::size_t at = in.le16() % cell.size();
    const std::size_t wanted = in.u8();
    const std::size_t length = std::min({wanted, cell.size() - at, in.remaining()});
    copy_bytes(cell.subspan(at), as_bytes(in.raw(length)));
  }
}

bool same(ByteView a, ByteView b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void check(Stripe& stripe, ec::ShardSet read, const PackResult& result) {
  if (!result.whole) {
    HEXAD_ASSERT(!result.problem.empty());
    return;
  }
  const std::uint32_t k = stripe.shape.k();
  const PackFooter& footer = result.footer.value();
  HEXAD_ASSERT(footer.crc == stripe.identity.footer &&
               footer.where == stripe.identity.where);  // J4
  for (std::uint32_t role = 0; role < k; ++role) {      // J1
    const ByteView cell = stripe.right[role];
    const std::size_t summed = cell.size() - (role + 1 == k ? footer.length : 0);
    HEXAD_ASSERT(checksum(kSums, cell.first(summed)) == footer.cell_sums[role]);
  }
  for (const ExpectedBlob& one : stripe.expected) {  // J2
    const ByteView cell = stripe.right[one.cell];
    HEXAD_ASSERT(checksum(kSums, cell.subspan(one.cell_offset, one.stored)) == one.sum);
  }
  const std::size_t size = stripe.right[0].size();
  std::vector<AlignedBuffer> parity(stripe.shape.m());
  std::vector<MutByteView> views;
  for (AlignedBuffer& cell : parity) {
    cell = AlignedBuffer(size);
    views.push_back(cell.bytes());
  }
  const std::vector<ByteView> data(stripe.right.begin(), stripe.right.begin() + k);
  HEXAD_ASSERT(stripe.codec->encode(data, views).ok());
  for (std::uint32_t i = 0; i < stripe.shape.m(); ++i) {  // J3
    HEXAD_ASSERT(same(parity[i].bytes(), stripe.right[k + i]));
  }
  for (const std::uint32_t role : read) {
    HEXAD_ASSERT(result.bad.contains(role) == !same(stripe.cells[role], stripe.right[role]));
  }
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  // Nothing changed; one blob changed behind a footer that fits; two cells bad; the last one too.
  return {std::string("\0\0\0", 3), std::string("\0\0\0\1\x20\0\3new\xff", 11),
          std::string("\0\1\0\1\x20\0\3new\4\0\0\1z", 15), std::string("\1\0\0\1\xf0\1\3bad", 10)};
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Decoder in(ByteView(reinterpret_cast<const std::byte*>(data), size));
  Stripe& stripe = stripe_of(in.u8());
  const std::uint32_t cells = stripe.shape.cells();
  for (std::uint32_t role = 0; role < cells; ++role) {
    copy_bytes(stripe.cells[role], stripe.written.cell(role));
    std::fill(stripe.right[role].begin(), stripe.right[role].end(), std::byte{0x77});
  }
  stripe.identity.footer = stripe.written.footer;
  const std::uint8_t missing = in.u8();
  const std::size_t expected = in.u8() % (stripe.expected.size() + 1);
  edit(stripe, in);
  ec::ShardSet read = ec::ShardSet::first(cells);
  for (std::uint32_t role = 0; role < cells; ++role) {
    if ((missing >> role & 1) != 0) read.remove(role);
  }
  const Bytes before(
      stripe.buffer.bytes().begin(),
      stripe.buffer.bytes().begin() + static_cast<std::ptrdiff_t>(stripe.written.stride * cells));
  const std::vector<ExpectedBlob> all = stripe.expected;
  stripe.expected.resize(all.size() - expected);
  const Result<PackResult> result = verify_pack(stripe.cells, read, stripe.right, stripe.identity,
                                                stripe.expected, stripe.shape, *stripe.codec);
  HEXAD_ASSERT(result.ok());
  check(stripe, read, *result);
  stripe.expected = all;
  HEXAD_ASSERT(same(before, stripe.buffer.bytes().first(before.size())));
  return 0;
}
