// hexad device replace, catch-up: devices that are given what they lack.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/findings.h"
#include "tools/verbs/look.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Ends with what is left. Interrupted, the store goes on with it at its next opening. `copied`:
// bytes that a new device has already.
Result<int> catch_up(Session& session, Store& store, std::uint64_t rate,
                     std::optional<std::uint64_t> copied = std::nullopt) {
  CatchUpReport report;
  {
    Progress progress(session.out(), session.clock(), "catch-up", 0);
    std::uint64_t told = 0;
    CatchUpOptions options;
    options.rate = rate;
    options.progress = [&](const CatchUpReport& so_far) {
      progress.set_total(so_far.bytes_total);
      const std::uint64_t done =
          so_far.bytes_total - std::min(so_far.bytes_total, so_far.bytes_missing);
      progress.advance(done - std::min(done, told));
      told = std::max(told, done);
      return !interrupted();
    };
    HEXAD_TRY_ASSIGN(report, store.catch_up(options));
  }
  if (session.out().json()) {
    Json object{{"bytes_total", report.bytes_total},
                {"bytes_missing", report.bytes_missing},
                {"findings", findings_as_json(report.findings)}};
    if (copied.has_value()) object["bytes_copied"] = *copied;
    session.out().object(object);
  } else {
    print_findings(session.out(), report.findings);
    if (copied.value_or(0) > 0) {
      session.out().note(
          fmt::format("{} were copied from the device that goes", format_size(*copied)));
    }
    session.out().note(fmt::format("{} were missing, {} are now", format_size(report.bytes_total),
                                   format_size(report.bytes_missing)));
  }
  if (interrupted()) return interrupted_error();
  return report.bytes_missing > 0 ? kExitDamaged : kExitOk;
}

RuntimeOptions by_hand() {
  RuntimeOptions options;
  options.catch_up = CatchUp::kWhenAsked;
  return options;
}

class DeviceCatchUp final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", rate_, "Bytes read per second at most [no limit]");
  }

  Result<int> run(Session& session) override {
    return session.with_store(
        Access::kReadWrite, [&](Store& store) { return catch_up(session, store, rate_); },
        by_hand());
  }

 private:
  std::uint64_t rate_ = 0;
};

class DeviceReplace final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of the device that goes, as device ls shows it");
    arguments.positional("PATH", path_, "The new device; what does not exist becomes a file");
    arguments.size("--rate", rate_, "Bytes read per second at most [no limit]");
  }

  Result<int> run(Session& session) override {
    Replacement replacement{0, path_, rate_};
    HEXAD_TRY_ASSIGN(replacement.device, parse_device(id_, session));
    HEXAD_TRY_ASSIGN(const StoreStatus before, look_at_devices(session));
    std::optional<Progress> progress;
    std::uint64_t copied = 0;
    replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (!progress.has_value()) progress.emplace(session.out(), session.clock(), "copy", total);
      progress->advance(done - std::min(done, copied));
      copied = done;
      return !interrupted();
    };
    Result<Store> opened = session.open_replacing(replacement, by_hand());
    progress.reset();
    if (!opened.ok() && interrupted()) return interrupted_error();
    HEXAD_TRY(opened.status());
    Store store = *std::move(opened);
    // The new device is a member: where the description did not say so, a crash from here on would
    // leave it looking lost.
    HEXAD_TRY(
        put_path_in_place(session, path_before(before, replacement.device), replacement.path));
    Result<int> caught_up = catch_up(session, store, rate_, copied);
    const Status closed = store.close();
    if (caught_up.ok() && !closed.ok()) return closed.error();
    return caught_up;
  }

 private:
  static std::string path_before(const StoreStatus& before, DeviceId id) {
    for (const DeviceStatus& device : before.devices) {
      if (device.id == id && device.role == "data") return device.path;
    }
    return "";
  }

  std::string id_;
  std::string path_;
  std::uint64_t rate_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_device_catch_up() { return std::make_unique<DeviceCatchUp>(); }
std::unique_ptr<Verb> make_device_replace() { return std::make_unique<DeviceReplace>(); }

}  // namespace hexad::tools
