#include "core/clean/moved_extents.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

PlacementRules rules_of(std::uint32_t k, std::uint32_t most_units) {
  PlacementRules rules;
  rules.k = k;
  rules.unit = 4096;
  rules.max_pack_units = most_units;
  rules.footer = 38;
  return rules;
}

void check_layout(const PackPlan& plan, const std::vector<PlacementItem>& items,
                  const PlacementRules& rules) {
  std::vector<int> seen(items.size(), 0);
  std::uint64_t footer = rules.footer;
  for (const PlacementItem& item : items) footer += item.footer;
  std::uint32_t cell = 0;
  std::uint64_t end = 0;
  for (const PackPlan::Slot& slot : plan.slots) {
    REQUIRE(slot.cell < rules.k);
    REQUIRE(slot.cell >= cell);
    if (slot.cell > cell) end = 0;
    cell = slot.cell;
    REQUIRE(slot.offset >= end);
    REQUIRE(slot.offset % kPackAlignment == 0);
    end = std::uint64_t{slot.offset} + items[slot.item].stored;
    REQUIRE(end <= std::uint64_t{plan.units} * rules.unit - (cell + 1 == rules.k ? footer : 0));
    ++seen[slot.item];
  }
  REQUIRE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

TEST_CASE("moved extents: a stripe is as short as its blobs allow, and holds each of them once") {
  io::Rng rng(5);
  int fitted = 0;
  for (int round = 0; round < 500; ++round) {
    const PlacementRules rules = rules_of(static_cast<std::uint32_t>(1 + rng.below(8)),
                                          static_cast<std::uint32_t>(1 + rng.below(64)));
    std::vector<PlacementItem> items;
    const std::uint64_t count = 1 + rng.below(100);
    const std::uint64_t longest = 1 + rng.below(rng.chance(1, 2) ? 6000 : 40'000);
    for (std::uint64_t i = 0; i < count; ++i) {
      items.push_back({static_cast<std::uint32_t>(1 + rng.below(longest)), 52, false});
    }
    const PackPlan plan = lay_out_pack(items, rules);
    if (plan.units == 0) continue;
    ++fitted;
    REQUIRE(plan.units <= rules.max_pack_units);
    check_layout(plan, items, rules);
  }
  CHECK(fitted > 100);
}

TEST_CASE("moved extents: what fits into no stripe gets none") {
  CHECK(lay_out_pack(std::vector<PlacementItem>{{5000, 52, false}}, rules_of(4, 1)).units == 0);
  CHECK(lay_out_pack(std::vector<PlacementItem>{{5000, 52, false}}, rules_of(4, 2)).units == 2);
}

Extent packed(std::uint64_t offset, std::uint32_t unit, std::uint32_t cell_offset,
              std::uint64_t sum) {
  Extent extent;
  extent.offset = offset;
  extent.length = 1000;
  extent.blob.placement = Placement::kPacked;
  extent.blob.where = {3, unit, 0};
  extent.blob.cell = 1;
  extent.blob.cell_offset = cell_offset;
  extent.blob.raw = extent.blob.stored = 2000;
  extent.blob.cell_sums = {sum};
  return extent;
}

TEST_CASE("moved extents: every extent that shows the blob gets the place, and nothing else") {
  Extent second = packed(5000, 10, 64, 77);
  second.blob_offset = 1000;
  const ExtentList before = {packed(0, 10, 64, 77), packed(2000, 10, 4096, 78), second};
  ExtentList now = before;
  // What the one who asks knows of it may be older: whether it is forwarded is not compared.
  now[0].blob.forward = now[2].blob.forward = Forward::kWritten;
  CHECK(shows(now, before[0].blob));
  CHECK(move_blob(now, before[0].blob, {9, 20, 2, 8}, Forward::kDue) == 2);
  CHECK(now[1] == before[1]);
  for (const std::size_t i : {0, 2}) {
    Extent expected = before[i];
    expected.blob.where = {9, 20, 0};
    expected.blob.cell = 2;
    expected.blob.cell_offset = 8;
    expected.blob.forward = Forward::kDue;
    CHECK(now[i] == expected);
  }
  // It is there no more.
  CHECK_FALSE(shows(now, before[0].blob));
  CHECK(move_blob(now, before[0].blob, {9, 30, 2, 8}, Forward::kNone) == 0);
}

TEST_CASE("moved extents: another blob in the place of one that died does not move with it") {
  ExtentList now = {packed(0, 10, 64, 99)};
  const ExtentList before = now;
  CHECK(move_blob(now, packed(0, 10, 64, 77).blob, {9, 20, 2, 8}, Forward::kNone) == 0);
  CHECK(now == before);
}

TEST_CASE("moved extents: a blob is found by its place in a stripe") {
  ExtentList list = {packed(0, 10, 64, 77), packed(2000, 11, 64, 78)};
  list.push_back(packed(4000, 12, 64, 79));
  list.back().blob.placement = Placement::kPrivate;
  REQUIRE(find_packed(list, {3, 11, 1, 64}) == &list[1]);
  CHECK(find_packed(list, {3, 11, 1, 72}) == nullptr);
  CHECK(find_packed(list, {3, 11, 0, 64}) == nullptr);
  CHECK(find_packed(list, {4, 11, 1, 64}) == nullptr);
  CHECK(find_packed(list, {3, 12, 1, 64}) == nullptr);  // a stripe of its own
}

}  // namespace
}  // namespace hexad::core
