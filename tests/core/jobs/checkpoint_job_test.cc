#include "core/jobs/checkpoint_job.h"

#include <catch2/catch.hpp>
#include <functional>

namespace hexad::core {
namespace {

class TestClock : public io::Clock {
 public:
  io::Nanos now() const override { return time; }
  io::Nanos wall_time() const override { return time; }
  io::Nanos time = 1'000'000'000;
};

struct World {
  TestClock clock;
  bool due = true;
  bool unmerged = true;
  Status outcome;
  std::function<void()> meanwhile;
  int made = 0;
  CheckpointJob job{clock,
                    {[this] {
                       ++made;
                       if (meanwhile) meanwhile();
                       return outcome;
                     },
                     [this] { return due; }, [this] { return unmerged; }}};
};

TEST_CASE("checkpoint job: made when it is due, or wanted whether or not it is") {
  World w;
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.job.note_due());
  CHECK_FALSE(w.job.note_due());
  CHECK(w.job.due() == io::Nanos{0});
  CHECK(w.job.step().value());
  CHECK(w.made == 1);
  CHECK(w.job.due() == std::nullopt);

  // It was due, and the attempt before has done it.
  w.due = false;
  CHECK(w.job.note_due());
  CHECK_FALSE(w.job.step().value());
  CHECK(w.made == 1);

  CHECK(w.job.want());
  CHECK(w.job.step().value());
  CHECK(w.made == 2);
}

TEST_CASE("checkpoint job: who asks while one is made is heard") {
  World w;
  w.meanwhile = [&] { CHECK(w.job.want()); };
  REQUIRE(w.job.want());
  REQUIRE(w.job.step().ok());
  CHECK(w.job.due() == io::Nanos{0});
}

TEST_CASE("checkpoint job: one that failed is not due again by what it did itself") {
  World w;
  w.outcome = Error{ErrorCode::kIo, "broken", ""};
  w.meanwhile = [&] { w.job.note_due(); };
  REQUIRE(w.job.want());
  CHECK(w.job.step().error().code == ErrorCode::kIo);
  CHECK(w.job.due() == std::nullopt);
}

TEST_CASE("checkpoint job: a merge waits for one, and gets one of its own in the end") {
  World w;
  w.due = false;
  w.job.note_merged();
  CHECK(w.job.due() == CheckpointJob::kInstallAfter);
  w.clock.time += CheckpointJob::kInstallAfter - 1;
  CHECK(w.job.due() == io::Nanos{1});
  w.clock.time += 1;
  CHECK(w.job.due() == io::Nanos{0});
  w.unmerged = false;  // another checkpoint has taken it in
  CHECK_FALSE(w.job.step().value());
  CHECK(w.job.due() == std::nullopt);

  w.job.note_merged();
  w.unmerged = true;
  w.clock.time += CheckpointJob::kInstallAfter;
  // The next merge ends while its checkpoint is made: it has its time, too.
  w.meanwhile = [&] { w.job.note_merged(); };
  CHECK(w.job.step().value());
  CHECK(w.made == 1);
  CHECK(w.job.due() == CheckpointJob::kInstallAfter);
}

}  // namespace
}  // namespace hexad::core
