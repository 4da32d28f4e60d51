// hexad device ls, replace, catch-up: the devices of a pool, and what happens to them.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/progress.h"
#include "tools/verbs/device_errors.h"
#include "tools/verbs/findings.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

// Of a pool that opens, or whose process answers, or else as far as its labels and roots tell.
Result<StoreStatus> look(Session& session) {
  Result<OpenView> pool = session.open_view();
  if (!pool.ok()) {
    HEXAD_TRY_ASSIGN(const PoolDescription description, session.pool().describe());
    Result<StoreStatus> inspected = inspect(description);
    return inspected.ok() ? std::move(inspected) : Result<StoreStatus>(pool.error());
  }
  HEXAD_TRY_ASSIGN(const StoreStatus status, pool->view->status());
  HEXAD_TRY(pool->close());
  return status;
}

class DeviceLs final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const StoreStatus status, look(session));
    Json devices = Json::array();
    for (const DeviceStatus& device : status.devices) {
      Json object{{"id", device.id},
                  {"path", device.path},
                  {"role", device.role},
                  {"state", device.state},
                  {"detail", device.detail},
                  {"size", device.size},
                  {"missing_bytes", device.missing_bytes}};
      add_errors(object, device);
      devices.push_back(std::move(object));
      std::string line = fmt::format("{:>3}  {:<5} {:<10} {:>10}  {}", device.id, device.role,
                                     device.state, format_size(device.size), device.path);
      if (device.missing_bytes > 0) {
        line += fmt::format("; lacks {}", format_size(device.missing_bytes));
      }
      if (!device.detail.empty()) line += "; " + device.detail;
      if (const std::string errors = describe_errors(device); !errors.empty()) {
        line += "; since this opening: " + errors;
      }
      if (const std::string errors = describe_all_errors(device); !errors.empty()) {
        line += "; " + errors;
      }
      if (const std::string last = describe_completion(device.last_completion); !last.empty()) {
        line += "; " + last;
      }
      if (!session.out().json()) session.out().write(line + "\n");
    }
    if (session.out().json()) session.out().object(Json{{"devices", devices}});
    return kExitOk;
  }
};

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

// The process that has the pool takes the device in; where nobody has it, an opening does, which
// takes in all that are attached.
class DeviceOnline final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of the device that is back, as device ls shows it");
    arguments.option("--path", path_, "Where it is now [where it was]");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(id_, session));
    // The process that is asked may be in another folder.
    if (!path_.empty()) path_ = std::filesystem::absolute(path_).lexically_normal();
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY_ASSIGN(const StoreStatus before, holder->status());
      HEXAD_TRY(holder->bring_back_device(id, path_));
      note_path(session, before, id);
      HEXAD_TRY_ASSIGN(const StoreStatus status, holder->status());
      return tell(session, status, id);
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      const StoreStatus before = store.status();
      const Status back = store.bring_back_device(id, path_);
      // The opening has taken it in, then.
      if (!back.ok() && back.error().code != ErrorCode::kAlreadyExists) return back.error();
      if (back.ok()) note_path(session, before, id);
      return tell(session, store.status(), id);
    });
  }

 private:
  static Result<int> tell(Session& session, const StoreStatus& status, DeviceId id) {
    for (const DeviceStatus& device : status.devices) {
      if (device.id != id || device.role.empty()) continue;
      if (session.out().json()) {
        session.out().object(Json{{"id", device.id},
                                  {"path", device.path},
                                  {"state", device.state},
                                  {"missing_bytes", device.missing_bytes}});
      } else {
        session.out().note(fmt::format(
            "device {} ({}) is used again{}", id, device.path,
            device.missing_bytes > 0
                ? "; it lacks " + format_size(device.missing_bytes) + ", which it gets now"
                : ""));
      }
      return kExitOk;
    }
    return Error{ErrorCode::kNotFound, "the pool has no device " + std::to_string(id), ""};
  }

  // The device is used, whether that can be written down or not.
  void note_path(Session& session, const StoreStatus& before, DeviceId id) const {
    if (const Status noted = describe(session, before, id); !noted.ok()) {
      session.out().warn("the pool's description does not have the new path: " +
                         noted.error().to_string());
    }
  }

  // The next opening looks there, too.
  Status describe(Session& session, const StoreStatus& before, DeviceId id) const {
    if (path_.empty() || session.pool().directory.empty()) return {};
    std::string old;
    for (const DeviceStatus& device : before.devices) {
      if (device.id != id || device.role.empty()) continue;
      if (device.role != "data") return {};
      old = device.path;
    }
    HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
    if (std::find(pool.devices.begin(), pool.devices.end(), path_) != pool.devices.end()) return {};
    const auto at = std::find(pool.devices.begin(), pool.devices.end(), old);
    if (at != pool.devices.end()) {
      *at = path_;
    } else {
      pool.devices.push_back(path_);
    }
    return write_pool(session.pool().directory, pool);
  }

  std::string id_;
  std::string path_;
};

class DeviceClearErrors final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positionals("ID", words_, "Numbers of devices, as device ls shows them [all]",
                          Need::kOptional);
  }

  Result<int> run(Session& session) override {
    std::vector<DeviceId> ids;
    for (const std::string& word : words_) {
      HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(word, session));
      ids.push_back(id);
    }
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY(store.clear_device_errors(ids));
      if (session.out().json()) session.out().object(Json{{"devices", ids}});
      return kExitOk;
    });
  }

 private:
  std::vector<std::string> words_;
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
    HEXAD_TRY_ASSIGN(const StoreStatus before, look(session));
    HEXAD_TRY_ASSIGN(PoolDescription pool, session.pool().describe());
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
    HEXAD_TRY(describe(session, before, replacement, pool));
    Result<int> caught_up = catch_up(session, store, rate_, copied);
    const Status closed = store.close();
    if (caught_up.ok() && !closed.ok()) return closed.error();
    return caught_up;
  }

 private:
  static Status describe(Session& session, const StoreStatus& before,
                         const Replacement& replacement, PoolDescription& pool) {
    if (session.pool().directory.empty()) return {};
    std::string old;
    for (const DeviceStatus& device : before.devices) {
      if (device.id == replacement.device && device.role == "data") old = device.path;
    }
    const auto at = std::find(pool.devices.begin(), pool.devices.end(), old);
    const auto there = std::find(pool.devices.begin(), pool.devices.end(), replacement.path);
    if (there != pool.devices.end()) return {};
    if (at != pool.devices.end()) {
      *at = replacement.path;
    } else {
      pool.devices.push_back(replacement.path);
    }
    return write_pool(session.pool().directory, pool);
  }

  std::string id_;
  std::string path_;
  std::uint64_t rate_ = 0;
};

}  // namespace

std::unique_ptr<Verb> make_device_ls() { return std::make_unique<DeviceLs>(); }
std::unique_ptr<Verb> make_device_catch_up() { return std::make_unique<DeviceCatchUp>(); }
std::unique_ptr<Verb> make_device_clear_errors() { return std::make_unique<DeviceClearErrors>(); }
std::unique_ptr<Verb> make_device_online() { return std::make_unique<DeviceOnline>(); }
std::unique_ptr<Verb> make_device_replace() { return std::make_unique<DeviceReplace>(); }

}  // namespace hexad::tools
