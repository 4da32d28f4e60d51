#include "core/clean/moved_stripes.h"

#include <catch2/catch.hpp>
#include <vector>

#include "core/blob/pack_stripe.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

// 4+2, units of 4 KiB.
StoreShape usual_shape() {
  StoreShape shape;
  shape.profile.k = 4;
  shape.profile.m = 2;
  shape.record.k = 4;
  shape.record.m = 2;
  shape.max_pack_units = 32;
  return shape;
}

std::vector<UnplacedBlob> blobs_of(const std::vector<std::size_t>& sizes) {
  std::vector<UnplacedBlob> blobs;
  for (const std::size_t size : sizes) {
    UnplacedBlob& blob = blobs.emplace_back();
    blob.stored = SharedBytes::copy_of(Bytes(size));
    blob.owner = "an object's key";
  }
  return blobs;
}

TEST_CASE("moved stripes: each is as long as its run at most, and they hold each blob once") {
  const StoreShape shape = usual_shape();
  io::Rng rng(7);
  int laid_out = 0;
  for (int round = 0; round < 500; ++round) {
    CAPTURE(round);
    std::vector<std::size_t> sizes(1 + rng.below(100));
    for (std::size_t& size : sizes) size = 1 + rng.below(4096);
    std::vector<std::uint32_t> runs(1 + rng.below(12));
    for (std::uint32_t& run : runs) run = static_cast<std::uint32_t>(1 + rng.below(40));
    const std::vector<UnplacedBlob> blobs = blobs_of(sizes);
    const std::vector<PackPlan> layouts = lay_out_moved(blobs, runs, shape);
    if (layouts.empty()) continue;
    ++laid_out;
    REQUIRE(layouts.size() <= runs.size());
    std::vector<int> seen(blobs.size(), 0);
    std::uint64_t units = 0;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      REQUIRE(layouts[i].units > 0);
      REQUIRE(layouts[i].units <= runs[i]);
      REQUIRE(layouts[i].units <= shape.max_pack_units);
      units += layouts[i].units;
      std::uint64_t bytes = 0;
      for (const PackPlan::Slot& slot : layouts[i].slots) {
        ++seen.at(slot.item);
        bytes += sizes[slot.item];
      }
      REQUIRE(bytes < layouts[i].units * shape.unit * shape.k());
    }
    REQUIRE(units_of(layouts) == units);
    REQUIRE(seen == std::vector<int>(blobs.size(), 1));
  }
  CHECK(laid_out > 250);
}

TEST_CASE("moved stripes: what has not enough runs, or one too short, goes nowhere") {
  const StoreShape shape = usual_shape();
  const std::vector<UnplacedBlob> three = blobs_of({4096, 4096, 4096});
  const std::vector<UnplacedBlob> six = blobs_of({4096, 4096, 4096, 4096, 4096, 4096});
  using Runs = std::vector<std::uint32_t>;
  // A unit of each cell takes three of them, and the footer.
  CHECK(lay_out_moved(three, Runs{1}, shape).size() == 1);
  CHECK(lay_out_moved(six, Runs{1}, shape).empty());
  CHECK(lay_out_moved(six, Runs{1, 1}, shape).size() == 2);
  CHECK(lay_out_moved(six, Runs{2, 1}, shape).size() == 1);
  CHECK(lay_out_moved(three, Runs{}, shape).empty());
  CHECK(lay_out_moved(blobs_of({5000}), Runs{1, 1}, shape).empty());
  CHECK(lay_out_moved(blobs_of({5000}), Runs{2}, shape).size() == 1);
}

}  // namespace
}  // namespace hexad::core
