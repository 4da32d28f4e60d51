#include "core/opening/replacement.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "alloc/foreign_signature.h"
#include "alloc/header_slot.h"
#include "base/units.h"
#include "io/rng.h"
#include "kv/log/log_area.h"

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
      return refuse(name_of(member) + " is a fast device, and these cannot be replaced yet",
                    "Its log is kept on the data devices meanwhile.");
    }
    if (member.device != nullptr && member.path != replacement.path &&
        (member.returning || member.behind)) {
      return refuse(name_of(member) + " is attached and " +
                        (member.returning ? "comes back by itself" : "is given what it missed"),
                    "Wait until it has that: hexad device catch-up. To replace it at once, detach "
                    "it first.");
    }
    return &member;
  }
  return Error{ErrorCode::kNotFound,
               "the store has no device " + std::to_string(replacement.device),
               "hexad device ls names those that it has."};
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

// Nobody else's: nothing, or what an earlier attempt or the lost device itself has left.
Status check_unused(const SurveyedDevice& found, const Survey& survey, const Member& lost) {
  if (found.label.has_value()) {
    const bool same = found.label->store == survey.store && found.label->device == lost.id;
    if (same) return {};
    return Error{ErrorCode::kAlreadyExists,
                 found.path + " holds a hexad store " + to_string(found.label->store) +
                     ", of which it is device " + std::to_string(found.label->device),
                 "Choose another device, or wipe this one."};
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string> foreign,
                   alloc::detect_foreign_signature(*found.device));
  if (!foreign.has_value()) return {};
  return Error{ErrorCode::kAlreadyExists, found.path + " holds a " + *foreign,
               "Choose another device, or wipe this one."};
}

Result<alloc::DeviceLayout> lay_out(const alloc::Label& like, const Member& lost,
                                    std::uint64_t size, const std::string& path) {
  alloc::LayoutRequest request;
  request.role = alloc::DeviceRole::kData;
  request.device_size = size;
  request.physical_block = like.layout.physical_block;
  request.log_block = like.layout.log_block;
  request.unit = like.layout.unit;
  request.log_size = like.layout.log_size;
  request.slab_units = like.layout.slab_units;
  Result<alloc::DeviceLayout> layout = alloc::plan_layout(request);
  if (!layout.ok()) return layout.error().with_context(path);
  if (layout->slab_count < lost.layout.slab_count) {
    return Error{ErrorCode::kNoSpace,
                 path + " has " + format_size(size) + ", room for " +
                     std::to_string(layout->slab_count) + " slabs; device " +
                     std::to_string(lost.id) + " had " + std::to_string(lost.layout.slab_count),
                 "Give a device as large as the lost one."};
  }
  layout->slab_count = lost.layout.slab_count;
  return layout;
}

// The label comes last: without it the device is nobody's.
Status write_all(io::Device& device, const alloc::Label& label) {
  HEXAD_TRY(alloc::clear_ends({&device, label.layout.device_size}));
  HEXAD_TRY(kv::format_log_area({&device, label.layout.log_offset, label.layout.log_size}));
  return alloc::write_label(device, label);
}

}  // namespace

Result<ReplacedDevice> prepare_replacement(const Replacement& replacement, io::System& system,
                                           Survey& survey, Assignment& assignment) {
  HEXAD_TRY_ASSIGN(Member* const lost, find_member(replacement, assignment));
  ReplacedDevice replaced;
  if (lost->device != nullptr && lost->path == replacement.path) {
    return replaced;  // it is the one that was made ready before
  }
  const auto at =
      std::find_if(survey.devices.begin(), survey.devices.end(),
                   [&](const SurveyedDevice& found) { return found.path == replacement.path; });
  HEXAD_ASSERT(at != survey.devices.end());
  HEXAD_TRY_ASSIGN(alloc::Label label, data_label(survey));
  const std::uint64_t needed = alloc::least_device_size(
      label.layout.log_size + lost->layout.slab_count * label.layout.slab_size(),
      alloc::area_alignment(label.layout.unit, label.layout.block_of_log()));
  if (at->device == nullptr) {
    if (!at->problem.has_value()) {
      return refuse(at->path + " is another device of the store", "Choose another device.");
    }
    if (at->problem->code != ErrorCode::kNotFound) return *at->problem;
    HEXAD_TRY_ASSIGN(at->device, system.create_device(at->path, needed));
  } else {
    HEXAD_TRY(check_unused(*at, survey, *lost));
  }
  const io::Geometry& geometry = at->device->geometry();
  if (geometry.physical_block > label.layout.physical_block) {
    return refuse(at->path + " has physical blocks of " + format_size(geometry.physical_block) +
                      ", the store is laid out for " + format_size(label.layout.physical_block),
                  "Choose another device.");
  }
  HEXAD_TRY_ASSIGN(label.layout, lay_out(label, *lost, geometry.size, at->path));
  io::Rng rng(system.draw_seed());
  label.generation = 1;
  label.device = lost->id;
  label.device_uuid = rng.uuid();
  label.created = system.clock().wall_time();
  HEXAD_TRY(write_all(*at->device, label));
  std::erase_if(assignment.strangers,
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

}  // namespace hexad::core
