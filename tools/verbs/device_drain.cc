// hexad device drain, undrain, move: what lies on one device goes to others.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/drain_text.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

constexpr io::Nanos kStep = 200'000'000;  // between two looks at what another process does

Error no_device(DeviceId id) {
  return Error{ErrorCode::kNotFound, "the pool has no device " + std::to_string(id),
               "hexad device ls POOL shows those that it has."};
}

// Of a pool that this process has. Interrupted, the store goes on with it at its next opening.
Result<MoveReport> move_slabs(Session& session, Store& store, std::uint64_t rate) {
  Progress progress(session.out(), session.clock(), "move", 0);
  std::uint64_t told = 0;
  MoveOptions options;
  options.rate = rate;
  options.progress = [&](const MoveReport& so_far) {
    // How much the slabs that are left hold is not known: as much as those that have been moved.
    if (so_far.slabs_moved > 0) {
      const std::uint64_t each = so_far.bytes_moved / so_far.slabs_moved;
      progress.set_total(so_far.bytes_moved + each * so_far.slabs_left);
    }
    progress.advance(so_far.bytes_moved - std::min(so_far.bytes_moved, told));
    told = std::max(told, so_far.bytes_moved);
    return !interrupted();
  };
  return store.move_slabs(options);
}

// What a lost device held has room on others by now, and is built again there. Interrupted, the
// store goes on with it at its next opening.
Status fill_devices(Session& session, Store& store, std::uint64_t rate) {
  const auto missing = [](const StoreStatus& status) {
    std::uint64_t bytes = 0;
    for (const DeviceStatus& device : status.devices) bytes += device.missing_bytes;
    return bytes;
  };
  const std::uint64_t total = missing(store.status());
  if (total == 0) return {};
  Progress progress(session.out(), session.clock(), "rebuild", total);
  std::uint64_t told = 0;
  CatchUpOptions options;
  options.rate = rate;
  options.progress = [&](const CatchUpReport& so_far) {
    const std::uint64_t done = total - std::min(total, so_far.bytes_missing);
    progress.advance(done - std::min(done, told));
    told = std::max(told, done);
    return !interrupted();
  };
  HEXAD_TRY_ASSIGN(const CatchUpReport report, store.catch_up(options));
  if (report.bytes_missing == 0 || interrupted()) return {};
  const std::string why = report.findings.empty() ? "" : ": " + report.findings.front().problem;
  session.out().alarm(fmt::format("devices still lack {}{}; hexad device catch-up {} tries again",
                                  format_size(report.bytes_missing), why, session.pool().word()));
  return {};
}

void add_report(Json& object, const MoveReport& report) {
  object["slabs_moved"] = report.slabs_moved;
  object["slabs_left"] = report.slabs_left;
  object["bytes_moved"] = report.bytes_moved;
  object["problem"] = report.problem.empty() ? Json(nullptr) : Json(report.problem);
}

std::string describe(const MoveReport& report) {
  std::string text =
      fmt::format("{} slab{} moved, {} copied", report.slabs_moved,
                  report.slabs_moved == 1 ? " was" : "s were", format_size(report.bytes_moved));
  if (report.slabs_left > 0) {
    text += fmt::format("; {} {} left", report.slabs_left, report.slabs_left == 1 ? "is" : "are");
  }
  return text;
}

Result<int> code_of(Output& out, const MoveReport& report) {
  if (interrupted()) return interrupted_error();
  if (report.slabs_left == 0) return kExitOk;
  if (!report.problem.empty()) out.alarm("not everything was moved: " + report.problem);
  return kExitDifference;
}

class DeviceMove final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.size("--rate", rate_, "Bytes copied per second at most [no limit]");
  }

  Result<int> run(Session& session) override {
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY_ASSIGN(const MoveReport report, move_slabs(session, store, rate_));
      if (session.out().json()) {
        Json object = Json::object();
        add_report(object, report);
        session.out().object(object);
      } else {
        session.out().note(describe(report));
      }
      return code_of(session.out(), report);
    });
  }

 private:
  std::uint64_t rate_ = 0;
};

class DeviceDrain final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of the device that is to go, as device ls shows it");
    arguments.flag("--until-empty", until_empty_,
                   "Return when nothing is left on it, and what it held is on others");
    arguments.size("--rate", rate_,
                   "With --until-empty: bytes copied per second at most [no limit]");
    arguments.flag("-n,--dry-run", dry_run_, "Only say what would be moved; change nothing");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(id_, session));
    if (rate_ > 0 && !until_empty_) {
      return Error{ErrorCode::kInvalidArgument, "--rate is for what is moved now",
                   "Give --until-empty, too."};
    }
    if (dry_run_) return foretell(session, id);
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      if (rate_ > 0) {
        return Error{ErrorCode::kInvalidArgument,
                     "--rate is for a pool that nobody has: the process that has it moves slabs at "
                     "its own pace",
                     "Leave it out."};
      }
      HEXAD_TRY(holder->drain_device(id));
      HEXAD_TRY_ASSIGN(const StoreStatus status,
                       until_empty_ ? wait_for(session, *holder, id) : holder->status());
      return tell(session, status, id);
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY(store.drain_device(id));
      if (!until_empty_) return tell(session, store.status(), id);
      HEXAD_TRY_ASSIGN(const MoveReport report, move_slabs(session, store, rate_));
      if (!interrupted()) HEXAD_TRY(fill_devices(session, store, rate_));
      HEXAD_TRY(tell(session, store.status(), id, &report).status());
      return code_of(session.out(), report);
    });
  }

 private:
  // The process that has the pool moves it.
  static Result<StoreStatus> wait_for(Session& session, const core::ControlClient& holder,
                                      DeviceId id) {
    for (;;) {
      Result<StoreStatus> status = holder.status();
      if (!status.ok()) {
        return Error{status.error().code, status.error().message,
                     fmt::format("The device is being drained; hexad wait {} --for drain waits on.",
                                 session.pool().word())};
      }
      const std::optional<DeviceStatus> device = find_device(*status, id);
      if (!device.has_value()) return no_device(id);
      const bool filled =
          std::none_of(status->devices.begin(), status->devices.end(),
                       [](const DeviceStatus& one) { return one.state == "filling"; });
      if (!has_slabs_to_move(*device) && filled) return status;
      session.executor().sleep_for(kStep);
      if (interrupted()) return interrupted_error();
    }
  }

  static Result<int> tell(Session& session, const StoreStatus& status, DeviceId id,
                          const MoveReport* report = nullptr) {
    const std::optional<DeviceStatus> device = find_device(status, id);
    if (!device.has_value()) return no_device(id);
    if (session.out().json()) {
      Json object{{"id", id},
                  {"path", device->path},
                  {"state", device->state},
                  {"slabs", device->slabs},
                  {"slabs_used", device->slabs_used}};
      if (report != nullptr) add_report(object, *report);
      session.out().object(object);
      return kExitOk;
    }
    if (report != nullptr) session.out().note(describe(*report));
    const std::string name = fmt::format("device {} ({})", id, device->path);
    const std::string drain = describe_drain(*device);
    const std::string word = session.pool().word();
    if (drain.empty()) {  // somebody has ended it, or it has failed
      session.out().note(fmt::format("{} is {}", name, device->state));
    } else if (has_slabs_to_move(*device)) {
      session.out().note(fmt::format(
          "{} {}; they go to others while a process has the pool open, or at once by hexad device "
          "move {}",
          name, drain, word));
    } else {
      session.out().note(
          fmt::format("{} {}; hexad device remove {} {} takes it away", name, drain, word, id));
    }
    return kExitOk;
  }

  static Result<int> foretell(Session& session, DeviceId id) {
    return session.with_view([&](PoolView& pool) -> Result<int> {
      HEXAD_TRY_ASSIGN(const StoreStatus status, pool.status());
      const std::optional<DeviceStatus> device = find_device(status, id);
      if (!device.has_value()) return no_device(id);
      HEXAD_TRY_ASSIGN(const SpaceUsage space, pool.space());
      std::uint64_t bytes = 0;
      for (const DeviceSpace& one : space.per_device) {
        if (one.id == id) bytes = one.used;
      }
      if (session.out().json()) {
        session.out().object(Json{{"id", id},
                                  {"path", device->path},
                                  {"state", device->state},
                                  {"slabs", device->slabs},
                                  {"slabs_used", device->slabs_used},
                                  {"bytes_to_move", bytes},
                                  {"faults_tolerated", status.faults_tolerated}});
      } else {
        session.out().write(fmt::format(
            "{} of {} slabs of device {} ({}), with {} in them, would move to others; {} more "
            "device{} may be lost meanwhile, as now\n",
            device->slabs_used, device->slabs, id, device->path, format_size(bytes),
            status.faults_tolerated, status.faults_tolerated == 1 ? "" : "s"));
      }
      return kExitOk;
    });
  }

  std::string id_;
  std::uint64_t rate_ = 0;
  bool until_empty_ = false;
  bool dry_run_ = false;
};

class DeviceUndrain final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of the device that is to stay");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(id_, session));
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY(holder->undrain_device(id));
      HEXAD_TRY_ASSIGN(const StoreStatus status, holder->status());
      return tell(session, status, id);
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY(store.undrain_device(id));
      return tell(session, store.status(), id);
    });
  }

 private:
  static Result<int> tell(Session& session, const StoreStatus& status, DeviceId id) {
    const std::optional<DeviceStatus> device = find_device(status, id);
    if (!device.has_value()) return no_device(id);
    if (session.out().json()) {
      session.out().object(Json{{"id", id},
                                {"path", device->path},
                                {"state", device->state},
                                {"slabs", device->slabs},
                                {"slabs_used", device->slabs_used}});
    } else {
      session.out().note(fmt::format("device {} ({}) is used like the others", id, device->path));
    }
    return kExitOk;
  }

  std::string id_;
};

}  // namespace

std::unique_ptr<Verb> make_device_drain() { return std::make_unique<DeviceDrain>(); }
std::unique_ptr<Verb> make_device_undrain() { return std::make_unique<DeviceUndrain>(); }
std::unique_ptr<Verb> make_device_move() { return std::make_unique<DeviceMove>(); }

}  // namespace hexad::tools
