#include "core/opening/replacement.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/units.h"
#include "core/opening/new_device.h"

namespace hexad::core {

namespace {

Error refuse(std::string message, std::string hint) {
  return Error{ErrorCode::kInvalidArgument, std::move(message), std::move(hint)};
}

std::string name_of(const Member& member) {
  return "device " + std::to_string(member.id) +
         (member.path.empty() ? "" : " (" + member.path + ")");
}

Result<Member*> find_member(const Replacement& replacement, Assignment& assignment) {
  for (Member& member : assignment.members) {
    if (member.id != replacement.device) continue;
    if (member.role != alloc::DeviceRole::kData) {
      return refuse(name_of(member) + " is a fast device, which an opening does not replace",
                    "Its log is kept on the data devices meanwhile. hexad device replace POOL " +
                        std::to_string(member.id) + " NEW gives it another directory.");
    }
    if (member.device != nullptr && member.path != replacement.path &&
        (member.returning || member.behind)) {
      return refuse(
          name_of(member) + " is attached and " +
              (member.returning ? "comes back by itself" : "is given what it missed"),
          "Wait until it has that: hexad device catch-up POOL. To replace it at once, detach "
          "it first.");
    }
    return &member;
  }
  return Error{ErrorCode::kNotFound,
               "the store has no device " + std::to_string(replacement.device),
               "hexad device ls POOL names those that it has."};
}

// What every data device has in common, from a label of one.
Result<alloc::Label> data_label(const Survey& survey) {
  for (const SurveyedDevice& found : survey.devices) {
    if (!found.sound_label || found.label->store != survey.store) continue;
    if (found.label->role == alloc::DeviceRole::kData) return *found.label;
  }
  return Error{ErrorCode::kUnavailable, "no data device has a readable label",
               "Attach the missing devices."};
}

}  // namespace

Result<ReplacedDevice> prepare_replacement(const Replacement& replacement, io::System& system,
                                           Survey& survey, Assignment& assignment) {
  HEXAD_TRY_ASSIGN(Member* const lost, find_member(replacement, assignment));
  if (survey.label.m == 0) {
    return refuse("a device whose place is taken at an opening counts as lost for a moment, and " +
                      survives(0),
                  "Open the pool, and replace " + name_of(*lost) +
                      " then: it is emptied onto the others and the new one beside everything else "
                      "(hexad device replace POOL " +
                      std::to_string(lost->id) +
                      " NEW; Store::replace_device(); in Python "
                      "replace_device()).");
  }
  ReplacedDevice replaced;
  if (lost->device != nullptr && lost->path == replacement.path) {
    return replaced;  // it is the one that was made ready before
  }
  const auto at =
      std::find_if(survey.devices.begin(), survey.devices.end(),
                   [&](const SurveyedDevice& found) { return found.path == replacement.path; });
  HEXAD_ASSERT(at != survey.devices.end());
  HEXAD_TRY_ASSIGN(alloc::Label label, data_label(survey));
  const std::uint64_t needed =
      std::max(round_up(lost->layout.device_size, alloc::kHeaderSlotSize),
               alloc::least_device_size(
                   label.layout.log_size + lost->layout.slab_count * label.layout.slab_size(),
                   alloc::area_alignment(label.layout.unit, label.layout.block_of_log())));
  if (at->device == nullptr) {
    if (!at->problem.has_value()) {
      return refuse(at->path + " is another device of the store", "Choose another device.");
    }
    if (at->problem->code != ErrorCode::kNotFound) return *at->problem;
    HEXAD_TRY_ASSIGN(at->device, system.create_device(at->path, needed));
  } else {
    // What an earlier attempt or the lost device itself has left may be there.
    HEXAD_TRY(check_unused(*at, survey.store,
                           [&](const alloc::Label& found) { return found.device == lost->id; }));
  }
  HEXAD_TRY_ASSIGN(const alloc::DeviceLayout layout,
                   lay_out_like(label, at->device->geometry(), at->path, lost->layout.slab_count));
  label = new_label(label, lost->id, layout, system);
  std::erase_if(assignment.unrecognised,
                [&](const DeviceStatus& row) { return row.path == replacement.path; });
  for (Member& member : assignment.members) {
    if (member.path != replacement.path) continue;
    member.path.clear();  // whose path it was could only be guessed
    member.state = "missing";
    member.detail.clear();
  }
  replaced.device = std::move(lost->device);
  replaced.layout = lost->layout;
  lost->uuid = label.device_uuid;
  lost->slabs_before = lost->layout.slab_count;
  lost->layout = label.layout;
  lost->label = label;
  lost->bad_header_slots = 0;
  lost->path = at->path;
  lost->device = std::move(at->device);
  lost->returning = true;
  lost->replaced = true;
  lost->state = "away";
  lost->detail = "new, in the place of a lost device";
  return replaced;
}

Status make_replacement_ready(DeviceId id, const Members& members, Space& space) {
  const Member& member = *members.find(id);
  if (!member.replaced) return {};
  const std::uint32_t needed = space.slabs_needed(id);
  HEXAD_TRY(check_slabs(member.path, id, member.layout, needed));
  HEXAD_TRY(space.set_slabs(id, std::min(member.slabs_before, member.layout.slab_count)));
  return make_ready(*member.device, *member.label, nullptr);
}

}  // namespace hexad::core
