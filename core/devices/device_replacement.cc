// A device that goes, and another one for it, while the store is open and serves. One that is lost,
// and a fast one, gives its place to the new one, number and all: RP1 to RP6 of
// doc/invariants.md#replacing-while-the-store-serves. One
// that answers is emptied onto the others, of which the new one is one more, and removed: nothing
// that is not there already, and no moment with less redundancy than before.
#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/engine/engine.h"
#include "core/opening/new_device.h"

namespace hexad::core {

namespace {

constexpr io::Nanos kNap = 50'000'000;
// For slabs that are kept for a moment behind the last move.
constexpr io::Nanos kPatience = 60'000'000'000;

std::string slabs_text(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " slab" : " slabs");
}

}  // namespace

// What goes back to its place where the new device does not come to use.
struct Engine::Former {
  Member member;
  std::string state;
  std::string detail;
  DeviceHistory::Past past;
};

Result<DeviceId> Engine::replace_device(const Replacement& given) {
  Replacement replacement = given;
  // Whoever has ended it once is not asked again.
  bool ended = false;
  if (given.progress) {
    replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
      ended = ended || !given.progress(done, total);
      return !ended;
    };
  }
  HEXAD_TRY_ASSIGN(const DeviceId by, begin_replacement(replacement));
  if (by == replacement.device) return by;
  const Status moved = move_off(replacement, by);
  want_moves();  // of the background, which may have stood back
  HEXAD_TRY(moved);
  HEXAD_TRY(remove_emptied(replacement, by));
  return by;
}

Result<DeviceId> Engine::begin_replacement(const Replacement& replacement) {
  HEXAD_TRY(writable());
  const DeviceId id = replacement.device;
  const std::string& path = replacement.path;
  const Members& members = *parts_.members;
  {
    HEXAD_TRY(take_turn());
    const io::Lock one(return_mutex_, std::adopt_lock);
    HEXAD_TRY(check_has(id));
    const Member& member = *members.find(id);
    if (parts_.memory_only) {
      return Error{ErrorCode::kUnsupported, "a store in memory has all the devices it will have",
                   ""};
    }
    if (path.empty()) {
      return Error{ErrorCode::kInvalidArgument, "no path of a device is given", "Name its path."};
    }
    if (member.role != alloc::DeviceRole::kData) return replace_fast(replacement);
    if (!members.usable(id)) return take_place(replacement, path);
    if (member.path == path) return id;  // it has been replaced before
    if (members.is_behind(id)) {
      return Error{ErrorCode::kInvalidArgument, describe_device(id) + " is given what it missed",
                   "Wait until it has that: hexad device catch-up POOL."};
    }
  }
  return add_beside(replacement);
}

// --- one that is lost ---

// What the new device has to fit. Errors: what there is does not let it take the place.
Result<AddedTo> Engine::in_place_of(DeviceId id, const std::string& path) {
  Members& members = *parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (!members.is_usable(i) || member.path != path) continue;
    return Error{ErrorCode::kAlreadyExists,
                 path + " is device " + std::to_string(member.id) + " of the store",
                 "Choose another device."};
  }
  AddedTo to;
  to.root = membership_->root();
  const Member& former = *members.find(id);
  const bool usable = members.usable(id);  // then it is a fast one
  if (!usable && to.root.find(id)->state != alloc::MemberState::kLeft) {
    return Error{ErrorCode::kUnavailable, describe_device(id) + " has not left the pool yet",
                 "Try again in a moment."};
  }
  to.parities = shape().m();
  to.role = former.role;
  to.redundant = all_redundant_themselves();
  HEXAD_TRY_ASSIGN(to.label, data_label());
  to.slabs = former.layout.slab_count;
  to.file_size = std::max(round_up(former.layout.device_size, alloc::kHeaderSlotSize),
                          size_like(to.label.layout, former.layout.slab_count));
  // What it owes can land on itself alone, so that alone is refused (RP6). Who waits for it is
  // told.
  to.in_place_of = InPlaceOf{id, usable ? Status() : members.let_go(id)};
  if (!to.in_place_of->itself.ok() && former.device != nullptr) {
    former.device->queue().give_up(*former.device);
  }
  to.accept = [this, id, path](const alloc::DeviceLayout& layout) {
    return check_slabs(path, id, layout, space().slabs_needed(id));
  };
  to.under_way = [this](io::Device* device) {
    const io::Lock lock(new_mutex_);
    new_device_ = device;
  };
  return to;
}

// Under return_mutex_. Whatever fails before a root names the new device, the former one has the
// number and everything that it had, and no handle of the new one has any more use. A fast device
// that is in use leaves when the new one is ready.
Result<DeviceId> Engine::take_place(const Replacement& replacement, const std::string& path) {
  const DeviceId id = replacement.device;
  const Openings::Claim claim(openings_, path);
  HEXAD_TRY(claim.check());
  HEXAD_TRY_ASSIGN(AddedTo to, in_place_of(id, path));
  to.progress = replacement.progress;
  Members& members = *parts_.members;
  const auto open = [&]() -> Result<OpenedDevice> {
    const Openings::Call call(openings_, path, Openings::Turn::kHeld);
    return open_added_device(path, to, *parts_.system);
  };
  HEXAD_TRY_ASSIGN(OpenedDevice opened, open());
  HEXAD_TRY_ASSIGN(AddedDevice made,
                   make_added_device(std::move(opened), to, *parts_.system));  // RP1
  const bool answers = members.usable(id);
  if (answers) {
    if (const Status left = lose_devices({id}); !left.ok()) {
      io::IoQueue& queue = made.member.device->queue();
      queue.close(std::move(made.member.device));
      if (made.created) parts_.system->remove_created(path).ignore();
      return left.error();
    }
    members.let_go(id).ignore();
  }
  Former former;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (members.at(i).id != id || members.is_removed(i)) continue;
    former.state = members.state(i);
    former.detail = members.detail(i);
  }
  const Member& before = *members.find(id);
  former.member.id = id;
  former.member.uuid = before.uuid;
  former.member.role = before.role;
  former.member.layout = before.layout;
  former.member.label = before.label;
  former.member.path = before.path;
  former.member.draining = before.draining;
  // Of the one that the root names.
  const bool listed = to.root.find(id)->uuid == before.uuid;
  const std::uint32_t slabs = listed ? before.layout.slab_count : before.slabs_before;
  former.member.layout.slab_count = slabs;

  const bool data = before.role == alloc::DeviceRole::kData;
  const Uuid uuid = made.member.uuid;
  made.member.replaced = true;
  made.member.slabs_before = slabs;
  former.past = history_->change_places(id, history_->new_past(uuid));
  Status joined = still_open();
  {
    // As many slabs as either has: a root that names either may be the next one that is found.
    const io::Lock no_zones(zone_mutex_);
    if (joined.ok()) joined = space().set_slabs(id, std::min(slabs, made.member.layout.slab_count));
    members.attach(std::move(made.member));
  }
  bool failed_again = false;
  if (joined.ok()) {
    joined = rejoin(id, failed_again, data ? std::set<DeviceId>{id} : std::set<DeviceId>());
  }
  const bool named = membership_->root().find(id)->uuid == uuid;
  if (!named && !lane_->stopped().has_value()) {
    HEXAD_ASSERT(!joined.ok());
    give_back_place(id, std::move(former));
    if (made.created) parts_.system->remove_created(path).ignore();
    if (closing_.is_closed()) {
      return Error{ErrorCode::kClosed,
                   "the store was closed while " + path + " took the place of device " +
                       std::to_string(id) + ", which has it as before",
                   ""};
    }
  }
  if (!joined.ok()) {
    Error error = joined.error().with_context(path);
    if (!named && answers) {
      error.message += "; device " + std::to_string(id) + " (" + members.find(id)->path +
                       ") has left the pool for it";
      error.hint = "Take it in again: hexad device online POOL " + std::to_string(id) + ".";
    }
    return error;
  }
  start_catch_up();
  want_moves();
  return id;
}

// RP4: what was written to the new one lacks on the former one.
void Engine::give_back_place(DeviceId id, Former former) {
  Members& members = *parts_.members;
  HEXAD_ASSERT(!members.usable(id));
  space().abandon_in_place(id);
  members.let_go(id).ignore();
  history_->change_places(id, former.past);
  const std::uint32_t slabs = former.member.layout.slab_count;
  {
    const io::Lock no_zones(zone_mutex_);
    members.attach(std::move(former.member));
    members.keep_out(id, former.state, former.detail);
    const Status restored = space().set_slabs(id, slabs);
    HEXAD_ASSERT(restored.ok());
  }
}

// --- one that answers ---

// The new one is one more, and the one that goes is drained. What an attempt before has done of
// that, as far as can be told, is done.
Result<DeviceId> Engine::add_beside(const Replacement& replacement) {
  const DeviceId id = replacement.device;
  const std::string& path = replacement.path;
  const Members& members = *parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool data = member.role == alloc::DeviceRole::kData && member.id != id;
    if (!data || !members.is_usable(i) || member.path != path) continue;
    if (!members.is_draining(id) && space().slots_on(member.id) > 0) break;
    HEXAD_TRY(drain_device(id));
    return member.id;
  }
  const AcceptLayout enough = [&](const alloc::DeviceLayout& layout) -> Status {
    std::vector<const Member*> others;
    std::set<DeviceId> all = {id};  // the new one counts as that would: it has its domain
    for (std::size_t i = 0; i < members.size(); ++i) {
      const Member& member = members.at(i);
      const bool takes = members.is_usable(i) && member.role == alloc::DeviceRole::kData &&
                         member.id != id && !members.is_draining(member.id);
      if (!takes) continue;
      others.push_back(&member);
      all.insert(member.id);
    }
    const SlabsFor room = slabs_for(id, others, layout.slab_count);
    const std::uint64_t needed = space().slots_on(id);
    const std::uint64_t slab = std::uint64_t{space().slab_units()} * shape().unit;
    if (members.cells_on(all) >= shape().cells() && room.free >= needed) return {};
    return Error{
        ErrorCode::kNoSpace,
        path + " has room for " + slabs_text(layout.slab_count) + "; with it " +
            (room.in_domain_alone ? "its failure domain has"
                                  : std::to_string(all.size()) + " other data devices have") +
            " room for " + slabs_text(room.free) + " (" + format_size(room.free * slab) +
            "), and zones use " + slabs_text(needed) + " (" + format_size(needed * slab) + ") of " +
            describe_device(id),
        "Give a larger device, or add another one first, with " +
            std::string(members.domain_cells() == 0
                            ? "hexad device add POOL PATH."
                            : "hexad device add POOL PATH --failure-domain NAME, in its own "
                              "domain.")};
  };
  const auto nothing_copied = [&](std::uint64_t, std::uint64_t) {
    const std::uint64_t slab = std::uint64_t{space().slab_units()} * shape().unit;
    const std::uint64_t slabs = std::max<std::uint64_t>(1, space().slots_on(id));
    return !replacement.progress || replacement.progress(0, slabs * slab);
  };
  HEXAD_TRY_ASSIGN(const DeviceId by,
                   add_device(path, enough, nothing_copied, members.find(id)->domain));
  if (const Status drained = drain_device(id); !drained.ok()) {
    Error error = drained.error();
    error.message += "; " + path + " has become device " + std::to_string(by) + " of the store";
    return error;
  }
  return by;
}

// Until no zone has a slab on it; should it fail meanwhile, what is left is built again on the
// others. Moves of the background do the same, and stand back where it is
// to go no faster than so.
Status Engine::move_off(const Replacement& replacement, DeviceId by) {
  const DeviceId id = replacement.device;
  const std::string state = "; device " + std::to_string(by) + " (" + replacement.path +
                            ") is one more of the store, and nothing is lost";
  const std::string how = "Call it again to go on, or take it back: hexad device undrain POOL " +
                          std::to_string(id) + ".";
  const std::uint64_t slab = std::uint64_t{space().slab_units()} * shape().unit;
  const std::uint64_t total = space().slots_on(id) * slab;
  std::uint64_t told = 0;
  bool stopped = false;
  MoveOptions options;
  options.rate = replacement.rate;
  options.progress = [&](const MoveReport& report) {
    const std::uint64_t left = std::min(total, space().slots_on(id) * slab);
    told =
        std::max({told, total - left, std::min(report.bytes_moved, total - std::min(total, slab))});
    stopped = replacement.progress && !replacement.progress(told, total);
    return !stopped;
  };
  const SlabJob::Hold hold(replacement.rate > 0 ? slab_job_.get() : nullptr);
  for (std::uint64_t left = space().slots_on(id); left > 0;) {
    HEXAD_TRY_ASSIGN(const MoveReport report, move_slabs(options));
    const std::uint64_t before = std::exchange(left, space().slots_on(id));
    if (left == 0) break;
    const std::string where = slabs_text(left) + " are left on " + describe_device(id);
    if (stopped) return Error{ErrorCode::kClosed, "it was ended; " + where + state, how};
    if (!parts_.members->is_draining(id)) {
      return Error{ErrorCode::kConflict,
                   describe_device(id) + " is not drained any more; " + where + state, how};
    }
    if (left < before) continue;
    const std::string why = report.problem.empty() ? "nothing more can be moved" : report.problem;
    return Error{ErrorCode::kUnavailable, why + "; " + where + state, how};
  }
  // The background may have moved the last one, of which nobody has told.
  if (told < total && replacement.progress && !replacement.progress(total, total)) {
    return Error{ErrorCode::kClosed,
                 "it was ended; nothing is left on " + describe_device(id) + state, how};
  }
  return {};
}

Status Engine::remove_emptied(const Replacement& replacement, DeviceId by) {
  const DeviceId id = replacement.device;
  const io::Nanos began = executor().clock().now();
  const std::uint64_t slab = std::uint64_t{space().slab_units()} * shape().unit;
  for (;;) {
    const Status removed = remove_device(id);
    if (removed.ok()) return {};
    Error error = removed.error();
    error.message += "; all that was on it is on the others, and device " + std::to_string(by) +
                     " (" + replacement.path + ") is one of them";
    const bool passing = error.code == ErrorCode::kUnavailable && space().slots_on(id) == 0 &&
                         space().slabs(id).used > 0;
    if (!passing || executor().clock().now() - began >= kPatience) return error;
    if (replacement.progress && !replacement.progress(slab, slab)) {
      return Error{ErrorCode::kClosed, error.message, error.hint};
    }
    executor().sleep_for(kNap);
    HEXAD_TRY(release_left());
  }
}

}  // namespace hexad::core
