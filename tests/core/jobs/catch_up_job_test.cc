#include "core/jobs/catch_up_job.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

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
  bool behind = true;
  std::uint64_t missing = 300;
  std::uint64_t used = 0;
  bool busy = true;  // somebody commits while a piece is filled
  std::vector<std::string> asked;
  ScrubReport report;
  Status filled;
  Status settled;
  int settlements = 0;
  CatchUpJob job{clock,
                 {[this] { return behind; },
                  [this](const ScrubOptions& piece) -> Result<ScrubReport> {
                    asked.push_back(piece.from);
                    CHECK_FALSE(piece.progress({}));
                    clock.time += 1000;
                    used += busy ? 1 : 0;
                    HEXAD_TRY(filled);
                    return report;
                  },
                  [this] {
                    ++settlements;
                    return settled;
                  },
                  [this] { return missing; }, [this] { return used; }}};
};

TEST_CASE("catch-up job: not before it is started, and not when nobody is behind") {
  World w;
  CHECK(w.job.due() == std::nullopt);
  w.job.start();
  CHECK(w.job.due() == io::Nanos{0});
  w.behind = false;
  CHECK(w.job.due() == std::nullopt);
  CHECK_FALSE(w.job.step().value());
  CHECK(w.asked.empty());
}

TEST_CASE("catch-up job: piece by piece, and it rests for as long as a piece took") {
  World w;
  w.job.start();
  w.report.next = "there";
  CHECK(w.job.step().value());
  CHECK(w.job.due() == io::Nanos{1000});
  w.clock.time += 1000;
  CHECK(w.job.due() == io::Nanos{0});
  w.missing = 100;
  CHECK(w.job.progress().done == 200);
  CHECK(w.job.progress().total == 300);
  CHECK(w.job.progress().unit == "bytes");
  w.report.next = "";
  CHECK(w.job.step().value());
  CHECK((w.asked == std::vector<std::string>{"", "there"}));
  CHECK(w.settlements == 1);
  w.behind = false;
  CHECK(w.job.due() == std::nullopt);
  CHECK(w.job.progress().total == 0);
}

TEST_CASE("catch-up job: it does not rest while nobody uses the store") {
  World w;
  w.job.start();
  w.report.next = "there";
  w.busy = false;
  CHECK(w.job.step().value());
  CHECK(w.job.due() == io::Nanos{0});
  w.used += 5;  // between two pieces: not beside one
  CHECK(w.job.step().value());
  CHECK(w.job.due() == io::Nanos{0});
  w.busy = true;
  CHECK(w.job.step().value());
  CHECK(w.job.due() == io::Nanos{1000});
}

TEST_CASE("catch-up job: what could not be filled is said, and tried again after longer pauses") {
  World w;
  w.job.start();
  w.report.findings.push_back({"object a", "too few cells", false});
  io::Nanos pause = CatchUpJob::kFirstPause;
  for (int i = 0; i < 20; ++i) {
    const Result<bool> step = w.job.step();
    REQUIRE_FALSE(step.ok());
    CHECK(step.error().message == "object a: too few cells");
    CHECK(w.job.due() == pause);
    w.clock.time += pause;
    pause = std::min(2 * pause, CatchUpJob::kLongestPause);
  }
  CHECK(w.settlements == 0);
  w.report.findings.clear();
  CHECK(w.job.step().value());
  CHECK(w.settlements == 1);
}

TEST_CASE("catch-up job: what a pass has met that was broken off says nothing of the next one") {
  World w;
  w.job.start();
  w.report.findings.push_back({"object a", "too few cells", false});
  w.report.next = "there";
  CHECK(w.job.step().value());
  w.filled = Error{ErrorCode::kIo, "the metadata cannot be read", ""};
  CHECK(w.job.step().error().code == ErrorCode::kIo);
  w.filled = {};
  w.report = {};
  CHECK(w.job.step().value());
  CHECK(w.settlements == 1);
  CHECK((w.asked == std::vector<std::string>{"", "there", ""}));
}

TEST_CASE("catch-up job: it ends when the store is closed") {
  World w;
  w.job.start();
  w.job.stop();
  CHECK(w.job.due() == std::nullopt);
}

}  // namespace
}  // namespace hexad::core
