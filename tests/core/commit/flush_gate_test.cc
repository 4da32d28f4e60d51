#include "core/commit/flush_gate.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "io/rng.h"

namespace hexad::core {
namespace {

TEST_CASE("flush_gate: who comes while a flush is under way waits for the next one, together") {
  FlushGate gate(1);
  std::deque<FlushWaiter> waiters(4);
  REQUIRE(gate.arrive(waiters[0], {{0, nullptr}}).size() == 1);
  for (int i = 1; i < 4; ++i) REQUIRE(gate.arrive(waiters[i], {{0, nullptr}}).empty());
  FlushGate::Ended first = gate.ended(0, FlushEnd::kDurable);
  REQUIRE(first.settled == std::vector<FlushWaiter*>{&waiters[0]});
  REQUIRE(first.next.has_value());
  FlushGate::Ended second = gate.ended(0, FlushEnd::kDurable);
  REQUIRE(second.settled == std::vector<FlushWaiter*>{&waiters[1], &waiters[2], &waiters[3]});
  REQUIRE_FALSE(second.next.has_value());
  for (const FlushWaiter& waiter : waiters) REQUIRE_FALSE(waiter.flush_failed);
}

TEST_CASE("flush_gate: domains may come later, with devices that come back") {
  FlushGate gate(1);
  FlushWaiter waiter;
  const std::vector<FlushNeed> now = gate.arrive(waiter, {{3, nullptr}});
  REQUIRE(now.size() == 1);
  REQUIRE(waiter.flushes_left == 1);
  REQUIRE(gate.ended(3, FlushEnd::kDurable).settled == std::vector<FlushWaiter*>{&waiter});
}

TEST_CASE("flush_gate: a waiter is settled by the last of its domains") {
  FlushGate gate(3);
  FlushWaiter waiter;
  REQUIRE(gate.arrive(waiter, {{0, nullptr}, {2, nullptr}}).size() == 2);
  REQUIRE(gate.ended(2, FlushEnd::kDurable).settled.empty());
  REQUIRE(gate.ended(0, FlushEnd::kDurable).settled == std::vector<FlushWaiter*>{&waiter});
}

TEST_CASE("flush_gate: a failed flush fails who waits, and who comes later, in its domain alone") {
  FlushGate gate(2);
  FlushWaiter covered, waiting, late, other;
  REQUIRE(gate.arrive(covered, {{0, nullptr}, {1, nullptr}}).size() == 2);
  REQUIRE(gate.arrive(waiting, {{0, nullptr}}).empty());
  const FlushGate::Ended ended = gate.ended(0, FlushEnd::kFailed);
  REQUIRE(ended.settled == std::vector<FlushWaiter*>{&waiting});
  REQUIRE_FALSE(ended.next.has_value());
  REQUIRE(waiting.flush_failed);
  REQUIRE(gate.arrive(late, {{0, nullptr}}).empty());
  REQUIRE(late.flushes_left == 0);
  REQUIRE(late.flush_failed);
  REQUIRE(gate.arrive(other, {{1, nullptr}}).empty());
  REQUIRE(gate.ended(1, FlushEnd::kDurable).settled == std::vector<FlushWaiter*>{&covered});
  REQUIRE(covered.flush_failed);
  REQUIRE(gate.ended(1, FlushEnd::kDurable).settled == std::vector<FlushWaiter*>{&other});
  REQUIRE_FALSE(other.flush_failed);
}

// Time is a counter; a flush remembers when it began, a waiter when it came.
TEST_CASE("flush_gate: random arrivals and ends keep G1 to G3") {
  constexpr std::size_t kDomains = 3;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    FlushGate gate(kDomains);
    struct Model {
      FlushWaiter waiter;
      std::vector<FlushDomain> needs;
      std::uint64_t came = 0;
      bool fails = false;
      bool settled = false;
    };
    std::deque<Model> models;
    std::vector<std::uint64_t> began(kDomains, 0);  // of the flush under way; 0: none
    std::vector<bool> poisoned(kDomains, false);
    std::uint64_t now = 0;
    const auto model_of = [&](FlushWaiter* waiter) -> Model& {
      return *std::find_if(models.begin(), models.end(),
                           [&](const Model& model) { return &model.waiter == waiter; });
    };
    const auto begin = [&](const FlushNeed& need) {
      REQUIRE(began[need.domain] == 0);      // G1
      REQUIRE_FALSE(poisoned[need.domain]);  // G3
      began[need.domain] = ++now;
    };
    for (int step = 0; step < 80; ++step) {
      const auto domain = static_cast<FlushDomain>(rng.below(kDomains));
      if (rng.chance(1, 2)) {
        Model& model = models.emplace_back();
        model.came = ++now;
        std::vector<FlushNeed> needs;
        for (FlushDomain d = 0; d < kDomains; ++d) {
          if (d != domain && rng.chance(1, 2)) continue;
          needs.push_back({d, nullptr});
          if (poisoned[d]) {
            model.fails = true;
          } else {
            model.needs.push_back(d);
          }
        }
        for (const FlushNeed& need : gate.arrive(model.waiter, needs)) begin(need);
        model.settled = model.waiter.flushes_left == 0;
        REQUIRE(model.settled == model.needs.empty());
      } else if (began[domain] != 0) {
        const bool success = rng.chance(9, 10);
        const FlushGate::Ended ended =
            gate.ended(domain, success ? FlushEnd::kDurable : FlushEnd::kFailed);
        std::vector<FlushWaiter*> expected;
        for (Model& model : models) {
          if (model.settled || std::count(model.needs.begin(), model.needs.end(), domain) == 0) {
            continue;
          }
          if (success && model.came > began[domain]) continue;
          if (!success) model.fails = true;
          std::erase(model.needs, domain);
          if (model.needs.empty()) expected.push_back(&model.waiter);
        }
        REQUIRE(ended.settled == expected);  // G2
        for (FlushWaiter* waiter : ended.settled) {
          model_of(waiter).settled = true;
          REQUIRE(waiter->flush_failed == model_of(waiter).fails);
        }
        began[domain] = 0;
        if (!success) poisoned[domain] = true;
        if (ended.next.has_value()) begin(*ended.next);
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
