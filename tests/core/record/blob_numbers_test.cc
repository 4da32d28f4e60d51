#include "core/record/blob_numbers.h"

#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"

namespace hexad::core {
namespace {

TEST_CASE("blob_numbers: blobs get numbers in the order in which they come") {
  BlobNumbers numbers;
  const BlobId packed{1, 2, 3, 64, {}};
  const BlobId unplaced{0, 0, 0, 0, {7, 1}};
  CHECK(numbers.of(packed).number == 0);
  CHECK(numbers.of(unplaced).is_new);
  CHECK_FALSE(numbers.of(packed).is_new);
  CHECK(numbers.of(packed).number == 0);
  CHECK(numbers.of(unplaced).number == 1);
}

TEST_CASE("blob_numbers: any number of ids, each part of which counts") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  CAPTURE(seed);
  io::Rng rng(seed);
  BlobNumbers numbers;
  std::map<BlobId, std::size_t> model;
  const std::uint64_t values = std::uint64_t{1} << seed;  // few: repetitions
  const auto any = [&] { return static_cast<std::uint32_t>(rng.below(values)); };
  for (int i = 0; i < 5000; ++i) {
    const BlobId id{any(), any(), rng.below(2) == 0 ? any() : 0, 0, {rng.below(2), any()}};
    const auto [known, is_new] = model.emplace(id, model.size());
    const BlobNumbers::Number number = numbers.of(id);
    REQUIRE(number.is_new == is_new);
    REQUIRE(number.number == known->second);
  }
}

}  // namespace
}  // namespace hexad::core
