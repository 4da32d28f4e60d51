#include "core/control/control_client.h"

#include <algorithm>
#include <utility>

#include "core/control/control_places.h"
#include "core/opening/device_survey.h"
#include "io/device_path.h"
#include "io/lines/line_service.h"
#include "io/system.h"

namespace hexad::core {

namespace {

// Whose process it may be: for root that of whoever owns the devices.
std::vector<unsigned> users_of(const PoolDescription& pool) {
  std::vector<unsigned> users = {io::own_user()};
  if (users[0] != 0) return users;
  for (const std::string& path : pool.devices) {
    const std::optional<unsigned> owner = io::owner_of(std::string(io::disk_of(path)));
    if (!owner.has_value() || std::find(users.begin(), users.end(), *owner) != users.end()) {
      continue;
    }
    users.push_back(*owner);
  }
  return users;
}

// Anybody can make a directory in /tmp that is named as if it were another user's.
bool believe(const std::string& directory, unsigned user) {
  return user_of_place(directory).value_or(user) == user || user == 0;
}

ControlRequest question(const char* ask) {
  ControlRequest request;
  request.ask = ask;
  return request;
}

}  // namespace

Result<ControlClient> ControlClient::find(const PoolDescription& pool,
                                          std::function<bool()> go_on) {
  ControlClient client;
  client.go_on_ = std::move(go_on);
  Uuid store;
  {
    HEXAD_TRY_ASSIGN(const std::unique_ptr<io::System> system, io::make_real_system());
    HEXAD_TRY_ASSIGN(const Survey survey, survey_devices(pool, io::OpenMode::kLook, *system));
    store = survey.store;
    client.directories_ = control_directories(survey.fast_directories, store, users_of(pool));
  }
  HEXAD_TRY_ASSIGN(const ControlReply reply, client.exchange(question("hello")));
  HEXAD_TRY(reply.result.status());
  if (reply.holder.store != store) {
    return Error{ErrorCode::kNotFound,
                 "process " + std::to_string(reply.holder.process.pid) +
                     " answers there, for another store: " + to_string(reply.holder.store),
                 ""};
  }
  client.holder_ = reply.holder;
  return client;
}

Result<ControlReply> ControlClient::exchange(const ControlRequest& request) const {
  io::AskLimits limits;
  limits.go_on = go_on_;
  // Takes as long as the device does for room below it, headers and a checkpoint; whoever asks may
  // leave earlier.
  constexpr io::Nanos kDeviceChange = 24LL * 3600 * 1'000'000'000;
  if (request.ask.starts_with("device ")) limits.to_answer = kDeviceChange;
  limits.believe = believe;
  HEXAD_TRY_ASSIGN(const io::AnsweredLine answered,
                   io::ask_line(directories_, encode_request(request), limits));
  return decode_reply(answered.line);
}

Result<std::string> ControlClient::ask(const ControlRequest& request) const {
  Result<ControlReply> reply = exchange(request);
  if (reply.ok()) {
    const ControlHolder& now = reply->holder;
    const bool same = now.store == holder_.store && now.opened == holder_.opened &&
                      now.process.pid == holder_.process.pid;
    if (same) return std::move(reply->result);
    return Error{ErrorCode::kBusy,
                 "process " + std::to_string(holder_.process.pid) + " had the pool, and process " +
                     std::to_string(now.process.pid) + " has opened it since",
                 "Try again."};
  }
  const ErrorCode code = reply.error().code;
  if (code != ErrorCode::kNotFound && code != ErrorCode::kBusy) return reply.error();
  return Error{ErrorCode::kBusy,
               "process " + std::to_string(holder_.process.pid) +
                   " had the pool, and does not answer any more: it is closing it, or has",
               "Try again."};
}

Result<StoreStatus> ControlClient::status() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("status")));
  return decode_status(text);
}

Result<SpaceUsage> ControlClient::space(SpaceDetail detail) const {
  ControlRequest request = question("space");
  request.breakdown = detail == SpaceDetail::kBreakdown;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_space(text);
}

Status ControlClient::set_cache_size(std::uint64_t bytes) const {
  ControlRequest request = question("cache size");
  request.cache_size = bytes;
  return ask(request).status();
}

Result<ObjectRoom> ControlClient::room_for(std::uint64_t object_size) const {
  ControlRequest request = question("room");
  request.object_size = object_size;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_room(text);
}

Result<std::vector<Counter>> ControlClient::counters() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("counters")));
  return decode_counters(text);
}

Result<ListPage> ControlClient::list(const std::string& collection,
                                     const ListOptions& options) const {
  ControlRequest request = question("list");
  request.collection = collection;
  request.prefix = options.prefix;
  request.after = options.start_after;
  request.delimiter = options.delimiter;
  request.limit = options.limit;
  request.reverse = options.reverse;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_page_of_names(text);
}

Result<ObjectLook> ControlClient::look(const std::string& collection, const std::string& name,
                                       LookFor what) const {
  ControlRequest request = question("look");
  request.collection = collection;
  request.name = name;
  request.ranges = what == LookFor::kStatAndRanges;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_look(text);
}

Result<std::vector<CollectionInfo>> ControlClient::collections() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("collections")));
  return decode_collections(text);
}

Result<std::vector<Damage>> ControlClient::damage() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("damage")));
  return decode_damage_list(text);
}

Result<std::vector<Damage>> ControlClient::acknowledge_damage(
    const std::vector<ObjectName>& objects) const {
  ControlRequest request = question("damage acknowledge");
  request.objects = objects;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_damage_list(text);
}

Result<std::vector<Damage>> ControlClient::acknowledge_all_damage() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("damage acknowledge all")));
  return decode_damage_list(text);
}

Status ControlClient::bring_back_device(DeviceId device, const std::string& path) const {
  ControlRequest request = question("device online");
  request.device = device;
  request.path = path;
  return ask(request).status();
}

Result<DeviceId> ControlClient::add_at(const char* ask, const std::string& path,
                                       const std::string& failure_domain) const {
  ControlRequest request = question(ask);
  request.path = path;
  request.failure_domain = failure_domain;
  HEXAD_TRY_ASSIGN(const std::string text, this->ask(request));
  return decode_device_id(text);
}

Result<DeviceId> ControlClient::add_device(const std::string& path,
                                           const std::string& failure_domain) const {
  return add_at("device add", path, failure_domain);
}

Result<DeviceId> ControlClient::add_fast_device(const std::string& directory) const {
  return add_at("device add-fast", directory, "");
}

Result<DeviceId> ControlClient::replace_device(DeviceId device, const std::string& path) const {
  ControlRequest request = question("device replace");
  request.device = device;
  request.path = path;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_device_id(text);
}

Status ControlClient::ask_of(const char* ask, DeviceId device) const {
  ControlRequest request = question(ask);
  request.device = device;
  return this->ask(request).status();
}

Status ControlClient::drain_device(DeviceId device) const { return ask_of("device drain", device); }

Status ControlClient::undrain_device(DeviceId device) const {
  return ask_of("device undrain", device);
}

Status ControlClient::remove_device(DeviceId device) const {
  return ask_of("device remove", device);
}

Status ControlClient::clear_device_errors(std::optional<DeviceId> device) const {
  ControlRequest request = question("device clear-errors");
  request.device = device;
  return ask(request).status();
}

Result<ControlScrub> ControlClient::start_scrub(std::uint64_t rate, const std::string& from) const {
  ControlRequest request = question("scrub start");
  request.rate = rate;
  request.from = from;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_scrub(text);
}

Result<ControlScrub> ControlClient::pause_scrub() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("scrub pause")));
  return decode_scrub(text);
}

Result<ControlScrub> ControlClient::resume_scrub(std::uint64_t rate) const {
  ControlRequest request = question("scrub resume");
  request.rate = rate;
  HEXAD_TRY_ASSIGN(const std::string text, ask(request));
  return decode_scrub(text);
}

Result<ControlScrub> ControlClient::stop_scrub() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("scrub stop")));
  return decode_scrub(text);
}

Result<ControlScrub> ControlClient::scrub() const {
  HEXAD_TRY_ASSIGN(const std::string text, ask(question("scrub status")));
  return decode_scrub(text);
}

}  // namespace hexad::core
