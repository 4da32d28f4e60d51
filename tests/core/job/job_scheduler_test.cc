#include "core/job/job_scheduler.h"

#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/sim/sim_executor.h"

namespace hexad::core {
namespace {

constexpr io::Nanos kSecond = 1'000'000'000;

// A job that does what the test says.
class TestJob : public Job {
 public:
  TestJob(std::string name, io::Executor& executor) : name_(std::move(name)), executor_(executor) {}

  std::string_view name() const override { return name_; }
  std::string_view purpose() const override { return "what the test wants"; }
  std::optional<io::Nanos> due() override {
    if (steps_left == 0) return std::nullopt;
    return std::max<io::Nanos>(0, at - executor_.clock().now());
  }
  Result<bool> step() override {
    --steps_left;
    if (taken) taken();
    const io::Nanos until = executor_.clock().now() + takes;
    while (!stopped && executor_.clock().now() < until) executor_.sleep_for(kSecond / 100);
    HEXAD_TRY(outcome);
    return does_something;
  }
  JobProgress progress() override { return {3, 8, "spoons"}; }
  void stop() override { stopped = true; }
  bool must_finish() const override { return finishes; }

  bool finishes = false;

  int steps_left = 0;
  io::Nanos at = 0;
  io::Nanos takes = 0;
  Status outcome;
  bool does_something = true;
  bool stopped = false;
  std::function<void()> taken;

 private:
  const std::string name_;
  io::Executor& executor_;
};

struct Fixture {
  io::SimExecutor sim{7};
  std::string order;
  TestJob a{"a", sim};
  TestJob b{"b", sim};
  TestJob c{"c", sim};
  JobScheduler jobs{sim};

  Fixture() {
    for (TestJob* const job : {&a, &b, &c}) {
      job->taken = [this, job] { order += job->name(); };
    }
  }
};

TEST_CASE("job scheduler: what is due is done, whenever it was made due") {
  Fixture f;
  f.a.steps_left = 1;  // before there are threads
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.sim.run([&] {
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond);
    CHECK(f.order == "a");
    for (int i = 0; i < 100; ++i) {  // amid the crew's looking for work, as the seed has it
      f.b.steps_left = 1;
      f.jobs.wake(f.b);
      f.sim.sleep_for(i);
    }
    f.sim.sleep_for(kSecond);
    CHECK(f.b.steps_left == 0);
    f.jobs.stop();
  });
}

TEST_CASE("job scheduler: jobs of a crew take turns, those of another do not wait") {
  Fixture f;
  f.a.steps_left = 3;
  f.b.steps_left = 3;
  f.c.steps_left = 1;
  f.a.takes = f.b.takes = kSecond;
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.jobs.add_crew("two", {&f.c});
  f.sim.run([&] {
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond / 2);
    CHECK(f.c.steps_left == 0);
    f.sim.sleep_for(10 * kSecond);
    std::erase(f.order, 'c');
    CHECK(f.order == "ababab");
    f.jobs.stop();
  });
}

TEST_CASE("job scheduler: a step that is due later is done then, without a wake-up") {
  Fixture f;
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.sim.run([&] {
    const io::Nanos begin = f.sim.clock().now();
    f.a.at = begin + 5 * kSecond;
    f.b.at = begin + 3 * kSecond;
    f.a.steps_left = f.b.steps_left = 1;
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(2 * kSecond);
    CHECK(f.order.empty());
    f.sim.sleep_for(2 * kSecond);
    CHECK(f.order == "b");
    f.sim.sleep_for(2 * kSecond);
    CHECK(f.order == "ba");
    f.jobs.stop();
  });
}

TEST_CASE("job scheduler: status says what runs, how far it is, and what went wrong last") {
  Fixture f;
  f.jobs.add_crew("one", {&f.a});
  f.jobs.add_crew("two", {&f.b});
  f.sim.run([&] {
    f.a.steps_left = 1;
    f.a.takes = 4 * kSecond;
    f.b.steps_left = 1;
    f.b.outcome = Error{ErrorCode::kNoSpace, "no spoons are left", "Wash some."};
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(2 * kSecond);
    std::vector<JobStatus> status = f.jobs.status();
    REQUIRE(status.size() == 2);
    CHECK(status[0].name == "a");
    CHECK(status[0].purpose == "what the test wants");
    CHECK(status[0].running);
    CHECK(status[0].seconds == Approx(2).margin(0.1));
    CHECK((status[0].done == 3 && status[0].total == 8 && status[0].unit == "spoons"));
    CHECK(status[0].steps == 0);
    CHECK_FALSE(status[1].running);
    CHECK(status[1].steps == 0);
    CHECK(status[1].problem.find("no spoons are left") != std::string::npos);
    f.sim.sleep_for(3 * kSecond);
    CHECK_FALSE(f.jobs.status()[0].running);
    CHECK(f.jobs.status()[0].steps == 1);

    // What had nothing to do leaves the problem, what did it takes it away.
    f.b.outcome = {};
    f.b.does_something = false;
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    f.sim.sleep_for(kSecond);
    CHECK_FALSE(f.jobs.status()[1].problem.empty());
    f.b.does_something = true;
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    f.sim.sleep_for(kSecond);
    CHECK(f.jobs.status()[1].problem.empty());
    CHECK(f.jobs.status()[1].steps == 1);

    // As does somebody else who did it.
    f.jobs.note(f.b, Error{ErrorCode::kIo, "the sink is broken", ""});
    CHECK_FALSE(f.jobs.status()[1].problem.empty());
    f.jobs.note(f.b, Status());
    CHECK(f.jobs.status()[1].problem.empty());
    f.jobs.stop();
  });
}

TEST_CASE("job scheduler: stop ends what is under way, and nothing begins after it") {
  Fixture f;
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.sim.run([&] {
    f.a.steps_left = 1;
    f.a.takes = 3600 * kSecond;
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond);
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    const io::Nanos begin = f.sim.clock().now();
    f.jobs.stop();
    CHECK(f.sim.clock().now() - begin < kSecond);
    CHECK(f.order == "a");
    f.jobs.wake(f.b);
    f.sim.sleep_for(kSecond);
    CHECK(f.order == "a");
    f.jobs.stop();  // again
  });
}

TEST_CASE("job scheduler: who waits for a job of a later crew gets what it waits for") {
  Fixture f;
  bool repaired = false;
  f.b.finishes = true;
  f.b.taken = [&] { repaired = true; };
  f.a.taken = [&] {
    f.sim.sleep_for(2 * kSecond);  // the scheduler is being stopped meanwhile
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    while (!repaired) f.sim.sleep_for(kSecond / 100);
  };
  f.c.steps_left = 0;
  f.jobs.add_crew("one", {&f.a});
  f.jobs.add_crew("two", {&f.b, &f.c});
  f.sim.run([&] {
    f.a.steps_left = 1;
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond);
    f.c.steps_left = 1;  // due, but nobody waits for it
    f.c.at = f.sim.clock().now() + kSecond;
    f.jobs.stop();
    CHECK(repaired);
    CHECK(f.c.steps_left == 1);
  });
}

TEST_CASE("job scheduler: what must be finished is, even when it was asked for amid the stop") {
  Fixture f;
  f.a.finishes = true;
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.sim.run([&] {
    f.a.steps_left = 5;
    f.b.steps_left = 5;
    f.a.takes = f.b.takes = kSecond;
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond / 2);
    f.jobs.stop();
    CHECK(f.a.steps_left == 0);
    CHECK(f.b.steps_left == 5);
  });
}

TEST_CASE("job scheduler: winding down, only what must be finished goes on, until the end") {
  Fixture f;
  f.b.finishes = true;
  f.jobs.add_crew("one", {&f.a, &f.b});
  f.sim.run([&] {
    f.a.steps_left = 5;
    f.a.takes = kSecond;
    REQUIRE(f.jobs.start().ok());
    f.sim.sleep_for(kSecond / 2);
    f.jobs.wind_down();
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    f.sim.sleep_for(10 * kSecond);
    CHECK(f.order == "ab");  // the step that was under way has ended
    CHECK(f.a.steps_left == 4);
    f.b.steps_left = 1;
    f.jobs.wake(f.b);
    f.sim.sleep_for(kSecond);
    CHECK(f.order == "abb");
    f.jobs.stop();
  });
}

TEST_CASE("job scheduler: a job of its own takes steps until the end, and goes with it") {
  io::SimExecutor sim{7};
  int taken = 0;
  {
    JobScheduler jobs{sim};
    auto job = std::make_unique<TestJob>("own", sim);
    job->steps_left = 3;
    job->taken = [&] { ++taken; };
    jobs.add_job("own", std::move(job));
    REQUIRE(jobs.status().size() == 1);
    sim.run([&] {
      REQUIRE(jobs.start().ok());
      sim.sleep_for(kSecond);
      jobs.stop();
    });
  }
  CHECK(taken == 3);
}

TEST_CASE("job scheduler: one that was never started stops") {
  Fixture f;
  f.jobs.add_crew("one", {&f.a});
  f.sim.run([&] { f.jobs.stop(); });
}

}  // namespace
}  // namespace hexad::core
