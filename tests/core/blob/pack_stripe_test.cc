#include "core/blob/pack_stripe.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "core/record/keys.h"
#include "io/rng.h"
#include "tests/core/blob/random_packs.h"
#include "tests/core/broken_input.h"
#include "tests/core/random_records.h"

namespace hexad::core {
namespace {

using ec::CodecKind;

// Every byte of the stripe is explained: by a blob that the plan put there, by the footer, or it is
// zero; and all sums and the parity are right.
void check_stripe(const PreparedBlob& stripe, const PackPlan& plan,
                  const std::vector<UnplacedBlob>& blobs, const alloc::Extent& where,
                  const StoreShape& shape, const ec::Codec& codec) {
  REQUIRE(stripe.units == plan.units);
  REQUIRE(stripe.blob.cell_bytes == plan.units * shape.unit);
  REQUIRE(stripe.blob.cell_sums.size() == shape.cells());
  std::vector<ByteView> cells;
  for (std::uint32_t role = 0; role < shape.cells(); ++role) {
    cells.push_back(stripe.cell(role));
    REQUIRE(checksum(shape.record.checksum, cells[role]) == stripe.blob.cell_sums[role]);
  }
  REQUIRE(codec.verify(cells).value());

  const Result<PackFooter> footer = decode_pack_footer(cells[shape.k() - 1], shape.record);
  REQUIRE(footer.ok());
  REQUIRE(footer->store == shape.uuid);
  REQUIRE(footer->where == where);
  REQUIRE(footer->crc == stripe.footer);
  REQUIRE(footer->entries.size() == plan.slots.size());
  std::vector<std::size_t> explained(shape.k(), 0);  // bytes from the start of the cell
  std::uint64_t stored = 0;
  for (std::size_t i = 0; i < plan.slots.size(); ++i) {
    const PackPlan::Slot& slot = plan.slots[i];
    const UnplacedBlob& blob = blobs[slot.item];
    const auto size = static_cast<std::uint32_t>(blob.stored.size());
    const PackEntry expected{slot.cell, slot.offset, size, blob.place.lsn, blob.offset, blob.owner};
    REQUIRE(footer->entries[i] == expected);
    const ByteView cell = cells[slot.cell];
    REQUIRE(as_text(cell.subspan(slot.offset, size)) == as_text(blob.stored.bytes()));
    std::size_t& from = explained[slot.cell];
    REQUIRE(is_zero(cell.subspan(from, slot.offset - from)));
    from = slot.offset + size;
    stored += size;
  }
  REQUIRE(stripe.blob.stored == stored);
  for (std::uint32_t cell = 0; cell < shape.k(); ++cell) {
    const std::size_t end = cells[cell].size() - (cell + 1 == shape.k() ? footer->length : 0);
    REQUIRE(is_zero(cells[cell].subspan(explained[cell], end - explained[cell])));
    REQUIRE(checksum(shape.record.checksum, cells[cell].first(end)) == footer->cell_sums[cell]);
  }
}

TEST_CASE("pack_stripe: what is built is what was planned, with every code and checksum") {
  const ec::Profile profile = GENERATE(
      ec::Profile{4, 2, CodecKind::kIsaVandermonde, 0}, ec::Profile{1, 1, CodecKind::kIsaCauchy, 0},
      ec::Profile{10, 4, CodecKind::kIsaCauchy, 0}, ec::Profile{4, 2, CodecKind::kJerasureRaid6, 0},
      ec::Profile{3, 3, CodecKind::kJerasureVandermonde, 0},
      ec::Profile{5, 2, CodecKind::kJerasureCauchyGood, 64},
      ec::Profile{2, 2, CodecKind::kJerasureCauchyOrig, 8});
  const ChecksumType sums = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  CAPTURE(profile.k, profile.m, static_cast<int>(profile.codec), static_cast<int>(sums));
  io::Rng rng(profile.k * 100 + profile.m);
  const auto codec = ec::make_codec(profile).value();
  std::size_t packs = 0;
  for (int i = 0; i < 12; ++i) {
    const StoreShape shape = shape_for(profile, sums, 512u << rng.below(6));
    const auto blobs = random_unplaced(rng, 2 + rng.below(60), 1u << (4 + rng.below(12)));
    for (const PackPlan& plan : plan_for(blobs, shape).packs) {
      const alloc::Extent where{7, 1 + static_cast<std::uint32_t>(packs), plan.units};
      const Result<PreparedBlob> stripe = build_pack(plan, blobs, where, shape, *codec);
      REQUIRE(stripe.ok());
      check_stripe(*stripe, plan, blobs, where, shape, *codec);
      ++packs;
    }
  }
  REQUIRE(packs >= 6);
}

PackFooter random_footer(io::Rng& rng, const RecordShape& shape, std::size_t cell_bytes) {
  PackFooter footer;
  for (std::uint8_t& byte : footer.store.bytes) byte = static_cast<std::uint8_t>(rng.below(256));
  footer.where = {static_cast<alloc::ZoneId>(rng.below(1000)),
                  static_cast<std::uint32_t>(1 + rng.below(1 << 20)),
                  static_cast<std::uint32_t>(1 + rng.below(1000))};
  for (std::uint32_t cell = 0; cell < shape.k; ++cell) {
    std::size_t at = 0;
    for (std::uint64_t i = rng.below(3); i > 0; --i) {
      const auto size = static_cast<std::uint32_t>(1 + rng.below(cell_bytes / 8));
      footer.entries.push_back({cell, static_cast<std::uint32_t>(at), size, 1 + rng.next() / 2,
                                rng.below(kMaxObjectSize + 1),
                                random_bytes(rng, 1 + rng.below(9))});
      at += size + 7;
      at -= at % kPackAlignment;
    }
    footer.cell_sums.push_back(rng.next() >> (shape.checksum == ChecksumType::kCrc32c ? 32 : 0));
  }
  return footer;
}

std::string cell_with(const std::string& footer, std::size_t cell_bytes) {
  return std::string(cell_bytes - footer.size(), 'x') + footer;
}

TEST_CASE("pack_stripe: random footers come back, and are as short as was said") {
  io::Rng rng(3);
  for (int i = 0; i < 500; ++i) {
    const RecordShape shape = random_shape(rng);
    const PackFooter footer = random_footer(rng, shape, 16384);
    const std::string bytes = encode_pack_footer(footer, shape);
    const PackFooter back = decode_pack_footer(as_bytes(cell_with(bytes, 16384)), shape).value();
    REQUIRE(back.store == footer.store);
    REQUIRE(back.where == footer.where);
    REQUIRE(back.entries == footer.entries);
    REQUIRE(back.cell_sums == footer.cell_sums);
    REQUIRE(back.length == bytes.size());
    std::size_t bound = pack_footer_base(shape);
    for (const PackEntry& entry : footer.entries) {
      UnplacedBlob blob;
      blob.owner = entry.owner;
      bound += pack_footer_entry(blob);
    }
    REQUIRE(bytes.size() <= bound);
  }
}

// The footer with its checksum and length made right again after its body was changed.
std::string resealed(std::string footer) {
  const std::size_t body = footer.size() - 12;
  const std::uint64_t crc =
      checksum(ChecksumType::kCrc32c, as_bytes(std::string_view(footer).substr(0, body)));
  std::string tail;
  Encoder out(tail);
  out.raw(footer.substr(body, 4));
  out.le32(static_cast<std::uint32_t>(crc));
  out.le32(static_cast<std::uint32_t>(body));
  return footer.substr(0, body) + tail;
}

TEST_CASE("pack_stripe: a footer cut short, or with a bit changed, is refused") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  const RecordShape shape = random_shape(rng);
  const std::string footer = encode_pack_footer(random_footer(rng, shape, 2048), shape);
  for (std::size_t at = 0; at < 8 * footer.size(); ++at) {
    std::string damaged = footer;
    damaged[at / 8] = static_cast<char>(damaged[at / 8] ^ 1 << at % 8);
    REQUIRE(decode_pack_footer(as_bytes(cell_with(damaged, 2048)), shape).error().code ==
            ErrorCode::kCorruption);
  }
  // The cell cut at either end.
  const std::string cell = cell_with(footer, 2048);
  for (std::size_t size = 0; size < cell.size(); ++size) {
    REQUIRE_FALSE(decode_pack_footer(as_bytes(cell.substr(0, size)), shape).ok());
  }
  for (std::size_t size = 0; size < footer.size(); ++size) {
    REQUIRE_FALSE(decode_pack_footer(as_bytes(footer.substr(footer.size() - size)), shape).ok());
  }
}

TEST_CASE("pack_stripe: whatever passes the decoder behind a right checksum is sound") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4, 5, 6);
  CAPTURE(seed);
  io::Rng rng(seed);
  const RecordShape shape = random_shape(rng);
  const std::string good = encode_pack_footer(random_footer(rng, shape, 1024), shape);
  for_each_broken(good, rng, [&](std::string_view input) {
    if (input.size() < 12 || input.size() > 1024) return;
    const std::string bytes = resealed(std::string(input));
    const Result<PackFooter> footer = decode_pack_footer(as_bytes(cell_with(bytes, 1024)), shape);
    if (!footer.ok()) {
      REQUIRE(footer.error().code == ErrorCode::kCorruption);
      return;
    }
    REQUIRE(encode_pack_footer(*footer, shape) == bytes);
    std::pair<std::uint32_t, std::uint64_t> last{0, 0};
    for (const PackEntry& entry : footer->entries) {
      const std::uint64_t end = std::uint64_t{entry.cell_offset} + entry.stored;
      REQUIRE(entry.cell < shape.k);
      REQUIRE(entry.cell_offset % kPackAlignment == 0);
      REQUIRE(std::pair<std::uint32_t, std::uint64_t>{entry.cell, entry.cell_offset} >= last);
      REQUIRE(end <= 1024 - (entry.cell + 1 == shape.k ? footer->length : 0));
      last = {entry.cell, end};
    }
  });
}

TEST_CASE("pack_stripe: entries that cannot be are refused behind a right checksum") {
  const RecordShape shape;  // 4+2
  const PackEntry good{0, 0, 100, 1, 0, "o"};
  const auto code = [&](std::vector<PackEntry> entries, std::size_t cell_bytes = 4096) {
    PackFooter footer;
    footer.where = {1, 2, 3};
    footer.entries = std::move(entries);
    footer.cell_sums.assign(4, 7);
    const std::string bytes = encode_pack_footer(footer, shape);
    const Result<PackFooter> back =
        decode_pack_footer(as_bytes(cell_with(bytes, cell_bytes)), shape);
    return back.ok() ? ErrorCode{} : back.error().code;
  };
  const auto changed = [&](const std::function<void(PackEntry&)>& change) {
    PackEntry entry = good;
    change(entry);
    return code({entry});
  };
  constexpr ErrorCode kBad = ErrorCode::kCorruption;
  CHECK(code({good}) != kBad);
  CHECK(code({}) != kBad);
  CHECK(changed([](PackEntry& e) { e.cell = 4; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.stored = 0; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.stored = 4096; }) != kBad);
  CHECK(changed([](PackEntry& e) { e.stored = 4097; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.cell_offset = 4000; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.cell_offset = 3992; }) != kBad);
  CHECK(changed([](PackEntry& e) {
          e.cell_offset = 3992;
          e.cell = 3;
        }) == kBad);
  CHECK(changed([](PackEntry& e) { e.cell_offset = 0xfffffff8; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.lsn = 0; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.offset = kMaxObjectSize + 1; }) == kBad);
  CHECK(changed([](PackEntry& e) { e.owner.clear(); }) == kBad);
  CHECK(changed([](PackEntry& e) { e.owner.assign(kMaxKeySize, 'k'); }) != kBad);
  CHECK(changed([](PackEntry& e) { e.owner.assign(kMaxKeySize + 1, 'k'); }) == kBad);
  PackEntry second = good;
  second.cell_offset = 96;
  CHECK(code({good, second}) == kBad);
  second.cell_offset = 104;
  CHECK(code({good, second}) != kBad);
  CHECK(code({second, good}) == kBad);
  second.cell = 1;
  CHECK(code({good, second}) != kBad);
  CHECK(code({second, good}) == kBad);
  CHECK(decode_pack_footer({}, shape).error().code == kBad);
}

}  // namespace
}  // namespace hexad::core
