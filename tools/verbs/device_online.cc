// hexad device online: a device that has left is taken in again.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/verbs/look.h"
#include "tools/verbs/pool_paths.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

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
    if (!path_.empty()) path_ = absolute_path(path_);
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
    if (path_.empty()) return {};
    std::string old;
    for (const DeviceStatus& device : before.devices) {
      if (device.id != id || device.role.empty()) continue;
      if (device.role != "data") return {};
      old = device.path;
    }
    return put_path_in_place(session, old, path_);
  }

  std::string id_;
  std::string path_;
};

}  // namespace

std::unique_ptr<Verb> make_device_online() { return std::make_unique<DeviceOnline>(); }

}  // namespace hexad::tools
