#include "core/opening/format.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>
#include <utility>

#include "alloc/device_layout.h"
#include "alloc/failure_domains.h"
#include "alloc/foreign_signature.h"
#include "alloc/header_slot.h"
#include "alloc/label.h"
#include "alloc/root.h"
#include "alloc/root_choice.h"
#include "core/opening/pool_options.h"
#include "core/opening/pool_plan.h"
#include "core/opening/room_below.h"
#include "core/space/log_set.h"
#include "ec/profile.h"
#include "io/rng.h"
#include "kv/lmdb/lmdb_index.h"
#include "kv/log/log_area.h"

namespace hexad::core {

namespace {

// Units of a slab that FormatOptions asks for.
constexpr std::uint64_t kLeastUnits = 8;

struct NewDevice {
  NewDevice() = default;
  NewDevice(NewDevice&&) = default;
  NewDevice& operator=(NewDevice&&) = default;
  // A device that has not answered yet is closed when it has.
  ~NewDevice() {
    if (device == nullptr) return;
    io::IoQueue& queue = device->queue();
    queue.close(std::move(device));
  }

  std::string path;
  alloc::DeviceRole role = alloc::DeviceRole::kData;
  std::unique_ptr<io::Device> device;  // null: to be made
  bool created = false;
  std::uint64_t size = 0;  // bytes, that it is going to have
  alloc::DeviceLayout layout;
  Uuid uuid;
  bool begun = false;  // what it held before is gone
};

// What has been made and is taken back when a later step fails, besides the devices.
struct Made {
  std::vector<std::string> directories;  // outermost first
  std::string index;                     // empty: none
  FormatReport report;
  bool changed = false;  // something that was there before: it cannot be taken back
};

// Nobody's device, or force: a store of ours counts as somebody's.
Status check_unused(NewDevice& target) {
  HEXAD_TRY_ASSIGN(const std::optional<std::string> foreign,
                   alloc::detect_foreign_signature(*target.device));
  const Result<alloc::LabelCopy> label = alloc::read_label(*target.device);
  std::string holds;
  if (foreign.has_value()) holds = *foreign;
  if (label.ok()) {
    holds = "hexad store " + to_string(label->label.store);
  } else if (label.error().code == ErrorCode::kUnsupported) {
    holds = "hexad store of another version (" + label.error().message + ")";
  } else if (label.error().code == ErrorCode::kCorruption) {
    holds = "hexad store whose label is damaged (" + label.error().message + ")";
  } else if (label.error().code == ErrorCode::kExhausted ||
             label.error().code == ErrorCode::kUnavailable) {
    return label.error();  // then it is not known whose it is
  }
  if (holds.empty()) return {};
  return Error{ErrorCode::kAlreadyExists, target.path + " holds a " + holds,
               "Choose another device, or pass --force to overwrite it."};
}

// Step 1: everything that exists is opened and looked at; nothing is changed.
Status open_existing(const FormatOptions& options, io::System& system,
                     std::vector<NewDevice>& targets) {
  for (NewDevice& target : targets) {
    Result<std::unique_ptr<io::Device>> device =
        system.open_device(target.path, io::OpenMode::kReadWrite);
    if (!device.ok()) {
      if (device.error().code == ErrorCode::kNotFound) continue;
      return device.error();
    }
    target.device = std::move(device).value();
    if (!options.force) HEXAD_TRY(check_unused(target));
  }
  return {};
}

// Without parity whatever a device loses is lost: all say that they lose nothing, or the user does.
Status check_redundant(const FormatOptions& options, const std::vector<NewDevice>& targets,
                       io::System& system) {
  if (options.profile.m > 0 || options.redundant_devices) return {};
  std::string silent;
  for (const NewDevice& target : targets) {
    if (target.role != alloc::DeviceRole::kData) continue;
    const bool redundant = target.device != nullptr ? target.device->geometry().redundant
                                                    : system.makes_redundant(target.path);
    if (redundant) continue;
    silent += (silent.empty() ? "" : ", ") + target.path;
  }
  if (silent.empty()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "profile " + ec::to_string(options.profile) +
                   " has no parity, so that whatever a device loses is lost, and these do not say "
                   "that they are redundant themselves: " +
                   silent,
               "Where each of them is, as a RAID array, an EBS volume, a zvol or an RBD image is, "
               "say so: --redundant-devices (redundant_devices). Else take a profile with parity, "
               "such as " +
                   std::to_string(options.profile.k) + "+1."};
}

// An index without its log is still somebody's: of a pool whose log file has been lost, say.
Status check_no_index(const FormatOptions& options, kv::IndexHome& indexes) {
  const std::string directory = index_directory(options.fast_directories);
  const Result<std::unique_ptr<kv::Index>> index =
      indexes.open(directory, {}, io::OpenMode::kReadOnly);
  // What is no index at all, because its directory cannot be, is for the later steps to tell.
  const bool holds_one = index.ok() || index.error().code == ErrorCode::kCorruption ||
                         index.error().code == ErrorCode::kBusy;
  if (!holds_one) return {};
  return Error{ErrorCode::kAlreadyExists, directory + " holds an index",
               "Choose another fast directory, or pass --force to overwrite it."};
}

// Of all devices, or of those for data. Those of devices that are not there yet are unknown, and
// count once they are.
struct Blocks {
  std::uint32_t data = alloc::kMinPhysicalBlock;  // the largest physical block of a data device
  std::uint32_t log = alloc::kMinPhysicalBlock;   // of any
  // What all data devices write without a read, and what they keep as one; 0: none says.
  std::uint64_t whole_write = 0;
  std::uint64_t piece = 0;
};

Blocks blocks_of(const std::vector<NewDevice>& targets) {
  const auto common = [](std::uint64_t one, std::uint64_t other) {
    return one == 0 || other == 0 ? one + other : std::lcm(one, other);
  };
  Blocks blocks;
  for (const NewDevice& target : targets) {
    if (target.device == nullptr) continue;
    const io::Geometry& geometry = target.device->geometry();
    blocks.log = std::max(blocks.log, geometry.physical_block);
    if (target.role != alloc::DeviceRole::kData) continue;
    blocks.data = std::max(blocks.data, geometry.physical_block);
    blocks.whole_write = common(blocks.whole_write, geometry.whole_write);
    blocks.piece = common(blocks.piece, geometry.piece);
  }
  return blocks;
}

// The unit, where nobody chose one: FormatOptions::min_alloc.
std::uint64_t choose_unit(const FormatOptions& options, const Blocks& blocks) {
  constexpr std::uint64_t kMost = 64_KiB;
  const std::uint64_t least = std::lcm(kDefaultMinAlloc, std::uint64_t{blocks.data});
  const std::uint64_t unit = std::lcm(least, std::max(blocks.whole_write, kDefaultMinAlloc));
  const bool fits_slabs = options.slab_size == 0 || (is_multiple(options.slab_size, unit) &&
                                                     options.slab_size / unit >= kLeastUnits);
  return unit <= kMost && fits_slabs ? unit : least;
}

// What is written to the log and into units is whole physical blocks: where those may be as large
// as what the devices write without a read, they are.
Blocks fit_blocks(const FormatOptions& options, Blocks blocks) {
  const std::uint64_t whole = blocks.whole_write;
  const bool fits = std::has_single_bit(whole) && whole <= alloc::kMaxPhysicalBlock &&
                    is_multiple(options.min_alloc, whole) && whole <= options.checksum_block;
  if (!fits) return blocks;
  blocks.data = std::max(blocks.data, static_cast<std::uint32_t>(whole));
  blocks.log = std::max(blocks.log, blocks.data);
  return blocks;
}

// A data device is as large as it is, a log file as large as the log wants it.
void choose_sizes(const FormatOptions& options, const Blocks& blocks, std::uint64_t log_size,
                  std::vector<NewDevice>& targets) {
  const std::uint64_t alignment = alloc::area_alignment(options.min_alloc, blocks.log);
  const std::uint64_t log_device_size =
      alloc::least_device_size(round_up(log_size, alignment), alignment);
  for (NewDevice& target : targets) {
    const std::uint64_t present = target.device == nullptr ? 0 : target.device->geometry().size;
    if (target.role == alloc::DeviceRole::kLog) {
      target.size = std::max(present, log_device_size);
    } else {
      target.size = target.device == nullptr ? options.device_size : present;
    }
  }
}

// Between steps that may last: FormatOptions::progress, which ends nothing any more once something
// has changed that was there before.
Status go_on(const FormatOptions& options, const std::vector<NewDevice>& targets, const Made& made,
             std::uint64_t done = 0) {
  if (!options.progress) return {};
  std::uint64_t total = 0;
  for (const NewDevice& target : targets) total += target.layout.log_size;
  if (options.progress(done, total) || made.changed) return {};
  return Error{ErrorCode::kClosed,
               "ended by the caller before the store was made, and nothing has changed", ""};
}

Status create_missing(const FormatOptions& options, io::System& system,
                      std::vector<NewDevice>& targets, Made& made) {
  for (const std::string& directory : options.fast_directories) {
    HEXAD_TRY_ASSIGN(const std::vector<std::string> fresh, system.make_directory(directory));
    made.directories.insert(made.directories.end(), fresh.begin(), fresh.end());
  }
  for (NewDevice& target : targets) {
    if (target.device != nullptr) continue;
    HEXAD_TRY(go_on(options, targets, made));
    HEXAD_TRY_ASSIGN(target.device, system.create_device(target.path, target.size));
    target.created = true;
  }
  return {};
}

// Needs no device.
Status lay_out(const FormatOptions& options, const Blocks& blocks, std::uint64_t log_size,
               std::vector<NewDevice>& targets) {
  std::uint64_t smallest = ~std::uint64_t{0};
  for (const NewDevice& target : targets) {
    if (target.role == alloc::DeviceRole::kData) {
      smallest = std::min(smallest, alloc::room_of(target.size));
    }
  }
  if (options.checksum_block < blocks.data) {
    return Error{
        ErrorCode::kInvalidArgument,
        "checksum blocks of " + format_size(options.checksum_block) +
            " are smaller than the devices' physical block of " + format_size(blocks.data),
        "Use --checksum-block " + format_size(std::max<std::uint64_t>(blocks.data, 16384)) + "."};
  }
  const std::uint32_t group = ec::alignment(options.profile);
  if (!is_multiple(blocks.data, group)) {
    return Error{ErrorCode::kInvalidArgument,
                 "profile " + ec::to_string(options.profile) + " codes groups of " +
                     format_size(group) + ", of which the devices' physical block of " +
                     format_size(blocks.data) + " is no multiple",
                 "Use packetsize=64."};
  }
  for (NewDevice& target : targets) {
    alloc::LayoutRequest request;
    request.role = target.role;
    request.device_size = target.size;
    const bool data = target.role == alloc::DeviceRole::kData;
    const bool there = target.device != nullptr;
    request.physical_block = data    ? blocks.data
                             : there ? target.device->geometry().physical_block
                                     : alloc::kMinPhysicalBlock;
    request.log_block = blocks.log;
    request.unit = options.min_alloc;
    request.log_size = log_size;
    if (data) {
      request.piece = blocks.piece;
      request.slab_units = options.slab_size == 0 ? alloc::default_slab_units(
                                                        smallest, options.min_alloc, blocks.piece)
                                                  : options.slab_size / options.min_alloc;
    }
    Result<alloc::DeviceLayout> layout = alloc::plan_layout(request);
    if (!layout.ok()) return layout.error().with_context(target.path);
    target.layout = *layout;
  }
  return {};
}

// What each device is going to be like, as far as that is known by now.
Status plan_devices(const FormatOptions& given, std::uint64_t log_size,
                    std::vector<NewDevice>& targets) {
  FormatOptions options = given;
  Blocks blocks = blocks_of(targets);
  if (options.min_alloc == 0) options.min_alloc = choose_unit(options, blocks);
  HEXAD_TRY(alloc::check_unit(options.min_alloc, blocks.data));
  blocks = fit_blocks(options, blocks);
  choose_sizes(options, blocks, log_size, targets);
  return lay_out(options, blocks, log_size, targets);
}

// What every label says about the pool. After plan_devices(). Errors: kTooBig.
Result<std::string> describe_pool(const FormatOptions& options,
                                  const std::vector<NewDevice>& targets) {
  PoolOptions pooled;
  pooled.profile = options.profile;
  pooled.compression = options.compression;
  pooled.fast_directories = options.fast_directories;
  for (DeviceId id = 0; id < targets.size(); ++id) {
    const NewDevice& target = targets[id];
    pooled.devices.push_back({id, target.role, target.layout.slab_units, target.layout.slab_count});
  }
  std::string description = encode_pool_options(pooled);
  if (description.size() > alloc::kMaxPoolOptions) {
    return Error{ErrorCode::kTooBig,
                 "the pool's description takes " + std::to_string(description.size()) +
                     " bytes in the label",
                 "Use fewer devices or shorter fast directory paths."};
  }
  return description;
}

Status grow_logs(std::vector<NewDevice>& targets, Made& made) {
  for (NewDevice& target : targets) {
    if (target.device->geometry().size >= target.size) continue;
    made.changed = true;
    HEXAD_TRY(target.device->grow(target.size));
    HEXAD_TRY(target.device->flush());
  }
  return {};
}

// Files that were there may be sparse: with all their room now, no write lacks it later.
Status reserve_all(const FormatOptions& options, const std::vector<NewDevice>& targets,
                   Made& made) {
  std::vector<std::string> unsure;
  for (const NewDevice& target : targets) {
    HEXAD_TRY(go_on(options, targets, made));
    HEXAD_TRY_ASSIGN(const io::Device::Room room,
                     target.device->reserve_room(0, target.device->geometry().size));
    if (room != io::Device::Room::kSure) unsure.push_back(target.path);
  }
  if (unsure.empty()) return {};
  made.report.notes.push_back(unreserved_note(
      unsure, "keep some of it free, else commits wait and may end with an unknown outcome"));
  return {};
}

// Index first, if there is to be one, then root and label of each device: one that carries a label
// has all it refers to. A failure or a crash up to here leaves no store, whichever devices are
// there, for the roots say that it is being made (P7). The last round says that it is made, when
// all the rest is durable.
Status write_all(const FormatOptions& options, const std::string& description, io::System& system,
                 kv::IndexHome* indexes, std::vector<NewDevice>& targets, Made& made) {
  io::Rng rng(system.draw_seed());
  const Uuid store = rng.uuid();
  alloc::Root root;
  root.store = store;
  root.epoch = root.promised_epoch = 1;
  root.sequence = alloc::kMaking;
  root.writers = {{root.epoch, root.epoch, rng.next() | 1}};
  root.next_zone = 1;
  root.next_device = static_cast<DeviceId>(targets.size());
  root.domain_cells = alloc::least_domain_cells(options.failure_domains, options.profile.shards());
  for (DeviceId id = 0; id < targets.size(); ++id) {
    NewDevice& target = targets[id];
    target.uuid = rng.uuid();
    alloc::RootDevice row;
    row.id = id;
    row.uuid = target.uuid;
    row.role = target.role;
    if (id < options.failure_domains.size()) row.domain = options.failure_domains[id];
    root.devices.push_back(row);
  }
  std::vector<LogCandidate> candidates;
  for (DeviceId id = 0; id < targets.size(); ++id) {
    candidates.push_back(
        {id, targets[id].role, targets[id].layout.log_size, root.devices[id].domain});
  }
  root.log_devices = choose_log_devices(candidates, options.profile.m, root.domain_cells);

  HEXAD_TRY(go_on(options, targets, made));
  // An index without its log may be there, too.
  made.changed = (options.force && indexes != nullptr) ||
                 std::any_of(targets.begin(), targets.end(),
                             [](const NewDevice& target) { return !target.created; });
  if (indexes != nullptr) {
    const std::string index = index_directory(options.fast_directories);
    HEXAD_TRY(indexes->remove(index));
    made.index = index;
    HEXAD_TRY(indexes->open(index, store, io::OpenMode::kReadWrite).status());
  }
  std::uint64_t zeros = 0;
  for (NewDevice& target : targets) {
    target.begun = true;
    if (!target.created) HEXAD_TRY(alloc::clear_ends({target.device.get(), target.size}));
    Status ended;
    const Status formatted =
        kv::format_log_area({target.device.get(), target.layout.log_offset, target.layout.log_size},
                            [&](std::uint64_t done) {
                              ended = go_on(options, targets, made, zeros + done);
                              return ended.ok();
                            });
    HEXAD_TRY(ended);
    HEXAD_TRY(formatted);
    zeros += target.layout.log_size;
    HEXAD_TRY(alloc::write_root({target.device.get(), target.layout.device_size}, root));
  }
  for (DeviceId id = 0; id < targets.size(); ++id) {
    alloc::Label label;
    label.store = store;
    label.device = id;
    label.device_uuid = targets[id].uuid;
    label.role = targets[id].role;
    label.layout = targets[id].layout;
    label.k = static_cast<std::uint8_t>(options.profile.k);
    label.m = static_cast<std::uint8_t>(options.profile.m);
    label.codec = static_cast<std::uint8_t>(options.profile.codec);
    label.packet_bytes = options.profile.packet_bytes;
    // Without the word they have all said so themselves (check_redundant()).
    label.redundant_devices = options.redundant_devices || options.profile.m == 0;
    label.checksum = options.checksum;
    label.checksum_granularity = static_cast<std::uint32_t>(options.checksum_block);
    label.created = system.clock().wall_time();
    label.device_count = static_cast<std::uint32_t>(targets.size());
    label.pool_options = description;
    HEXAD_TRY(alloc::write_label(*targets[id].device, label));
  }
  root.sequence = alloc::kMade;
  std::vector<alloc::LaidOutDevice> devices;
  for (const NewDevice& target : targets) {
    devices.push_back({target.device.get(), target.layout.device_size});
  }
  for (const Status& written : alloc::write_root(devices, root)) HEXAD_TRY(written);
  return {};
}

Status format_targets(const FormatOptions& options, io::System& system, kv::IndexHome* indexes,
                      std::vector<NewDevice>& targets, Made& made) {
  HEXAD_TRY(open_existing(options, system, targets));
  HEXAD_TRY(check_redundant(options, targets, system));
  if (!options.force && indexes != nullptr) HEXAD_TRY(check_no_index(options, *indexes));
  std::uint64_t raw = 0;
  for (const NewDevice& target : targets) {
    if (target.role != alloc::DeviceRole::kData) continue;
    raw += target.device != nullptr ? target.device->geometry().size : options.device_size;
  }
  const std::uint64_t log_size = options.log_size == 0 ? default_log_size(raw) : options.log_size;
  // All that can be refused without making anything, and the rest when the files are there.
  HEXAD_TRY(plan_devices(options, log_size, targets));
  HEXAD_TRY(describe_pool(options, targets).status());
  HEXAD_TRY(create_missing(options, system, targets, made));
  HEXAD_TRY(plan_devices(options, log_size, targets));
  HEXAD_TRY_ASSIGN(const std::string description, describe_pool(options, targets));
  made.report.min_alloc = targets.front().layout.unit;
  HEXAD_TRY(grow_logs(targets, made));
  HEXAD_TRY(reserve_all(options, targets, made));
  return write_all(options, description, system, indexes, targets, made);
}

// The first error is the one to report, with what could not be removed. Of a device that was there
// before, label and root go: what has them is counted as part of a store.
Error undo(Error error, const Made& made, io::System& system, kv::IndexHome* indexes,
           std::vector<NewDevice>& targets) {
  if (!made.index.empty()) indexes->remove(made.index).ignore();
  for (NewDevice& target : targets) {
    if (target.begun && !target.created) {
      alloc::clear_ends({target.device.get(), target.size}).ignore();
    }
    target.device.reset();
    if (!target.created) continue;
    const Status removed = system.remove_created(target.path);
    if (!removed.ok()) {
      error.message += "; what was made for it stays: " + removed.error().message;
    }
  }
  for (auto at = made.directories.rbegin(); at != made.directories.rend(); ++at) {
    system.remove_directory(*at).ignore();
  }
  return error;
}

}  // namespace

Result<PoolDescription> format_devices(const FormatOptions& given, io::System& system,
                                       kv::IndexHome* indexes, FormatReport* report) {
  FormatOptions options = given;
  options.profile = ec::as_ceph_has_it(given.profile);
  std::unique_ptr<kv::IndexHome> in_directories;
  if (indexes == nullptr && !options.fast_directories.empty()) {
    in_directories = kv::make_lmdb_home(system.executor());
    indexes = in_directories.get();
  }
  std::vector<NewDevice> targets;
  for (const std::string& path : options.devices) {
    targets.emplace_back().path = path;
  }
  for (const std::string& directory : options.fast_directories) {
    NewDevice& log = targets.emplace_back();
    log.path = fast_log_path(directory);
    log.role = alloc::DeviceRole::kLog;
  }
  Made made;
  const Status status = format_targets(options, system, indexes, targets, made);
  if (!status.ok()) return undo(status.error(), made, system, indexes, targets);
  if (report != nullptr) *report = std::move(made.report);
  return PoolDescription{options.devices, options.fast_directories};
}

}  // namespace hexad::core
