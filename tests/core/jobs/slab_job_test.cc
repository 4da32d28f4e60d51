#include "core/jobs/slab_job.h"

#include <catch2/catch.hpp>
#include <functional>

#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

struct World {
  io::SimSystem system;
  SlabJob::Round round;
  Status outcome;
  std::function<void(const std::function<bool()>&)> meanwhile;
  int rounds = 0;
  SlabJob job{system.clock(), [this](const std::function<bool()>& go_on) -> Result<SlabJob::Round> {
                ++rounds;
                if (meanwhile) meanwhile(go_on);
                HEXAD_TRY(outcome);
                return round;
              }};

  void has(std::uint64_t left, std::uint64_t moved, const std::string& problem = "") {
    round.left = left;
    round.moved = moved;
    round.problem = problem;
  }
};

TEST_CASE("slab job: due when it is asked, from then on, until nothing is left") {
  World w;
  w.system.run([&] {
    CHECK(w.job.due() == std::nullopt);
    w.job.want(SlabJob::kFirstWait);
    CHECK(w.job.due() == SlabJob::kFirstWait);
    w.system.executor().sleep_for(SlabJob::kFirstWait);
    CHECK(w.job.due() == io::Nanos{0});
    w.has(3, 2);
    CHECK(w.job.step().value());
    CHECK(w.job.due() == io::Nanos{0});  // it took no time
    CHECK(w.job.progress().done == 2);
    CHECK(w.job.progress().total == 3);
    w.has(1, 1);
    CHECK(w.job.step().value());
    CHECK(w.job.progress().total == 0);
    w.has(0, 0);
    CHECK(w.job.step().value());
    CHECK(w.job.due() == std::nullopt);
    CHECK(w.rounds == 3);
  });
}

TEST_CASE("slab job: as long a rest behind a round as it took") {
  World w;
  w.system.run([&] {
    w.has(9, 1);
    w.meanwhile = [&](const std::function<bool()>&) { w.system.executor().sleep_for(700); };
    w.job.want();
    CHECK(w.job.step().ok());
    CHECK(w.job.due() == io::Nanos{700});
  });
}

TEST_CASE("slab job: what cannot be moved is said, and tried less and less often") {
  World w;
  w.system.run([&] {
    w.has(4, 0, "no place");
    w.job.want();
    CHECK(w.job.step().error().message == "no place");
    CHECK(w.job.due() == SlabJob::kFirstPause);
    for (int i = 0; i < 20; ++i) CHECK_FALSE(w.job.step().ok());
    CHECK(w.job.due() == SlabJob::kLongestPause);
    w.job.want();  // something has changed
    CHECK(w.job.due() == io::Nanos{0});
    CHECK_FALSE(w.job.step().ok());
    CHECK(w.job.due() == SlabJob::kFirstPause);
    // Who needed the space has got it.
    w.round.given_up = true;
    const io::Nanos before = *w.job.due();
    CHECK_FALSE(w.job.step().ok());
    CHECK_FALSE(w.job.step().ok());
    CHECK(*w.job.due() <= 2 * before);
    w.outcome = Error{ErrorCode::kIo, "dead", ""};
    CHECK(w.job.step().error().message == "dead");
    CHECK(w.job.due().has_value());
  });
}

TEST_CASE("slab job: who asks during a round is heard") {
  World w;
  w.system.run([&] {
    w.has(4, 0, "no place");
    w.meanwhile = [&](const std::function<bool()>&) { w.job.want(); };
    w.job.want();
    CHECK_FALSE(w.job.step().ok());
    CHECK(w.job.due() == io::Nanos{0});
  });
}

TEST_CASE(
    "slab job: slabs that are not free yet are looked at again; stopped, it goes no further") {
  World w;
  w.system.run([&] {
    w.has(0, 0);
    w.round.leaving = true;
    w.job.want();
    CHECK(w.job.step().value());
    CHECK(w.job.due() == SlabJob::kLeaving);
    bool asked = false;
    w.meanwhile = [&](const std::function<bool()>& go_on) {
      CHECK(go_on());
      w.job.stop();
      CHECK_FALSE(go_on());
      asked = true;
    };
    CHECK(w.job.step().ok());
    CHECK(asked);
    CHECK(w.job.due() == std::nullopt);
  });
}

}  // namespace
}  // namespace hexad::core
