// What does an allocation cost, and does it stay cheap as the zones fill up? A set of zones is
// filled to a level with stripes of 1 to 32 units and then kept there: each step frees a random
// stripe and allocates new ones. One thread, fixed seed. Parameters: percent full, units per zone.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "alloc/bitmap.h"
#include "alloc/zone_image.h"
#include "alloc/zone_set.h"
#include "io/rng.h"

namespace {

using namespace hexad;
using namespace hexad::alloc;

constexpr std::uint32_t kZones = 16;

struct Filled {
  Filled(std::int64_t percent, std::uint32_t units) : set(6), rng(1) {
    for (ZoneId zone = 0; zone < kZones; ++zone) {
      std::vector<ZoneSlot> slots;
      for (DeviceId device = 0; device < 6; ++device) slots.push_back({device, zone});
      if (!set.add_zone(zone, slots, units).ok()) std::abort();
    }
    target = set.counters().total * static_cast<std::uint64_t>(percent) / 100;
    // Full, then thinned out at random: free space as it looks after a long life.
    while (const auto extent = take()) live.push_back(*extent);
    while (set.counters().live > target) drop();
  }

  std::optional<Extent> take() {
    const auto extent = set.allocate(static_cast<std::uint32_t>(1 + rng.below(32)));
    if (!extent.ok()) return std::nullopt;
    set.publish_alloc(*extent, ++lsn);
    return *extent;
  }
  void drop() {
    const std::size_t at = rng.below(live.size());
    std::swap(live[at], live.back());
    if (!set.publish_free(live.back(), ++lsn).ok()) std::abort();
    live.pop_back();
    set.reclaim(lsn);
  }

  ZoneSet set;
  io::Rng rng;
  Lsn lsn = 0;
  std::uint64_t target = 0;
  std::vector<Extent> live;
};

void churn(benchmark::State& state) {
  Filled filled(state.range(0), static_cast<std::uint32_t>(state.range(1)));
  std::uint64_t refused = 0;
  for (auto _ : state) {
    if (filled.set.counters().live >= filled.target) {
      filled.drop();
      continue;
    }
    if (const auto extent = filled.take()) {
      filled.live.push_back(*extent);
    } else {
      ++refused;
      filled.drop();
    }
  }
  if (!filled.set.check_invariants().ok()) std::abort();
  state.SetItemsProcessed(state.iterations());
  state.counters["refused_percent"] =
      100.0 * static_cast<double>(refused) / static_cast<double>(state.iterations());
  state.counters["fragmentation"] = filled.set.fragmentation();
}
BENCHMARK(churn)
    ->ArgNames({"percent_full", "zone_units"})
    ->ArgsProduct({{10, 50, 80, 90, 95, 99}, {1 << 14}})
    ->ArgsProduct({{50, 90, 99}, {1 << 18}});

// The worst search: a run that hardly exists, in a bitmap of holes of one unit.
void find_last_hole(benchmark::State& state) {
  const auto units = static_cast<std::uint32_t>(state.range(0));
  UnitBitmap bitmap(units);
  for (std::uint32_t unit = 0; unit < units; unit += 2) bitmap.force_set({unit, 1});
  bitmap.force_clear({units - 8, 8});
  for (auto _ : state) benchmark::DoNotOptimize(bitmap.find_free(8, 1));
  if (bitmap.find_free(8, 1) != units - 9) std::abort();
}
BENCHMARK(find_last_hole)->ArgName("units")->Arg(1 << 14)->Arg(1 << 18)->Arg(1 << 21);

void image_of_a_zone(benchmark::State& state) {
  Filled filled(state.range(0), 1 << 18);
  std::size_t bytes = 0;
  for (auto _ : state) {
    const auto image = filled.set.image(0, filled.lsn);
    if (!image.ok()) std::abort();
    bytes = encode_zone_image(*image).size();
  }
  state.counters["image_bytes"] = static_cast<double>(bytes);
}
BENCHMARK(image_of_a_zone)->ArgName("percent_full")->Arg(10)->Arg(90);

}  // namespace
