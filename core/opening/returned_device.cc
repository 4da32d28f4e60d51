#include "core/opening/returned_device.h"

#include <utility>
#include <vector>

#include "alloc/root_choice.h"
#include "base/assert.h"
#include "base/units.h"
#include "core/opening/device_survey.h"

namespace hexad::core {

namespace {

Error refuse(ErrorCode code, const SurveyedDevice& found, const std::string& what,
             const std::string& hint) {
  return Error{code, found.path + ": " + what, hint};
}

Status check_label(const SurveyedDevice& found, const ReturnedTo& to) {
  constexpr const char* kHint = "Name the path where the device is now.";
  const alloc::Label& label = *found.label;
  const Member& member = *to.member;
  if (label.store != to.store) {
    return refuse(ErrorCode::kInvalidArgument, found, "a device of another store", kHint);
  }
  if (label.device != member.id) {
    return refuse(ErrorCode::kInvalidArgument, found,
                  "device " + std::to_string(label.device) + " of this store, not device " +
                      std::to_string(member.id),
                  kHint);
  }
  if (label.device_uuid != member.uuid) {
    return refuse(ErrorCode::kInvalidArgument, found,
                  "another device than the member of that number: one of the two has taken the "
                  "place of the other",
                  kHint);
  }
  if (const Status same = check_same_shape(to.label, label); !same.ok()) {
    return same.error().with_context(found.path);
  }
  const alloc::DeviceLayout& before = member.layout;
  const bool known = before.device_size > 0;
  const bool fits = label.role == member.role && label.layout.slab_units == before.slab_units &&
                    label.layout.slab_count == before.slab_count &&
                    (!known || (label.layout.device_size == before.device_size &&
                                label.layout.log_offset == before.log_offset &&
                                label.layout.log_size == before.log_size));
  if (!fits) {
    return refuse(ErrorCode::kCorruption, found, "its label lays it out otherwise than before", "");
  }
  if (found.device->geometry().size < label.layout.device_size) {
    return refuse(ErrorCode::kUnavailable, found,
                  "it has " + format_size(found.device->geometry().size) + ", and had " +
                      format_size(label.layout.device_size),
                  "Attach all of it.");
  }
  return {};
}

bool has_left(const ReturnedTo& to) {
  const alloc::RootDevice* const row = to.root.find(to.member->id);
  return row != nullptr && row->state == alloc::MemberState::kLeft;
}

// BK1, by the rules of an opening that finds the devices in use with the root of now.
Status check_roots(const SurveyedDevice& found, const ReturnedTo& to) {
  if (!has_left(to)) {
    return refuse(ErrorCode::kUnavailable, found, "it has not left the pool yet",
                  "Try again in a moment.");
  }
  std::vector<alloc::DeviceRoots> roots;
  for (const alloc::RootDevice& other : to.root.devices) {
    if (other.state == alloc::MemberState::kLive) {
      roots.push_back({other.id, other.uuid, to.store, {to.root}});
    }
  }
  roots.push_back({found.label->device, found.label->device_uuid, to.store, found.roots});
  HEXAD_TRY_ASSIGN(const alloc::RootChoice choice,
                   alloc::choose_root(to.store, roots, to.parities));
  const bool ours = choice.root.epoch == to.root.epoch && choice.root.sequence == to.root.sequence;
  if (!ours) {
    return refuse(ErrorCode::kInvalidArgument, found,
                  "it has a root of epoch " + std::to_string(choice.root.epoch) +
                      ", which this store has not written: it was used elsewhere",
                  "A device that was written apart does not come back; it can be replaced: hexad "
                  "device replace POOL " +
                      std::to_string(found.label->device) + " NEW.");
  }
  for (const alloc::DeviceStanding& one : choice.devices) {
    if (one.input != static_cast<int>(roots.size()) - 1) continue;
    if (one.standing == alloc::Standing::kAway) return {};
    return refuse(
        ErrorCode::kUnavailable, found, state_of(one.standing) + ", " + one.reason,
        "It can be replaced: hexad device replace POOL " + std::to_string(one.id) + " NEW.");
  }
  HEXAD_ASSERT(false);
  return {};
}

// What may be otherwise in a moment, and does not say what stands at the path.
bool is_unread(const SurveyedDevice& found) {
  if (!found.problem.has_value()) return false;
  if (found.device == nullptr || found.device->last_refusal().has_value()) return true;
  switch (found.problem->code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kExhausted:
    case ErrorCode::kIo:
    case ErrorCode::kNotFound:
      return true;
    default:
      return false;
  }
}

}  // namespace

ReturnLook judge_look(const SurveyedDevice& found, const ReturnedTo& to) {
  using Found = ReturnLook::Found;
  if (is_unread(found)) return {Found::kNotThere, found.problem->message};
  if (found.problem.has_value()) return {Found::kRefused, found.problem->message};
  if (!has_left(to)) return {Found::kNotThere, "it has not left the pool yet"};
  if (const Status label = check_label(found, to); !label.ok()) {
    return {Found::kRefused, label.error().message};
  }
  if (const Status roots = check_roots(found, to); !roots.ok()) {
    return {Found::kRefused, roots.error().message};
  }
  return {Found::kFits};
}

Result<Member> open_returned(const std::string& path, const ReturnedTo& to, io::System& system) {
  SurveyedDevice found = survey_device(path, io::OpenMode::kReadWrite, system);
  if (found.problem.has_value()) return *found.problem;
  HEXAD_TRY(check_label(found, to));
  HEXAD_TRY(check_roots(found, to));
  Member member;
  member.id = to.member->id;
  member.uuid = to.member->uuid;
  member.role = to.member->role;
  member.layout = found.label->layout;
  member.label = found.label;
  member.path = path;
  member.bad_header_slots = found.bad_slots();
  member.device = std::move(found.device);
  return member;
}

}  // namespace hexad::core
