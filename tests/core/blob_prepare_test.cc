#include "core/blob_prepare.h"

#include <catch2/catch.hpp>

#include "core/extent_codec.h"
#include "core/prepared.h"
#include "io/memory_system.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

using Form = BlobPreparer::Form;

struct Fixture {
  explicit Fixture(ec::Profile profile = {}, ChecksumType sums = ChecksumType::kCrc32c) {
    shape.profile = profile;
    shape.record = {profile.k, profile.m, sums, 4096};
    shape.private_threshold = 64 << 10;
    codec = ec::make_codec(profile).value();
  }

  std::string bytes(std::size_t size) {
    std::string text(size, '\0');
    for (char& byte : text) byte = static_cast<char>(rng.next());
    return text;
  }
  PreparedBlob prepare(std::string_view raw, const compression::Policy& policy = {},
                       Form form = Form::kBySize) {
    return preparer().prepare(as_bytes(raw), compression::Hint::kNone, policy, form).value();
  }
  BlobPreparer preparer() { return {shape, *codec, compressor}; }

  // The record of the blob once it has a place, as the format demands it (B1 to B5).
  void check_record(Blob blob) {
    if (blob.placement == Placement::kPrivate) {
      blob.where = {1, 1, 1};
    } else {
      blob.log = {1, 0};
    }
    Extent extent;
    extent.length = blob.raw;
    extent.blob = blob;
    const Status sound = check_extents({extent}, 0, shape.record);
    INFO((sound.ok() ? "" : sound.error().message));
    REQUIRE(sound.ok());
  }

  StoreShape shape;
  io::Rng rng{4};
  io::MemorySystem system;
  compression::Counters counters;
  compression::Compressor compressor{system.clock(), counters};
  std::unique_ptr<ec::Codec> codec;
};

void check_cells(const PreparedBlob& prepared, std::string_view stored, Fixture& f) {
  const Blob& blob = prepared.blob;
  REQUIRE_FALSE(prepared.is_young());
  REQUIRE(blob.stored == stored.size());
  REQUIRE(blob.cell_bytes % f.shape.block == 0);
  REQUIRE(prepared.units * f.shape.unit >= blob.cell_bytes);
  REQUIRE((prepared.units - 1) * f.shape.unit < blob.cell_bytes);
  std::string data;
  std::vector<ByteView> cells;
  std::vector<std::uint64_t> block_sums;
  for (std::uint32_t role = 0; role < f.shape.cells(); ++role) {
    cells.push_back(prepared.cell(role));
    REQUIRE(cells.back().size() == blob.cell_bytes);
    REQUIRE(checksum(f.shape.record.checksum, cells.back()) == blob.cell_sums.at(role));
    if (role >= f.shape.k()) continue;
    data += as_text(cells.back());
    if (blob.cell_bytes > f.shape.record.checksum_block) {
      append_block_sums(f.shape.record.checksum, cells.back(), f.shape.record.checksum_block,
                        block_sums);
    }
  }
  REQUIRE(blob.block_sums == block_sums);
  REQUIRE(data.substr(0, stored.size()) == stored);
  REQUIRE(is_zero(as_bytes(data).subspan(stored.size())));
  REQUIRE(f.codec->verify(cells).value());
  f.check_record(blob);
}

void check_young(const PreparedBlob& prepared, std::string_view stored, Fixture& f) {
  const Blob& blob = prepared.blob;
  REQUIRE(prepared.is_young());
  REQUIRE(*prepared.stored == stored);
  REQUIRE(prepared.cells.empty());
  REQUIRE(blob.stored == stored.size());
  REQUIRE(blob.cell_sums ==
          std::vector<std::uint64_t>{checksum(f.shape.record.checksum, as_bytes(stored))});
  std::vector<std::uint64_t> block_sums;
  if (stored.size() > f.shape.record.checksum_block) {
    append_block_sums(f.shape.record.checksum, as_bytes(stored), f.shape.record.checksum_block,
                      block_sums);
  }
  REQUIRE(blob.block_sums == block_sums);
  f.check_record(blob);
  // What is reserved for it is what a stripe of its own takes.
  const PreparedBlob own = f.preparer().code(as_bytes(stored)).value();
  REQUIRE(own.units == prepared.units);
  check_cells(own, stored, f);
}

TEST_CASE("blob_prepare: below the threshold a blob stays young, from it on it has its cells") {
  const ec::Profile profile = GENERATE(ec::Profile{4, 2, ec::CodecKind::kIsaVandermonde, 0},
                                       ec::Profile{1, 2, ec::CodecKind::kIsaVandermonde, 0},
                                       ec::Profile{10, 4, ec::CodecKind::kJerasureCauchyGood, 64});
  const ChecksumType sums = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  Fixture f(profile, sums);
  for (const std::size_t size : {std::size_t{1}, std::size_t{511}, std::size_t{4096},
                                 std::size_t{4097}, std::size_t{65535}}) {
    CAPTURE(size);
    const std::string raw = f.bytes(size);
    check_young(f.prepare(raw), raw, f);
    check_cells(f.prepare(raw, {}, Form::kOwnStripe), raw, f);
  }
  for (const std::size_t size :
       {std::size_t{65536}, std::size_t{65537}, std::size_t{300'000}, std::size_t{kPageSpan}}) {
    CAPTURE(size);
    const std::string raw = f.bytes(size);
    check_cells(f.prepare(raw), raw, f);
  }
}

TEST_CASE("blob_prepare: it is the size after compression that counts") {
  Fixture f;
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  const std::string raw(200'000, 'x');
  const PreparedBlob prepared = f.prepare(raw, policy);
  REQUIRE(prepared.blob.is_compressed());
  REQUIRE(prepared.blob.raw == raw.size());
  check_young(prepared, *prepared.stored, f);
  AlignedBuffer back(raw.size());
  REQUIRE(f.compressor.decompress(prepared.blob.frames, 0, as_bytes(*prepared.stored), back.bytes())
              .ok());
  REQUIRE(as_text(back.bytes()) == raw);
  // What does not shrink stays as it is.
  const std::string noise = f.bytes(50'000);
  check_young(f.prepare(noise, policy), noise, f);
  // A store that shares no stripes has no young blobs.
  f.shape.private_threshold = 0;
  REQUIRE_FALSE(f.prepare(noise).is_young());
}

TEST_CASE("prepared: payloads are cut at page boundaries, and small ones are inline") {
  Fixture f;
  const auto cut = [&](std::size_t size, std::uint64_t base, bool never_inline) {
    const std::string payload = f.bytes(size);
    const PreparedOp op =
        prepare_payload(f.preparer(), as_bytes(payload), Hint::kNone, {}, base, never_inline)
            .value();
    REQUIRE(op.base == base);
    std::uint64_t at = base;
    std::vector<std::uint64_t> lengths;
    for (const PayloadPiece& piece : op.pieces) {
      REQUIRE(piece.offset == at);
      REQUIRE(piece.length > 0);
      REQUIRE(piece.offset / kPageSpan == (piece.offset + piece.length - 1) / kPageSpan);
      const std::string_view part = std::string_view(payload).substr(at - base, piece.length);
      const bool is_inline = !piece.bytes.empty();
      REQUIRE(is_inline == (size <= kInlineLimit && !never_inline));
      if (is_inline) {
        REQUIRE(piece.bytes == part);
      } else if (piece.prepared.is_young()) {
        check_young(piece.prepared, part, f);
      } else {
        check_cells(piece.prepared, part, f);
      }
      at += piece.length;
      lengths.push_back(piece.length);
    }
    REQUIRE(at == base + size);
    return lengths;
  };
  using Lengths = std::vector<std::uint64_t>;
  CHECK(cut(256, 0, false) == Lengths{256});
  CHECK(cut(257, 0, false) == Lengths{257});
  CHECK(cut(10, 0, true) == Lengths{10});
  CHECK(cut(200, kPageSpan - 100, false) == Lengths{100, 100});
  CHECK(cut(5000, kPageSpan - 1, false) == Lengths{1, 4999});
  CHECK(cut(3 * kPageSpan, 5 * kPageSpan, false) == Lengths{kPageSpan, kPageSpan, kPageSpan});
  CHECK(cut(2 * kPageSpan, 7, false) == Lengths{kPageSpan - 7, kPageSpan, 7});
  CHECK(cut(0, 7, false).empty());
}

}  // namespace
}  // namespace hexad::core
