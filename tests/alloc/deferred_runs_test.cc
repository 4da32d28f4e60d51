#include "alloc/deferred_runs.h"

#include <catch2/catch.hpp>
#include <vector>

namespace hexad::alloc {
namespace {

std::vector<UnitRun> reclaim(DeferredRuns& deferred, Lsn limit,
                             const std::vector<ReadRange>& readers = {}) {
  std::vector<UnitRun> freed;
  deferred.reclaim(limit, readers, [&](UnitRun run) { freed.push_back(run); });
  REQUIRE(deferred.find_fault() == nullptr);
  return freed;
}

std::vector<UnitRun> review(DeferredRuns& deferred, const std::vector<ReadRange>& readers) {
  std::vector<UnitRun> freed;
  deferred.review_held(readers, [&](UnitRun run) { freed.push_back(run); });
  REQUIRE(deferred.find_fault() == nullptr);
  return freed;
}

using Runs = std::vector<UnitRun>;

TEST_CASE("deferred_runs: runs are free in the order in which they died") {
  DeferredRuns deferred;
  REQUIRE_FALSE(deferred.oldest().has_value());
  deferred.add({30, 3}, 5, 1);
  deferred.add({10, 2}, 9, 1);
  deferred.add({20, 4}, 7, 1);
  REQUIRE(deferred.units() == 9);
  REQUIRE(deferred.oldest() == Lsn{5});
  REQUIRE(deferred.overlap({32, 10}));
  REQUIRE_FALSE(deferred.overlap({33, 10}));
  REQUIRE(deferred.units_in({21, 11}) == 3 + 2);
  REQUIRE(reclaim(deferred, 4).empty());
  REQUIRE(reclaim(deferred, 7) == Runs{{30, 3}, {20, 4}});
  REQUIRE(deferred.units() == 2);
  REQUIRE(reclaim(deferred, 100) == Runs{{10, 2}});
  REQUIRE(deferred.by_unit().empty());
}

TEST_CASE("deferred_runs: a reader holds what it may look at, and no other") {
  DeferredRuns deferred;
  const ReadRange old{4, 4};  // sees what was born up to 4 and freed behind 4
  const ReadRange young{8, 8};
  deferred.add({10, 1}, 3, 1);  // freed before either
  deferred.add({20, 2}, 6, 2);  // the old one's
  deferred.add({30, 3}, 9, 3);  // of both
  deferred.add({40, 4}, 9, 7);  // the young one's
  REQUIRE(reclaim(deferred, 10, {old, young}) == Runs{{10, 1}});
  REQUIRE(deferred.holds_any());
  REQUIRE(deferred.held_for(old) == 2 + 3);
  REQUIRE(deferred.held_for(young) == 4);
  REQUIRE_FALSE(deferred.oldest().has_value());
  REQUIRE(review(deferred, {old, young}).empty());
  // The old one goes: what the young one needs as well is held for it.
  REQUIRE(review(deferred, {young}) == Runs{{20, 2}});
  REQUIRE(deferred.held_for(young) == 3 + 4);
  REQUIRE(review(deferred, {}) == Runs{{30, 3}, {40, 4}});
  REQUIRE(deferred.units() == 0);
  REQUIRE_FALSE(deferred.holds_any());
}

TEST_CASE("deferred_runs: a part that is used again cuts its run") {
  DeferredRuns deferred;
  deferred.add({10, 10}, 5, 2);
  deferred.drop({13, 4});
  REQUIRE(deferred.find_fault() == nullptr);
  REQUIRE(deferred.units() == 6);
  REQUIRE(deferred.units_in({10, 10}) == 6);
  REQUIRE_FALSE(deferred.overlap({13, 4}));
  REQUIRE(deferred.by_unit().at(17).freed == 5);
  REQUIRE(deferred.by_unit().at(17).born == 2);
  REQUIRE(reclaim(deferred, 5) == Runs{{10, 3}, {17, 3}});
}

}  // namespace
}  // namespace hexad::alloc
