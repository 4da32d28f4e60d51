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

Result<int> tell_fast(Session& session, DeviceId id, const std::string& directory) {
  if (session.out().json()) {
    session.out().object(Json{{"id", id}, {"path", directory}});
  } else {
    session.out().note(fmt::format(
        "{} has the log of device {} now; the index goes there when the pool is opened again",
        directory, id));
  }
  return kExitOk;
}

// The description names both directories as long as either may be one of the pool.
Result<int> replace_fast(Session& session, const StoreStatus& before, DeviceId id,
                         const std::string& old, const std::string& directory,
                         const std::function<Result<DeviceId>()>& replace,
                         const std::function<Result<StoreStatus>()>& look) {
  HEXAD_TRY_ASSIGN(const bool named, add_fast_path(session, before, directory));
  const Result<DeviceId> replaced = replace();
  if (!replaced.ok()) {
    if (named) take_back_path(session, look(), directory, PathOf::kFast);
    return replaced.error();
  }
  HEXAD_TRY(put_fast_in_place(session, old, directory));
  return tell_fast(session, id, directory);
}

// In a pool that another process has. The description names both devices as long as either may be
// one of the pool.
class Asked {
 public:
  Asked(Session& session, const core::ControlClient& holder, DeviceId id, const std::string& path,
        std::uint64_t rate)
      : session_(session), holder_(holder), id_(id), path_(absolute_path(path)), rate_(rate) {}

  Result<int> run() {
    if (rate_ > 0) {
      return Error{
          ErrorCode::kInvalidArgument,
          "--rate is for a pool that nobody has: the process that has it copies at its own "
          "pace",
          "Leave it out."};
    }
    HEXAD_TRY_ASSIGN(const StoreStatus before, holder_.status());
    if (const auto fast = fast_directory_of(before, id_); fast.has_value()) {
      const auto replace = [&] { return holder_.replace_device(id_, path_); };
      const auto look = [&] { return holder_.status(); };
      return replace_fast(session_, before, id_, *fast, path_, replace, look);
    }
    HEXAD_TRY_ASSIGN(const bool named, add_path(session_, path_));
    const Result<DeviceId> by = holder_.replace_device(id_, path_);
    if (!by.ok()) {
      if (named) take_back();
      return by.error();
    }
    if (*by != id_) HEXAD_TRY(empty_and_remove(*by));
    const DeviceStatus old = find_device(before, id_).value_or(DeviceStatus{});
    if (is_its_path(before, old) && old.path != path_) {
      if (const Status removed = remove_path(session_, old.path); !removed.ok()) {
        session_.out().warn(
            fmt::format("the pool's description still names {}, which does no harm: {}", old.path,
                        removed.error().to_string()));
      }
    }
    return tell(*by);
  }

 private:
  static constexpr io::Nanos kStep = 200'000'000;  // between two looks
  static constexpr int kMostTries = 300;           // for slabs that are kept for a moment

  // Where it may have become a device of the pool all the same, its path stays.
  void take_back() const {
    const Result<StoreStatus> status = holder_.status();
    if (!status.ok()) return;
    for (const DeviceStatus& device : status->devices) {
      if (!device.role.empty() && device.path == path_) return;
    }
    remove_path(session_, path_).ignore();
  }

  Error left_off(const Error& why, DeviceId by) const {
    return Error{why.code,
                 fmt::format("{}; {} is device {} of the pool, and device {} is being drained",
                             why.message, path_, by, id_),
                 fmt::format("The same command goes on; hexad device undrain {} {} takes it back.",
                             session_.pool().word(), id_)};
  }

  // The process moves what lies on the old one, and is asked to remove it then.
  Status empty_and_remove(DeviceId by) const {
    {
      std::optional<Progress> progress;
      std::uint32_t slabs = 0;
      std::uint64_t each = 0;
      for (;;) {
        const Result<StoreStatus> status = holder_.status();
        if (!status.ok()) return left_off(status.error(), by);
        const std::optional<DeviceStatus> old = find_device(*status, id_);
        if (!old.has_value()) return {};  // somebody has removed it
        if (old->state != "draining") {
          return left_off(Error{ErrorCode::kUnavailable,
                                fmt::format("device {} ({}) is {} now, with {} slabs left on it",
                                            id_, old->path, old->state, old->slabs_used),
                                ""},
                          by);
        }
        if (!progress.has_value()) {
          slabs = old->slabs_used;
          each = old->size / std::max<std::uint32_t>(old->slabs, 1);  // about
          progress.emplace(session_.out(), session_.clock(), "move", slabs * each);
        }
        if (old->slabs_used < slabs) progress->advance((slabs - old->slabs_used) * each);
        slabs = std::min(slabs, old->slabs_used);
        if (slabs == 0) break;
        session_.executor().sleep_for(kStep);
        if (interrupted()) return left_off(interrupted_error(), by);
      }
    }
    for (int i = 0;; ++i) {
      const Status removed = holder_.remove_device(id_);
      if (removed.ok()) return {};
      if (removed.error().code != ErrorCode::kUnavailable || i == kMostTries) {
        return left_off(removed.error(), by);
      }
      session_.executor().sleep_for(kStep);
      if (interrupted()) return left_off(interrupted_error(), by);
    }
  }

  Result<int> tell(DeviceId by) const {
    DeviceStatus now;
    const Result<StoreStatus> status = holder_.status();
    if (status.ok()) now = find_device(*status, by).value_or(now);
    if (session_.out().json()) {
      session_.out().object(Json{
          {"id", by}, {"path", path_}, {"state", now.state}, {"missing_bytes", now.missing_bytes}});
    } else if (by == id_) {
      session_.out().note(fmt::format(
          "{} is device {} now; it lacks {}, which the process that has the pool gives it: hexad "
          "wait {} --for rebuild",
          path_, id_, format_size(now.missing_bytes), session_.pool().word()));
    } else {
      session_.out().note(
          fmt::format("{} is device {} of the pool, in the place of device {}, which "
                      "is no device of the pool any more",
                      path_, by, id_));
    }
    return kExitOk;
  }

  Session& session_;
  const core::ControlClient& holder_;
  const DeviceId id_;
  const std::string path_;
  const std::uint64_t rate_;
};

class DeviceReplace final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of the device that goes, as device ls shows it");
    arguments.positional("PATH", path_,
                         "The new device, or fast directory; what does not exist is made");
    arguments.size("--rate", rate_, "Bytes read per second at most [no limit]");
  }

  Result<int> run(Session& session) override {
    Replacement replacement{0, path_, rate_};
    HEXAD_TRY_ASSIGN(replacement.device, parse_device(id_, session));
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) return Asked(session, *holder, replacement.device, path_, rate_).run();
    if (interrupted()) return interrupted_error();
    HEXAD_TRY_ASSIGN(const StoreStatus before, look_at_devices(session));
    if (const auto fast = fast_directory_of(before, replacement.device); fast.has_value()) {
      replacement.path = absolute_path(path_);
      replacement.progress = [](std::uint64_t, std::uint64_t) { return !interrupted(); };
      return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
        return replace_fast(
            session, before, replacement.device, *fast, replacement.path,
            [&] { return store.replace_device(replacement); },
            [&] { return Result<StoreStatus>(store.status()); });
      });
    }
    // An opening that puts another one in its place has a moment with one less.
    if (before.redundant_devices && before.parity_cells == 0) {
      return replace_beside(session, before, std::move(replacement));
    }
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
  // Without parity: the device is emptied onto the others, of which the new one is one more.
  static Result<int> replace_beside(Session& session, const StoreStatus& before,
                                    Replacement replacement) {
    replacement.path = absolute_path(replacement.path);
    std::optional<Progress> progress;
    std::uint64_t moved = 0;
    replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
      if (!progress.has_value()) progress.emplace(session.out(), session.clock(), "move", total);
      progress->advance(done - std::min(done, moved));
      moved = std::max(done, moved);
      return !interrupted();
    };
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY_ASSIGN(const bool named, add_path(session, replacement.path));
      const Result<DeviceId> by = store.replace_device(replacement);
      progress.reset();
      if (!by.ok()) {
        const StoreStatus now = store.status();
        const bool member =
            std::any_of(now.devices.begin(), now.devices.end(), [&](const DeviceStatus& device) {
              return !device.role.empty() && device.path == replacement.path;
            });
        if (named && !member) remove_path(session, replacement.path).ignore();
        if (interrupted()) return interrupted_error();
        return by.error();
      }
      const std::string old = path_before(before, replacement.device);
      if (!old.empty() && old != replacement.path) HEXAD_TRY(remove_path(session, old));
      if (session.out().json()) {
        session.out().object(
            Json{{"id", *by}, {"path", replacement.path}, {"state", "ok"}, {"missing_bytes", 0}});
      } else {
        session.out().note(fmt::format(
            "{} is device {} of the pool, in the place of device {}, which is no device "
            "of the pool any more",
            replacement.path, *by, replacement.device));
      }
      return kExitOk;
    });
  }

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
