#include "core/runs/merge_state.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using namespace hexad;
using namespace hexad::core;

namespace {

RunMerge plan_of(std::vector<std::uint64_t> ids) {
  RunMerge plan;
  for (const std::uint64_t id : ids) plan.inputs.emplace_back().id = id;
  return plan;
}

}  // namespace

TEST_CASE("merge state: its inputs are known from when it is wanted until it is taken") {
  MergeState merge;
  CHECK(merge.idle());
  merge.want(plan_of({7, 4}));
  CHECK(merge.under_way());
  CHECK(merge.inputs() == std::vector<std::uint64_t>{7, 4});
  CHECK(merge.begin().inputs.size() == 2);
  CHECK(merge.running());
  CHECK(merge.under_way());
  CHECK(merge.inputs() == std::vector<std::uint64_t>{7, 4});
  MergedRun merged;
  merged.inputs = {7, 4};
  merge.finish(std::move(merged));
  CHECK(merge.finished());
  CHECK_FALSE(merge.under_way());
  CHECK(merge.units_to_come() == 0);
  CHECK(merge.take().inputs == std::vector<std::uint64_t>{7, 4});
  CHECK(merge.idle());
  CHECK(merge.inputs().empty());
}

TEST_CASE("merge state: another one can be wanted when one has ended") {
  MergeState merge;
  merge.want(plan_of({7, 4}));
  merge.end();
  CHECK(merge.idle());
  merge.want(plan_of({5}));
  static_cast<void>(merge.begin());
  merge.end();
  CHECK(merge.idle());
  CHECK(merge.inputs().empty());
}
