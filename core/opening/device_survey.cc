#include "core/opening/device_survey.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "io/device_path.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

// What is said of a device's bytes mostly has its name already.
Error named(const Error& error, const std::string& path) {
  return error.message.starts_with(path + ": ") ? error : error.with_context(path);
}

// Of a device that could be opened: its label and roots, or a problem.
void read_headers(SurveyedDevice& found) {
  const std::string& path = found.path;
  Result<alloc::LabelCopy> label = alloc::read_label(*found.device);
  if (!label.ok()) {
    found.problem = named(label.error(), path);
    return;
  }
  found.label = std::move(label->label);
  found.damaged_copy = std::move(label->other_copy);
  Result<std::vector<alloc::Root>> roots =
      alloc::read_roots({found.device.get(), found.label->layout.device_size}, &found.bad_roots);
  if (!roots.ok()) {
    found.problem = named(roots.error(), path);
    return;
  }
  found.roots = std::move(roots).value();
}

// Whether the features in label and roots allow this program to write.
Status check_writing(const SurveyedDevice& found) {
  HEXAD_TRY(alloc::check_writable(found.label->features, "label"));
  for (const alloc::Root& root : found.roots) {
    HEXAD_TRY(alloc::check_writable(root.features, "root"));
  }
  return {};
}

SurveyedDevice survey_one(const std::string& path, io::OpenMode mode, io::System& system) {
  SurveyedDevice found;
  found.path = path;
  Result<std::unique_ptr<io::Device>> device = system.open_device(path, mode);
  if (!device.ok()) {
    found.problem = device.error();
    return found;
  }
  found.device = std::move(device).value();
  read_headers(found);
  if (mode == io::OpenMode::kReadWrite && !found.problem.has_value()) {
    if (const Status allowed = check_writing(found); !allowed.ok()) {
      found.problem = allowed.error().with_context(path);
    }
  }
  // A copy of the label or a root that could not be read just now may be the newest.
  if (const std::optional<Error> refusal = found.device->last_refusal(); refusal.has_value()) {
    found.problem = *refusal;
  }
  return found;
}

// Whether a device's problem is one of the call. Once it is open, bytes that are not those of a
// device are the device's, but what a later version has written is not.
bool is_ours(const SurveyedDevice& device) {
  if (!device.problem.has_value()) return false;
  const bool refused = device.device == nullptr || device.device->last_refusal().has_value();
  if (refused) return !io::is_medium(*device.problem);
  return device.problem->code == ErrorCode::kUnsupported;
}

// The order in which devices are opened, and so locked, as indices into `paths`: the same for
// everybody who names the same devices, however they are called and in whatever order. What two
// processes want at once the first of these devices then decides, and not both lose.
std::vector<std::size_t> locking_order(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    if (io::is_address(path)) {
      names.push_back(path);
      continue;
    }
    std::error_code failure;
    const std::filesystem::path name = std::filesystem::canonical(path, failure);
    // What cannot be found cannot be locked: its place does not matter.
    names.push_back(failure ? std::string() : name.string());
  }
  std::vector<std::size_t> order(paths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return names[a] < names[b]; });
  return order;
}

// Adds the devices to `devices`, in the order given. With the first that is in use it ends: nothing
// more can be learnt, and another one that were locked now could be what its user is about to open.
Status survey_all(const std::vector<std::string>& paths, io::OpenMode mode, io::System& system,
                  std::vector<SurveyedDevice>& devices) {
  std::vector<SurveyedDevice> found(paths.size());
  for (const std::size_t i : locking_order(paths)) {
    found[i] = survey_one(paths[i], mode, system);
    const std::optional<Error>& problem = found[i].problem;
    if (problem.has_value() && problem->code == ErrorCode::kBusy) return *problem;
  }
  std::move(found.begin(), found.end(), std::back_inserter(devices));
  return {};
}

// What is not known now may be known in a moment.
bool is_passing(const SurveyedDevice& device) {
  return device.problem.has_value() && (device.problem->code == ErrorCode::kExhausted ||
                                        device.problem->code == ErrorCode::kUnavailable);
}

// For writing. Going on without the device would make it stale, for a reason that may be gone in a
// moment, or that is not its own. Nothing has been written yet.
Status check_ours(const SurveyedDevice& device, io::OpenMode mode, Unwritable unwritable) {
  if (!is_ours(device)) return {};
  if (mode != io::OpenMode::kReadWrite) return {};
  const ErrorCode code = device.problem->code;
  const bool lasting = code == ErrorCode::kReadOnly || code == ErrorCode::kInvalidArgument ||
                       code == ErrorCode::kUnsupported;
  if (lasting && unwritable == Unwritable::kLose) return {};
  Error error = *device.problem;
  error.message +=
      "; the pool is not opened for writing without this device, and nothing has changed";
  if (code == ErrorCode::kUnavailable) {
    error.hint +=
        " Or open the pool for reading only. Or, where it is lost for good, give it up: name the "
        "other devices alone, with --device.";
  }
  if (lasting) {
    const bool said = error.hint.find("for reading only") != std::string::npos;
    error.hint += std::string(error.hint.empty() ? "" : " ") +
                  (said ? "" : "Or open the pool for reading only. ") +
                  "Or give the device up: "
                  "--lose-unwritable-devices (unwritable_devices = lose).";
  }
  return error;
}

// What the data path computes with stands twice, in the label's fields and in its pool options; a
// label that says two things is no better than a damaged one.
Status check_label(const alloc::Label& label, const PoolOptions& options) {
  const ec::Profile& profile = options.profile;
  const bool agree = label.k == profile.k && label.m == profile.m &&
                     label.codec == static_cast<std::uint8_t>(profile.codec) &&
                     label.packet_bytes == profile.packet_bytes;
  if (!agree) {
    return Error{ErrorCode::kCorruption,
                 "the label's profile, " + std::to_string(label.k) + "+" + std::to_string(label.m) +
                     ", is not that of its pool options, " + ec::to_string(profile),
                 ""};
  }
  const std::uint32_t block = label.checksum_granularity;
  if (label.role == alloc::DeviceRole::kLog) return {};  // no cells
  if (block < label.layout.physical_block || block % label.layout.physical_block != 0) {
    return Error{ErrorCode::kCorruption,
                 "the label has checksum blocks of " + std::to_string(block) +
                     " bytes on physical blocks of " + std::to_string(label.layout.physical_block),
                 ""};
  }
  return {};
}

// Labels that contradict themselves are problems of their devices.
void check_labels(std::vector<SurveyedDevice>& devices) {
  for (SurveyedDevice& device : devices) {
    if (!device.label.has_value()) continue;
    const Result<PoolOptions> options = decode_pool_options(device.label->pool_options);
    const Status status = options.ok() ? check_label(*device.label, *options) : options.status();
    device.sound_label = status.ok();
    if (!status.ok()) device.problem = status.error().with_context(device.path);
  }
}

std::string list_problems(const std::vector<SurveyedDevice>& devices) {
  std::string text;
  for (const SurveyedDevice& device : devices) {
    if (!device.problem.has_value()) continue;
    text += "\n  " + device.path + ": " + device.problem->message;
  }
  return text;
}

// Copies at one end that are damaged while others are whole.
std::string damage_of(const SurveyedDevice& device) {
  std::string text;
  if (device.damaged_copy.has_value() && !device.other_copy_stays()) {
    text = "one label copy is damaged: " + device.damaged_copy->message;
  }
  for (const std::string& root : device.bad_roots) text += (text.empty() ? "" : "; ") + root;
  if (!text.empty()) {
    text += io::is_snapshot_path(device.path)
                ? "; it stays so in a snapshot: the next opening for writing, or a scrub, of the "
                  "pool that it was taken of writes it again there"
                : "; the next opening for writing writes it again";
  }
  if (device.other_copy_stays()) {
    text += (text.empty() ? "" : "; ") +
            ("one label copy is not for this program, and stays: " + device.damaged_copy->message);
  }
  return text;
}

// What makes a device that was away a part of the pool again.
std::string who_takes_in(const std::string& path, const alloc::RootDevice& row) {
  const std::string by_hand = "hexad device online POOL " + std::to_string(row.id);
  std::string text = io::is_snapshot_path(path)
                         ? "; it stays so in a snapshot; in the pool that it was taken of, "
                         : "; ";
  // AD5: where nothing is on it, it is to go.
  text += row.draining
              ? by_hand +
                    " takes it in again, where an opening for writing does not since nothing is "
                    "left on it"
              : "an opening for writing takes it in again, or " + by_hand;
  return text;
}

// The fast devices of the store, by the root of the data devices that were found; where those
// decide nothing, those that mkfs has made.
std::set<DeviceId> fast_devices(const Survey& survey) {
  std::vector<alloc::DeviceRoots> roots;
  for (const SurveyedDevice& device : survey.devices) {
    if (!device.sound_label || device.label->store != survey.store) continue;
    if (device.problem.has_value()) continue;
    roots.push_back(
        {device.label->device, device.label->device_uuid, device.label->store, device.roots});
  }
  const Result<alloc::RootChoice> choice = alloc::choose_root(survey.store, roots, survey.label.m);
  std::set<DeviceId> ids;
  const auto add = [&ids](const auto& devices) {
    for (const auto& one : devices) {
      if (one.role == alloc::DeviceRole::kLog) ids.insert(one.id);
    }
  };
  if (choice.ok()) {
    add(choice->root.devices);
  } else {
    add(survey.options.devices);
  }
  return ids;
}

// Where mkfs had fast devices, as the labels say, as far as they are devices of the store still.
// They stand there in the order of their directories.
std::vector<std::string> fast_directories_of_labels(const PoolOptions& options,
                                                    const std::set<DeviceId>& fast) {
  std::vector<std::string> directories;
  std::size_t next = 0;
  for (const PooledDevice& one : options.devices) {
    if (one.role != alloc::DeviceRole::kLog || next == options.fast_directories.size()) continue;
    const std::string& directory = options.fast_directories[next++];
    if (fast.contains(one.id)) directories.push_back(directory);
  }
  return directories;
}

}  // namespace

Status check_same_shape(const alloc::Label& first, const alloc::Label& other) {
  const auto shape = [](const alloc::Label& label) {
    return std::tuple(label.k, label.m, label.codec, label.packet_bytes, label.redundant_devices,
                      label.checksum, label.checksum_granularity, label.layout.block_of_log(),
                      label.layout.unit);
  };
  const auto data_shape = [](const alloc::Label& label) {
    return std::tuple(label.layout.physical_block, label.layout.slab_units);
  };
  const bool data =
      first.role == alloc::DeviceRole::kData && other.role == alloc::DeviceRole::kData;
  if (shape(first) == shape(other) && (!data || data_shape(first) == data_shape(other))) {
    return {};
  }
  return Error{
      ErrorCode::kCorruption,
      "its label describes the store otherwise than that of device " + std::to_string(first.device),
      ""};
}

std::string state_of(alloc::Standing standing) {
  switch (standing) {
    case alloc::Standing::kHealthy:
      return "ok";
    case alloc::Standing::kStale:
      return "stale";
    case alloc::Standing::kAway:
      return "away";
    case alloc::Standing::kLeft:
    case alloc::Standing::kMissing:
      return "missing";
    case alloc::Standing::kForeign:
      return "foreign";
    case alloc::Standing::kDuplicate:
      return "duplicate";
  }
  return "unknown";
}

SurveyedDevice survey_device(const std::string& path, io::OpenMode mode, io::System& system) {
  std::vector<SurveyedDevice> one;
  one.push_back(survey_one(path, mode, system));
  check_labels(one);
  return std::move(one.front());
}

Status check_index_directory(const std::string& index_directory, const Uuid& store,
                             io::System& system) {
  const std::string fast = std::filesystem::path(index_directory).parent_path().string();
  // Its label alone: roots are being written to it.
  Result<std::unique_ptr<io::Device>> opened =
      system.open_device(fast_log_path(fast), io::OpenMode::kLook);
  if (!opened.ok()) return {};
  SurveyedDevice log;
  log.device = std::move(opened).value();
  const Result<alloc::LabelCopy> found = alloc::read_label(*log.device);
  if (!found.ok() || found->label.store == store) return {};
  return Error{ErrorCode::kConflict,
               fast + " belongs to store " + to_string(found->label.store) + " by now, not to " +
                   to_string(store) + ", which is in use",
               "Close the store that is in use, and open the pool that is there now."};
}

SurveyedDevice::~SurveyedDevice() {
  if (device == nullptr) return;
  io::IoQueue& queue = device->queue();
  queue.close(std::move(device));
}

Result<Survey> survey_devices(const PoolDescription& pool, io::OpenMode mode, io::System& system,
                              Unwritable unwritable) {
  if (pool.devices.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no devices given",
                 "Name the pool's directory, or its devices with --device."};
  }
  Survey survey;
  survey.mode = mode;
  HEXAD_TRY(survey_all(pool.devices, mode, system, survey.devices));
  for (const SurveyedDevice& device : survey.devices) {
    HEXAD_TRY(check_ours(device, mode, unwritable));
  }
  check_labels(survey.devices);
  std::map<Uuid, int> votes;
  for (const SurveyedDevice& device : survey.devices) {
    if (device.sound_label) ++votes[device.label->store];
  }
  if (votes.empty()) {
    // There may well be a store.
    for (const SurveyedDevice& device : survey.devices) {
      if (is_passing(device)) {
        return *device.problem;
      }
    }
    // Or one that is not for this program, or not for this user.
    for (const SurveyedDevice& device : survey.devices) {
      if (is_ours(device)) return *device.problem;
    }
    return Error{ErrorCode::kNotFound,
                 "none of the " + std::to_string(survey.devices.size()) +
                     " devices carries a readable label:" + list_problems(survey.devices),
                 "Check the paths; hexad mkfs POOL --device PATH... makes a new pool."};
  }
  survey.store = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
                   return a.second < b.second;
                 })->first;
  // Of a data device, if there is one: what the cells are laid out for stands there.
  const SurveyedDevice* like = nullptr;
  for (const SurveyedDevice& device : survey.devices) {
    if (!device.sound_label || device.label->store != survey.store) continue;
    if (like == nullptr) like = &device;
    if (device.label->role != alloc::DeviceRole::kData) continue;
    like = &device;
    break;
  }
  survey.label = *like->label;
  HEXAD_TRY_ASSIGN(survey.options, decode_pool_options(like->label->pool_options));
  // Where the devices are as they were at some moment, a fast directory is not, and what it has of
  // later would be taken for theirs. It is a copy, and they do without.
  survey.of_the_past =
      std::any_of(pool.devices.begin(), pool.devices.end(),
                  [](const std::string& path) { return io::is_snapshot_path(path); });
  // A pool without fast devices keeps its log on the data devices; a directory that it is given all
  // the same has the index alone.
  const std::set<DeviceId> fast = fast_devices(survey);
  const bool with_logs = !fast.empty();
  if (!survey.of_the_past) {
    survey.fast_directories = pool.fast_directories;
    if (survey.fast_directories.empty()) {
      survey.fast_directories = fast_directories_of_labels(survey.options, fast);
    }
  }
  std::vector<std::string> logs;
  for (const std::string& directory : survey.fast_directories) {
    if (with_logs) logs.push_back(fast_log_path(directory));
  }
  const std::size_t data_devices = survey.devices.size();
  HEXAD_TRY(survey_all(logs, mode, system, survey.devices));
  for (std::size_t i = data_devices; i < survey.devices.size(); ++i) {
    HEXAD_TRY(check_ours(survey.devices[i], mode, unwritable));
  }
  check_labels(survey.devices);
  for (SurveyedDevice& device : survey.devices) {
    if (!device.sound_label || device.label->store != survey.store) continue;
    const Status same = check_same_shape(survey.label, *device.label);
    if (!same.ok()) device.problem = same.error().with_context(device.path);
  }
  return survey;
}

Result<Assignment> assign_members(Survey& survey) {
  std::vector<alloc::DeviceRoots> roots;
  std::vector<std::size_t> origin;  // index into survey.devices
  Assignment assignment;
  for (std::size_t i = 0; i < survey.devices.size(); ++i) {
    const SurveyedDevice& device = survey.devices[i];
    if (device.label.has_value() && !device.problem.has_value()) {
      roots.push_back(
          {device.label->device, device.label->device_uuid, device.label->store, device.roots});
      origin.push_back(i);
    }
  }
  Result<alloc::RootChoice> choice = alloc::choose_root(survey.store, roots, survey.label.m);
  if (!choice.ok()) {
    Error error = choice.error();
    error.message += list_problems(survey.devices);
    for (const SurveyedDevice& device : survey.devices) {
      if (is_passing(device)) error.code = device.problem->code;
    }
    return error;
  }
  assignment.choice = std::move(choice).value();

  for (const alloc::RootDevice& row : assignment.choice.root.devices) {
    Member member;
    member.id = row.id;
    member.uuid = row.uuid;
    member.role = row.role;
    member.state = "missing";
    member.draining = row.draining;
    member.domain = row.domain;
    // Its label may not be here; what matters for an absent device is which slabs it has.
    if (row.slabs != 0) {
      member.layout.slab_units = survey.label.layout.slab_units;
      member.layout.slab_count = row.slabs;
      member.layout.unit = survey.label.layout.unit;
    }
    for (const PooledDevice& pooled : survey.options.devices) {
      if (pooled.id != row.id || row.slabs != 0) continue;
      member.layout.slab_units = pooled.slab_units;
      member.layout.slab_count = pooled.slab_count;
      member.layout.unit = survey.label.layout.unit;
    }
    assignment.members.push_back(std::move(member));
  }
  const auto member_of = [&](DeviceId id) -> Member* {
    for (Member& member : assignment.members) {
      if (member.id == id) return &member;
    }
    return nullptr;
  };
  const auto add_unrecognised = [&](const std::string& path, std::string state,
                                    std::string detail) {
    DeviceStatus status;
    status.path = path;
    status.state = std::move(state);
    status.detail = std::move(detail);
    assignment.unrecognised.push_back(std::move(status));
  };
  for (const alloc::DeviceStanding& standing : assignment.choice.devices) {
    Member* member = member_of(standing.id);
    if (standing.input < 0) {
      if (member != nullptr && member->device == nullptr && member->path.empty()) {
        member->state = state_of(standing.standing);
        member->detail = standing.reason;
      }
      continue;
    }
    SurveyedDevice& device = survey.devices[origin[static_cast<std::size_t>(standing.input)]];
    const alloc::RootDevice* const row = assignment.choice.root.find(standing.id);
    const bool is_foreign = member == nullptr || standing.standing == alloc::Standing::kForeign ||
                            standing.standing == alloc::Standing::kDuplicate;
    if (is_foreign) {
      add_unrecognised(device.path, state_of(standing.standing), standing.reason);
      continue;
    }
    member->path = device.path;
    member->layout = device.label->layout;
    member->label = device.label;
    member->bad_header_slots = device.bad_slots();
    member->state = state_of(standing.standing);
    member->detail = standing.reason;
    if (standing.standing == alloc::Standing::kHealthy) {
      member->device = std::move(device.device);
      if (row->behind) {
        member->state = row->filling ? "filling" : "behind";
        member->behind = true;
        member->filling = row->filling;
      }
      const std::string damage = damage_of(device);
      // An opening for writing writes them again, and says so.
      if (survey.mode != io::OpenMode::kReadWrite && !damage.empty()) {
        member->detail += (member->detail.empty() ? "" : "; ") + damage;
      }
    } else if (standing.standing == alloc::Standing::kAway) {
      member->device = std::move(device.device);
      member->returning = true;
      member->detail += who_takes_in(device.path, *row);
    }
  }
  for (const SurveyedDevice& device : survey.devices) {
    if (!device.problem.has_value()) continue;
    if (device.label.has_value() && device.label->store == survey.store) {
      if (Member* member = member_of(device.label->device);
          member != nullptr && member->path.empty()) {
        member->path = device.path;
        member->state = "damaged";
        member->detail = device.problem->message;
        continue;
      }
    }
    const bool absent = device.problem->code == ErrorCode::kNotFound;
    const std::string state = absent ? "missing" : "unreadable";
    // Which member a path without a label belongs to is not known; but there are as many places
    // left for it as there are absent members, so each is shown at one of them, in order.
    const bool is_log =
        device.path.size() > 4 && device.path.compare(device.path.size() - 4, 4, "/log") == 0;
    const auto place =
        std::find_if(assignment.members.begin(), assignment.members.end(), [&](const Member& m) {
          return m.path.empty() && (m.role == alloc::DeviceRole::kLog) == is_log;
        });
    if (place == assignment.members.end()) {
      add_unrecognised(device.path, state, device.problem->message);
      continue;
    }
    place->path = device.path;
    place->state = state;
    place->detail = device.problem->message;
  }
  return assignment;
}

}  // namespace hexad::core
