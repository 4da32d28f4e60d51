#include "core/devices/device_changes.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "alloc/failure_domains.h"
#include "alloc/header_slot.h"
#include "alloc/root_choice.h"
#include "base/units.h"
#include "core/devices/device_facts.h"
#include "io/bounded_reads.h"

namespace hexad::core {

namespace {

// Files end at one.
constexpr std::uint64_t kFileBlock = 4096;

std::string count_of(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

DeviceChanges::DeviceChanges(const DeviceParts& parts, Beside beside)
    : parts_(parts), beside_(std::move(beside)), room_(parts.shape, parts.members, parts.space) {}

// A name where the others have some, so that nobody forgets it, and none where they have none.
Status DeviceChanges::check_domain(const AddedTo& to) const {
  if (to.root.domain_cells == 0) {
    if (to.domain.empty()) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "failure domain " + to.domain + ": the store was made without failure domains",
                 "Add the device without one. They are named when a pool is made, all of them: "
                 "hexad mkfs POOL --failure-domain NAME=PATH..."};
  }
  if (!to.domain.empty()) return alloc::check_domain_name(to.domain);
  std::set<std::string> known;
  for (const alloc::RootDevice& row : to.root.devices) {
    if (!row.domain.empty()) known.insert(row.domain);
  }
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  return Error{ErrorCode::kInvalidArgument,
               "the devices of the store are in failure domains (" + names +
                   "), and none is named for this one",
               "Say in which it is, with --failure-domain NAME: one of those, or a new one."};
}

// Nothing has been touched yet. That a fast device fails leaves as many data devices as there were.
Status DeviceChanges::may_add(const std::string& path, const AddedTo& to) const {
  const alloc::Root& root = to.root;
  const Members& members = parts_.members;
  if (parts_.memory_only) {
    return Error{ErrorCode::kUnsupported, "a store in memory has all the devices it will have", ""};
  }
  if (path.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no path of a device is given", "Name its path."};
  }
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (members.is_removed(i) || member.path != path || member.device == nullptr) continue;
    return Error{ErrorCode::kAlreadyExists,
                 path + " is device " + std::to_string(member.id) + " of the store",
                 "Choose another device."};
  }
  const bool full = root.devices.size() >= alloc::kMaxDevices ||
                    root.next_device > alloc::kMaxDeviceId || members.size() >= Members::kMost;
  if (full) {
    return Error{ErrorCode::kTooBig,
                 "the store has " + count_of(root.devices.size(), "device") + ", and has had " +
                     std::to_string(root.next_device) + "; " + std::to_string(alloc::kMaxDevices) +
                     " are possible, and numbers up to " + std::to_string(alloc::kMaxDeviceId),
                 "Remove devices that are not needed, and open the store again."};
  }
  const std::uint32_t lost = parts_.space.lost_cells();
  const bool data = to.role == alloc::DeviceRole::kData;
  if (data) HEXAD_TRY(check_domain(to));
  if (data && lost > 0 && lost >= parts_.shape.m()) {
    return Error{ErrorCode::kUnavailable,
                 describe_lost(lost, members.domain_cells()) +
                     " are lost or behind, as many as the profile survives",
                 "Bring one of them back, or replace it, and then add a device."};
  }
  return {};
}

Result<DeviceId> DeviceChanges::add(const std::string& path, const AcceptLayout& accept,
                                    const Progress& progress, const std::string& domain) {
  HEXAD_TRY(parts_.writable());
  AddedTo to;
  to.role = alloc::DeviceRole::kData;
  to.domain = domain;
  to.accept = accept;
  to.progress = progress;
  HEXAD_TRY_ASSIGN(const DeviceId id, add_at(path, to));
  beside_.moves.want();
  return id;
}

Result<DeviceId> DeviceChanges::add_fast(const std::string& given, const Progress& progress) {
  HEXAD_TRY(parts_.writable());
  const std::string directory = FastDirectories::tidy(given);
  if (directory.empty()) {
    return Error{ErrorCode::kInvalidArgument, "no directory is given",
                 "Name a directory on the fast device."};
  }
  HEXAD_TRY(beside_.fast.check_no_foreign_index(directory, Openings::Turn::kFree));
  AddedTo to;
  to.role = alloc::DeviceRole::kLog;
  to.progress = progress;
  return beside_.fast.in(directory, Openings::Turn::kFree,
                         [&](const std::string& log) { return add_at(log, to); });
}

Status DeviceChanges::find_added_to(const std::string& path, AddedTo& to) {
  to.root = parts_.membership.root();
  HEXAD_TRY(may_add(path, to));
  to.parities = parts_.shape.m();
  HEXAD_TRY_ASSIGN(to.label, data_label(parts_.members));
  if (to.role == alloc::DeviceRole::kLog) {
    to.file_size = size_like(to.label.layout, 0);
    return {};
  }
  for (const Member* member :
       other_data_devices(parts_.members, ~DeviceId{0}, [](const Member&) { return true; })) {
    to.file_size = std::max(to.file_size, member->layout.device_size);
  }
  to.file_size = round_up(to.file_size, kFileBlock);
  to.redundant = all_redundant_themselves(parts_.shape, parts_.members);
  return {};
}

// `to`: of what kind the device is, and who decides. While the path is opened others may change
// devices, so what it has to fit is looked at again.
Result<DeviceId> DeviceChanges::add_at(const std::string& path, AddedTo& to) {
  const Openings::Claim claim(beside_.turn.openings(), path);
  HEXAD_TRY(claim.check());
  {
    HEXAD_TRY(beside_.turn.take());
    const io::Lock one(beside_.turn.mutex(), std::adopt_lock);
    HEXAD_TRY(find_added_to(path, to));
  }
  const auto open = [&]() -> Result<OpenedDevice> {
    const Openings::Call call(beside_.turn.openings(), path, Openings::Turn::kFree);
    return open_added_device(path, to, parts_.system);
  };
  HEXAD_TRY_ASSIGN(OpenedDevice opened, open());
  const auto give_up = [&](const Status& why) {
    give_up_added(std::move(opened), parts_.system);
    return why.error();
  };
  if (const Status turn = beside_.turn.take(); !turn.ok()) return give_up(turn);
  const io::Lock one(beside_.turn.mutex(), std::adopt_lock);
  Status may = parts_.still_open();
  if (may.ok()) may = find_added_to(path, to);
  if (!may.ok()) return give_up(may);
  return add_opened(std::move(opened), to);
}

// AD1, AD2. Whatever fails, the store is as it was, and no handle of the device has any more use.
Result<DeviceId> DeviceChanges::add_opened(OpenedDevice opened, AddedTo& to) {
  Members& members = parts_.members;
  const std::string path = opened.found.path;
  // So that it is given up when it does not answer, as a member would be.
  to.under_way = [this](io::Device* device) { beside_.silent.watch_new(device); };
  HEXAD_TRY_ASSIGN(AddedDevice made, make_added_device(std::move(opened), to, parts_.system));
  const DeviceId id = made.member.id;
  parts_.history.note_added(id, made.member.uuid);
  Status added = parts_.still_open();
  bool named = false;
  if (added.ok()) {
    const io::Lock no_zones(parts_.zone_mutex);
    added = parts_.membership.add_device(
        std::move(made.member), [this] { parts_.space.learn_devices(); }, named);
  }
  if (!added.ok()) {
    if (members.find(id) != nullptr && !members.usable(id)) members.let_go(id).ignore();
    // No root names it: a file that was made is nobody's.
    if (made.created && !named) parts_.system.remove_created(path).ignore();
    return added.error().with_context(path);
  }
  return id;
}

// No zone has a slab on the device, and none is being made there.
Status DeviceChanges::check_empty(DeviceId id) const {
  const Space::Slabs slabs = parts_.space.slabs(id);
  const std::uint64_t slots = parts_.space.slots_on(id);
  if (slots > 0) {
    return Error{ErrorCode::kUnavailable,
                 describe_device(parts_.members, id) + " still holds " +
                     format_size(parts_.space.used_bytes(id)) + " in " + count_of(slots, "slab"),
                 "Wait until they have been moved: hexad wait POOL --for drain says when."};
  }
  if (slabs.used == 0) return {};
  return Error{ErrorCode::kUnavailable,
               count_of(slabs.used, "slab") + " of " + describe_device(parts_.members, id) +
                   " are being moved, or kept for a moment",
               "Try again in a moment."};
}

// AD3, AD6. In its order: nothing comes to it any more; nothing that is replayed names it; it
// leaves, and has no row; what it has on it is nobody's. A fast device has no slabs, so nothing
// that is replayed names it (AD8).
Status DeviceChanges::remove(DeviceId id) {
  HEXAD_TRY(parts_.writable());
  HEXAD_TRY(beside_.turn.take());
  const io::Lock one(beside_.turn.mutex(), std::adopt_lock);
  HEXAD_TRY(check_has(parts_.members, id));
  Members& members = parts_.members;
  const Member& member = *members.find(id);
  if (member.role == alloc::DeviceRole::kData) {
    HEXAD_TRY(remove_data_device(member));
  } else {
    HEXAD_TRY(remove_fast_device(id));
  }
  // One that owes an answer may owe another for long, and its label is foreign by now.
  if (member.device != nullptr && !member.device->is_given_up() &&
      member.device->owing_for() == 0) {
    alloc::clear_ends({member.device.get(), member.layout.device_size}).ignore();
  }
  members.let_go(id).ignore();
  return {};
}

// Where m = 0 nothing but its answer ends a wait for a data device (HG2), which may be the one that
// is to go: so what waits is left to itself, and then it changes nothing any more.
Status DeviceChanges::remove_row(DeviceId id, Settle settle) {
  HEXAD_TRY(beside_.silent.check_answers(kSilence));
  enum class Stage : std::uint8_t { kWaits, kBegun, kLeft };
  const auto stage = std::make_shared<std::atomic<Stage>>(Stage::kWaits);
  const auto turn_to = [stage](Stage to) {
    Stage from = Stage::kWaits;
    return stage->compare_exchange_strong(from, to);
  };
  const auto remove = [this, id, settle, turn_to]() -> Status {
    if (settle == Settle::kFirst) HEXAD_TRY(beside_.catch_ups.settle_whole());
    HEXAD_TRY(parts_.still_open());
    return parts_.membership.remove_device(id, [&] { return turn_to(Stage::kBegun); });
  };
  if (parts_.shape.m() > 0) return remove();
  return beside_.run_apart(remove, [&]() -> std::optional<Error> {
    const Status answers = beside_.silent.check_answers(io::kReadPatience);
    if (answers.ok() || !turn_to(Stage::kLeft)) return std::nullopt;
    return answers.error();
  });
}

// Metadata that are in the index alone, as the first checkpoint of a version without runs left
// them, are in runs before the directory may go.
Status DeviceChanges::remove_fast_device(DeviceId id) {
  return remove_row(id, beside_.runs.set()->lsn() == 0 ? Settle::kFirst : Settle::kNeedless);
}

// Of a data device: as far as nothing is on it, up to and with the root that has no row of it.
Status DeviceChanges::remove_data_device(const Member& member) {
  const DeviceId id = member.id;
  Members& members = parts_.members;
  HEXAD_TRY(room_.check_spread(id,
                               other_data_devices(members, id, [](const Member&) { return true; }),
                               "the store has", ""));
  const bool was_draining = members.is_draining(id);
  Status removed;
  {
    // First, so that nothing begins to move there behind the look.
    HEXAD_TRY(beside_.silent.lock_unless_silent(parts_.zone_mutex,
                                                "the removal waits for a zone that is being made"));
    const io::Lock no_zones(parts_.zone_mutex, std::adopt_lock);
    members.begin_draining(id);
    removed = check_empty(id);
    if (!removed.ok() && !was_draining) {
      removed = Error{removed.error().code, removed.error().message,
                      "Drain it first, hexad device drain POOL " + std::to_string(id) +
                          ", and wait until it is empty."};
    }
  }
  if (removed.ok()) removed = remove_row(id, Settle::kFirst);
  if (!removed.ok()) {
    if (!was_draining) members.end_draining(id);
    parts_.space.learn_devices();
    beside_.moves.want();
  }
  return removed;
}

}  // namespace hexad::core
