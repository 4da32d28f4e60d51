// hexad scrub: exit code 3 when something could not be put right.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

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

void print(Output& out, const ScrubReport& report) {
  print_findings(out, report.findings);
  out.note(fmt::format("{} errors, {} repaired; checked {} stripes, {}", report.errors(),
                       report.findings.size() - report.errors(), report.stripes_checked,
                       format_size(report.bytes_checked)));
  if (!report.next.empty()) out.note(fmt::format("to go on: --from {}", report.next));
}

class Scrub final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", options_.rate, "Bytes read per second at most [no limit]");
    arguments.option("--from", options_.from, "Go on where a scrub was stopped, as it said");
  }

  Result<int> run(Session& session) override {
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
        print(session.out(), report);
      }
      if (interrupted()) return interrupted_error();
      return report.errors() > 0 ? kExitDamaged : kExitOk;
    });
  }

 private:
  static std::uint64_t used(Store& store) {
    const Result<SpaceUsage> space = store.space();
    return space.ok() ? space->used : 0;
  }

  ScrubOptions options_;
};

}  // namespace

std::unique_ptr<Verb> make_scrub() { return std::make_unique<Scrub>(); }

}  // namespace hexad::tools
