#include "core/blob/blob_prepare.h"

#include <catch2/catch.hpp>

#include "tests/core/prepared_blobs.h"

namespace hexad::core {
namespace {

using testing::check_cells;
using testing::check_unplaced;
using testing::PreparerFixture;
using Form = BlobPreparer::Form;

TEST_CASE("blob_prepare: below the threshold a blob stays unplaced, from it on it has its cells") {
  const ec::Profile profile = GENERATE(ec::Profile{4, 2, ec::CodecKind::kIsaVandermonde, 0},
                                       ec::Profile{1, 2, ec::CodecKind::kIsaVandermonde, 0},
                                       ec::Profile{10, 4, ec::CodecKind::kJerasureCauchyGood, 64});
  const ChecksumType sums = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  PreparerFixture f(profile, sums);
  for (const std::size_t size : {std::size_t{1}, std::size_t{511}, std::size_t{4096},
                                 std::size_t{4097}, std::size_t{65535}}) {
    CAPTURE(size);
    const std::string raw = f.bytes(size);
    check_unplaced(f.prepare(raw), raw, f);
    check_cells(f.prepare(raw, {}, Form::kOwnStripe), raw, f);
  }
  for (const std::size_t size : {std::size_t{kAlwaysOwnStripe}, std::size_t{kAlwaysOwnStripe + 1},
                                 std::size_t{300'000}, std::size_t{kPageSpan}}) {
    CAPTURE(size);
    const std::string raw = f.bytes(size);
    check_cells(f.prepare(raw), raw, f);
    check_unplaced(f.prepare(raw, {}, Form::kShared), raw, f);
  }
}

TEST_CASE("blob_prepare: between the two what fills a stripe of its own has it") {
  PreparerFixture f({4, 2, ec::CodecKind::kIsaVandermonde, 0}, ChecksumType::kCrc32c);
  f.shape.private_threshold = own_stripe_from(f.shape.unit, f.shape.k());
  REQUIRE(f.shape.unit == 4096);
  REQUIRE(f.shape.private_threshold == 65536);
  const auto owns = [&](std::size_t size) { return takes_own_stripe(size, f.shape); };
  CHECK_FALSE(owns(65535));
  CHECK(owns(65536));
  CHECK_FALSE(owns(65537));  // a fifth would be empty
  CHECK_FALSE(owns(76800));  // fifteen sixteenths of five units
  CHECK(owns(76801));
  CHECK(owns(5 * 16384));
  CHECK_FALSE(owns(5 * 16384 + 1));
  CHECK(owns(kAlwaysOwnStripe - 1));
  CHECK(owns(kAlwaysOwnStripe + 1));
  const std::string full = f.bytes(65536);
  check_cells(f.prepare(full), full, f);
}

TEST_CASE("blob_prepare: from which size on a stripe of its own is considered") {
  CHECK(own_stripe_from(512, 4) == 64 << 10);
  CHECK(own_stripe_from(4096, 1) == 64 << 10);
  CHECK(own_stripe_from(4096, 4) == 64 << 10);
  CHECK(own_stripe_from(4096, 10) == 160 << 10);
  CHECK(own_stripe_from(16 << 10, 2) == 128 << 10);
  CHECK(own_stripe_from(16 << 10, 4) == kAlwaysOwnStripe);
  CHECK(own_stripe_from(64 << 10, 4) == kAlwaysOwnStripe);
}

TEST_CASE("blob_prepare: it is the size after compression that counts") {
  PreparerFixture f;
  compression::Policy policy;
  policy.mode = compression::Mode::kForce;
  const std::string raw(200'000, 'x');
  const PreparedBlob prepared = f.prepare(raw, policy);
  REQUIRE(prepared.blob.is_compressed());
  REQUIRE(prepared.blob.raw == raw.size());
  check_unplaced(prepared, as_text(prepared.stored.bytes()), f);
  AlignedBuffer back(raw.size());
  REQUIRE(
      f.compressor.decompress(prepared.blob.frames, 0, prepared.stored.bytes(), back.bytes()).ok());
  REQUIRE(as_text(back.bytes()) == raw);
  // What does not shrink stays as it is.
  const std::string noise = f.bytes(50'000);
  check_unplaced(f.prepare(noise, policy), noise, f);
  // A store that shares no stripes has no unplaced blobs.
  f.shape.private_threshold = 0;
  REQUIRE_FALSE(f.prepare(noise).is_unplaced());
}

}  // namespace
}  // namespace hexad::core
