// hexad fsck: exit code 3 when anything is wrong that was not repaired, or, with --deep, devices
// are missing. Ctrl-C ends it between two of its looks, with what it has found.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/findings.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

Json as_json(const FsckReport& report, const Missing& missing) {
  return Json{{"errors", report.errors()},
              {"findings", findings_as_json(report.findings)},
              {"objects_checked", report.objects_checked},
              {"stripes_checked", report.stripes_checked},
              {"bytes_checked", report.bytes_checked},
              {"bad_header_slots", report.bad_header_slots},
              {"torn_cells", report.torn_cells},
              {"complete", report.complete},
              {"missing_devices", missing.devices}};
}

void print(Output& out, const FsckReport& report, const StoreStatus& status) {
  print_findings(out, report.findings);
  out.note(fmt::format("{} errors; checked {} objects, {} stripes, {}{}", report.errors(),
                       report.objects_checked, report.stripes_checked,
                       format_size(report.bytes_checked),
                       report.complete ? "" : ", and then it was interrupted"));
  if (report.torn_cells > 0) out.note(describe_torn(report.torn_cells, status));
}

class Fsck final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.flag("--deep", options_.deep, "Verify every checksum and re-encode parity");
    arguments.flag("--repair", options_.repair, "Write what can be put right");
  }

  Result<int> run(Session& session) override {
    const Access access = options_.repair ? Access::kReadWrite : Access::kReadOnly;
    return session.with_store(access, [&](Store& store) -> Result<int> {
      FsckReport report;
      {
        Progress progress(session.out(), session.clock(), "fsck", 0);
        FsckReport told;
        options_.progress = [&](const FsckReport& so_far) {
          progress.advance(so_far.bytes_checked - told.bytes_checked,
                           so_far.objects_checked - told.objects_checked);
          told.bytes_checked = so_far.bytes_checked;
          told.objects_checked = so_far.objects_checked;
          return !interrupted();
        };
        HEXAD_TRY_ASSIGN(report, store.fsck(options_));
      }
      // Their cells could not be looked at: nothing is wrong with the others, and too little is
      // there.
      const StoreStatus status = store.status();
      const Missing missing = missing_devices(status);
      if (session.out().json()) {
        session.out().object(as_json(report, missing));
      } else {
        print(session.out(), report, status);
      }
      if (!report.complete) return interrupted_error();
      const bool too_little = options_.deep && missing.devices > 0;
      return report.errors() > 0 || too_little ? kExitDamaged : kExitOk;
    });
  }

 private:
  FsckOptions options_;
};

}  // namespace

std::unique_ptr<Verb> make_fsck() { return std::make_unique<Fsck>(); }

}  // namespace hexad::tools
