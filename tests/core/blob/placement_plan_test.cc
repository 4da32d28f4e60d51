#include "core/blob/placement_plan.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/units.h"
#include "core/record/record.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kEntry = 52;  // of a footer: a key of some 15 bytes

using Items = std::vector<PlacementItem>;

// As an open store has them: 4+2, units of 4 KiB, pack stripes of about 2 MiB.
PlacementRules usual_rules(std::uint64_t log_bytes) {
  PlacementRules rules;
  rules.max_pack_units = 129;
  rules.footer = 38;
  rules.log_bytes = log_bytes;
  return rules;
}

Items equal_items(std::size_t count, std::uint32_t stored) {
  return Items(count, PlacementItem{stored, kEntry, false});
}

std::uint64_t own_bytes(const PlacementItem& item, const PlacementRules& rules) {
  return divide_up(divide_up(item.stored, rules.k), rules.unit) * rules.unit * rules.k;
}

// Units of a pack stripe with this item alone: the footer lies in the last cell, the item in
// another one where there is one.
std::uint64_t lone_units(const PlacementItem& item, const PlacementRules& rules) {
  const std::uint64_t footer = round_up(rules.footer + item.footer, kPackAlignment);
  const std::uint64_t blob = round_up(item.stored, kPackAlignment);
  return divide_up(rules.k == 1 ? footer + blob : std::max(footer, blob), rules.unit);
}

bool fills_half(const PlacementItem& item, const PlacementRules& rules) {
  return std::uint64_t{item.stored} * 2 > own_bytes(item, rules);
}

// PP1 to PP4, said anew.
void check_plan(const PlacementPlan& plan, const Items& items, const PlacementRules& rules) {
  std::vector<int> placed(items.size(), 0);
  for (const PackPlan& pack : plan.packs) {
    REQUIRE(pack.units > 0);
    REQUIRE(pack.units <= rules.max_pack_units);
    const std::uint64_t cell_bytes = std::uint64_t{pack.units} * rules.unit;
    REQUIRE(cell_bytes <= kMaxCellBytes);
    if (pack.slots.size() == 1) {
      const PlacementItem& alone = items.at(pack.slots.front().item);
      REQUIRE_FALSE(fills_half(alone, rules));
      REQUIRE(cell_bytes * rules.k == own_bytes(alone, rules));
    }
    std::map<std::uint32_t, std::uint64_t> ends;  // by cell
    std::uint64_t footer = rules.footer;
    std::uint32_t cell = 0;
    for (const PackPlan::Slot& slot : pack.slots) {
      const PlacementItem& item = items.at(slot.item);
      ++placed[slot.item];
      REQUIRE((!item.has_place || pack.slots.size() == 1));
      REQUIRE(slot.cell < rules.k);
      REQUIRE(slot.cell >= cell);  // by cell and offset
      cell = slot.cell;
      REQUIRE(slot.offset % kPackAlignment == 0);
      REQUIRE(slot.offset >= ends[cell]);
      ends[cell] = std::uint64_t{slot.offset} + item.stored;
      footer += item.footer;
    }
    for (const auto& [which, end] : ends) {
      REQUIRE(end <= cell_bytes - (which + 1 == rules.k ? footer : 0));
    }
    REQUIRE(footer <= cell_bytes);
  }
  std::uint64_t in_log = 0;
  const std::uint64_t longest = std::min(rules.max_pack_units, kMaxCellBytes / rules.unit);
  for (const std::size_t item : plan.own_stripe) {
    ++placed.at(item);
    if (fills_half(items[item], rules)) continue;
    const std::uint64_t units = lone_units(items[item], rules);
    const bool too_long = units > longest;
    const bool longer = units * rules.unit * rules.k > own_bytes(items[item], rules);
    REQUIRE((too_long || longer));
  }
  for (const std::size_t item : plan.in_log) {
    ++placed.at(item);
    REQUIRE_FALSE(items[item].has_place);
    in_log += items[item].stored;
  }
  REQUIRE(in_log <= rules.log_bytes);
  REQUIRE(placed == std::vector<int>(items.size(), 1));
}

struct Rest {
  double overhead = 0;       // bytes at rest per byte of what is not in the log, parity aside
  std::uint64_t writes = 0;  // stripes
  std::uint64_t in_log = 0;  // bytes
};

Rest at_rest(const Items& items, const PlacementRules& rules) {
  const PlacementPlan plan = plan_placement(items, rules);
  check_plan(plan, items, rules);
  std::uint64_t user = 0;
  std::uint64_t bytes = 0;
  Rest rest;
  for (const PlacementItem& item : items) user += item.stored;
  for (const PackPlan& pack : plan.packs) {
    bytes += std::uint64_t{pack.units} * rules.unit * rules.k;
  }
  for (const std::size_t item : plan.own_stripe) bytes += own_bytes(items[item], rules);
  for (const std::size_t item : plan.in_log) rest.in_log += items[item].stored;
  rest.writes = plan.packs.size() + plan.own_stripe.size();
  if (user > rest.in_log) {
    rest.overhead = static_cast<double>(bytes) / static_cast<double>(user - rest.in_log);
  }
  CAPTURE(items.size(), items.front().stored, bytes, rest.in_log, rest.writes);
  return rest;
}

TEST_CASE("placement_plan: 100,000 random groups keep PP1 to PP4") {
  io::Rng rng(20);
  for (int i = 0; i < 100'000; ++i) {
    CAPTURE(i);
    PlacementRules rules;
    rules.k = static_cast<std::uint32_t>(1 + rng.below(12));
    rules.cells = rules.k + static_cast<std::uint32_t>(1 + rng.below(4));
    rules.unit = 512u << rng.below(8);
    if (rng.chance(1, 4)) rules.unit = 512 * static_cast<std::uint32_t>(1 + rng.below(128));
    rules.max_pack_units = static_cast<std::uint32_t>(rng.below(1 + rng.below(200)));
    rules.footer = static_cast<std::uint32_t>(22 + 8 * rules.k);
    if (rng.chance(1, 2)) rules.log_bytes = rng.below(512 << 10);
    Items items(rng.below(1 + rng.below(25)));
    const std::uint64_t largest = std::uint64_t{1} << (4 + rng.below(15));
    for (PlacementItem& item : items) {
      item.stored = static_cast<std::uint32_t>(1 + rng.below(largest));
      item.footer = static_cast<std::uint32_t>(42 + rng.below(1025));
      item.has_place = rng.chance(1, 50);
    }
    check_plan(plan_placement(items, rules), items, rules);
  }
}

TEST_CASE("placement_plan: large groups of any sizes keep PP1 to PP4, and waste little") {
  const std::uint64_t seed = GENERATE(range(1, 21));
  CAPTURE(seed);
  io::Rng rng(seed);
  const PlacementRules rules = usual_rules(rng.below(2) * 256_KiB);
  Items items(200 + rng.below(2000));
  for (PlacementItem& item : items) {
    // Every order of magnitude as often.
    item.stored =
        static_cast<std::uint32_t>(300 + rng.below(1 + (rng.next() >> (64 - 8 - rng.below(11)))));
    item.footer = kEntry;
  }
  const Rest rest = at_rest(items, rules);
  CHECK(rest.overhead <= 1.03);
  CHECK(rest.in_log <= 16_KiB * rest.writes);
}

TEST_CASE("placement_plan: little to write goes into the log, and the lone small object with it") {
  const PlacementRules rules = usual_rules(256_KiB);
  for (const std::size_t count : {1, 2, 3, 4}) {
    const Rest rest = at_rest(equal_items(count, 4096), rules);
    CHECK(rest.writes == 0);
    CHECK(rest.in_log == 4096 * count);
  }
  CHECK(at_rest(equal_items(1, 300), rules).in_log == 300);
  CHECK(at_rest(equal_items(5, 4096), rules).in_log < 5 * 4096);
}

TEST_CASE("placement_plan: what fits the log goes there, all of it, in its order") {
  io::Rng rng(58);
  int fitting = 0;
  for (int round = 0; round < 2000; ++round) {
    const PlacementRules rules = usual_rules(rng.below(40'000));
    Items items(1 + rng.below(6));
    std::uint64_t bytes = 0;
    for (PlacementItem& item : items) {
      item = {static_cast<std::uint32_t>(1 + rng.below(6'000)), kEntry, false};
      bytes += item.stored;
    }
    if (!fit_log(bytes, rules)) continue;
    ++fitting;
    const PlacementPlan plan = plan_placement(items, rules);
    REQUIRE(plan.packs.empty());
    REQUIRE(plan.own_stripe.empty());
    REQUIRE(plan.in_log.size() == items.size());
    REQUIRE(std::is_sorted(plan.in_log.begin(), plan.in_log.end()));
  }
  REQUIRE(fitting > 100);
}

TEST_CASE("placement_plan: without room in the log everything gets a stripe") {
  const PlacementRules rules = usual_rules(0);
  for (const std::size_t count : {1, 2, 3, 4, 8, 100}) {
    const Items items = equal_items(count, 4096);
    const PlacementPlan plan = plan_placement(items, rules);
    check_plan(plan, items, rules);
    CHECK(plan.in_log.empty());
  }
  // Alone it may share its stripe later, which one that fills it need not.
  CHECK(plan_placement(equal_items(1, 4096), rules).packs.size() == 1);
  CHECK(plan_placement(equal_items(1, 16384), rules).own_stripe.size() == 1);
  CHECK(plan_placement({}, rules).packs.empty());
  // A stripe that has its units already keeps them.
  Items items = equal_items(3, 4096);
  items[1].has_place = true;
  const PlacementPlan plan = plan_placement(items, usual_rules(256_KiB));
  check_plan(plan, items, usual_rules(256_KiB));
  REQUIRE(plan.packs.size() == 1);
  CHECK(plan.packs.front().slots.size() == 1);
  CHECK(plan.packs.front().slots.front().item == 1);
  items[1].stored = 16384;
  CHECK(plan_placement(items, usual_rules(256_KiB)).own_stripe == std::vector<std::size_t>{1});
}

TEST_CASE("placement_plan: no small item of a group of equals is left over by rounding") {
  for (const std::uint32_t stored : {1000u, 4096u, 12000u}) {
    for (const std::size_t count : {8, 16, 32, 64, 100, 256, 1000}) {
      CAPTURE(stored, count);
      const Items items = equal_items(count, stored);
      const PlacementRules rules = usual_rules(0);
      const PlacementPlan plan = plan_placement(items, rules);
      check_plan(plan, items, rules);
      CHECK(plan.own_stripe.empty());
      CHECK(plan.packs.size() <= divide_up(count * (stored + kEntry), 2_MiB));
    }
  }
}

TEST_CASE("placement_plan: a group of equals takes few writes") {
  for (const std::uint32_t stored : {16384u, 65536u, 100'000u, 250'000u}) {
    for (const std::size_t count : {8, 16, 32, 64, 100, 256, 1000}) {
      CAPTURE(stored, count);
      const Rest rest = at_rest(equal_items(count, stored), usual_rules(0));
      // Eight of 16 KiB fill two units of each cell, and the footer begins a third.
      CHECK(rest.overhead <= (count == 8 ? 1.13 : 1.07));
      CHECK(rest.writes <= 2 + count * stored / 600'000);
    }
  }
}

TEST_CASE("placement_plan: padding at rest stays within its bounds") {
  for (const std::uint64_t log_bytes : {std::uint64_t{0}, 256_KiB}) {
    CAPTURE(log_bytes);
    const PlacementRules rules = usual_rules(log_bytes);
    CHECK(at_rest(equal_items(64, 4096), rules).overhead <= 1.07);
    CHECK(at_rest(equal_items(100, 4096), rules).overhead <= 1.06);
    CHECK(at_rest(equal_items(256, 4096), rules).overhead <= 1.04);
    CHECK(at_rest(equal_items(1000, 4096), rules).overhead <= 1.03);
    CHECK(at_rest(equal_items(1, 65536), rules).overhead == 1.0);
    CHECK(at_rest(equal_items(16, 65536), rules).overhead <= 1.02);
    CHECK(at_rest(equal_items(32, 65536), rules).overhead <= 1.01);
    CHECK(at_rest(equal_items(64, 65536), rules).overhead <= 1.01);
    Items mix = equal_items(255, 4096);
    mix.push_back({200'000, kEntry, false});
    CHECK(at_rest(mix, rules).overhead <= 1.03);
    for (int i = 0; i < 10; ++i) mix.push_back({65536, kEntry, false});
    CHECK(at_rest(mix, rules).overhead <= 1.03);
  }
  // With a little in the log, a stripe is full to the last unit.
  const Rest rest = at_rest(equal_items(64, 4096), usual_rules(256_KiB));
  CHECK(rest.overhead <= 1.02);
  CHECK(rest.in_log == 4096);
  CHECK(rest.writes == 1);
}

TEST_CASE("placement_plan: large objects among small ones do not make all cells long") {
  PlacementRules rules = usual_rules(0);
  rules.k = 8;
  rules.cells = 10;
  rules.max_pack_units = 65;
  Items items = equal_items(40, 4096);
  items.push_back({250'000, kEntry, false});
  items.push_back({200'000, kEntry, false});
  const PlacementPlan plan = plan_placement(items, rules);
  check_plan(plan, items, rules);
  CHECK(plan.packs.size() == 1);
  CHECK(plan.own_stripe == std::vector<std::size_t>{40, 41});
}

TEST_CASE("placement_plan: units longer than a cell may be are for stripes of one object") {
  PlacementRules rules = usual_rules(0);
  rules.unit = 8 << 20;
  rules.max_pack_units = 1;
  const Items items = equal_items(20, 100'000);
  const PlacementPlan plan = plan_placement(items, rules);
  check_plan(plan, items, rules);
  CHECK(plan.packs.empty());
  CHECK(plan.own_stripe.size() == 20);
  rules.unit = 4 << 20;
  CHECK(plan_placement(items, rules).packs.size() == 1);
}

TEST_CASE("placement_plan: tiny objects share stripes although their footer outweighs them") {
  const PlacementRules rules = usual_rules(0);
  const Items items = equal_items(20'000, 1);
  const PlacementPlan plan = plan_placement(items, rules);
  check_plan(plan, items, rules);
  CHECK(plan.own_stripe.empty());
  CHECK(plan.packs.size() <= 8);
}

}  // namespace
}  // namespace hexad::core
