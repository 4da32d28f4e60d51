#include "tools/demo/workload.h"

#include <catch2/catch.hpp>

namespace hexad::tools::demo {
namespace {

constexpr std::uint64_t kSeed = 20;

TEST_CASE("demo workload: replaying the ledger gives what going step by step gave") {
  Model model;
  std::vector<Span> ledger;
  std::uint64_t number = 1;
  for (std::uint64_t round = 1; round <= 4; ++round) {
    const Span span{round, number, number + 10 * round};
    for (; number <= span.last; ++number) {
      apply_change(plan_change(kSeed, round, number, model), model);
    }
    ledger.push_back(span);
    CHECK(replay(kSeed, ledger) == model);
  }
  CHECK_FALSE(model.empty());
}

TEST_CASE("demo workload: no number of transactions looks like its neighbour") {
  Model model;
  for (std::uint64_t number = 1; number <= 200; ++number) {
    const Model before = model;
    const Change change = plan_change(kSeed, 1, number, model);
    CHECK(change.puts.size() >= 1);
    apply_change(change, model);
    CHECK(model != before);
  }
}

TEST_CASE("demo workload: what another round writes under the same number is different") {
  const Model empty;
  const Change first = plan_change(kSeed, 1, 7, empty);
  const Change second = plan_change(kSeed, 2, 7, empty);
  CHECK(first.puts != second.puts);
  const Origin origin = first.puts.begin()->second;
  Origin other = origin;
  other.round = 2;
  CHECK(content(kSeed, origin) == content(kSeed, origin));
  CHECK(content(kSeed, origin) != content(kSeed, other));
  CHECK(content(kSeed, origin).size() == origin.size);
}

TEST_CASE("demo workload: a transaction carries its puts, their marks and the head") {
  const Change change = plan_change(kSeed, 1, 3, {});
  const Transaction transaction = build(change, kSeed, 1, 3);
  CHECK(transaction.problem().ok());
  CHECK(transaction.size() ==
        2 * change.puts.size() + change.removes.size() + change.renames.size() + 1);
}

TEST_CASE("demo workload: the head says round and number and nothing else is one") {
  const Result<Head> head = parse_head(head_text(12, 345));
  REQUIRE(head.ok());
  CHECK(head->round == 12);
  CHECK(head->number == 345);
  for (const char* text : {"", "1", "1 ", "a 1", "1 2 3", "1 2x"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_head(text).ok());
  }
}

TEST_CASE("demo workload: a ledger with a gap, an overlap or a broken line is refused") {
  REQUIRE(parse_ledger("").ok());
  const Result<std::vector<Span>> ledger = parse_ledger("1 1 5\n3 6 6\n");
  REQUIRE(ledger.ok());
  REQUIRE(ledger->size() == 2);
  CHECK(ledger->back().last == 6);
  for (const char* text : {"1 2 5\n", "1 1 5\n2 7 8\n", "1 1 5\n2 5 8\n", "1 3\n", "1 5 4\n"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_ledger(text).ok());
  }
}

}  // namespace
}  // namespace hexad::tools::demo
