// hexad device add, remove: one device more, and one less.
//
// The description of the pool names a device for as long as it is one of the pool, and somewhat
// longer on both sides: whatever ends a verb in between, no opening misses a device.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/verbs/look.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class DeviceAdd final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("PATH", path_, "The new device; what does not exist becomes a file");
  }

  Result<int> run(Session& session) override {
    path_ = absolute_path(path_);
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      return add(
          session, [&] { return holder->add_device(path_); }, [&] { return holder->status(); });
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) {
      return add(
          session,
          [&] {
            return store.add_device(path_,
                                    [](std::uint64_t, std::uint64_t) { return !interrupted(); });
          },
          [&] { return Result<StoreStatus>(store.status()); });
    });
  }

 private:
  using Look = std::function<Result<StoreStatus>()>;

  Result<int> add(Session& session, const std::function<Result<DeviceId>()>& work,
                  const Look& look) {
    HEXAD_TRY_ASSIGN(const bool named, add_path(session, path_));
    const Result<DeviceId> id = work();
    if (!id.ok()) {
      if (named) take_back(session, look);
      return id.error();
    }
    // It is a device of the pool, whether or not that can be looked at.
    const Result<StoreStatus> status = look();
    DeviceStatus added;
    if (status.ok()) added = find_device(*status, *id).value_or(added);
    if (session.out().json()) {
      session.out().object(Json{{"id", *id},
                                {"path", path_},
                                {"state", added.state},
                                {"size", added.size},
                                {"slabs", added.slabs}});
    } else {
      session.out().note(fmt::format(
          "{} is device {} of the pool now; what is full moves to it while a process has the pool "
          "open, or at once by hexad device move {}",
          path_, *id, session.pool().word()));
    }
    return kExitOk;
  }

  // Where it may have become one all the same, its path stays: a store that has turned read-only
  // does not know which of its roots counts.
  void take_back(Session& session, const Look& look) const {
    const Result<StoreStatus> status = look();
    const bool member = !status.ok() || status->read_only ||
                        std::any_of(status->devices.begin(), status->devices.end(),
                                    [this](const DeviceStatus& device) {
                                      return !device.role.empty() && device.path == path_;
                                    });
    if (!status.ok()) {
      session.out().warn(
          fmt::format("whether {} has become a device of the pool could not be looked up, so the "
                      "pool's description goes on naming it, which does no harm: {}",
                      path_, status.error().to_string()));
    } else if (status->read_only) {
      session.out().warn(
          fmt::format("the store has turned read-only, and {} may be a device of it when it is "
                      "opened next: the pool's description goes on naming it, which does no harm",
                      path_));
    }
    const Status taken = member ? Status() : remove_path(session, path_);
    if (!taken.ok()) {
      session.out().warn(
          fmt::format("the pool's description still names {}, which does no harm: {}", path_,
                      taken.error().to_string()));
    }
  }

  std::string path_;
};

class DeviceRemove final : public Verb {
 public:
  void declare(Arguments& arguments) override {
    arguments.positional("ID", id_, "Number of a device that has been drained");
  }

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const DeviceId id, parse_device(id_, session));
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY_ASSIGN(const StoreStatus before, holder->status());
      HEXAD_TRY(holder->remove_device(id));
      return done(session, before, id);
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      const StoreStatus before = store.status();
      HEXAD_TRY(store.remove_device(id));
      return done(session, before, id);
    });
  }

 private:
  static Result<int> done(Session& session, const StoreStatus& before, DeviceId id) {
    const DeviceStatus device = find_device(before, id).value_or(DeviceStatus{});
    if (is_its_path(before, device)) {
      if (const Status removed = remove_path(session, device.path); !removed.ok()) {
        session.out().warn(
            fmt::format("the pool's description still names {}, which does no harm: {}",
                        device.path, removed.error().to_string()));
      }
    }
    if (session.out().json()) {
      session.out().object(Json{{"id", id}, {"path", device.path}});
    } else {
      session.out().note(fmt::format("device {}{} is no device of the pool any more", id,
                                     device.path.empty() ? "" : " (" + device.path + ")"));
    }
    return kExitOk;
  }

  std::string id_;
};

}  // namespace

std::unique_ptr<Verb> make_device_add() { return std::make_unique<DeviceAdd>(); }
std::unique_ptr<Verb> make_device_remove() { return std::make_unique<DeviceRemove>(); }

}  // namespace hexad::tools
