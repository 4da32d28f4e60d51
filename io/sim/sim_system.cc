#include "io/sim/sim_system.h"

#include <utility>

#include "base/units.h"
#include "io/os_error.h"

namespace hexad::io {

SimSystem::SimSystem(SimOptions options)
    : options_(std::move(options)),
      executor_(options_.seed, options_.stacks),
      queue_(executor_, options_.latency, options_.recorder) {}

SimSystem::SimSystem(const CrashState& state, SimOptions options) : SimSystem(std::move(options)) {
  for (std::size_t i = 0; i < state.disks().size(); ++i) {
    const CrashRecorder::Disk& disk = state.disks()[i];
    SimDiskOptions with = options_.disk;
    with.physical_block = disk.physical_block;
    with.flush_domain = static_cast<int>(disk.flush_domain);
    add_disk(disk.name, state.image(i), with);
  }
}

SimSystem::~SimSystem() { queue_.drop_abandoned(); }

SimDisk& SimSystem::add_disk(const std::string& name, std::uint64_t size) {
  return add_disk(name, std::make_shared<CowImage>(size), options_.disk);
}

SimDisk& SimSystem::add_disk(const std::string& name, std::shared_ptr<const CowImage> content,
                             const SimDiskOptions& options) {
  std::unique_ptr<SimDisk>& slot = disks_[name];
  HEXAD_ASSERT(slot == nullptr);
  if (options_.recorder != nullptr) {
    // A flush domain that is there already is joined.
    const SimDisk* friend_disk = nullptr;
    for (const SimDisk* other : queue_.disks_) {
      if (options.flush_domain >= 0 && other->options().flush_domain == options.flush_domain) {
        friend_disk = other;
      }
    }
    slot = std::make_unique<SimDisk>(name, content, options);
    CrashRecorder& recorder = *options_.recorder;
    slot->recorded_ =
        friend_disk == nullptr
            ? recorder.add_disk(name, std::move(content), options.physical_block)
            : recorder.add_disk_in_domain_of(*friend_disk->recorded_, name, std::move(content),
                                             options.physical_block);
  } else {
    slot = std::make_unique<SimDisk>(name, std::move(content), options);
  }
  queue_.disks_.push_back(slot.get());
  return *slot;
}

SimDisk& SimSystem::disk(const std::string& name) {
  const auto found = disks_.find(name);
  HEXAD_ASSERT(found != disks_.end());
  return *found->second;
}

Result<std::unique_ptr<Device>> SimSystem::open_device(const std::string& path, OpenMode mode) {
  const auto found = disks_.find(path);
  if (found == disks_.end() || !found->second->present_) {
    return Error{ErrorCode::kNotFound, "there is no disk " + path, "Check the path."};
  }
  SimDisk& disk = *found->second;
  const bool writing = mode == OpenMode::kReadWrite;
  const OpenMode asked = writing ? OpenMode::kReadWrite : OpenMode::kReadOnly;
  if (const int number = disk.refused_openings_[asked]; number != 0) {
    return os_error(number, "cannot open " + path);
  }
  if (mode != OpenMode::kLook && (disk.writer_ || (writing && disk.readers_ > 0))) {
    return Error{ErrorCode::kBusy, path + " is open already", "Close it first."};
  }
  return std::unique_ptr<Device>(std::make_unique<SimDevice>(disk, mode, queue_));
}

Result<std::unique_ptr<Device>> SimSystem::create_device(const std::string& path,
                                                         std::uint64_t size) {
  if (!is_multiple(size, options_.disk.logical_block)) {
    return Error{ErrorCode::kInvalidArgument,
                 path + ": " + std::to_string(size) + " bytes are not whole blocks of " +
                     format_size(options_.disk.logical_block),
                 ""};
  }
  if (!has_disk(path)) {
    if (size > options_.disk.capacity) {
      return Error{ErrorCode::kNoSpace, path + ": no room for " + format_size(size), ""};
    }
    add_disk(path, size);
  }
  HEXAD_TRY_ASSIGN(std::unique_ptr<Device> device, open_device(path, OpenMode::kReadWrite));
  if (device->geometry().size < size) {
    HEXAD_TRY(device->grow(size));
    HEXAD_TRY(device->flush());
  }
  return device;
}

Result<std::optional<Holder>> SimSystem::holder(const std::string& path) {
  const auto found = disks_.find(path);
  if (found == disks_.end() || !found->second->present_) {
    return Error{ErrorCode::kNotFound, "there is no disk " + path, "Check the path."};
  }
  if (!found->second->writer_) return std::optional<Holder>();
  return std::optional<Holder>(Holder{path + " is open already", true});
}

Status SimSystem::shut_out(const std::string& path) {
  HEXAD_TRY_ASSIGN(const std::optional<Holder> has_it, holder(path));
  if (has_it.has_value()) disks_.at(path)->fence();
  return {};
}

void SimSystem::fail_nth(std::uint64_t n, FaultKind kind, Stickiness stickiness) {
  struct Plan {
    std::uint64_t left;
    bool struck = false;
    std::string disk;
  };
  set_hook([plan = Plan{n, false, ""}, kind,
            stickiness](const SimOp& op) mutable -> std::optional<FaultKind> {
    if (plan.struck) {
      if (stickiness == Stickiness::kSticky) return kind;
      if (stickiness == Stickiness::kDevice && op.disk == plan.disk) {
        return strikes(kind, op.op) ? kind : FaultKind::kDeviceError;
      }
      return std::nullopt;
    }
    if (!strikes(kind, op.op) || plan.left-- > 0) return std::nullopt;
    plan.struck = true;
    plan.disk = op.disk;
    return kind;
  });
}

void SimSystem::power_cut() {
  HEXAD_ASSERT(options_.recorder == nullptr);
  executor_.trace("power cut");
  for (const auto& [name, disk] : disks_) disk->lose_power(executor_.rng());
}

}  // namespace hexad::io
