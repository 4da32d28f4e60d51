#include "core/space/reserve.h"

#include <catch2/catch.hpp>
#include <optional>

#include "base/units.h"
#include "tests/core/table_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;
using testing::TableWorld;
using testing::TableWorldOptions;

TEST_CASE("reserve: what is kept for moves is a page, or three of the longest stripes, or one") {
  StoreShape shape;
  shape.max_pack_units = 1;
  CHECK(move_units(shape) == 3);
  shape.max_pack_units = 32;
  CHECK(move_units(shape) == 1_MiB / 16_KiB + 1);
  shape.max_pack_units = 129;
  CHECK(move_units(shape) == 129);
}

TEST_CASE("reserve: small in small stores, a few hundredths in large ones") {
  StoreShape shape;
  // 4+2 of 4 KiB: 16 KiB of user bytes in a stripe of one unit.
  REQUIRE(stripe_bytes(shape) == 16_KiB);
  ReserveInput tiny;
  tiny.log_bytes = 32_KiB;
  tiny.zones = 4;
  tiny.zone_units = 33;
  CHECK(reserve_run(tiny, shape) == 1);
  CHECK(reserve_units(tiny, shape) == 2 * (4 + 1) + 3);

  ReserveInput small = tiny;
  small.log_bytes = 256_KiB;
  small.zones = 11;
  small.zone_units = 16;
  CHECK(reserve_units(small, shape) == 2 * (20 + 1) + 3);

  // Six devices of 1 TiB.
  ReserveInput large;
  large.log_bytes = 1_GiB;
  large.run_bytes = 10_GiB;
  large.runs = 8;
  large.zones = 1024;
  large.zone_units = (1 << 30) / 4096;
  const std::uint64_t capacity = 4_TiB / stripe_bytes(shape);
  CHECK(reserve_units(large, shape) < capacity / 50);
  CHECK(reserve_run(large, shape) < large.zone_units / 8);
  CHECK(longest_manifest_bytes(large, shape) < 64_MiB);
}

TEST_CASE("reserve: it grows with each of the things that it is for") {
  StoreShape shape;
  const ReserveInput base = {1_MiB, 1_MiB, 2, 4, 257};
  const auto more = [&](std::uint64_t ReserveInput::*field, std::uint64_t by) {
    ReserveInput in = base;
    in.*field += by;
    return reserve_units(in, shape) - reserve_units(base, shape);
  };
  CHECK(more(&ReserveInput::log_bytes, 1_MiB) >= 2 * 72);
  CHECK(more(&ReserveInput::run_bytes, 1_MiB) >= 64);
  CHECK(more(&ReserveInput::runs, 1000) > 0);
  CHECK(more(&ReserveInput::zones, 100) > 0);
}

// A store whose users take all they can get, as far as space sees it. Its runs are as long as they
// may be.
struct FullStore : TableWorld {
  FullStore(const TableWorldOptions& options, std::uint64_t log, std::uint64_t seed)
      : TableWorld(options) {
    rng = io::Rng(seed);
    input.log_bytes = log;
    input.zones = options.slabs;
    input.zone_units = options.slab_units;
    for (std::uint32_t i = 0; i < options.slabs; ++i) add_zone();
    set_reserve();
  }

  void set_reserve() {
    input.runs = runs.size();
    input.run_bytes = 0;
    for (const Run& run : runs) input.run_bytes += run.bytes;
    space->set_reserve(reserve_units(input, shape), reserve_run(input, shape), move_units(shape));
  }

  // Whatever they ask for, in whatever order.
  void users() {
    for (int i = 0; i < 60; ++i) {
      const auto units = static_cast<std::uint32_t>(1 + rng.below(6));
      const std::uint64_t what = rng.below(10);
      if (what < 6) {
        if (const auto extent = space->allocate(units); extent.ok()) held.push_back(*extent);
      } else if (what < 8) {
        if (space->try_reserve(units)) promised.push_back(units);
      } else if (what < 9 && !promised.empty()) {
        const Result<alloc::Extent> extent = space->allocate_reserved(promised.back());
        REQUIRE(problem_of(extent.status()) == "");
        promised.pop_back();
        held.push_back(*extent);
      } else if (!held.empty() && rng.below(2) == 0) {
        const std::size_t which = rng.below(held.size());
        space->discard(held[which]);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
    }
  }
  // Takes what is kept for a move, and gives up another time what it has taken.
  void move() {
    if (moved.has_value()) {
      space->discard(*moved);
      moved.reset();
    }
    if (rng.below(3) == 0) return;
    const Result<alloc::Extent> extent = space->allocate_move(move_units(shape));
    if (extent.ok()) moved = *extent;
  }
  // What every checkpoint does first.
  void pack() {
    for (const std::uint32_t units : promised) {
      const Result<alloc::Extent> extent = space->allocate_reserved(units);
      REQUIRE(problem_of(extent.status()) == "");
      held.push_back(*extent);
    }
    promised.clear();
  }

  // In pieces, as coded files are written.
  std::vector<alloc::Extent> write(std::uint64_t bytes) {
    std::vector<alloc::Extent> pieces;
    std::uint64_t length = kPageSpan;
    while (bytes > 0) {
      length = std::min(length, bytes);
      const auto units = static_cast<std::uint32_t>(divide_up(length, stripe_bytes(shape)));
      const Result<alloc::Extent> piece = space->allocate_internal(units);
      if (!piece.ok()) {
        REQUIRE(units > 1);
        length = units / 2 * stripe_bytes(shape);
        continue;
      }
      pieces.push_back(*piece);
      bytes -= length;
    }
    return pieces;
  }

  struct Run {
    std::uint64_t bytes = 0;
    std::vector<alloc::Extent> pieces;
  };
  // A run, or the merge of all; and a manifest.
  void checkpoint(Run run, bool merge) {
    ++lsn;
    run.pieces = write(run.bytes);
    std::vector<alloc::Extent> replaced;
    if (merge) {
      for (const Run& old : runs) {
        replaced.insert(replaced.end(), old.pieces.begin(), old.pieces.end());
      }
      runs.clear();
    }
    runs.insert(runs.begin(), run);
    std::uint64_t pieces = 0;
    for (const Run& each : runs) pieces += each.pieces.size();
    const std::uint64_t bytes = 200 + 64 * pieces + 80 * runs.size() + 60 * input.zones;
    const auto units = static_cast<std::uint32_t>(divide_up(bytes, stripe_bytes(shape)));
    REQUIRE(units <= space->reserve_run());
    const Result<alloc::Extent> manifest_extent =
        space->allocate_internal(space->reserve_run(), Space::Internal::kManifest);
    REQUIRE(problem_of(manifest_extent.status()) == "");
    if (manifest.units > 0) replaced.push_back(manifest);
    manifest = *manifest_extent;
    space->publish_internal(run.pieces, lsn);
    space->publish_internal({&manifest, 1}, lsn);
    // What the one before replaced can be had by now.
    space->reclaim(lsn - 1);
    REQUIRE(space->free_internal(replaced, lsn).ok());
    set_reserve();
    REQUIRE(space->check_invariants().ok());
  }

  ReserveInput input;
  std::vector<alloc::Extent> held;
  std::vector<std::uint32_t> promised;
  std::vector<Run> runs;  // the newest first
  alloc::Extent manifest;
  std::optional<alloc::Extent> moved;  // in flight
  Lsn lsn = 0;
};

TEST_CASE(
    "reserve: users who take all they can get never keep a checkpoint or a merge from space") {
  struct Size {
    std::uint32_t slab_units;
    std::uint32_t slabs;
    std::uint64_t log;
  };
  const auto size = GENERATE(Size{33, 4, 32_KiB}, Size{65, 6, 64_KiB}, Size{257, 4, 1_MiB});
  const std::uint64_t seed = GENERATE(range(1, 6));
  CAPTURE(size.slab_units, size.slabs, size.log, seed);
  TableWorldOptions options;
  options.slab_units = size.slab_units;
  options.slabs = size.slabs;
  FullStore store(options, size.log, seed);
  std::uint64_t content = 0;  // bytes of all runs merged
  int full = 0;
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    store.users();
    store.move();
    // Only tombstones and overwrites while the reserve is not whole.
    const bool whole = store.space->reserve_whole();
    store.pack();
    const std::uint64_t bytes = 1 + store.rng.below(longest_run_bytes(store.input));
    if (whole && content < size.log) content += bytes / 4;
    store.checkpoint({bytes, {}}, false);
    if (store.rng.below(2) == 0) store.users();
    store.pack();
    if (store.space->reserve_whole() && store.runs.size() < 4) continue;
    full += store.space->reserve_whole() ? 0 : 1;
    store.checkpoint({std::max<std::uint64_t>(1, content), {}}, true);
  }
  REQUIRE(full > 5);
  REQUIRE(store.held.size() > 5);
}

}  // namespace
}  // namespace hexad::core
