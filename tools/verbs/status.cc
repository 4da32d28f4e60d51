// hexad status: health first, then each device. What another process has, that is asked about; a
// pool that cannot be opened, or whose process does not answer, is still described, as far as its
// labels and roots tell.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "base/units.h"
#include "core/api/device_questions.h"
#include "tools/verbs/device_errors.h"
#include "tools/verbs/drain_text.h"
#include "tools/verbs/layers.h"
#include "tools/verbs/look.h"
#include "tools/verbs/verbs.h"

namespace hexad::tools {

namespace {

Json device_json(const DeviceStatus& device) {
  Json object{{"id", device.id == kNoId ? Json(nullptr) : Json(device.id)},
              {"path", device.path},
              {"role", device.role},
              {"state", device.state},
              {"draining", device.draining},
              {"failure_domain", device.failure_domain},
              {"detail", device.detail},
              {"missing_bytes", device.missing_bytes},
              {"bad_header_slots", device.bad_header_slots},
              {"size", device.size},
              {"slabs", device.slabs},
              {"slabs_used", device.slabs_used},
              {"physical_block", device.physical_block},
              {"direct", device.direct},
              {"holds_log", device.holds_log},
              {"durability", device.durability},
              {"flush_domain", device.flush_domain}};
  add_errors(object, device);
  return object;
}

Json job_json(const JobStatus& job) {
  return Json{{"name", job.name},       {"purpose", job.purpose}, {"running", job.running},
              {"seconds", job.seconds}, {"steps", job.steps},     {"done", job.done},
              {"total", job.total},     {"unit", job.unit},       {"problem", job.problem}};
}

Json status_json(const StoreStatus& status) {
  Json object{{"health", health_name(status.health)},
              {"faults_tolerated", status.faults_tolerated},
              {"parity_cells", status.parity_cells},
              {"domain_cells", status.domain_cells},
              {"redundant_devices", status.redundant_devices},
              {"damaged_blobs", status.damaged_blobs},
              {"uuid", to_string(status.uuid)},
              {"epoch", status.epoch},
              {"last_lsn", status.last_lsn},
              {"checkpoint_lsn", status.checkpoint_lsn},
              {"log_used", status.log_used},
              {"log_size", status.log_size},
              {"io_queue", status.io_queue},
              {"read_only", status.read_only},
              {"read_only_reason", status.read_only_reason},
              {"devices", Json::array()},
              {"notes", status.notes},
              {"warnings", status.warnings},
              {"jobs", Json::array()}};
  for (const DeviceStatus& device : status.devices) {
    object["devices"].push_back(device_json(device));
  }
  for (const JobStatus& job : status.jobs) object["jobs"].push_back(job_json(job));
  add_layers(object, status);
  return object;
}

std::string device_text(const DeviceStatus& device) {
  std::string traits;
  if (device.direct) traits += " direct";
  if (device.holds_log) traits += " log";
  if (!device.durability.empty()) traits += fmt::format("; durable by {}", device.durability);
  if (device.flush_domain >= 0) traits += fmt::format(", domain {}", device.flush_domain);
  if (!device.failure_domain.empty()) traits += "; in " + device.failure_domain;
  const std::string id = device.id == kNoId ? "?" : std::to_string(device.id);
  std::string line =
      fmt::format("  {:>3}  {:<5} {:<14} {:>10} {}{}\n", id, device.role, device.state,
                  device.size > 0 ? format_size(device.size) : "-", device.path, traits);
  if (device.missing_bytes > 0) {
    line += fmt::format(
        "       lacks {} of what {}\n", format_size(device.missing_bytes),
        device.state == "filling" ? "a device that is lost held" : "was written while it was away");
  }
  if (const std::string drain = describe_drain(device); !drain.empty()) {
    line += fmt::format("       {}\n", drain);
  }
  if (device.bad_header_slots > 0) {
    line += fmt::format("       {} of its 6 copies of label and root are bad\n",
                        device.bad_header_slots);
  }
  if (!device.detail.empty()) line += fmt::format("       {}\n", device.detail);
  if (const std::string errors = describe_errors(device); !errors.empty()) {
    line += fmt::format("       since this opening: {}\n", errors);
  }
  if (const std::string errors = describe_all_errors(device); !errors.empty()) {
    line += fmt::format("       {}\n", errors);
  }
  if (const std::string last = describe_completion(device.last_completion); !last.empty()) {
    line += fmt::format("       {}\n", last);
  }
  return line;
}

// The copies on data devices are those that count when the fast tier is lost.
std::string log_places(const StoreStatus& status) {
  int all = 0;
  int data = 0;
  for (const DeviceStatus& device : status.devices) {
    if (!device.holds_log) continue;
    ++all;
    if (device.role == "data") ++data;
  }
  return fmt::format("on {} device{}, {} of them for data", all, all == 1 ? "" : "s", data);
}

std::string domains_text(const StoreStatus& status) {
  std::set<std::string> all;
  for (const DeviceStatus& device : status.devices) {
    if (!device.failure_domain.empty()) all.insert(device.failure_domain);
  }
  const std::vector<std::string> some = survivable_domains(status);
  if (some.empty()) return "        no failure domain may be lost as a whole now\n";
  if (some.size() == all.size()) {  // none is lost as a whole, either
    return "        or of one failure domain, whichever it is, with all devices in it\n";
  }
  return fmt::format(
      "        or of one failure domain, with all devices in it: {}, and no other now\n",
      fmt::join(some, " or "));
}

std::string status_text(const StoreStatus& status) {
  std::string text;
  text +=
      fmt::format("health  {}; survives the loss of {} more device{}\n", health_name(status.health),
                  status.faults_tolerated, status.faults_tolerated == 1 ? "" : "s");
  if (status.domain_cells > 0) text += domains_text(status);
  if (status.redundant_devices) {
    text += fmt::format("        the devices are said to be redundant themselves{}\n",
                        status.parity_cells == 0 ? ", and there is no parity: each is needed" : "");
  }
  if (status.damaged_blobs > 0) {
    text += fmt::format("damage  bytes of {} stored piece{} are lost: hexad damage ls POOL\n",
                        status.damaged_blobs, status.damaged_blobs == 1 ? "" : "s");
  }
  if (status.log_size == 0) {  // from the roots alone
    text += fmt::format("store   {}, epoch {}, checkpoint at LSN {}\n", to_string(status.uuid),
                        status.epoch, status.checkpoint_lsn);
  } else {
    text += fmt::format("store   {}, epoch {}, LSN {} (checkpoint {})\n", to_string(status.uuid),
                        status.epoch, status.last_lsn, status.checkpoint_lsn);
    text += fmt::format("log     {} of {} used, {}; I/O by {}\n", format_size(status.log_used),
                        format_size(status.log_size), log_places(status),
                        status.io_queue.empty() ? "nothing yet" : status.io_queue);
  }
  if (!status.read_only_reason.empty()) {
    text += fmt::format("read-only: {}\n", status.read_only_reason);
  }
  text += "devices\n";
  for (const DeviceStatus& device : status.devices) text += device_text(device);
  text += layers_text(status);
  text += fill_text(status.fill);
  for (const std::string& warning : status.warnings) text += fmt::format("warning {}\n", warning);
  for (const std::string& note : status.notes) text += fmt::format("note    {}\n", note);
  return text;
}

class StatusVerb final : public Verb {
 public:
  void declare(Arguments&) override {}

  Result<int> run(Session& session) override {
    HEXAD_TRY_ASSIGN(const PoolDescription description, session.pool().describe());
    Result<OpenView> pool = session.open_view();
    if (!pool.ok()) return inspect_instead(session.out(), description, pool.error());
    HEXAD_TRY_ASSIGN(const StoreStatus status, judged_status(*pool->view));
    if (session.out().json()) {
      session.out().object(status_json(status));
    } else {
      session.out().write(session.out().typed(status_text(status)));
    }
    HEXAD_TRY(pool->close());
    if (status.health == Health::kDamaged) return kExitDamaged;
    return status.health == Health::kUnavailable ? kExitUnavailable : kExitOk;
  }

 private:
  static Result<int> inspect_instead(Output& out, const PoolDescription& description,
                                     const Error& error) {
    Result<StoreStatus> inspected = inspect(description);
    if (!inspected.ok()) return error;
    if (error.code == ErrorCode::kBusy) return in_use(out, *inspected, error);
    inspected->health = Health::kUnavailable;
    inspected->faults_tolerated = 0;
    tell_ids(inspected->devices);
    if (out.json()) {
      Json object = status_json(*inspected);
      object["error"] = error_json(error);
      out.object(object);
    } else {
      out.write(out.typed(status_text(*inspected)));
    }
    out.error(error);
    return kExitUnavailable;
  }

  // Another process has the pool: its last root is what can be seen from here.
  static Result<int> in_use(Output& out, StoreStatus& status, const Error& error) {
    tell_ids(status.devices);
    status.notes.insert(status.notes.begin(),
                        error.message + "; this is what the last root that it wrote says");
    if (out.json()) {
      Json object = status_json(status);
      object["in_use"] = error.message;
      out.object(object);
    } else {
      out.write(out.typed(status_text(status)));
    }
    return status.health == Health::kUnavailable ? kExitUnavailable : kExitOk;
  }
};

}  // namespace

std::unique_ptr<Verb> make_status() { return std::make_unique<StatusVerb>(); }

}  // namespace hexad::tools
