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
    HEXAD_TRY_ASSIGN(look.ranges, reading_.reads->extents(collection, name, {0, kMaxObjectSize}));
  }
  return look;
}

Status Engine::serve_control() {
  return control_.serve(
      [this]() -> Status {
        if (closing_.is_closed()) return Error{ErrorCode::kClosed, "the store has been closed", ""};
        return {};
      },
      [this] { return start_control(); });
}

// Under the lock of the slot.
Result<std::shared_ptr<ControlServer>> Engine::start_control() {
  if (const std::string why = obstacle(parts_, executor(), writing_.pipeline != nullptr);
      !why.empty()) {
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
  work.collections = [this] { return reading_.reads->collections(); };
  work.damage = [this](const std::function<bool()>& go_on) { return reports_.damage->find(go_on); };
  work.acknowledge_damage = [this](std::optional<std::span<const ObjectName>> objects,
                                   const std::function<bool()>& go_on) {
    return reports_.damage->acknowledge(objects, go_on);
  };
  work.bring_back = [this](DeviceId device, const std::string& path) {
    return writing_.devices->returns().bring_back(device, path);
  };
  work.add_device = [this](const std::string& path, const std::string& failure_domain) {
    return writing_.devices->changes().add(path, {}, {}, failure_domain);
  };
  work.add_fast_device = [this](const std::string& directory) {
    return writing_.devices->changes().add_fast(directory);
  };
  work.replace_device = [this](DeviceId device, const std::string& path) {
    return writing_.devices->replacement().begin({device, path});
  };
  work.drain_device = [this](DeviceId device) { return writing_.devices->drains().drain(device); };
  work.undrain_device = [this](DeviceId device) {
    return writing_.devices->drains().undrain(device);
  };
  work.remove_device = [this](DeviceId device) {
    return writing_.devices->changes().remove(device);
  };
  work.clear_device_errors = [this](std::optional<DeviceId> device) {
    std::vector<DeviceId> devices;
    if (device.has_value()) devices.push_back(*device);
    return writing_.devices->clear_errors(devices);
  };
  work.scrub = [this](const ScrubOptions& options) {
    return reports_.scrubber->scrub_apart(options);
  };
  const ControlHolder holder{parts_.shape->uuid, io::own_process(), executor().clock().wall_time()};
  auto server = std::make_shared<ControlServer>(executor(), holder, std::move(work));
  HEXAD_TRY(server->start(
      control_directories(parts_.pool.fast_directories, parts_.shape->uuid, {io::own_user()})));
  return server;
}

}  // namespace hexad::core
