// The devices of a store that is open: one more, one that is to go, one less. AD1 to AD6 of
// doc/invariants.md#devices-more-and-less.
#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "alloc/failure_domains.h"
#include "alloc/header_slot.h"
#include "alloc/root_choice.h"
#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/new_device.h"

namespace hexad::core {

namespace {

// Files end at one.
constexpr std::uint64_t kFileBlock = 4096;
constexpr io::Nanos kNap = 10'000'000;

std::string count_of(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// Data devices of the store but for that one; `pick`: those that count.
template <typename Pick>
std::vector<const Member*> others(const Members& members, DeviceId id, const Pick& pick) {
  std::vector<const Member*> found;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool data = member.role == alloc::DeviceRole::kData && !members.is_removed(i);
    if (data && member.id != id && pick(member)) found.push_back(&member);
  }
  return found;
}

}  // namespace

// close() may have come meanwhile, and its last checkpoint is the last root.
Status Engine::still_open() const {
  if (!closing_.is_closed()) return {};
  return Error{ErrorCode::kClosed, "the store has been closed meanwhile", ""};
}

// A name where the others have some, so that nobody forgets it, and none where they have none.
Status Engine::check_domain(const AddedTo& to) const {
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
Status Engine::may_add(const std::string& path, const AddedTo& to) const {
  const alloc::Root& root = to.root;
  const Members& members = *parts_.members;
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
  const std::uint32_t lost = parts_.space->lost_cells();
  const bool data = to.role == alloc::DeviceRole::kData;
  if (data) HEXAD_TRY(check_domain(to));
  if (data && lost > 0 && lost >= parts_.shape->m()) {
    return Error{ErrorCode::kUnavailable,
                 describe_lost(lost, members.domain_cells()) +
                     " are lost or behind, as many as the profile survives",
                 "Bring one of them back, or replace it, and then add a device."};
  }
  return {};
}

// Of a store without parity whose data devices all say so of themselves. Where its user has said it
// of some, that word is also of those that come.
bool Engine::all_redundant_themselves() const {
  if (shape().m() > 0) return false;
  const Members& members = *parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool counts = members.is_usable(i) && member.role == alloc::DeviceRole::kData;
    if (counts && !member.device->geometry().redundant) return false;
  }
  return true;
}

// Who has it may be in a call of the kernel that does not come back: so this waits in naps. The
// thread safety analysis knows no lock that is taken where a Status is OK.
Status Engine::take_turn() HEXAD_NO_THREAD_SAFETY_ANALYSIS {
  while (!return_mutex_.try_lock()) {
    HEXAD_TRY(openings_.check_turn(io::kReadPatience));
    HEXAD_TRY(check_answers(io::kReadPatience));
    executor().sleep_for(kNap);
  }
  return {};
}

Result<DeviceId> Engine::add_device(
    const std::string& path, const AcceptLayout& accept,
    const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress,
    const std::string& domain) {
  HEXAD_TRY(writable());
  AddedTo to;
  to.role = alloc::DeviceRole::kData;
  to.domain = domain;
  to.accept = accept;
  to.progress = progress;
  HEXAD_TRY_ASSIGN(const DeviceId id, add_at(path, to));
  want_moves();
  return id;
}

Status Engine::find_added_to(const std::string& path, AddedTo& to) {
  to.root = membership_->root();
  HEXAD_TRY(may_add(path, to));
  to.parities = shape().m();
  HEXAD_TRY_ASSIGN(to.label, data_label());
  if (to.role == alloc::DeviceRole::kLog) {
    to.file_size = size_like(to.label.layout, 0);
    return {};
  }
  for (const Member* member :
       others(*parts_.members, ~DeviceId{0}, [](const Member&) { return true; })) {
    to.file_size = std::max(to.file_size, member->layout.device_size);
  }
  to.file_size = round_up(to.file_size, kFileBlock);
  to.redundant = all_redundant_themselves();
  return {};
}

// `to`: of what kind the device is, and who decides. While the path is opened others may change
// devices, so what it has to fit is looked at again.
Result<DeviceId> Engine::add_at(const std::string& path, AddedTo& to) {
  const Openings::Claim claim(openings_, path);
  HEXAD_TRY(claim.check());
  {
    HEXAD_TRY(take_turn());
    const io::Lock one(return_mutex_, std::adopt_lock);
    HEXAD_TRY(find_added_to(path, to));
  }
  const auto open = [&]() -> Result<OpenedDevice> {
    const Openings::Call call(openings_, path, Openings::Turn::kFree);
    return open_added_device(path, to, *parts_.system);
  };
  HEXAD_TRY_ASSIGN(OpenedDevice opened, open());
  const auto give_up = [&](const Status& why) {
    give_up_added(std::move(opened), *parts_.system);
    return why.error();
  };
  if (const Status turn = take_turn(); !turn.ok()) return give_up(turn);
  const io::Lock one(return_mutex_, std::adopt_lock);
  Status may = still_open();
  if (may.ok()) may = find_added_to(path, to);
  if (!may.ok()) return give_up(may);
  return add_opened(std::move(opened), to);
}

// AD1, AD2. Whatever fails, the store is as it was, and no handle of the device has any more use.
Result<DeviceId> Engine::add_opened(OpenedDevice opened, AddedTo& to) {
  Members& members = *parts_.members;
  const std::string path = opened.found.path;
  // So that it is given up when it does not answer, as a member would be.
  to.under_way = [this](io::Device* device) {
    const io::Lock lock(new_mutex_);
    new_device_ = device;
  };
  HEXAD_TRY_ASSIGN(AddedDevice made, make_added_device(std::move(opened), to, *parts_.system));
  const DeviceId id = made.member.id;
  history_->note_added(id, made.member.uuid);
  Status added = still_open();
  bool named = false;
  if (added.ok()) {
    const io::Lock no_zones(zone_mutex_);
    added = membership_->add_device(
        std::move(made.member), [this] { space().learn_devices(); }, named);
  }
  if (!added.ok()) {
    if (members.find(id) != nullptr && !members.usable(id)) members.let_go(id).ignore();
    // No root names it: a file that was made is nobody's.
    if (made.created && !named) parts_.system->remove_created(path).ignore();
    return added.error().with_context(path);
  }
  return id;
}

// Whether zones can be made of what is left without a device. `have` and `these`: what a message
// says around the number.
Status Engine::check_spread(DeviceId without, const std::vector<const Member*>& left,
                            const std::string& have, const std::string& these) const {
  std::set<DeviceId> ids;
  for (const Member* const member : left) ids.insert(member->id);
  const std::uint32_t cells = parts_.members->cells_on(ids);
  if (cells >= shape().cells()) return {};
  const bool too_few = left.size() < shape().cells();
  return Error{
      ErrorCode::kNoSpace,
      "without " + describe_device(without) + " " + have + " " +
          count_of(left.size(), "data device") + these + ", " +
          (too_few ? std::to_string(shape().cells()) + " are needed"
                   : "in failure domains where a stripe can have " + std::to_string(cells) +
                         " cells on them (" + std::to_string(parts_.members->domain_cells()) +
                         " in each); it has " + std::to_string(shape().cells())),
      add_first("its own domain or a new one")};
}

// What is necessary: it says nothing of how slabs are spread.
Status Engine::may_drain(DeviceId id) const {
  const Members& members = *parts_.members;
  const std::vector<const Member*> left = others(members, id, [&](const Member& member) {
    return members.usable(member.id) && !members.is_draining(member.id);
  });
  HEXAD_TRY(check_spread(id, left, "there are", " that can be used"));
  const SlabsFor room = slabs_for(id, left, 0);
  std::uint64_t others_need = 0;  // what is to be moved off them still
  const std::string& domain = members.find(id)->domain;
  for (const Member* member : others(members, id, [&](const Member& member) {
         const bool same_room = !room.in_domain_alone || member.domain == domain;
         return same_room && members.is_draining(member.id);
       })) {
    others_need += parts_.space->slots_on(member->id);
  }
  const std::uint64_t needed = parts_.space->slots_on(id);
  if (room.free >= needed + others_need) return {};
  const std::uint64_t slab = std::uint64_t{parts_.space->slab_units()} * shape().unit;
  return Error{ErrorCode::kNoSpace,
               "zones use " + count_of(needed, "slab") + " (" + format_size(needed * slab) +
                   ") of " + describe_device(id) + ", and the other devices" +
                   (room.in_domain_alone ? " of its failure domain have " : " have ") +
                   std::to_string(room.free) + " left (" + format_size(room.free * slab) + ")" +
                   (others_need > 0 ? ", of which devices that are drained already need " +
                                          std::to_string(others_need)
                                    : ""),
               add_first(room.in_domain_alone ? "its own domain" : "")};
}

// Where zones have as many slabs as may be in every domain, those of one stay there.
Engine::SlabsFor Engine::slabs_for(DeviceId id, const std::vector<const Member*>& others,
                                   std::uint64_t more) const {
  const Members& members = *parts_.members;
  const std::string& domain = members.find(id)->domain;
  std::set<DeviceId> all = {id};
  for (const Member* const member : others) all.insert(member->id);
  const bool tight = members.cells_on(all) == shape().cells();
  SlabsFor room{more, tight && !domain.empty()};
  for (const Member* const member : others) {
    if (tight && (domain.empty() || member->domain != domain)) continue;
    const Space::Slabs slabs = parts_.space->slabs(member->id);
    room.free += slabs.total - slabs.used;
  }
  return room;
}

// `where`: in which failure domain it is of use, if not in any.
std::string Engine::add_first(const std::string& where) const {
  if (parts_.members->domain_cells() == 0) {
    return "Add a device first: hexad device add POOL PATH.";
  }
  return "Add a device first" + (where.empty() ? "" : ", in " + where) +
         ": hexad device add POOL PATH --failure-domain NAME.";
}

// AD4
Status Engine::drain_device(DeviceId id) {
  HEXAD_TRY(writable());
  HEXAD_TRY(take_turn());
  const io::Lock one(return_mutex_, std::adopt_lock);
  HEXAD_TRY(check_has(id));
  if (parts_.members->find(id)->role != alloc::DeviceRole::kData) {
    return Error{ErrorCode::kInvalidArgument, describe_device(id) + " is no data device", ""};
  }
  drain_job_->note_asked_to_drain(id);
  if (parts_.members->is_draining(id)) return {};
  HEXAD_TRY(may_drain(id));
  return drain_locked(id);
}

Status Engine::drain_locked(DeviceId id) {
  {
    const io::Lock no_zones(zone_mutex_);  // AD4: none that is being made has a slab there
    HEXAD_TRY(still_open());
    // A plain root, as in undrain_locked(): nothing on any device changes by it.
    HEXAD_TRY(
        membership_->write_checkpoint([&](alloc::Root& next) { alloc::begin_draining(next, id); },
                                      [&] { parts_.members->begin_draining(id); }));
  }
  want_moves();
  return {};
}

Status Engine::undrain_device(DeviceId id) {
  HEXAD_TRY(writable());
  HEXAD_TRY(take_turn());
  const io::Lock one(return_mutex_, std::adopt_lock);
  HEXAD_TRY(check_has(id));
  drain_job_->note_asked_to_end(id);
  return parts_.members->is_draining(id) ? undrain_locked(id) : Status();
}

Status Engine::undrain_locked(DeviceId id) {
  HEXAD_TRY(still_open());
  HEXAD_TRY(membership_->write_checkpoint([&](alloc::Root& next) { alloc::end_draining(next, id); },
                                          [&] { parts_.members->end_draining(id); }));
  space().learn_devices();
  want_moves();
  return {};
}

// No zone has a slab on the device, and none is being made there.
Status Engine::check_empty(DeviceId id) {
  const Space::Slabs slabs = space().slabs(id);
  const std::uint64_t slots = space().slots_on(id);
  if (slots > 0) {
    return Error{ErrorCode::kUnavailable,
                 describe_device(id) + " still holds " + format_size(space().used_bytes(id)) +
                     " in " + count_of(slots, "slab"),
                 "Wait until they have been moved: hexad wait POOL --for drain says when."};
  }
  if (slabs.used == 0) return {};
  return Error{ErrorCode::kUnavailable,
               count_of(slabs.used, "slab") + " of " + describe_device(id) +
                   " are being moved, or kept for a moment",
               "Try again in a moment."};
}

// AD3, AD6. In its order: nothing comes to it any more; nothing that is replayed names it; it
// leaves, and has no row; what it has on it is nobody's. A fast device has no slabs, so nothing
// that is replayed names it (AD8).
Status Engine::remove_device(DeviceId id) {
  HEXAD_TRY(writable());
  HEXAD_TRY(take_turn());
  const io::Lock one(return_mutex_, std::adopt_lock);
  HEXAD_TRY(check_has(id));
  Members& members = *parts_.members;
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
Status Engine::remove_row(DeviceId id, Settle settle) {
  HEXAD_TRY(check_answers(kSilence));
  enum class Stage : std::uint8_t { kWaits, kBegun, kLeft };
  const auto stage = std::make_shared<std::atomic<Stage>>(Stage::kWaits);
  const auto turn_to = [stage](Stage to) {
    Stage from = Stage::kWaits;
    return stage->compare_exchange_strong(from, to);
  };
  const auto remove = [this, id, settle, turn_to]() -> Status {
    if (settle == Settle::kFirst) HEXAD_TRY(settle_whole());
    HEXAD_TRY(still_open());
    return membership_->remove_device(id, [&] { return turn_to(Stage::kBegun); });
  };
  if (shape().m() > 0) return remove();
  return errands_.run_apart(remove, [&]() -> std::optional<Error> {
    const Status answers = check_answers(io::kReadPatience);
    if (answers.ok() || !turn_to(Stage::kLeft)) return std::nullopt;
    return answers.error();
  });
}

// Of a data device: as far as nothing is on it, up to and with the root that has no row of it.
Status Engine::remove_data_device(const Member& member) {
  const DeviceId id = member.id;
  Members& members = *parts_.members;
  HEXAD_TRY(check_spread(id, others(members, id, [](const Member&) { return true; }),
                         "the store has", ""));
  const bool was_draining = members.is_draining(id);
  Status removed;
  {
    // First, so that nothing begins to move there behind the look.
    HEXAD_TRY(lock_unless_silent(zone_mutex_, "the removal waits for a zone that is being made"));
    const io::Lock no_zones(zone_mutex_, std::adopt_lock);
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
    space().learn_devices();
    want_moves();
  }
  return removed;
}

}  // namespace hexad::core
