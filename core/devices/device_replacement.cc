#include "core/devices/device_replacement.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <utility>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "core/devices/device_facts.h"
#include "core/opening/pool_options.h"

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
struct DeviceReplacement::Former {
  Member member;
  std::string state;
  std::string detail;
  DeviceHistory::Past past;
};

DeviceReplacement::DeviceReplacement(const DeviceParts& parts, const Beside& beside)
    : parts_(parts), beside_(beside), room_(parts.shape, parts.members, parts.space) {}

Result<DeviceId> DeviceReplacement::run(const Replacement& given) {
  Replacement replacement = given;
  // Whoever has ended it once is not asked again.
  bool ended = false;
  if (given.progress) {
    replacement.progress = [&](std::uint64_t done, std::uint64_t total) {
      ended = ended || !given.progress(done, total);
      return !ended;
    };
  }
  HEXAD_TRY_ASSIGN(const DeviceId by, begin(replacement));
  if (by == replacement.device) return by;
  const Status moved = move_off(replacement, by);
  beside_.moves.want();  // of the background, which may have stood back
  HEXAD_TRY(moved);
  HEXAD_TRY(remove_emptied(replacement, by));
  return by;
}

Result<DeviceId> DeviceReplacement::begin(const Replacement& replacement) {
  HEXAD_TRY(parts_.writable());
  const DeviceId id = replacement.device;
  const std::string& path = replacement.path;
  const Members& members = parts_.members;
  {
    HEXAD_TRY(beside_.turn.take());
    const io::Lock one(beside_.turn.mutex(), std::adopt_lock);
    HEXAD_TRY(check_has(parts_.members, id));
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
      return Error{ErrorCode::kInvalidArgument,
                   describe_device(parts_.members, id) + " is given what it missed",
                   "Wait until it has that: hexad device catch-up POOL."};
    }
  }
  return add_beside(replacement);
}

// --- one that is lost ---

// What the new device has to fit. Errors: what there is does not let it take the place.
Result<AddedTo> DeviceReplacement::in_place_of(DeviceId id, const std::string& path) {
  Members& members = parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    if (!members.is_usable(i) || member.path != path) continue;
    return Error{ErrorCode::kAlreadyExists,
                 path + " is device " + std::to_string(member.id) + " of the store",
                 "Choose another device."};
  }
  AddedTo to;
  to.root = parts_.membership.root();
  const Member& former = *members.find(id);
  const bool usable = members.usable(id);  // then it is a fast one
  if (!usable && to.root.find(id)->state != alloc::MemberState::kLeft) {
    return Error{ErrorCode::kUnavailable,
                 describe_device(parts_.members, id) + " has not left the pool yet",
                 "Try again in a moment."};
  }
  to.parities = parts_.shape.m();
  to.role = former.role;
  to.redundant = all_redundant_themselves(parts_.shape, parts_.members);
  HEXAD_TRY_ASSIGN(to.label, data_label(parts_.members));
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
    return check_slabs(path, id, layout, parts_.space.slabs_needed(id));
  };
  to.under_way = [this](io::Device* device) { beside_.silent.watch_new(device); };
  return to;
}

// The log is copied to the new place, from others that have it; what holds its copy meanwhile is
// chosen as in any change of membership.
Result<DeviceId> DeviceReplacement::replace_fast(const Replacement& replacement) {
  const DeviceId id = replacement.device;
  const Members& members = parts_.members;
  const std::string directory = FastDirectories::tidy(replacement.path);
  const std::string path = fast_log_path(directory);
  if (members.usable(id) && members.find(id)->path == path) return id;
  HEXAD_TRY(beside_.fast.check_no_foreign_index(directory, Openings::Turn::kHeld));
  return beside_.fast.in(directory, Openings::Turn::kHeld,
                         [&](const std::string& log) HEXAD_REQUIRES(beside_.turn.mutex()) {
                           return take_place(replacement, log);
                         });
}

// Under the turn. Whatever fails before a root names the new device, the former one has the
// number and everything that it had, and no handle of the new one has any more use. A fast device
// that is in use leaves when the new one is ready.
Result<DeviceId> DeviceReplacement::take_place(const Replacement& replacement,
                                               const std::string& path) {
  const DeviceId id = replacement.device;
  const Openings::Claim claim(beside_.turn.openings(), path);
  HEXAD_TRY(claim.check());
  HEXAD_TRY_ASSIGN(AddedTo to, in_place_of(id, path));
  to.progress = replacement.progress;
  Members& members = parts_.members;
  const auto open = [&]() -> Result<OpenedDevice> {
    const Openings::Call call(beside_.turn.openings(), path, Openings::Turn::kHeld);
    return open_added_device(path, to, parts_.system);
  };
  HEXAD_TRY_ASSIGN(OpenedDevice opened, open());
  HEXAD_TRY_ASSIGN(AddedDevice made,
                   make_added_device(std::move(opened), to, parts_.system));  // RP1
  const bool answers = members.usable(id);
  if (answers) {
    if (const Status left = parts_.membership.lose_devices({id}); !left.ok()) {
      io::IoQueue& queue = made.member.device->queue();
      queue.close(std::move(made.member.device));
      if (made.created) parts_.system.remove_created(path).ignore();
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
  former.past = parts_.history.change_places(id, parts_.history.new_past(uuid));
  Status joined = parts_.still_open();
  {
    // As many slabs as either has: a root that names either may be the next one that is found.
    const io::Lock no_zones(parts_.zone_mutex);
    if (joined.ok())
      joined = parts_.space.set_slabs(id, std::min(slabs, made.member.layout.slab_count));
    members.attach(std::move(made.member));
  }
  bool failed_again = false;
  if (joined.ok()) {
    joined = rejoin(id, failed_again, data ? std::set<DeviceId>{id} : std::set<DeviceId>());
  }
  const bool named = parts_.membership.root().find(id)->uuid == uuid;
  if (!named && !parts_.pipeline.stopped().has_value()) {
    HEXAD_ASSERT(!joined.ok());
    give_back_place(id, std::move(former));
    if (made.created) parts_.system.remove_created(path).ignore();
    if (parts_.is_closed()) {
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
  beside_.catch_ups.start();
  beside_.moves.want();
  return id;
}

// RP4: what was written to the new one lacks on the former one.
void DeviceReplacement::give_back_place(DeviceId id, Former former) {
  Members& members = parts_.members;
  HEXAD_ASSERT(!members.usable(id));
  parts_.space.abandon_in_place(id);
  members.let_go(id).ignore();
  parts_.history.change_places(id, former.past);
  const std::uint32_t slabs = former.member.layout.slab_count;
  {
    const io::Lock no_zones(parts_.zone_mutex);
    members.attach(std::move(former.member));
    members.keep_out(id, former.state, former.detail);
    const Status restored = parts_.space.set_slabs(id, slabs);
    HEXAD_ASSERT(restored.ok());
  }
}

// --- one that answers ---

// The new one is one more, and the one that goes is drained. What an attempt before has done of
// that, as far as can be told, is done.
Result<DeviceId> DeviceReplacement::add_beside(const Replacement& replacement) {
  const DeviceId id = replacement.device;
  const std::string& path = replacement.path;
  const Members& members = parts_.members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Member& member = members.at(i);
    const bool data = member.role == alloc::DeviceRole::kData && member.id != id;
    if (!data || !members.is_usable(i) || member.path != path) continue;
    if (!members.is_draining(id) && parts_.space.slots_on(member.id) > 0) break;
    HEXAD_TRY(beside_.drains.drain(id));
    return member.id;
  }
  const DeviceChanges::AcceptLayout enough = [&](const alloc::DeviceLayout& layout) -> Status {
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
    const RoomElsewhere::SlabsFor room = room_.slabs_for(id, others, layout.slab_count);
    const std::uint64_t needed = parts_.space.slots_on(id);
    const std::uint64_t slab = std::uint64_t{parts_.space.slab_units()} * parts_.shape.unit;
    if (members.cells_on(all) >= parts_.shape.cells() && room.free >= needed) return {};
    return Error{
        ErrorCode::kNoSpace,
        path + " has room for " + slabs_text(layout.slab_count) + "; with it " +
            (room.in_domain_alone ? "its failure domain has"
                                  : std::to_string(all.size()) + " other data devices have") +
            " room for " + slabs_text(room.free) + " (" + format_size(room.free * slab) +
            "), and zones use " + slabs_text(needed) + " (" + format_size(needed * slab) + ") of " +
            describe_device(parts_.members, id),
        "Give a larger device, or add another one first, with " +
            std::string(members.domain_cells() == 0
                            ? "hexad device add POOL PATH."
                            : "hexad device add POOL PATH --failure-domain NAME, in its own "
                              "domain.")};
  };
  const auto nothing_copied = [&](std::uint64_t, std::uint64_t) {
    const std::uint64_t slab = std::uint64_t{parts_.space.slab_units()} * parts_.shape.unit;
    const std::uint64_t slabs = std::max<std::uint64_t>(1, parts_.space.slots_on(id));
    return !replacement.progress || replacement.progress(0, slabs * slab);
  };
  HEXAD_TRY_ASSIGN(const DeviceId by,
                   beside_.changes.add(path, enough, nothing_copied, members.find(id)->domain));
  if (const Status drained = beside_.drains.drain(id); !drained.ok()) {
    Error error = drained.error();
    error.message += "; " + path + " has become device " + std::to_string(by) + " of the store";
    return error;
  }
  return by;
}

// Until no zone has a slab on it; should it fail meanwhile, what is left is built again on the
// others. Moves of the background do the same, and stand back where it is
// to go no faster than so.
Status DeviceReplacement::move_off(const Replacement& replacement, DeviceId by) {
  const DeviceId id = replacement.device;
  const std::string state = "; device " + std::to_string(by) + " (" + replacement.path +
                            ") is one more of the store, and nothing is lost";
  const std::string how = "Call it again to go on, or take it back: hexad device undrain POOL " +
                          std::to_string(id) + ".";
  const std::uint64_t slab = std::uint64_t{parts_.space.slab_units()} * parts_.shape.unit;
  const std::uint64_t total = parts_.space.slots_on(id) * slab;
  std::uint64_t told = 0;
  bool stopped = false;
  MoveOptions options;
  options.rate = replacement.rate;
  options.progress = [&](const MoveReport& report) {
    const std::uint64_t left = std::min(total, parts_.space.slots_on(id) * slab);
    told =
        std::max({told, total - left, std::min(report.bytes_moved, total - std::min(total, slab))});
    stopped = replacement.progress && !replacement.progress(told, total);
    return !stopped;
  };
  const SlabJob::Hold hold(replacement.rate > 0 ? &beside_.moves.job() : nullptr);
  for (std::uint64_t left = parts_.space.slots_on(id); left > 0;) {
    HEXAD_TRY_ASSIGN(const MoveReport report, beside_.moves.move(options));
    const std::uint64_t before = std::exchange(left, parts_.space.slots_on(id));
    if (left == 0) break;
    const std::string where =
        slabs_text(left) + " are left on " + describe_device(parts_.members, id);
    if (stopped) return Error{ErrorCode::kClosed, "it was ended; " + where + state, how};
    if (!parts_.members.is_draining(id)) {
      return Error{
          ErrorCode::kConflict,
          describe_device(parts_.members, id) + " is not drained any more; " + where + state, how};
    }
    if (left < before) continue;
    const std::string why = report.problem.empty() ? "nothing more can be moved" : report.problem;
    return Error{ErrorCode::kUnavailable, why + "; " + where + state, how};
  }
  // The background may have moved the last one, of which nobody has told.
  if (told < total && replacement.progress && !replacement.progress(total, total)) {
    return Error{ErrorCode::kClosed,
                 "it was ended; nothing is left on " + describe_device(parts_.members, id) + state,
                 how};
  }
  return {};
}

Status DeviceReplacement::remove_emptied(const Replacement& replacement, DeviceId by) {
  const DeviceId id = replacement.device;
  const io::Nanos began = parts_.executor().clock().now();
  const std::uint64_t slab = std::uint64_t{parts_.space.slab_units()} * parts_.shape.unit;
  for (;;) {
    const Status removed = beside_.changes.remove(id);
    if (removed.ok()) return {};
    Error error = removed.error();
    error.message += "; all that was on it is on the others, and device " + std::to_string(by) +
                     " (" + replacement.path + ") is one of them";
    const bool passing = error.code == ErrorCode::kUnavailable && parts_.space.slots_on(id) == 0 &&
                         parts_.space.slabs(id).used > 0;
    if (!passing || parts_.executor().clock().now() - began >= kPatience) return error;
    if (replacement.progress && !replacement.progress(slab, slab)) {
      return Error{ErrorCode::kClosed, error.message, error.hint};
    }
    parts_.executor().sleep_for(kNap);
    HEXAD_TRY(beside_.moves.release_left());
  }
}

}  // namespace hexad::core
