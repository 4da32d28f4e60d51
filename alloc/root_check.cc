// Whether a root is one that a store can have written, and can go on from.
#include <algorithm>
#include <array>

#include "alloc/failure_domains.h"
#include "alloc/root.h"

namespace hexad::alloc {

namespace {

Error invalid(const std::string& message) {
  return Error{ErrorCode::kInvalidArgument, "root: " + message, ""};
}

// Far above what any store reaches: so that what follows a number from a device never wraps.
constexpr std::uint64_t kMost = std::uint64_t{1} << 62;

// An opening leaps by less than half of it, where it leaps (P9); otherwise numbers grow by one.
constexpr std::uint64_t kRoom = std::uint64_t{1} << 58;

// The log goes on behind these.
std::array<std::uint64_t, 7> log_numbers(const Root& root) {
  const LogTrim& trim = root.log_trim;
  const bool none = trim.position == LogTrim{}.position;
  return {none ? 0 : trim.position,
          trim.end,
          trim.epoch,
          trim.lsn,
          root.checkpoint_lsn,
          root.recorded_watermark,
          root.previous_epoch_end};
}

Status check_log(const Root& root) {
  for (const std::uint64_t number : log_numbers(root)) {
    if (number > kMost) {
      return invalid("impossible LSN, epoch or place in the log: " + std::to_string(number));
    }
  }
  return {};
}

Status check_row(const RootDevice& row, Epoch epoch) {
  const std::string name = "device " + std::to_string(row.id);
  if (row.id > kMaxDeviceId) {
    return invalid(name + ": numbers of devices end at " + std::to_string(kMaxDeviceId));
  }
  const bool left = row.state == MemberState::kLeft;
  if (left != (row.left_epoch != 0) || (!left && row.left_lsn != 0)) {
    return invalid(name + ": state and the epoch it left at disagree");
  }
  if (left && row.behind) return invalid(name + ": has left, and is live and behind");
  if (row.filling && (!row.behind || row.role != DeviceRole::kData)) {
    return invalid(name + ": filling, and lacks nothing or is no data device");
  }
  if ((row.draining || row.slabs != 0) && row.role != DeviceRole::kData) {
    return invalid(name + ": draining or with slabs, and no data device");
  }
  if (!row.domain.empty()) {
    if (row.role != DeviceRole::kData) return invalid(name + ": a failure domain of a log device");
    HEXAD_TRY(check_domain_name(row.domain));
  }
  if (row.slabs > kMaxSlabs) {
    return invalid(name + ": " + std::to_string(row.slabs) + " slabs, at most " +
                   std::to_string(kMaxSlabs) + " are possible");
  }
  if (row.left_epoch > epoch || row.confirmed_epoch > epoch) {
    return invalid(name + ": an epoch above the root's " + std::to_string(epoch));
  }
  if (row.confirmed_epoch == 0 && (row.confirmed_sequence != 0 || row.confirmed_nonce != 0)) {
    return invalid(name + ": a root without an epoch is confirmed");
  }
  return {};
}

// Without writers the root is of the older form, which has no room for what came with them.
Status check_writers(const Root& root) {
  if (root.writers.empty()) {
    const bool more =
        std::any_of(root.devices.begin(), root.devices.end(), [](const RootDevice& row) {
          return row.confirmed_sequence != 0 || row.confirmed_nonce != 0;
        });
    return more || !root.manifest.cell_sums.empty() ? invalid("no writer") : Status();
  }
  if (root.writers.size() > kMaxWriters) {
    return invalid(std::to_string(root.writers.size()) + " writers, at most " +
                   std::to_string(kMaxWriters) + " are kept");
  }
  Epoch before = 0;
  for (const Writer& writer : root.writers) {
    if (writer.nonce == 0 || writer.first_epoch <= before ||
        writer.last_epoch < writer.first_epoch) {
      return invalid("a writer of epochs " + std::to_string(writer.first_epoch) + " to " +
                     std::to_string(writer.last_epoch) + " without a number, or out of order");
    }
    before = writer.last_epoch;
  }
  if (before != root.epoch) {
    return invalid("its writer's last epoch is " + std::to_string(before) + ", its own " +
                   std::to_string(root.epoch));
  }
  return {};
}

Status check_forks(const Root& root) {
  if (root.forks.size() > kMaxForks) {
    return invalid(std::to_string(root.forks.size()) + " forks, at most " +
                   std::to_string(kMaxForks) + " are possible");
  }
  Epoch before = 1;
  for (const Fork& fork : root.forks) {
    if (fork.from_epoch < before || fork.first_epoch <= fork.from_epoch ||
        fork.first_epoch > root.epoch) {
      return invalid("a fork from epoch " + std::to_string(fork.from_epoch) + " to " +
                     std::to_string(fork.first_epoch) + " out of order");
    }
    before = fork.first_epoch;
  }
  return {};
}

Status check_manifest(const ManifestAddress& manifest) {
  if (manifest.is_nil()) {
    return manifest == ManifestAddress{} ? Status() : invalid("half a manifest address");
  }
  if (manifest.extent.unit == 0 || manifest.extent.end() > kMaxSlabUnits ||
      manifest.slots.empty() || manifest.slots.size() > kMaxZoneSlots) {
    return invalid("manifest address out of range: " + to_string(manifest.extent));
  }
  if (!manifest.cell_sums.empty() && manifest.cell_sums.size() != manifest.slots.size()) {
    return invalid(std::to_string(manifest.cell_sums.size()) + " checksums of the " +
                   std::to_string(manifest.slots.size()) + " cells of the manifest");
  }
  return {};
}

}  // namespace

Status check_root(const Root& root) {
  if (root.store.is_nil() || root.epoch == 0 || root.sequence == 0) {
    return invalid("no store uuid, epoch or sequence");
  }
  if (root.promised_epoch > kMost || root.sequence > kMost) {
    return invalid("impossible epoch or sequence");
  }
  HEXAD_TRY(check_log(root));
  if (root.promised_epoch < root.epoch) {
    return invalid("promises epoch " + std::to_string(root.promised_epoch) + " below its own " +
                   std::to_string(root.epoch));
  }
  if (root.devices.empty() || root.devices.size() > kMaxDevices) {
    return invalid(std::to_string(root.devices.size()) + " devices; from 1 to " +
                   std::to_string(kMaxDevices) + " are possible");
  }
  HEXAD_TRY(check_forks(root));
  HEXAD_TRY(check_writers(root));
  for (std::size_t i = 0; i < root.devices.size(); ++i) {
    if (i > 0 && root.devices[i - 1].id >= root.devices[i].id) {
      return invalid("device table is not sorted by id");
    }
    HEXAD_TRY(check_row(root.devices[i], root.epoch));
    if (!root.devices[i].domain.empty() && root.domain_cells == 0) {
      return invalid("device " + std::to_string(root.devices[i].id) +
                     " has a failure domain, and the store has none");
    }
  }
  if (root.domain_cells > kMaxZoneSlots) {
    return invalid(std::to_string(root.domain_cells) + " cells of a zone in a failure domain");
  }
  if (root.log_devices.size() > kMaxDevices) return invalid("too many log devices");
  const bool filling = std::any_of(root.devices.begin(), root.devices.end(),
                                   [](const RootDevice& row) { return row.filling; });
  if (root.lost_in_zone > kMaxZoneSlots || (root.lost_in_zone != 0 && !filling)) {
    return invalid("zones have lost " + std::to_string(root.lost_in_zone) +
                   " slabs, and no device is filling");
  }
  for (std::size_t i = 0; i < root.log_devices.size(); ++i) {
    const auto begin = root.log_devices.begin();
    const auto at = begin + static_cast<std::ptrdiff_t>(i);
    if (root.find(*at) == nullptr || std::find(begin, at, *at) != at) {
      return invalid("log device " + std::to_string(*at) + " is not in the table, or there twice");
    }
  }
  return check_manifest(root.manifest);
}

Status check_room_to_go_on(const Root& root) {
  const auto log = log_numbers(root);
  const std::uint64_t highest = std::max<std::uint64_t>(
      {root.promised_epoch, root.sequence, *std::max_element(log.begin(), log.end())});
  if (highest <= kMost - kRoom) return {};
  return Error{ErrorCode::kCorruption,
               "an epoch, LSN, sequence of roots or place in the log is " +
                   std::to_string(highest) + ", and no store comes above " +
                   std::to_string(kMost - kRoom),
               "Open it for reading and copy what is there."};
}

}  // namespace hexad::alloc
