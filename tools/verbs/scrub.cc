// hexad scrub, scrub start, pause, resume, stop, status: exit code 3 when something could not be
// put right. Where another process has the pool, that one scrubs, if it answers.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/findings.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

Json as_json(const ScrubReport& report) {
  return Json{{"errors", report.errors()},
              {"findings", findings_as_json(report.findings)},
              {"stripes_checked", report.stripes_checked},
              {"bytes_checked", report.bytes_checked},
              {"bad_header_slots", report.bad_header_slots},
              {"next", report.next.empty() ? Json(nullptr) : Json(report.next)}};
}

// Where an unfinished pass goes on. Nothing where `report` is of a whole one.
void tell_next(Session& session, const ScrubReport& report) {
  if (report.next.empty()) return;
  session.out().note(
      fmt::format("to go on: hexad scrub {} --from {}", session.pool().word(), report.next));
}

void print(Session& session, const ScrubReport& report) {
  Output& out = session.out();
  print_findings(out, report.findings);
  out.note(fmt::format("{} errors, {} repaired; checked {} stripes, {}", report.errors(),
                       report.findings.size() - report.errors(), report.stripes_checked,
                       format_size(report.bytes_checked)));
  tell_next(session, report);
}

constexpr io::Nanos kStep = 200'000'000;  // between two looks at a scrub that goes on elsewhere

// Of the scrub of another process, running or not.
Result<int> show(Session& session, const core::ControlScrub& scrub) {
  Output& out = session.out();
  if (out.json()) {
    Json object = as_json(scrub.report);
    object["errors"] = scrub.errors;
    object["repaired"] = scrub.repaired;
    object["running"] = scrub.running;
    object["paused"] = scrub.paused;
    object["bytes_expected"] = scrub.report.bytes_expected;
    object["failure"] = scrub.failure.empty() ? Json(nullptr) : Json(scrub.failure);
    out.object(object);
  } else if (scrub.began == 0) {
    out.note("no scrub has been asked for since the pool was opened");
  } else {
    const bool unfinished = scrub.running || scrub.paused;
    print_findings(out, scrub.report.findings);
    out.note(fmt::format(
        "{}{} errors, {} repaired; checked {} stripes, {}{}",
        scrub.running ? "running: " : (scrub.paused ? "paused: " : ""), scrub.errors,
        scrub.repaired, scrub.report.stripes_checked, format_size(scrub.report.bytes_checked),
        unfinished ? " of about " + format_size(scrub.report.bytes_expected) : ""));
    if (scrub.paused) {
      out.note(fmt::format("to go on: hexad scrub resume {}", session.pool().word()));
    } else if (!scrub.running) {
      tell_next(session, scrub.report);
    }
    if (!scrub.failure.empty()) out.note("it ended early: " + scrub.failure);
  }
  if (interrupted()) return interrupted_error();
  if (!scrub.failure.empty()) return kExitUnavailable;
  return scrub.errors > 0 ? kExitDamaged : kExitOk;
}

// How far the scrub is that `before` is an account of. Errors: those of core::ControlClient; kBusy
// where another one has begun, so that nobody knows what became of it.
Result<core::ControlScrub> look_again(Session& session, const core::ControlClient& holder,
                                      const core::ControlScrub& before) {
  Result<core::ControlScrub> now = holder.scrub();
  if (now.ok() && now->began == before.began) return now;
  Error error = now.ok() ? Error{ErrorCode::kBusy,
                                 "somebody has ended the scrub, and another one has begun", ""}
                         : now.error();
  if (error.code != ErrorCode::kBusy) return error;
  if (!session.out().json()) print_findings(session.out(), before.report.findings);
  const std::string& next = before.report.next;
  error.hint = fmt::format("To go on where it was: hexad scrub {}", session.pool().word());
  if (!next.empty()) error.hint += " --from " + next;
  return error;
}

// Until it rests. Interrupted, it goes on.
Result<core::ControlScrub> await_rest(Session& session, const core::ControlClient& holder,
                                      core::ControlScrub scrub) {
  while (scrub.running && !interrupted()) {
    session.executor().sleep_for(kStep);
    HEXAD_TRY_ASSIGN(scrub, look_again(session, holder, scrub));
  }
  return scrub;
}

class Scrub final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", options_.rate, "Bytes read per second at most [no limit]");
    arguments.option("--from", options_.from, "Go on where a scrub was stopped, as it said");
  }

  Result<int> run(Session& session) override {
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) return follow(session, *holder);
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      ScrubReport report;
      {
        Progress progress(session.out(), session.clock(), "scrub",
                          options_.from.empty() ? used(store) : 0);
        std::uint64_t told = 0;
        options_.progress = [&](const ScrubReport& so_far) {
          progress.advance(so_far.bytes_checked - told);
          told = so_far.bytes_checked;
          return !interrupted();
        };
        HEXAD_TRY_ASSIGN(report, store.scrub(options_));
      }
      if (session.out().json()) {
        session.out().object(as_json(report));
      } else {
        print(session, report);
      }
      if (interrupted()) return interrupted_error();
      return report.errors() > 0 ? kExitDamaged : kExitOk;
    });
  }

 private:
  // Until the scrub is through that the other process does.
  Result<int> follow(Session& session, const core::ControlClient& holder) {
    HEXAD_TRY_ASSIGN(core::ControlScrub scrub, holder.start_scrub(options_.rate, options_.from));
    {
      Progress progress(session.out(), session.clock(), "scrub", 0);
      std::uint64_t told = 0;
      bool stopping = false;
      bool told_of_pause = false;
      while (scrub.running || scrub.paused) {
        session.executor().sleep_for(kStep);
        if (interrupted() && !std::exchange(stopping, true)) {
          // It may be through by itself by now.
          holder.stop_scrub().status().ignore();
        }
        HEXAD_TRY_ASSIGN(scrub, look_again(session, holder, scrub));
        if (scrub.paused && !std::exchange(told_of_pause, true)) {
          session.out().warn(fmt::format("the scrub is paused; hexad scrub resume {} goes on",
                                         session.pool().word()));
        }
        told_of_pause = scrub.paused;
        progress.set_total(scrub.report.bytes_expected);
        progress.advance(scrub.report.bytes_checked - told);
        told = scrub.report.bytes_checked;
      }
    }
    const bool unfinished = scrub.failure.empty() && !scrub.report.next.empty();
    if (unfinished && !interrupted()) scrub.failure = "somebody has stopped it";
    return show(session, scrub);
  }

  static std::uint64_t used(Store& store) {
    const Result<SpaceUsage> space = store.space();
    return space.ok() ? space->used : 0;
  }

  ScrubOptions options_;
};

// Those that make no sense without a process that has the pool.
class ScrubOfHolder : public Verb {
 public:
  void declare(Arguments&) override {}
  Result<int> run(Session& session) final {
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) return run_with(session, *holder);
    Error error = holder.error();
    if (error.code == ErrorCode::kNotFound && error.message == "nobody answers") {
      error.message = "no process that has the pool answers, so no scrub goes on in the background";
      error.hint = fmt::format("To scrub here and now: hexad scrub {}", session.pool().word());
    }
    return error;
  }

 protected:
  virtual Result<int> run_with(Session& session, const core::ControlClient& holder) = 0;
};

class ScrubStart final : public ScrubOfHolder {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", rate_, "Bytes read per second at most [no limit]");
    arguments.option("--from", from_, "Go on where a scrub was stopped, as it said");
  }

 private:
  Result<int> run_with(Session& session, const core::ControlClient& holder) override {
    HEXAD_TRY_ASSIGN(const core::ControlScrub scrub, holder.start_scrub(rate_, from_));
    return show(session, scrub);
  }

  std::uint64_t rate_ = 0;
  std::string from_;
};

class ScrubStop final : public ScrubOfHolder {
  Result<int> run_with(Session& session, const core::ControlClient& holder) override {
    HEXAD_TRY_ASSIGN(core::ControlScrub scrub, holder.stop_scrub());
    HEXAD_TRY_ASSIGN(scrub, await_rest(session, holder, std::move(scrub)));
    return show(session, scrub);
  }
};

class ScrubPause final : public ScrubOfHolder {
  Result<int> run_with(Session& session, const core::ControlClient& holder) override {
    HEXAD_TRY_ASSIGN(core::ControlScrub scrub, holder.pause_scrub());
    HEXAD_TRY_ASSIGN(scrub, await_rest(session, holder, std::move(scrub)));
    return show(session, scrub);
  }
};

class ScrubResume final : public ScrubOfHolder {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", rate_, "Bytes read per second at most [as before]");
  }

 private:
  Result<int> run_with(Session& session, const core::ControlClient& holder) override {
    HEXAD_TRY_ASSIGN(const core::ControlScrub scrub, holder.resume_scrub(rate_));
    return show(session, scrub);
  }

  std::uint64_t rate_ = 0;
};

class ScrubStatus final : public ScrubOfHolder {
  Result<int> run_with(Session& session, const core::ControlClient& holder) override {
    HEXAD_TRY_ASSIGN(const core::ControlScrub scrub, holder.scrub());
    HEXAD_TRY_ASSIGN(const StoreStatus status, holder.status());
    Result<int> code = show(session, scrub);
    // Those that nobody has asked for over the socket are not in the account.
    if (scrub.running) return code;
    for (const JobStatus& job : status.jobs) {
      if (job.name != "scrub" || !job.running) continue;
      session.out().note(fmt::format("the process scrubs by itself: {} of about {}",
                                     format_size(job.done), format_size(job.total)));
    }
    return code;
  }
};

}  // namespace

std::unique_ptr<Verb> make_scrub_start() { return std::make_unique<ScrubStart>(); }
std::unique_ptr<Verb> make_scrub_pause() { return std::make_unique<ScrubPause>(); }
std::unique_ptr<Verb> make_scrub_resume() { return std::make_unique<ScrubResume>(); }
std::unique_ptr<Verb> make_scrub_stop() { return std::make_unique<ScrubStop>(); }
std::unique_ptr<Verb> make_scrub_status() { return std::make_unique<ScrubStatus>(); }
std::unique_ptr<Verb> make_scrub() { return std::make_unique<Scrub>(); }

}  // namespace hexad::tools
