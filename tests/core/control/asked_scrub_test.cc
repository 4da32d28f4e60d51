#include "core/control/asked_scrub.h"

#include <catch2/catch.hpp>
#include <condition_variable>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "core/check/scrub_position.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kSteps = 10;

// Where a scrub goes on behind so many of its steps.
std::string behind(std::uint32_t steps) {
  ScrubPosition position;
  position.unit = steps;
  return steps == kSteps ? "" : encode_position(position);
}

// A scrub of ten steps of 1 MiB, each of which waits until the test allows it.
struct Staged {
  Result<ScrubReport> run(const ScrubOptions& options) {
    passes.push_back(options);
    ScrubReport report;
    report.bytes_expected = kSteps * 1_MiB;
    std::uint32_t at = decode_position(options.from).value().unit;
    while (at < kSteps) {
      take(allowed);
      report.bytes_checked += 1_MiB;
      if (at == fails_at) return Error{ErrorCode::kIo, "staged", ""};
      for (int i = 0; i < findings_each; ++i) {
        report.findings.push_back({"step " + std::to_string(at), "bad", i == 0});
      }
      report.next = behind(++at);
      if (!options.progress(report) && at < kSteps) {
        take(may_leave);
        return report;
      }
    }
    report.bad_header_slots = 3;
    return report;
  }

  void take(int& count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return count > 0; });
    --count;
  }
  void give(int& count, int more) {
    const std::lock_guard<std::mutex> lock(mutex);
    count += more;
    changed.notify_all();
  }
  // So many steps of the scrub, and the account when they are done.
  ControlScrub step(int more) {
    const std::uint64_t then = scrub.show().report.bytes_checked + more * 1_MiB;
    give(allowed, more);
    ControlScrub shown = scrub.show();
    while (shown.report.bytes_checked < then) shown = scrub.show();
    return shown;
  }
  ControlScrub await_rest() {
    ControlScrub shown = scrub.show();
    while (shown.running) shown = scrub.show();
    return shown;
  }
  ControlScrub pause_at_next_step() {
    REQUIRE(scrub.pause()->running);
    give(allowed, 1);
    give(may_leave, 1);
    return await_rest();
  }
  ~Staged() {
    scrub.end();
    give(allowed, kSteps);
    give(may_leave, 1);
  }

  std::mutex mutex;
  std::condition_variable changed;
  int allowed = 0;
  int may_leave = 0;
  int findings_each = 0;
  std::uint32_t fails_at = kSteps;
  std::vector<ScrubOptions> passes;  // looked at when none runs
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  AskedScrub scrub{*executor, [this](const ScrubOptions& options) { return run(options); }};
};

struct Launched : Staged {
  Launched() { REQUIRE(scrub.launch().ok()); }
};

TEST_CASE("asked_scrub: one that is paused keeps its place, its rate and what it has found") {
  Launched staged;
  AskedScrub& scrub = staged.scrub;
  staged.findings_each = 2;
  REQUIRE(scrub.start(7, "")->running);
  staged.step(3);
  const ControlScrub paused = staged.pause_at_next_step();
  CHECK(paused.paused);
  CHECK(paused.report.next == behind(4));
  CHECK(paused.report.bytes_checked == 4_MiB);
  CHECK((paused.errors == 4 && paused.repaired == 4));
  const JobStatus job = scrub.job().value();
  CHECK_FALSE(job.running);
  CHECK((job.done == 4_MiB && job.total == 10_MiB));
  CHECK(scrub.pause()->paused);
  CHECK(scrub.start(0, "").error().code == ErrorCode::kAlreadyExists);

  const ControlScrub resumed = scrub.resume(0).value();
  CHECK((resumed.running && !resumed.paused));
  CHECK(scrub.resume(0).error().code == ErrorCode::kAlreadyExists);
  staged.step(6);
  const ControlScrub through = staged.await_rest();
  CHECK_FALSE(through.paused);
  CHECK(through.began == 1);
  CHECK(through.report.next.empty());
  CHECK(through.report.bytes_checked == 10_MiB);
  CHECK(through.report.findings.size() == 20);
  CHECK((through.errors == 10 && through.repaired == 10));
  CHECK(through.report.bad_header_slots == 3);
  REQUIRE(staged.passes.size() == 2);
  CHECK(staged.passes[1].from == behind(4));
  CHECK(staged.passes[1].rate == 7);
  CHECK(scrub.resume(0).error().code == ErrorCode::kNotFound);
  CHECK(scrub.pause().error().code == ErrorCode::kNotFound);
}

TEST_CASE("asked_scrub: a pause that is taken back costs nothing, before its step and behind it") {
  Launched staged;
  AskedScrub& scrub = staged.scrub;
  REQUIRE(scrub.start(0, "").ok());
  staged.step(1);
  REQUIRE(scrub.pause().ok());
  REQUIRE(scrub.resume(0)->running);
  staged.step(1);
  // The pass has heard of it, and is about to leave.
  REQUIRE(scrub.pause().ok());
  staged.step(1);
  REQUIRE(scrub.resume(5)->running);
  staged.give(staged.may_leave, 1);
  staged.step(7);
  const ControlScrub through = staged.await_rest();
  CHECK(through.report.bytes_checked == 10_MiB);
  CHECK(through.report.next.empty());
  REQUIRE(staged.passes.size() == 2);
  CHECK(staged.passes[1].from == behind(3));
  CHECK(staged.passes[1].rate == 5);
}

TEST_CASE("asked_scrub: one that is stopped says where to go on, and is not resumed") {
  Launched staged;
  AskedScrub& scrub = staged.scrub;
  REQUIRE(scrub.start(0, "").ok());
  REQUIRE(staged.pause_at_next_step().paused);
  const ControlScrub stopped = scrub.stop().value();
  CHECK_FALSE((stopped.running || stopped.paused));
  CHECK(stopped.report.next == behind(1));
  const Error error = scrub.resume(0).error();
  CHECK(error.code == ErrorCode::kNotFound);
  CHECK(error.hint.find("--from " + behind(1)) != std::string::npos);

  // A running one ends at its next step, and cannot be paused meanwhile.
  REQUIRE(scrub.start(0, stopped.report.next)->report.next == behind(1));
  REQUIRE(scrub.stop()->running);
  CHECK(scrub.pause().error().code == ErrorCode::kNotFound);
  CHECK(scrub.resume(0).error().code == ErrorCode::kNotFound);
  staged.give(staged.allowed, 1);
  staged.give(staged.may_leave, 1);
  CHECK(staged.await_rest().report.next == behind(2));
  CHECK(scrub.stop().error().code == ErrorCode::kNotFound);
}

TEST_CASE("asked_scrub: one that fails says why, and keeps its place") {
  Launched staged;
  staged.fails_at = 2;
  REQUIRE(staged.scrub.start(0, "").ok());
  staged.step(2);
  staged.give(staged.allowed, 1);
  const ControlScrub failed = staged.await_rest();
  CHECK(failed.failure.find("staged") != std::string::npos);
  CHECK_FALSE(failed.paused);
  CHECK(failed.report.next == behind(2));
  CHECK(staged.scrub.job()->problem == failed.failure);
}

TEST_CASE("asked_scrub: the first findings are kept, over all of its passes, and all are counted") {
  Launched staged;
  staged.findings_each = 300;
  REQUIRE(staged.scrub.start(0, "").ok());
  staged.step(1);
  REQUIRE(staged.pause_at_next_step().report.findings.size() == 600);
  REQUIRE(staged.scrub.resume(0).ok());
  staged.step(8);
  const ControlScrub through = staged.await_rest();
  REQUIRE(through.report.findings.size() == kMaxControlFindings);
  CHECK(through.report.findings[999].subject == "step 3");
  CHECK(through.errors + through.repaired == 3000);
}

TEST_CASE("asked_scrub: a place that is none is refused at once, and so is all when it has ended") {
  Launched staged;
  CHECK(staged.scrub.start(0, "nowhere").error().code == ErrorCode::kInvalidArgument);
  CHECK_FALSE(staged.scrub.job().has_value());
  REQUIRE(staged.scrub.start(0, "").ok());
  REQUIRE(staged.pause_at_next_step().paused);
  staged.scrub.end();
  CHECK(staged.scrub.resume(0).error().code == ErrorCode::kClosed);
  CHECK(staged.scrub.start(0, "").error().code == ErrorCode::kClosed);
}

TEST_CASE("asked_scrub: one whose thread was refused, or has nothing to do, ends") {
  { const Staged never; }
  { const Launched idle; }
}

}  // namespace
}  // namespace hexad::core
