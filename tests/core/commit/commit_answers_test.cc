#include "core/commit/commit_answers.h"

#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

struct AnswersWorld {
  io::SimSystem system{io::SimOptions{}};
  Counters counters;
  CommitAnswers answers{system.executor(), counters};
  std::vector<std::string> told;

  // Of LSN 1 to `last`.
  void fill(CommitGroup& made, int last) {
    for (int lsn = 1; lsn <= last; ++lsn) {
      Submission member;
      member.lsn = static_cast<std::uint64_t>(lsn);
      member.budget = std::make_shared<int>();
      member.done = [this, lsn,
                     budget = std::weak_ptr<void>(member.budget)](const Result<Lsn>& result) {
        REQUIRE(budget.expired());
        told.push_back((result.ok() ? "commit " : "no commit ") + std::to_string(lsn));
      };
      made.members.push_back(std::move(member));
    }
  }
  void wait_for(int lsn) {
    answers.add(static_cast<std::uint64_t>(lsn), [this, lsn](const Status& status) {
      told.push_back((status.ok() ? "up to " : "not ") + std::to_string(lsn));
    });
  }
};

using Told = std::vector<std::string>;

TEST_CASE("commit_answers: members are told in their order, then those who wait for an LSN") {
  AnswersWorld world;
  world.wait_for(3);
  world.wait_for(2);
  world.wait_for(1);
  CommitGroup group;
  world.fill(group, 2);
  LsnWaiters::WakeUp wake_up;
  CommitAnswers::Due due = world.answers.nothing_due();
  REQUIRE(due.empty());
  world.answers.take_members(group, due);
  world.answers.take_reached(2, 0, due, wake_up);
  REQUIRE(world.told.empty());
  due.tell(0);
  REQUIRE(world.told == Told{"commit 1", "commit 2", "up to 1", "up to 2"});
  REQUIRE(world.counters.since_open(CounterId::kTransactions) == 2);
}

TEST_CASE("commit_answers: nobody is told twice") {  // C2
  AnswersWorld world;
  world.wait_for(1);
  CommitGroup group;
  world.fill(group, 1);
  LsnWaiters::WakeUp wake_up;
  CommitAnswers::Due due = world.answers.nothing_due();
  world.answers.take_members(group, due);
  world.answers.take_reached(1, 1, due, wake_up);
  CommitAnswers::Due again = world.answers.nothing_due();
  world.answers.take_members(group, again);
  world.answers.take_reached(1, 1, again, wake_up);
  REQUIRE(again.empty());
  CommitAnswers::Calls calls;
  CommitAnswers::fail_members(group.members, Error{ErrorCode::kIo, "", ""}, calls);
  world.answers.fail_all(Error{ErrorCode::kIo, "", ""}, calls, wake_up);
  REQUIRE(calls.empty());
}

TEST_CASE("commit_answers: at the end those are told who were not answered") {
  AnswersWorld world;
  CommitGroup group;
  world.fill(group, 2);
  world.wait_for(1);
  LsnWaiters::WakeUp wake_up;
  CommitAnswers::Calls calls;
  CommitAnswers::fail_members(group.members, Error{ErrorCode::kIo, "", ""}, calls);
  world.answers.fail_all(Error{ErrorCode::kIo, "", ""}, calls, wake_up);
  for (const auto& call : calls) call();
  REQUIRE(world.told == Told{"no commit 1", "no commit 2", "not 1"});
}

}  // namespace
}  // namespace hexad::core
