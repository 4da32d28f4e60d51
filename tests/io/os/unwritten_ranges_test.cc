#include "io/os/unwritten_ranges.h"

#include <array>
#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "io/rng.h"

namespace hexad::io {
namespace {

using Ranges = std::vector<FileRange>;

TEST_CASE("unwritten_ranges: durable writes take their bytes out, wherever they lie") {
  UnwrittenRanges set;
  set.add({100, 100});
  REQUIRE(set.touches({199, 1}));
  REQUIRE_FALSE(set.touches({200, 50}));
  REQUIRE_FALSE(set.touches({50, 50}));
  set.written({120, 10});
  REQUIRE(set.ranges() == Ranges{{100, 20}, {130, 70}});
  set.written({0, 110});
  set.written({190, 100});
  REQUIRE(set.ranges() == Ranges{{110, 10}, {130, 60}});
  set.add({120, 10});
  REQUIRE(set.ranges() == Ranges{{110, 80}});
  set.written({0, 1000});
  REQUIRE(set.ranges().empty());
}

TEST_CASE("unwritten_ranges: a plain write counts after a flush that began behind it") {
  UnwrittenRanges set;
  set.add({0, 100});
  const std::uint64_t early = set.begin_flush();
  set.written_in_cache({0, 10});
  set.complete_flush(early);
  REQUIRE(set.touches({0, 10}));
  const std::uint64_t covering = set.begin_flush();
  set.written_in_cache({20, 10});  // in flight when that flush began
  set.complete_flush(covering);
  REQUIRE(set.ranges() == Ranges{{10, 90}});
}

TEST_CASE("unwritten_ranges: what a failed flush should have covered stays, for later ones too") {
  UnwrittenRanges set;
  set.add({0, 100});
  set.written_in_cache({0, 100});
  set.fail_flush();
  set.complete_flush(set.begin_flush());
  REQUIRE(set.ranges() == Ranges{{0, 100}});
  set.written_in_cache({0, 100});
  set.complete_flush(set.begin_flush());
  REQUIRE(set.ranges() == Ranges{{0, 100}});
  set.written({0, 100});
  REQUIRE(set.ranges().empty());
}

TEST_CASE("unwritten_ranges: a hole punched while a flush is under way stays a hole") {
  UnwrittenRanges set;
  set.add({0, 100});
  set.written_in_cache({0, 100});
  const std::uint64_t ticket = set.begin_flush();
  set.add({40, 20});
  set.complete_flush(ticket);
  REQUIRE(set.ranges() == Ranges{{40, 20}});
}

TEST_CASE("unwritten_ranges: random operations agree with a model of single bytes") {
  constexpr std::uint64_t kSize = 64;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    Rng rng(seed);
    UnwrittenRanges set;
    std::array<bool, kSize> model{};
    std::array<std::uint64_t, kSize>
        cached{};  // number of the plain write not flushed yet; 0: none
    std::uint64_t writes = 0;
    bool flush_failed = false;
    struct Flush {
      std::uint64_t ticket;
      std::uint64_t writes;
    };
    std::optional<Flush> flush;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t from = rng.below(kSize);
      const FileRange range{from, 1 + rng.below(kSize - from)};
      const auto each = [&](const auto& change) {
        for (std::uint64_t i = range.offset; i < range.end(); ++i) change(i);
      };
      switch (rng.below(6)) {
        case 0:
          set.add(range);
          each([&](std::uint64_t i) { model[i] = true, cached[i] = 0; });
          break;
        case 1:
          set.written(range);
          each([&](std::uint64_t i) { model[i] = false; });
          break;
        case 2:
        case 3:
          set.written_in_cache(range);
          ++writes;
          each([&](std::uint64_t i) {
            if (model[i] && cached[i] == 0 && !flush_failed) cached[i] = writes;
          });
          break;
        case 4:
          if (!flush.has_value()) flush = Flush{set.begin_flush(), writes};
          break;
        default:
          if (flush.has_value()) {
            const bool success = rng.chance(3, 4);
            if (success) {
              set.complete_flush(flush->ticket);
            } else {
              set.fail_flush();
            }
            for (std::uint64_t i = 0; i < kSize; ++i) {
              if (success && cached[i] > 0 && cached[i] <= flush->writes) model[i] = false;
              if (!success || cached[i] <= flush->writes) cached[i] = 0;
            }
            flush_failed |= !success;
            flush.reset();
          }
      }
      // The set may remember less than the model does, never more: what needs a first write is
      // always in it.
      for (std::uint64_t i = 0; i < kSize; ++i) {
        if (model[i]) REQUIRE(set.touches({i, 1}));
      }
      const Ranges ranges = set.ranges();
      for (std::size_t i = 1; i < ranges.size(); ++i) {
        REQUIRE(ranges[i - 1].end() < ranges[i].offset);
      }
    }
    // And everything leaves in the end.
    set.written({0, kSize});
    REQUIRE(set.ranges().empty());
  }
}

}  // namespace
}  // namespace hexad::io
