#include "core/opening/new_device.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "alloc/foreign_signature.h"
#include "alloc/header_slot.h"
#include "alloc/root_choice.h"
#include "base/units.h"
#include "io/rng.h"
#include "kv/log/log_area.h"

namespace hexad::core {

namespace {

constexpr const char* kChooseAnother = "Choose another device, or wipe this one.";

// write_label() was cut: the copy at the tail, which comes second, is not there.
bool is_torn_label(io::Device& device) {
  const auto code_at = [&](alloc::DeviceEnd end) {
    const Result<AlignedBuffer> slot =
        alloc::read_header_slot(device, alloc::label_offset(end, device.geometry().size));
    return slot.ok() ? alloc::decode_label(slot->bytes()).status().error().code : ErrorCode::kIo;
  };
  return code_at(alloc::DeviceEnd::kHead) == ErrorCode::kCorruption &&
         code_at(alloc::DeviceEnd::kTail) == ErrorCode::kNotFound;
}

// What the device shows for itself is of no other lineage than the root of now (P9, P11).
Status check_lineage(const SurveyedDevice& found, const AddedTo& to) {
  std::vector<alloc::DeviceRoots> roots;
  for (const alloc::RootDevice& row : to.root.devices) {
    if (row.state != alloc::MemberState::kLive) continue;
    roots.push_back({row.id, row.uuid, to.root.store, {to.root}});
  }
  roots.push_back({found.label->device, found.label->device_uuid, found.label->store, found.roots});
  const Result<alloc::RootChoice> choice = alloc::choose_root(to.root.store, roots, to.parities);
  const bool ours = choice.ok() && choice->root.epoch == to.root.epoch &&
                    choice->root.sequence == to.root.sequence;
  if (ours) return {};
  return Error{ErrorCode::kAlreadyExists,
               found.path + " is a device of a copy of this store, which was written elsewhere" +
                   (choice.ok() ? "" : ": " + choice.error().message),
               kChooseAnother};
}

// What is given is the former device itself: only where it cannot come back.
Status check_itself(const SurveyedDevice& found, const AddedTo& to) {
  HEXAD_TRY(to.in_place_of->itself);
  std::vector<alloc::DeviceRoots> roots;
  for (const alloc::RootDevice& row : to.root.devices) {
    if (row.state != alloc::MemberState::kLive) continue;
    roots.push_back({row.id, row.uuid, to.root.store, {to.root}});
  }
  roots.push_back({found.label->device, found.label->device_uuid, found.label->store, found.roots});
  const Result<alloc::RootChoice> choice = alloc::choose_root(to.root.store, roots, to.parities);
  if (!choice.ok()) return {};  // check_lineage() says why
  for (const alloc::DeviceStanding& one : choice->devices) {
    const bool its = one.input == static_cast<int>(roots.size()) - 1;
    if (!its || one.standing != alloc::Standing::kAway) continue;
    return Error{ErrorCode::kAlreadyExists,
                 found.path + " is device " + std::to_string(one.id) +
                     " itself, and has all that it had when it left",
                 "Take it in again: hexad device online POOL " + std::to_string(one.id) +
                     ". Or choose another device."};
  }
  return {};
}

// Of this store, and no device of it: what an attempt that crashed has left, or one that was
// removed, or replaced, while it was away.
Status check_addable(const SurveyedDevice& found, const AddedTo& to) {
  HEXAD_TRY(check_unused(found, to.root.store, [&](const alloc::Label& label) {
    return to.root.find(label.device) == nullptr ||
           (to.in_place_of.has_value() && label.device == to.in_place_of->device);
  }));
  if (!found.label.has_value()) return {};
  const alloc::RootDevice* const row = to.root.find(found.label->device);
  if (row != nullptr && row->uuid == found.label->device_uuid) HEXAD_TRY(check_itself(found, to));
  return check_lineage(found, to);
}

// Another name of a device of the store, which has it locked itself. Nothing: it is not known to
// be one.
std::optional<DeviceId> other_name_of(const std::string& path, const AddedTo& to,
                                      io::System& system) {
  const SurveyedDevice found = survey_device(path, io::OpenMode::kLook, system);
  if (!found.label.has_value() || found.label->store != to.root.store) return std::nullopt;
  const alloc::RootDevice* const row = to.root.find(found.label->device);
  if (row == nullptr || row->uuid != found.label->device_uuid) return std::nullopt;
  return row->id;
}

// Says of whom answers are waited for, and when that is over.
class UnderWay {
 public:
  UnderWay(const AddedTo& to, io::Device& device) : to_(to) {
    if (to_.under_way) to_.under_way(&device);
  }
  ~UnderWay() {
    if (to_.under_way) to_.under_way(nullptr);
  }
  UnderWay(const UnderWay&) = delete;
  UnderWay& operator=(const UnderWay&) = delete;

 private:
  const AddedTo& to_;
};

// The device stays with `found`.
Status prepare(SurveyedDevice& found, const AddedTo& to, io::System& system, bool created,
               Member& member) {
  io::Device& device = *found.device;
  HEXAD_TRY_ASSIGN(const alloc::DeviceLayout layout,
                   lay_out_like(to.label, device.geometry(), found.path, to.slabs, to.role));
  if (to.redundant && to.role == alloc::DeviceRole::kData && !device.geometry().redundant) {
    return Error{ErrorCode::kInvalidArgument,
                 found.path +
                     " does not say that it is redundant itself, as all other devices of the store "
                     "do, which has no parity: whatever this one loses would be lost",
                 "Choose a device that is, such as another image; or make a pool with parity, and "
                 "move what there is by hexad export POOL DIR and hexad import NEW DIR."};
  }
  if (to.accept) HEXAD_TRY(to.accept(layout));
  // Files get all their room at once, sparse ones too. In the place of another one room is seen to
  // below what is there.
  const bool added = !to.in_place_of.has_value();
  if (added && !created) HEXAD_TRY(device.reserve_room(0, device.geometry().size).status());
  const DeviceId id = added ? to.root.next_device : to.in_place_of->device;
  const alloc::Label label = new_label(to.label, id, layout, system, to.role);
  HEXAD_TRY(make_ready(device, label, &to.root, to.progress));
  member.id = label.device;
  member.uuid = label.device_uuid;
  member.role = label.role;
  member.layout = layout;
  member.label = label;
  member.path = found.path;
  member.domain = to.domain;
  return {};
}

}  // namespace

Status check_unused(const SurveyedDevice& found, const Uuid& store,
                    const std::function<bool(const alloc::Label&)>& may_take) {
  if (found.label.has_value()) {
    if (found.label->store == store && may_take(*found.label)) return {};
    return Error{ErrorCode::kAlreadyExists,
                 found.path + " holds a hexad store " + to_string(found.label->store) +
                     ", of which it is device " + std::to_string(found.label->device),
                 kChooseAnother};
  }
  HEXAD_TRY_ASSIGN(const std::optional<std::string> foreign,
                   alloc::detect_foreign_signature(*found.device));
  if (!foreign.has_value()) return {};
  return Error{ErrorCode::kAlreadyExists, found.path + " holds a " + *foreign, kChooseAnother};
}

Result<alloc::DeviceLayout> lay_out_like(const alloc::Label& like, const io::Geometry& geometry,
                                         const std::string& path, std::uint32_t slabs,
                                         alloc::DeviceRole role) {
  const bool data = role == alloc::DeviceRole::kData;
  const std::uint32_t most = data ? like.layout.physical_block : like.layout.block_of_log();
  if (geometry.physical_block > most) {
    return Error{ErrorCode::kInvalidArgument,
                 path + " has physical blocks of " + format_size(geometry.physical_block) +
                     ", the store is laid out for " + format_size(most),
                 "Choose another device."};
  }
  alloc::LayoutRequest request;
  request.role = role;
  request.device_size = geometry.size;
  request.physical_block =
      data ? like.layout.physical_block
           : std::max<std::uint32_t>(geometry.physical_block, alloc::kMinPhysicalBlock);
  request.log_block = data ? like.layout.log_block : like.layout.block_of_log();
  request.unit = like.layout.unit;
  request.log_size = like.layout.log_size;
  if (data) request.slab_units = like.layout.slab_units;
  Result<alloc::DeviceLayout> layout = alloc::plan_layout(request);
  if (!layout.ok()) return layout.error().with_context(path);
  request.piece = geometry.piece;
  const Result<alloc::DeviceLayout> whole = alloc::plan_layout(request);
  return whole.ok() && whole->slab_count >= std::min(slabs, layout->slab_count) ? *whole : *layout;
}

std::uint64_t size_like(const alloc::DeviceLayout& like, std::uint64_t slabs) {
  return alloc::least_device_size(like.log_size + slabs * like.slab_size(),
                                  alloc::area_alignment(like.unit, like.block_of_log()));
}

Status check_slabs(const std::string& path, DeviceId id, const alloc::DeviceLayout& layout,
                   std::uint32_t needed) {
  if (layout.slab_count >= needed) return {};
  const std::uint64_t least = size_like(layout, needed);
  return Error{ErrorCode::kNoSpace,
               path + " has " + format_size(layout.device_size) + ", room for " +
                   std::to_string(layout.slab_count) + " slabs; zones use slabs up to number " +
                   std::to_string(needed) + " of device " + std::to_string(id),
               "Give a device of at least " + format_size(least) + "."};
}

alloc::Label new_label(const alloc::Label& like, DeviceId id, const alloc::DeviceLayout& layout,
                       io::System& system, alloc::DeviceRole role) {
  io::Rng rng(system.draw_seed());
  alloc::Label label = like;
  label.role = role;
  label.layout = layout;
  label.generation = 1;
  label.device = id;
  label.device_uuid = rng.uuid();
  label.created = system.clock().wall_time();
  return label;
}

Status make_ready(io::Device& device, const alloc::Label& label, const alloc::Root* root,
                  const std::function<bool(std::uint64_t done, std::uint64_t total)>& progress) {
  const alloc::LaidOutDevice target{&device, label.layout.device_size};
  HEXAD_TRY(alloc::clear_ends(target));
  const std::uint64_t total = label.layout.log_size;
  bool ended = false;
  const Status formatted =
      kv::format_log_area({&device, label.layout.log_offset, total}, [&](std::uint64_t done) {
        ended = progress && !progress(done, total);
        return !ended;
      });
  if (ended) {
    return Error{ErrorCode::kClosed,
                 device.name() + ": ended by the caller before the device was ready", ""};
  }
  HEXAD_TRY(formatted);
  if (root != nullptr) HEXAD_TRY(alloc::write_root(target, *root));
  return alloc::write_label(device, label);
}

namespace {

// One that is there already is nobody's, and what it says of itself was read before.
Status check_found(const SurveyedDevice& found, const AddedTo& to) {
  // One without a label is no hexad device, which it says as an error.
  const bool nothing =
      !found.label.has_value() && found.problem.has_value() &&
      (found.problem->code == ErrorCode::kInvalidArgument || is_torn_label(*found.device));
  if (!found.problem.has_value() || nothing) return check_addable(found, to);
  if (found.problem->code != ErrorCode::kCorruption) return *found.problem;
  return Error{
      ErrorCode::kAlreadyExists,
      found.path + " holds a hexad store whose label is damaged (" + found.problem->message + ")",
      kChooseAnother};
}

}  // namespace

Result<OpenedDevice> open_added_device(const std::string& path, const AddedTo& to,
                                       io::System& system) {
  OpenedDevice opened;
  opened.found = survey_device(path, io::OpenMode::kReadWrite, system);
  SurveyedDevice& found = opened.found;
  opened.created = found.device == nullptr && found.problem.has_value() &&
                   found.problem->code == ErrorCode::kNotFound;
  if (opened.created) {
    HEXAD_TRY_ASSIGN(found.device, system.create_device(path, to.file_size));
  } else if (found.device == nullptr) {
    if (found.problem->code != ErrorCode::kBusy) return *found.problem;
    const std::optional<DeviceId> known = other_name_of(path, to, system);
    if (!known.has_value()) return *found.problem;
    return Error{ErrorCode::kAlreadyExists,
                 path + " is device " + std::to_string(*known) +
                     " of the store, which has it under another name",
                 "Choose another device."};
  }
  return opened;
}

void give_up_added(OpenedDevice opened, io::System& system) {
  io::IoQueue& queue = opened.found.device->queue();
  queue.close(std::move(opened.found.device));
  if (opened.created) system.remove_created(opened.found.path).ignore();
}

Result<AddedDevice> make_added_device(const std::string& path, const AddedTo& to,
                                      io::System& system) {
  HEXAD_TRY_ASSIGN(OpenedDevice opened, open_added_device(path, to, system));
  return make_added_device(std::move(opened), to, system);
}

Result<AddedDevice> make_added_device(OpenedDevice opened, const AddedTo& to, io::System& system) {
  SurveyedDevice& found = opened.found;
  const bool created = opened.created;
  AddedDevice added;
  added.created = created;
  Status ready;
  {
    const UnderWay waiting(to, *found.device);
    if (!created) ready = check_found(found, to);
    if (ready.ok()) ready = prepare(found, to, system, created, added.member);
  }
  if (ready.ok()) {
    added.member.device = std::move(found.device);
    return added;
  }
  if (found.device->is_given_up()) {
    ready = Error{ErrorCode::kUnavailable,
                  found.path + " did not answer for so long that it was given up (device_patience)",
                  "Choose another device, or check this one."};
  }
  give_up_added(std::move(opened), system);
  return ready.error();
}

}  // namespace hexad::core
