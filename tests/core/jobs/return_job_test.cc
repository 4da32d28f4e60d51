#include "core/jobs/return_job.h"

#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <vector>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

struct World {
  explicit World(Returns wanted = Returns::kByThemselves) : returns(wanted) {}
  const Returns returns;
  io::SimSystem system;
  std::vector<AwayDevice> away;
  ReturnJob::Attempt outcome;
  std::vector<DeviceId> attempts;
  std::function<void()> meanwhile;
  ReturnJob job{system.executor(),
                returns,
                {[this] { return away; },
                 [this](DeviceId id) {
                   attempts.push_back(id);
                   if (meanwhile) meanwhile();
                   return outcome;
                 }}};

  void wait() { system.executor().sleep_for(*job.due()); }
  // The job has heard of it, and has nothing to do yet.
  void leaves(DeviceId id) {
    away.push_back({id, Uuid{}});
    job.note_change();
    CHECK(job.due() == io::Nanos{0});
    CHECK_FALSE(job.step().value());
  }
};

TEST_CASE("return job: what has left is tried at its time, in silence as long as it is not there") {
  World w;
  w.system.run([&] {
    CHECK(w.job.due() == std::nullopt);
    CHECK_FALSE(w.job.step().value());
    w.leaves(3);
    CHECK(w.attempts.empty());
    for (const io::Nanos wait : {5, 10, 20, 40}) {
      CHECK(w.job.due() == wait * kSecond);
      CHECK(w.job.standing(3)->next == w.system.clock().now() + wait * kSecond);
      w.wait();
      CHECK_FALSE(w.job.step().value());
    }
    CHECK(w.attempts == std::vector<DeviceId>{3, 3, 3, 3});
    w.outcome.outcome = ReturnJob::Outcome::kBack;
    w.meanwhile = [&] { w.away.clear(); };
    w.wait();
    CHECK(w.job.step().value());
    CHECK(w.job.due() == std::nullopt);
    CHECK_FALSE(w.job.standing(3).has_value());
  });
}

TEST_CASE("return job: one that cannot be taken in is told, one that fails again counts") {
  World w;
  w.system.run([&] {
    w.leaves(3);
    w.outcome = {ReturnJob::Outcome::kRefused, "another one"};
    w.wait();
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.standing(3)->refused == "another one");
    w.outcome = {ReturnJob::Outcome::kBusy};
    w.wait();
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.due() == ReturnSchedule::kInAMoment);
    w.outcome = {ReturnJob::Outcome::kFailed, "headers"};
    w.wait();
    CHECK(w.job.step().error().message == "headers");
    CHECK(w.job.due() == 20 * kSecond);
    w.outcome = {ReturnJob::Outcome::kLeft, "it has failed"};
    for (int i = 0; i < 3; ++i) {
      w.wait();
      CHECK(w.job.step().error().message == "it has failed");
      CHECK(w.job.due() == io::Nanos{0});
      CHECK_FALSE(w.job.step().value());
    }
    CHECK(w.job.due() == std::nullopt);
    CHECK(w.job.standing(3)->stays_away);
    w.job.ask_for(3);
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.due() == ReturnSchedule::kFirstWait);
  });
}

TEST_CASE("return job: who leaves during a try is heard, and after stop() there is none") {
  World w;
  w.system.run([&] {
    w.leaves(3);
    w.meanwhile = [&] {
      if (w.away.size() == 1) w.away.push_back({5, Uuid{}});
      w.job.note_change();
    };
    w.wait();
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.due() == io::Nanos{0});
    CHECK_FALSE(w.job.step().value());
    CHECK(w.job.due() == 5 * kSecond);
    w.job.stop();
    CHECK(w.job.due() == std::nullopt);
    CHECK_FALSE(w.job.step().value());
  });
}

TEST_CASE("return job: where devices come back when they are asked for, it does nothing") {
  World w(Returns::kWhenAsked);
  w.system.run([&] {
    w.away.push_back({3, Uuid{}});
    w.job.note_change();
    CHECK(w.job.due() == std::nullopt);
    CHECK_FALSE(w.job.step().value());
    CHECK_FALSE(w.job.standing(3).has_value());
    CHECK(w.attempts.empty());
  });
}

}  // namespace
}  // namespace hexad::core
