#include "core/plan/copies_under_way.h"

#include <catch2/catch.hpp>
#include <vector>

namespace hexad::core {
namespace {

std::shared_ptr<CopiedPages> copy_of(BodyId body, BodyId to = 1000) {
  auto copied = std::make_shared<CopiedPages>();
  copied->from = body;
  copied->to = to;
  copied->until = 10;  // pages before it have been copied
  return copied;
}

TEST_CASE("copies_under_way: a change is told to all copies of its body, and to no others") {
  CopiesUnderWay copies;
  const auto first = copy_of(1);
  const auto second = copy_of(1);
  const auto other = copy_of(2);
  for (const auto& copied : {first, second, other}) copies.add(copied);
  CHECK(copies.tell(1, 5) == 2);
  CHECK(copies.tell(3, 5) == 0);
  CHECK(first->stale == std::set<std::uint32_t>{5});
  CHECK(second->stale == std::set<std::uint32_t>{5});
  CHECK(other->stale.empty());
}

// Each page that a commit writes asks: with a thousand clones under way it must not look at all.
TEST_CASE("copies_under_way: what a change costs does not grow with the copies of other bodies") {
  CopiesUnderWay copies;
  std::vector<std::shared_ptr<CopiedPages>> kept;
  for (BodyId body = 1; body <= 10'000; ++body) {
    kept.push_back(copy_of(body));
    copies.add(kept.back());
  }
  CHECK(copies.tell(5'000, 3) == 1);
  CHECK(kept[4'999]->stale.size() == 1);
}

TEST_CASE("copies_under_way: those that nobody has any more are forgotten") {
  CopiesUnderWay copies;
  copies.add(copy_of(1));
  CHECK(copies.tell(1, 5) == 1);
  CHECK(copies.tell(1, 5) == 0);
  CHECK(copies.empty());
  // Of bodies that nobody changes, too.
  std::vector<std::shared_ptr<CopiedPages>> kept;
  for (BodyId body = 1; body <= 100'000; ++body) {
    const auto copied = copy_of(body);
    if (body % 10'000 == 0) kept.push_back(copied);
    copies.add(copied);
  }
  CHECK(copies.size() <= 100);
  for (const auto& copied : kept) CHECK(copies.tell(copied->from, 7) == 1);
}

}  // namespace
}  // namespace hexad::core
