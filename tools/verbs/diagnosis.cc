#include "tools/verbs/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "io/device_path.h"
#include "tools/verbs/device_errors.h"
#include "tools/verbs/drain_text.h"

namespace hexad::tools {

namespace {

// Less than such a part of the capacity is little.
constexpr std::uint64_t kLittleRoom = 20;

std::string name_of(const DeviceStatus& device) {
  return fmt::format("device {}{}", device.id,
                     device.path.empty() ? "" : fmt::format(" ({})", device.path));
}

class Diagnosis {
 public:
  explicit Diagnosis(const PoolFacts& facts) : facts_(facts) {}

  std::vector<Advice> run() {
    look_at_opening();
    const std::size_t own = advice_.size();
    look_at_damage();
    for (const DeviceStatus& device : facts_.status.devices) look_at_member(device);
    if (is_snapshot()) {
      for (std::size_t i = own; i < advice_.size(); ++i) put_right_elsewhere(advice_[i]);
    }
    for (const DeviceStatus& device : facts_.status.devices) look_at_unrecognised(device);
    for (const std::string& warning : facts_.status.warnings) {
      add(Urgency::kSoon, warning, "See to the device, its cable and its controller.");
    }
    if (!is_snapshot()) look_at_space();
    std::stable_sort(advice_.begin(), advice_.end(),
                     [](const Advice& a, const Advice& b) { return a.urgency < b.urgency; });
    return std::move(advice_);
  }

 private:
  void add(Urgency urgency, std::string problem, std::string remedy, std::string command = "") {
    advice_.push_back({urgency, std::move(problem), std::move(remedy), std::move(command)});
  }

  bool opens() const { return !facts_.error.has_value() || facts_.error->code == ErrorCode::kBusy; }

  // The devices are said to be redundant themselves.
  bool no_parity() const {
    return facts_.status.redundant_devices && facts_.status.parity_cells == 0;
  }

  // Of images of a cluster: nothing there can be written.
  bool is_snapshot() const {
    const std::vector<DeviceStatus>& devices = facts_.status.devices;
    return std::any_of(devices.begin(), devices.end(), [](const DeviceStatus& device) {
      return io::is_snapshot_path(device.path);
    });
  }

  // Whatever was advised for a pool that can be written. The command that is left only looks.
  void put_right_elsewhere(Advice& advice) const {
    const std::string damage = command_for_damage();
    const bool looks = advice.command == damage;
    advice.remedy = fmt::format(
        "This pool is a snapshot, in which nothing is put right: see to the pool that it was taken "
        "of, and take another snapshot.{}",
        looks ? " What is lost here:" : "");
    advice.command = looks ? damage : "";
  }

  std::string command_for_damage() const { return fmt::format("hexad damage ls {}", facts_.pool); }

  void look_at_opening() {
    if (!opens()) add(Urgency::kNow, facts_.error->message, facts_.error->hint);
    if (!facts_.status.read_only_reason.empty()) {
      add(Urgency::kNow, "the store has turned read-only: " + facts_.status.read_only_reason,
          "Close it and open it again.");
    }
  }

  void look_at_damage() {
    const std::uint64_t blobs = facts_.status.damaged_blobs;
    if (blobs == 0) return;
    add(Urgency::kNow,
        fmt::format("bytes of {} stored piece{} of objects are lost: {}", blobs,
                    blobs == 1 ? "" : "s",
                    no_parity() ? "there is no parity to give them back"
                                : "more cells are damaged than parity gives back"),
        "Store the objects again from a copy, or remove them. Which they are:",
        command_for_damage());
  }

  void look_at_member(const DeviceStatus& device) {
    if (device.role.empty()) return;
    if (device.draining) {
      look_at_draining(device);
      if (device.state == "draining") look_at_used(device);
    } else if (device.state != "ok") {
      look_at_absent(device);
    } else {
      look_at_used(device);
    }
  }

  void look_at_unrecognised(const DeviceStatus& device) {
    if (!device.role.empty()) return;
    add(Urgency::kLater,
        fmt::format("{} is {}{}", device.path, device.state,
                    device.detail.empty() ? "" : ": " + device.detail),
        "The pool does not use it: name its devices without it.");
  }

  // Nothing is wrong with one that is used, and nothing is lost by that.
  void look_at_draining(const DeviceStatus& device) {
    const bool used = device.state == "draining";
    const std::string problem =
        fmt::format("{}{} {}", name_of(device), used ? "" : " is " + device.state + ", and",
                    describe_drain(device));
    const Urgency urgency = used ? Urgency::kLater : urgency_of_loss();
    if (!has_slabs_to_move(device)) {
      add(urgency, problem, "It may be taken away:",
          fmt::format("hexad device remove {} {}", facts_.pool, device.id));
    } else if (facts_.held) {
      add(urgency, problem, "The process that has the pool moves them to others. To wait for that:",
          fmt::format("hexad wait {} --for drain", facts_.pool));
    } else {
      add(urgency, problem,
          "They move to others while a process has the pool open for writing. To move them now:",
          fmt::format("hexad device move {}", facts_.pool));
    }
  }

  // How urgent it is that a device comes back.
  Urgency urgency_of_loss() const {
    return facts_.status.faults_tolerated == 0 ? Urgency::kNow : Urgency::kSoon;
  }

  void look_at_absent(const DeviceStatus& device) {
    std::string problem = fmt::format("{} is {}{}", name_of(device), device.state,
                                      device.detail.empty() ? "" : ": " + device.detail);
    if (device.state == "behind") {
      problem = fmt::format("{} lacks {} of what was written while it was away", name_of(device),
                            format_size(device.missing_bytes));
    }
    if (device.state == "filling") {
      problem = fmt::format("{} lacks {} of what a device that is lost held", name_of(device),
                            format_size(device.missing_bytes));
    }
    const bool lacks = device.state == "behind" || device.state == "filling";
    const Urgency urgency = urgency_of_loss();
    if (!opens()) {
      add(urgency, std::move(problem),
          no_parity() ? "There is no parity, for the devices are said to be redundant themselves: "
                        "bring it back."
                      : "Attach it again.");
    } else if (device.role == "data" && !lacks && device.slabs > 0 && device.slabs_used == 0) {
      add(urgency, std::move(problem),
          "Nothing lies on it. Attach it again, or take it away, where enough others are left:",
          fmt::format("hexad device remove {} {}", facts_.pool, device.id));
    } else if (facts_.held && lacks) {
      add(urgency, std::move(problem),
          "The process that has the pool gives it what it lacks. To wait for that:",
          fmt::format("hexad wait {} --for rebuild", facts_.pool));
    } else if (facts_.held && device.state == "away") {
      add(urgency, std::move(problem), "To have the process that has the pool take it in:",
          fmt::format("hexad device online {} {}", facts_.pool, device.id));
    } else if (lacks || device.state == "away") {
      add(urgency, std::move(problem),
          "It gets what it lacks while a process has the pool open for writing. To wait for that:",
          fmt::format("hexad device catch-up {}", facts_.pool));
    } else if (device.role != "data") {
      add(Urgency::kSoon, std::move(problem),
          fmt::format(
              "The log is kept on the data devices meanwhile. Put the fast directory back, "
              "do without it for good (hexad device remove {} {}), or put another one, here "
              "NEW, in its place:",
              facts_.pool, device.id),
          fmt::format("hexad device replace {} {} NEW", facts_.pool, device.id));
    } else {
      add(urgency, std::move(problem),
          facts_.held && (device.state == "missing" || device.state == "failed")
              ? fmt::format("Attach it again, and have the process that has the pool take it in: "
                            "hexad device online {} {}. If it is lost, put a new device, here NEW, "
                            "in its place:",
                            facts_.pool, device.id)
          : device.state == "missing"
              ? "Attach it again: the next verb that writes takes it in. If it is lost, put a new "
                "device, here NEW, in its place:"
              : "Put a new device, here NEW, in its place:",
          fmt::format("hexad device replace {} {} NEW", facts_.pool, device.id));
      if (has_other_place(device)) {
        advice_.back().remedy.insert(
            0, fmt::format(
                   "The others have room for what it held: where they are k + m or more{}, hexad "
                   "device drain {} {} has that built again there. ",
                   facts_.status.domain_cells == 0 ? "" : ", and in enough failure domains",
                   facts_.pool, device.id));
      }
    }
  }

  // Whether what the device held finds room on the others.
  bool has_other_place(const DeviceStatus& lost) const {
    std::uint64_t free = 0;
    for (const DeviceStatus& device : facts_.status.devices) {
      if (device.role != "data" || device.state != "ok") continue;
      free += device.slabs - std::min(device.slabs, device.slabs_used);
    }
    return lost.slabs_used > 0 && free >= lost.slabs_used;
  }

  void look_at_used(const DeviceStatus& device) {
    std::string errors = describe_errors(device);
    if (!errors.empty()) errors = "since this opening " + errors;
    if (std::string all = describe_all_errors(device); !all.empty()) errors = std::move(all);
    if (!errors.empty()) {
      const std::string problem = fmt::format("{} is going bad: {}", name_of(device), errors);
      if (device.role == "data") {
        add(Urgency::kSoon, problem,
            fmt::format(
                "{}hexad scrub {} tells whether there are more "
                "of them. hexad device clear-errors {} {} forgets these. A new device, here NEW, "
                "takes its place while it still answers:",
                no_parity() ? "" : "The others have made it good. ", facts_.pool, facts_.pool,
                device.id),
            fmt::format("hexad device replace {} {} NEW", facts_.pool, device.id));
      } else {
        add(Urgency::kSoon, problem,
            "The data devices have the log, too. Another directory, here NEW, takes its place:",
            fmt::format("hexad device replace {} {} NEW", facts_.pool, device.id));
      }
    }
    // One that does not answer is a warning.
    const bool silent = device.detail.find("has not answered for") != std::string::npos;
    if (device.detail.empty() || silent) return;
    add(Urgency::kLater, name_of(device) + ": " + device.detail,
        "A verb that writes puts it right, such as:", fmt::format("hexad scrub {}", facts_.pool));
  }

  void look_at_space() {
    if (!facts_.space.has_value()) return;
    const SpaceUsage& space = *facts_.space;
    if (space.available >= space.capacity / kLittleRoom) return;
    add(space.available == 0 ? Urgency::kNow : Urgency::kSoon,
        fmt::format("the pool is nearly full: {} of {} are free, and {} more can be had by moving "
                    "what lives beside what is dead",
                    format_size(space.available), format_size(space.capacity),
                    format_size(space.reclaimable)),
        "Remove what is not needed. What takes the space:",
        fmt::format("hexad df {}", facts_.pool));
  }

  const PoolFacts& facts_;
  std::vector<Advice> advice_;
};

}  // namespace

std::string_view to_string(Urgency urgency) {
  switch (urgency) {
    case Urgency::kNow:
      return "now";
    case Urgency::kSoon:
      return "soon";
    case Urgency::kLater:
      break;
  }
  return "later";
}

std::vector<Advice> diagnose(const PoolFacts& facts) { return Diagnosis(facts).run(); }

}  // namespace hexad::tools
