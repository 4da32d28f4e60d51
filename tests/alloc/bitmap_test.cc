#include "alloc/bitmap.h"

#include <catch2/catch.hpp>

#include "alloc/device_layout.h"
#include "io/rng.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

// What UnitBitmap has to be, in the simplest words.
struct Model {
  std::vector<bool> used;

  std::optional<std::uint32_t> find_from(std::uint32_t units, std::uint32_t from) const {
    std::uint32_t run = 0;
    for (std::uint32_t u = from; u < used.size(); ++u) {
      run = used[u] ? 0 : run + 1;
      if (run == units) return u + 1 - units;
    }
    return std::nullopt;
  }
  std::optional<std::uint32_t> find(std::uint32_t units, std::uint32_t from) const {
    if (units == 0) return std::nullopt;
    if (auto found = find_from(units, from)) return found;
    return find_from(units, 0);
  }
  std::vector<UnitRun> runs(bool of) const {
    std::vector<UnitRun> all;
    for (std::uint32_t u = 0; u < used.size(); ++u) {
      if (used[u] != of) continue;
      if (u > 0 && used[u - 1] == of) {
        ++all.back().units;
      } else {
        all.push_back({u, 1});
      }
    }
    return all;
  }
};

void require_equal(const UnitBitmap& bitmap, const Model& model) {
  const auto free = model.runs(false);
  std::uint32_t longest = 0;
  std::uint32_t count = 0;
  for (const UnitRun& run : free) {
    longest = std::max(longest, run.units);
    count += run.units;
  }
  REQUIRE(bitmap.check_invariants().ok());
  REQUIRE(bitmap.free_count() == count);
  REQUIRE(bitmap.used_count() == bitmap.size() - count);
  REQUIRE(bitmap.largest_free_run() == longest);
  REQUIRE(bitmap.free_run_count() == free.size());
  REQUIRE(bitmap.used_runs() == model.runs(true));
  REQUIRE(bitmap.free_runs() == free);
  for (std::uint32_t u = 0; u < bitmap.size(); ++u) REQUIRE(bitmap.is_used(u) == model.used[u]);
}

}  // namespace

TEST_CASE("bitmap: random changes and searches match a vector of bools") {
  const std::uint32_t size = GENERATE(1, 2, 63, 64, 65, 511, 512, 513, 1024, 1500, 2600);
  const std::uint64_t seed = GENERATE(1, 2);
  CAPTURE(size, seed);
  io::Rng rng(seed);
  UnitBitmap bitmap(size);
  Model model{std::vector<bool>(size)};
  for (int step = 0; step < 400; ++step) {
    CAPTURE(step);
    const auto first = static_cast<std::uint32_t>(rng.below(size));
    const std::uint64_t longest = rng.chance(1, 4) ? size : 20;
    const UnitRun run{first, static_cast<std::uint32_t>(rng.below(longest) + 1)};
    const bool inside = run.end() <= size;
    bool all_used = inside;
    bool all_free = inside;
    for (std::uint32_t u = run.unit; u < run.end() && inside; ++u) {
      (model.used[u] ? all_free : all_used) = false;
    }
    REQUIRE(bitmap.all_free(run) == all_free);
    REQUIRE(bitmap.all_used(run) == all_used);
    const bool take = rng.chance(1, 2);
    const Status status = take ? bitmap.set(run) : bitmap.clear(run);
    REQUIRE(status.ok() == (take ? all_free : all_used));
    if (!status.ok()) {
      REQUIRE(status.error().code ==
              (inside ? ErrorCode::kCorruption : ErrorCode::kInvalidArgument));
    }
    bool changed = status.ok();
    if (!changed && inside && rng.chance(1, 3)) {
      if (take) {
        bitmap.force_set(run);
      } else {
        bitmap.force_clear(run);
      }
      changed = true;
    }
    for (std::uint32_t u = run.unit; u < run.end() && changed; ++u) model.used[u] = take;
    if (step % 20 == 0) require_equal(bitmap, model);
    for (int i = 0; i < 10; ++i) {
      const auto units = static_cast<std::uint32_t>(rng.below(rng.chance(1, 2) ? 8 : size + 2));
      const auto from = static_cast<std::uint32_t>(rng.below(size + 1));
      CAPTURE(units, from);
      REQUIRE(bitmap.find_free(units, from) == model.find(units, from));
    }
  }
  require_equal(bitmap, model);
  REQUIRE(UnitBitmap(size, bitmap.words()).words() == bitmap.words());
}

TEST_CASE("bitmap: all states of eight units that straddle a group boundary") {
  constexpr std::uint32_t kSize = 1024;
  constexpr std::uint32_t kBase = 508;
  for (unsigned state = 0; state < 256; ++state) {
    UnitBitmap bitmap(kSize);
    Model model{std::vector<bool>(kSize)};
    bitmap.force_set({0, kBase});
    bitmap.force_set({kBase + 8, kSize - kBase - 8});
    for (std::uint32_t u = 0; u < kSize; ++u) model.used[u] = u < kBase || u >= kBase + 8;
    for (std::uint32_t u = 0; u < 8; ++u) {
      if ((state >> u & 1) == 0) continue;
      bitmap.force_set({kBase + u, 1});
      model.used[kBase + u] = true;
    }
    CAPTURE(state);
    for (std::uint32_t units = 1; units <= 9; ++units) {
      for (std::uint32_t from = kBase - 1; from <= kBase + 9; ++from) {
        REQUIRE(bitmap.find_free(units, from) == model.find(units, from));
      }
    }
    REQUIRE(bitmap.check_invariants().ok());
  }
}

TEST_CASE("bitmap: the largest zone is one free run and can be filled") {
  UnitBitmap bitmap(kMaxSlabUnits);
  CHECK(bitmap.largest_free_run() == kMaxSlabUnits);
  CHECK(bitmap.find_free(kMaxSlabUnits) == 0u);
  REQUIRE(bitmap.set({0, kMaxSlabUnits}).ok());
  CHECK(bitmap.free_count() == 0);
  CHECK(!bitmap.find_free(1));
  REQUIRE(bitmap.clear({kMaxSlabUnits - 1, 1}).ok());
  CHECK(bitmap.find_free(1) == kMaxSlabUnits - 1);
  CHECK(bitmap.check_invariants().ok());
}
