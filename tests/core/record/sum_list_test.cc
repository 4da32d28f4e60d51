#include "core/record/sum_list.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

std::vector<std::uint64_t> values(const SumList& list) { return {list.begin(), list.end()}; }

SumList counted(std::size_t count) {
  SumList list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(1000 + i);
  return list;
}

TEST_CASE("sum_list: short lists have no memory of their own, long ones grow") {
  for (std::size_t count = 0; count <= 40; ++count) {
    CAPTURE(count);
    const SumList list = counted(count);
    REQUIRE(list.size() == count);
    REQUIRE(list.empty() == (count == 0));
    REQUIRE((list.capacity() == SumList::kInside) == (count <= SumList::kInside));
    for (std::size_t i = 0; i < count; ++i) REQUIRE(list[i] == 1000 + i);
  }
}

TEST_CASE("sum_list: copies and moves between lists of every length") {
  for (std::size_t from = 0; from <= 6; ++from) {
    for (std::size_t to = 0; to <= 6; ++to) {
      CAPTURE(from, to);
      const SumList source = counted(from);
      SumList copy = counted(to);
      copy = source;
      REQUIRE(values(copy) == values(source));
      REQUIRE((copy == source));
      REQUIRE(((counted(to) == source) == (from == to)));

      SumList moved = counted(to);
      moved = std::move(copy);
      REQUIRE(values(moved) == values(source));
      const SumList constructed(std::move(moved));
      REQUIRE(values(constructed) == values(source));
      // What was moved from can be used again.
      moved.push_back(7);
      REQUIRE(values(moved) == std::vector<std::uint64_t>{7});
    }
  }
}

TEST_CASE("sum_list: a list that is assigned to itself stays") {
  for (const std::size_t count : {1, 5}) {
    SumList list = counted(count);
    SumList& same = list;
    list = same;
    REQUIRE(values(list) == values(counted(count)));
    list = std::move(same);
    REQUIRE(values(list) == values(counted(count)));
  }
}

TEST_CASE("sum_list: does what a vector does") {
  io::Rng rng(7);
  for (int round = 0; round < 300; ++round) {
    SumList list;
    std::vector<std::uint64_t> model;
    for (int step = 0; step < 30; ++step) {
      const std::uint64_t sum = rng.next();
      switch (rng.below(16)) {
        case 0:
          list.assign(static_cast<std::size_t>(sum % 9), sum);
          model.assign(static_cast<std::size_t>(sum % 9), sum);
          break;
        case 1:
          list.reserve(static_cast<std::size_t>(sum % 20));
          break;
        case 2:
          if (model.empty()) break;
          list[static_cast<std::size_t>(sum % model.size())] = sum;
          model[static_cast<std::size_t>(sum % model.size())] = sum;
          break;
        case 3:
          if (model.empty()) break;
          list.pop_back();
          model.pop_back();
          break;
        case 4:
          list.clear();
          model.clear();
          break;
        default:
          list.push_back(sum);
          model.push_back(sum);
      }
      CAPTURE(round, step);
      REQUIRE(values(list) == model);
      if (!model.empty()) REQUIRE((list.front() == model.front() && list.back() == model.back()));
    }
  }
}

}  // namespace
}  // namespace hexad::core
