// hexad device ls, clear-errors: the devices of a pool, and what is remembered of them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "tools/cli/interrupt.h"
#include "tools/verbs/device_errors.h"
#include "tools/verbs/drain_text.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

class DeviceLs final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const StoreStatus status, look_at_devices(session));
    Json devices = Json::array();
    for (const DeviceStatus& device : status.devices) {
      Json object{{"id", device.id},
                  {"path", device.path},
                  {"role", device.role},
                  {"state", device.state},
                  {"draining", device.draining},
                  {"failure_domain", device.failure_domain},
                  {"detail", device.detail},
                  {"size", device.size},
                  {"slabs", device.slabs},
                  {"slabs_used", device.slabs_used},
                  {"missing_bytes", device.missing_bytes}};
      add_errors(object, device);
      devices.push_back(std::move(object));
      std::string line = fmt::format("{:>3}  {:<5} {:<10} {:>10}  {}", device.id, device.role,
                                     device.state, format_size(device.size), device.path);
      if (const std::string drain = describe_drain(device); !drain.empty()) {
        line += "; " + drain;
      } else if (device.slabs > 0) {
        line += fmt::format("; {} of {} slabs used", device.slabs_used, device.slabs);
      }
      if (!device.failure_domain.empty()) line += "; in " + device.failure_domain;
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
      if (!session.out().json()) session.out().write(session.out().typed(line) + "\n");
    }
    if (session.out().json()) session.out().object(Json{{"devices", devices}});
    return kExitOk;
  }
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
    const Result<core::ControlClient> holder = session.find_holder();
    if (holder.ok()) {
      HEXAD_TRY(ask(*holder, ids));
      return tell(session, ids);
    }
    if (interrupted()) return interrupted_error();
    return session.with_store(Access::kReadWrite, [&](Store& store) -> Result<int> {
      HEXAD_TRY(store.clear_device_errors(ids));
      return tell(session, ids);
    });
  }

 private:
  // All of them, or none.
  static Status ask(const core::ControlClient& holder, const std::vector<DeviceId>& ids) {
    if (ids.empty()) return holder.clear_device_errors(std::nullopt);
    HEXAD_TRY_ASSIGN(const StoreStatus status, holder.status());
    for (const DeviceId id : ids) {
      const bool known =
          std::any_of(status.devices.begin(), status.devices.end(),
                      [id](const DeviceStatus& one) { return one.id == id && !one.role.empty(); });
      if (!known) {
        return Error{ErrorCode::kNotFound, "the store has no device " + std::to_string(id),
                     "hexad device ls POOL names those that it has."};
      }
    }
    for (const DeviceId id : ids) HEXAD_TRY(holder.clear_device_errors(id));
    return {};
  }

  static int tell(Session& session, const std::vector<DeviceId>& ids) {
    if (session.out().json()) session.out().object(Json{{"devices", ids}});
    return kExitOk;
  }

  std::vector<std::string> words_;
};

}  // namespace

std::unique_ptr<Verb> make_device_ls() { return std::make_unique<DeviceLs>(); }
std::unique_ptr<Verb> make_device_clear_errors() { return std::make_unique<DeviceClearErrors>(); }

}  // namespace hexad::tools
