// The control socket: what the store does for it, and when there is one.
#include <algorithm>
#include <utility>

#include "core/check/known_damage.h"
#include "core/check/scrubber.h"
#include "core/control/control_places.h"
#include "core/control/control_server.h"
#include "core/engine/engine.h"
#include "core/engine/stream_reader.h"
#include "core/report/counter_report.h"
#include "core/report/space_report.h"
#include "core/report/status_report.h"
#include "io/lines/line_service.h"
#include "io/lines/process_info.h"

namespace hexad::core {

namespace {

// Why there cannot be one; empty: there can.
std::string obstacle(const StoreParts& parts, io::Executor& executor, bool writing) {
  if (parts.memory_only) return "a store in memory is no other process's to ask about";
  if (!writing) return "others can open what is open for reading only";
  return executor.fibers() == nullptr ? "" : "a simulation has no sockets";
}

}  // namespace

Result<ObjectLook> Engine::look_at(const std::string& collection, const std::string& name,
                                   LookFor what) {
  // One reader, so that all of it belongs to one version, but for the ranges.
  HEXAD_TRY_ASSIGN(const std::unique_ptr<StreamReader> reader,
                   StreamReader::open(*this, collection, name));
  ObjectLook look{reader->stat(), reader->attributes(), {}};
  if (what == LookFor::kStatAndRanges) {
    HEXAD_TRY_ASSIGN(look.ranges, reads_->extents(collection, name, {0, kMaxObjectSize}));
  }
  return look;
}

std::shared_ptr<ControlServer> Engine::control() {
  const io::Lock lock(control_mutex_);
  return control_;
}

void Engine::show_control(StoreStatus& status) {
  std::shared_ptr<ControlServer> server;
  {
    const io::Lock lock(control_mutex_);
    if (!no_control_.empty()) status.notes.push_back("no control socket: " + no_control_);
    server = control_;
  }
  if (server == nullptr) return;
  std::string where;
  for (const std::string& path : server->paths()) where += (where.empty() ? "" : " or ") + path;
  if (!where.empty()) {
    const std::string refused = server->refused();
    status.notes.push_back("others may ask over the control socket " + where +
                           (refused.empty() ? "" : ", and nowhere else: " + refused));
  }
  if (std::optional<JobStatus> scrub = server->scrub_status(); scrub.has_value()) {
    status.jobs.push_back(*std::move(scrub));
  }
}

Status Engine::serve_control() {
  const io::Lock lock(control_mutex_);
  if (closing_.is_closed()) return Error{ErrorCode::kClosed, "the store has been closed", ""};
  if (control_ != nullptr) return {};
  Status started = start_control();
  no_control_ = started.ok() ? "" : started.error().message;
  return started;
}

// Under control_mutex_, which what is asked meanwhile waits for.
Status Engine::start_control() {
  if (const std::string why = obstacle(parts_, executor(), pipeline_ != nullptr); !why.empty()) {
    return Error{ErrorCode::kUnsupported, why, ""};
  }
  ControlWork work;
  work.status = [this] { return reports_.status->status(); };
  work.space = [this](SpaceDetail detail, const std::function<bool()>& go_on) {
    return reports_.space->usage(detail, go_on);
  };
  work.set_cache_size = [this](std::uint64_t bytes) { return set_cache_size(bytes); };
  work.room_for = [this](std::uint64_t object_size) {
    return reports_.space->room_for(object_size);
  };
  work.counters = [this] { return reports_.counters->all(); };
  work.list = [this](const std::string& collection, const ListOptions& options) {
    return list(collection, options);
  };
  work.look = [this](const std::string& collection, const std::string& name, LookFor what) {
    return look_at(collection, name, what);
  };
  work.collections = [this] { return reads_->collections(); };
  work.damage = [this](const std::function<bool()>& go_on) { return reports_.damage->find(go_on); };
  work.acknowledge_damage = [this](std::optional<std::span<const ObjectName>> objects,
                                   const std::function<bool()>& go_on) {
    return reports_.damage->acknowledge(objects, go_on);
  };
  work.bring_back = [this](DeviceId device, const std::string& path) {
    return devices_->returns().bring_back(device, path);
  };
  work.add_device = [this](const std::string& path, const std::string& failure_domain) {
    return devices_->changes().add(path, {}, {}, failure_domain);
  };
  work.add_fast_device = [this](const std::string& directory) {
    return devices_->changes().add_fast(directory);
  };
  work.replace_device = [this](DeviceId device, const std::string& path) {
    return devices_->replacement().begin({device, path});
  };
  work.drain_device = [this](DeviceId device) { return devices_->drains().drain(device); };
  work.undrain_device = [this](DeviceId device) { return devices_->drains().undrain(device); };
  work.remove_device = [this](DeviceId device) { return devices_->changes().remove(device); };
  work.clear_device_errors = [this](std::optional<DeviceId> device) {
    std::vector<DeviceId> devices;
    if (device.has_value()) devices.push_back(*device);
    return devices_->clear_errors(devices);
  };
  work.scrub = [this](const ScrubOptions& options) {
    return reports_.scrubber->scrub_apart(options);
  };
  const ControlHolder holder{parts_.shape->uuid, io::own_process(), executor().clock().wall_time()};
  auto server = std::make_shared<ControlServer>(executor(), holder, std::move(work));
  HEXAD_TRY(server->start(
      control_directories(parts_.pool.fast_directories, parts_.shape->uuid, {io::own_user()})));
  control_ = std::move(server);
  return {};
}

}  // namespace hexad::core
