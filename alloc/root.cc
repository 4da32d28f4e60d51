#include "alloc/root.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>

#include "alloc/failure_domains.h"
#include "alloc/header_slot.h"
#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/codec.h"
#include "io/os_error.h"
#include "io/refused.h"

namespace hexad::alloc {

namespace {

constexpr std::string_view kMagic = "HEXADROT";
constexpr std::size_t kRowSize = 48;
constexpr std::size_t kLongRowSize = 64;  // with kWriters
constexpr std::uint8_t kCleanClose = 1;
// Incompatible feature: forks follow the device table. A program that does not know them would take
// two halves that were written apart for one store.
constexpr std::uint64_t kForked = 1;
// Incompatible feature: some row is live and behind. A program that does not know it would count
// the device as whole.
constexpr std::uint64_t kBehind = 2;
// Incompatible feature: rows name the root that they confirm; sums of the manifest's cells and the
// last writers stand at the end. A program that does not know it would take the rows for damaged.
constexpr std::uint64_t kWriters = 8;
// Incompatible feature: some row is draining. A program that does not know it would take the state
// for damaged, and put more on the device.
constexpr std::uint64_t kDrained = 16;
// Incompatible feature: the slabs of devices that were added stand at the end. A program that does
// not know it would take the root for damaged.
constexpr std::uint64_t kAdded = 32;
// Incompatible feature: some row is filling, and how much a zone may have lost stands at the end. A
// program that does not know it would take the row for damaged.
constexpr std::uint64_t kFilling = 64;
// Incompatible feature: failure domains stand at the end. A program that does not know them would
// take too few devices for enough, and make zones that lose too much with one domain.
constexpr std::uint64_t kDomains = 128;
// The states of a row that is behind, beside those of MemberState.
constexpr std::uint8_t kStateBehind = 3;
constexpr std::uint8_t kStateFilling = 4;
// In the byte of the state, beside it.
constexpr std::uint8_t kDrainingBit = 0x10;

void encode_row(Encoder& encoder, const RootDevice& row, bool is_long) {
  encode_uuid(encoder, row.uuid);
  encoder.le32(row.id);
  encoder.u8(static_cast<std::uint8_t>(row.role));
  std::uint8_t state = static_cast<std::uint8_t>(row.state);
  if (row.behind) state = row.filling ? kStateFilling : kStateBehind;
  encoder.u8(row.draining ? state | kDrainingBit : state);
  encoder.zeros(2);
  encoder.le64(row.left_lsn);
  encoder.le64(row.left_epoch);
  encoder.le64(row.confirmed_epoch);
  if (!is_long) return;
  encoder.le64(row.confirmed_sequence);
  encoder.le64(row.confirmed_nonce);
}

RootDevice decode_row(Decoder& decoder, bool is_long) {
  RootDevice row;
  row.uuid = decode_uuid(decoder);
  row.id = decoder.le32();
  const std::uint8_t role = decoder.u8();
  const std::uint8_t byte = decoder.u8();
  const std::uint8_t state = byte & ~kDrainingBit;
  decoder.zeros(2);
  row.left_lsn = decoder.le64();
  row.left_epoch = decoder.le64();
  row.confirmed_epoch = decoder.le64();
  if (is_long) {
    row.confirmed_sequence = decoder.le64();
    row.confirmed_nonce = decoder.le64();
  }
  if (role < 1 || role > 2 || state < 1 || state > kStateFilling) decoder.fail();
  row.role = static_cast<DeviceRole>(role);
  row.behind = state >= kStateBehind;
  row.filling = state == kStateFilling;
  row.draining = byte != state;
  row.state = row.behind ? MemberState::kLive : static_cast<MemberState>(state);
  return row;
}

void encode_manifest(Encoder& encoder, const ManifestAddress& manifest) {
  encoder.le32(manifest.extent.zone);
  encoder.le32(manifest.extent.unit);
  encoder.le32(manifest.extent.units);
  encoder.le32(manifest.crc);
  encoder.le64(manifest.length);
  encoder.le32(static_cast<std::uint32_t>(manifest.slots.size()));
  for (const ZoneSlot& slot : manifest.slots) {
    encoder.le32(slot.device);
    encoder.le32(slot.slab);
  }
}

ManifestAddress decode_manifest(Decoder& decoder) {
  ManifestAddress manifest;
  manifest.extent.zone = decoder.le32();
  manifest.extent.unit = decoder.le32();
  manifest.extent.units = decoder.le32();
  manifest.crc = decoder.le32();
  manifest.length = decoder.le64();
  const std::uint32_t slots = decoder.le32();
  if (slots > kMaxZoneSlots) decoder.fail();
  for (std::uint32_t i = 0; i < slots && decoder.ok(); ++i) {
    const DeviceId device = decoder.le32();
    manifest.slots.push_back({device, decoder.le32()});
  }
  return manifest;
}

void encode_forks(Encoder& encoder, const std::vector<Fork>& forks) {
  encoder.le32(static_cast<std::uint32_t>(forks.size()));
  for (const Fork& fork : forks) {
    encoder.le64(fork.from_epoch);
    encoder.le64(fork.from_sequence);
    encoder.le64(fork.first_epoch);
    encoder.le32(fork.from_left);
    encoder.zeros(4);
  }
}

std::vector<Fork> decode_forks(Decoder& decoder) {
  std::vector<Fork> forks;
  const std::uint32_t count = decoder.le32();
  if (count == 0 || count > kMaxForks) decoder.fail();
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    Fork& fork = forks.emplace_back();
    fork.from_epoch = decoder.le64();
    fork.from_sequence = decoder.le64();
    fork.first_epoch = decoder.le64();
    fork.from_left = decoder.le32();
    decoder.zeros(4);
  }
  return forks;
}

void encode_sums(Encoder& encoder, const std::vector<std::uint32_t>& sums) {
  encoder.le32(static_cast<std::uint32_t>(sums.size()));
  for (const std::uint32_t sum : sums) encoder.le32(sum);
}

std::vector<std::uint32_t> decode_sums(Decoder& decoder) {
  std::vector<std::uint32_t> sums;
  const std::uint32_t count = decoder.le32();
  if (count > kMaxZoneSlots) decoder.fail();
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) sums.push_back(decoder.le32());
  return sums;
}

void encode_writers(Encoder& encoder, const std::vector<Writer>& writers) {
  encoder.le32(static_cast<std::uint32_t>(writers.size()));
  for (const Writer& writer : writers) {
    encoder.le64(writer.first_epoch);
    encoder.le64(writer.last_epoch);
    encoder.le64(writer.nonce);
  }
}

std::vector<Writer> decode_writers(Decoder& decoder) {
  std::vector<Writer> writers;
  const std::uint32_t count = decoder.le32();
  if (count == 0 || count > kMaxWriters) decoder.fail();
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    Writer& writer = writers.emplace_back();
    writer.first_epoch = decoder.le64();
    writer.last_epoch = decoder.le64();
    writer.nonce = decoder.le64();
  }
  return writers;
}

// Of rows that have them.
void encode_slabs(Encoder& encoder, const std::vector<RootDevice>& rows) {
  const auto count =
      std::count_if(rows.begin(), rows.end(), [](const RootDevice& row) { return row.slabs != 0; });
  encoder.le32(static_cast<std::uint32_t>(count));
  for (const RootDevice& row : rows) {
    if (row.slabs == 0) continue;
    encoder.le32(row.id);
    encoder.le32(row.slabs);
  }
}

void decode_slabs(Decoder& decoder, Root& root) {
  const std::uint32_t count = decoder.le32();
  if (count == 0 || count > root.devices.size()) decoder.fail();
  std::int64_t before = -1;
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    const DeviceId id = decoder.le32();
    const std::uint32_t slabs = decoder.le32();
    RootDevice* const row = root.find(id);
    if (row == nullptr || slabs == 0 || id <= before) return decoder.fail();
    row->slabs = slabs;
    before = id;
  }
}

void encode_domains(Encoder& encoder, const Root& root) {
  encoder.le32(root.domain_cells);
  encoder.le32(static_cast<std::uint32_t>(
      std::count_if(root.devices.begin(), root.devices.end(),
                    [](const RootDevice& row) { return !row.domain.empty(); })));
  for (const RootDevice& row : root.devices) {
    if (row.domain.empty()) continue;
    encoder.le32(row.id);
    encoder.bytes(row.domain);
  }
}

void decode_domains(Decoder& decoder, Root& root) {
  root.domain_cells = decoder.le32();
  const std::uint32_t count = decoder.le32();
  if (root.domain_cells == 0 || count > root.devices.size()) decoder.fail();
  std::int64_t before = -1;
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    const DeviceId id = decoder.le32();
    const std::string_view name = decoder.bytes();
    RootDevice* const row = root.find(id);
    if (row == nullptr || name.empty() || id <= before) return decoder.fail();
    row->domain = std::string(name);
    before = id;
  }
}

bool any_added(const Root& root) {
  return std::any_of(root.devices.begin(), root.devices.end(),
                     [](const RootDevice& row) { return row.slabs != 0; });
}

bool any_behind(const Root& root) {
  return std::any_of(root.devices.begin(), root.devices.end(),
                     [](const RootDevice& row) { return row.behind; });
}

bool any_filling(const Root& root) {
  return std::any_of(root.devices.begin(), root.devices.end(),
                     [](const RootDevice& row) { return row.filling; });
}

bool any_draining(const Root& root) {
  return std::any_of(root.devices.begin(), root.devices.end(),
                     [](const RootDevice& row) { return row.draining; });
}

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

// Bytes of the two slots at one end, or nothing where they cannot be read.
struct Slots {
  AlignedBuffer bytes[2];
  Status status[2];
};

// The valid root of each slot, or why there is none.
struct Decoded {
  std::optional<Root> root[2];
  Error error[2];
};

Decoded decode_slots(const Slots& slots) {
  Decoded decoded;
  for (int slot = 0; slot < 2; ++slot) {
    if (!slots.status[slot].ok()) {
      decoded.error[slot] = slots.status[slot].error();
      continue;
    }
    Result<Root> root = decode_root(slots.bytes[slot].bytes());
    if (root.ok()) {
      decoded.root[slot] = std::move(*root);
    } else {
      decoded.error[slot] = root.error();
    }
  }
  return decoded;
}

// The slot that does not hold the end's newest valid root.
unsigned slot_to_write(const Decoded& decoded, std::uint64_t sequence) {
  const auto& [a, b] = decoded.root;
  if (a && b) return is_newer(*a, *b) ? 1 : 0;
  if (a || b) return a ? 1 : 0;
  return static_cast<unsigned>(sequence % 2);
}

}  // namespace

const RootDevice* Root::find(DeviceId id) const {
  const auto at =
      std::lower_bound(devices.begin(), devices.end(), id,
                       [](const RootDevice& row, DeviceId key) { return row.id < key; });
  return at != devices.end() && at->id == id ? &*at : nullptr;
}

RootDevice* Root::find(DeviceId id) {
  return const_cast<RootDevice*>(static_cast<const Root*>(this)->find(id));
}

std::uint32_t Root::data_device_count() const {
  return static_cast<std::uint32_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const RootDevice& row) { return row.role == DeviceRole::kData; }));
}

std::uint32_t Root::left_count() const {
  return static_cast<std::uint32_t>(
      std::count_if(devices.begin(), devices.end(),
                    [](const RootDevice& row) { return row.state == MemberState::kLeft; }));
}

bool is_newer(const Root& a, const Root& b) {
  const auto place = [](const Root& root) {
    return std::tuple(root.epoch, root.left_count(), root.sequence, root.checkpoint_lsn,
                      root.log_trim.end, root.promised_epoch);
  };
  return place(a) > place(b);
}

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
  if (root.lost_in_zone > kMaxZoneSlots || (root.lost_in_zone != 0 && !any_filling(root))) {
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
  const std::uint64_t highest =
      std::max({root.promised_epoch, root.sequence, *std::max_element(log.begin(), log.end())});
  if (highest <= kMost - kRoom) return {};
  return Error{ErrorCode::kCorruption,
               "an epoch, LSN, sequence of roots or place in the log is " +
                   std::to_string(highest) + ", and no store comes above " +
                   std::to_string(kMost - kRoom),
               "Open it for reading and copy what is there."};
}

std::string encode_root(const Root& root) {
  HEXAD_ASSERT(check_root(root).ok());
  std::string body;
  Encoder encoder(body);
  Features features = root.features;
  if (!root.forks.empty()) features.incompatible |= kForked;
  if (any_behind(root)) features.incompatible |= kBehind;
  if (any_draining(root)) features.incompatible |= kDrained;
  const bool with_slabs = any_added(root);
  if (with_slabs) features.incompatible |= kAdded;
  const bool filling = any_filling(root);
  if (filling) features.incompatible |= kFilling;
  const bool with_domains = root.domain_cells != 0;
  if (with_domains) features.incompatible |= kDomains;
  const bool with_writers = !root.writers.empty();
  if (with_writers) features.incompatible |= kWriters;
  encode_features(encoder, features);
  encode_uuid(encoder, root.store);
  encoder.le64(root.epoch);
  encoder.le64(root.sequence);
  encoder.le64(root.promised_epoch);
  encoder.le64(root.previous_epoch_end);
  encoder.le64(root.checkpoint_lsn);
  encoder.le64(root.recorded_watermark);
  encoder.le64(root.log_trim.position);
  encoder.le64(root.log_trim.end);
  encoder.le64(root.log_trim.epoch);
  encoder.le64(root.log_trim.lsn);
  encoder.le32(root.log_trim.crc);
  encoder.le32(root.next_zone);
  encoder.le32(root.next_device);
  encoder.u8(root.clean_close ? kCleanClose : 0);
  encoder.zeros(3);
  encode_manifest(encoder, root.manifest);
  encoder.le32(static_cast<std::uint32_t>(root.log_devices.size()));
  for (const DeviceId id : root.log_devices) encoder.le32(id);
  encoder.le32(static_cast<std::uint32_t>(root.devices.size()));
  for (const RootDevice& row : root.devices) encode_row(encoder, row, with_writers);
  if (!root.forks.empty()) encode_forks(encoder, root.forks);
  if (with_writers) {
    encode_sums(encoder, root.manifest.cell_sums);
    encode_writers(encoder, root.writers);
  }
  if (with_slabs) encode_slabs(encoder, root.devices);
  if (filling) encoder.le32(root.lost_in_zone);
  if (with_domains) encode_domains(encoder, root);
  std::string out = seal(kMagic, body);
  HEXAD_ASSERT(out.size() <= kHeaderSlotSize);
  return out;
}

Result<Root> decode_root(ByteView slot) {
  HEXAD_TRY_ASSIGN(const std::string_view body, unseal(kMagic, slot, "root"));
  Decoder decoder(body);
  Root root;
  root.features = decode_features(decoder);
  HEXAD_TRY(decoder.check("root"));
  constexpr std::uint64_t kKnown =
      kForked | kBehind | kForwardKeysFeature | kWriters | kDrained | kAdded | kFilling | kDomains;
  HEXAD_TRY(check_readable(root.features, kKnown, "root"));
  const bool forked = (root.features.incompatible & kForked) != 0;
  const bool behind = (root.features.incompatible & kBehind) != 0;
  const bool with_writers = (root.features.incompatible & kWriters) != 0;
  const bool draining = (root.features.incompatible & kDrained) != 0;
  const bool with_slabs = (root.features.incompatible & kAdded) != 0;
  const bool filling = (root.features.incompatible & kFilling) != 0;
  const bool with_domains = (root.features.incompatible & kDomains) != 0;
  root.features.incompatible &=
      ~(kForked | kBehind | kWriters | kDrained | kAdded | kFilling | kDomains);
  root.store = decode_uuid(decoder);
  root.epoch = decoder.le64();
  root.sequence = decoder.le64();
  root.promised_epoch = decoder.le64();
  root.previous_epoch_end = decoder.le64();
  root.checkpoint_lsn = decoder.le64();
  root.recorded_watermark = decoder.le64();
  root.log_trim.position = decoder.le64();
  root.log_trim.end = decoder.le64();
  root.log_trim.epoch = decoder.le64();
  root.log_trim.lsn = decoder.le64();
  root.log_trim.crc = decoder.le32();
  root.next_zone = decoder.le32();
  root.next_device = decoder.le32();
  const std::uint8_t flags = decoder.u8();
  if ((flags & ~kCleanClose) != 0) decoder.fail();
  root.clean_close = flags != 0;
  decoder.zeros(3);
  root.manifest = decode_manifest(decoder);
  const std::uint32_t logs = decoder.le32();
  if (logs > kMaxDevices) decoder.fail();
  for (std::uint32_t i = 0; i < logs && decoder.ok(); ++i) {
    root.log_devices.push_back(decoder.le32());
  }
  const std::uint32_t rows = decoder.le32();
  const std::size_t row_size = with_writers ? kLongRowSize : kRowSize;
  if (rows > kMaxDevices || std::uint64_t{rows} * row_size > decoder.remaining()) decoder.fail();
  for (std::uint32_t i = 0; i < rows && decoder.ok(); ++i) {
    root.devices.push_back(decode_row(decoder, with_writers));
  }
  if (forked) root.forks = decode_forks(decoder);
  if (with_writers) {
    root.manifest.cell_sums = decode_sums(decoder);
    root.writers = decode_writers(decoder);
  }
  if (with_slabs) decode_slabs(decoder, root);
  if (filling) root.lost_in_zone = decoder.le32();
  if (with_domains) decode_domains(decoder, root);
  const bool told =
      behind == any_behind(root) && draining == any_draining(root) && filling == any_filling(root);
  if (!told) decoder.fail();
  HEXAD_TRY(decoder.finish("root"));
  if (Status sound = check_root(root); !sound.ok()) {
    return Error{ErrorCode::kCorruption, sound.error().message, ""};
  }
  return root;
}

Result<std::vector<Root>> read_roots(const LaidOutDevice& device, std::vector<std::string>* bad) {
  const std::string name = device.device->name() + ": roots";
  std::vector<Root> roots;
  std::optional<Error> unreadable;
  bool readable = false;
  for (const DeviceEnd end : kDeviceEnds) {
    Slots slots;
    for (unsigned slot = 0; slot < 2; ++slot) {
      Result<AlignedBuffer> bytes =
          read_header_slot(*device.device, root_offset(end, slot, device.size));
      slots.status[slot] = bytes.status();
      readable = readable || bytes.ok();
      if (bytes.ok()) {
        slots.bytes[slot] = std::move(*bytes);
      } else if (!io::is_medium(bytes.error())) {
        // The newest may be there, and an older one would stand for it.
        return bytes.error().with_context(name);
      } else {
        unreadable = bytes.error();
      }
    }
    Decoded decoded = decode_slots(slots);
    for (unsigned slot = 0; slot < 2; ++slot) {
      if (decoded.root[slot].has_value()) {
        roots.push_back(std::move(*decoded.root[slot]));
        continue;
      }
      const Error& error = decoded.error[slot];
      if (error.code == ErrorCode::kUnsupported) return error.with_context(device.device->name());
      if (bad == nullptr) continue;
      bad->push_back("the root in slot " + std::to_string(slot) + " at the " +
                     std::string(to_string(end)) + ": " + error.message);
    }
  }
  if (!readable) return unreadable->with_context(name);
  std::stable_sort(roots.begin(), roots.end(), is_newer);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

Status write_root(const LaidOutDevice& device, const Root& root) {
  return std::move(write_root(std::vector<LaidOutDevice>{device}, root).front());
}

std::vector<Status> write_root(const std::vector<LaidOutDevice>& devices, const Root& root) {
  std::vector<Status> results(devices.size());
  if (devices.empty()) return results;
  const std::string bytes = encode_root(root);
  io::IoQueue& queue = devices.front().device->queue();

  // Of device i, its head and its tail at 2 * i and behind.
  std::vector<Slots> slots(2 * devices.size());
  io::IoBatch reads;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LaidOutDevice& device = devices[i / 2];
    for (unsigned slot = 0; slot < 2; ++slot) {
      slots[i].bytes[slot] = AlignedBuffer(kHeaderSlotSize);
      reads.requests.push_back(
          io::IoRequest::read(*device.device, root_offset(kDeviceEnds[i % 2], slot, device.size),
                              slots[i].bytes[slot].bytes()));
      reads.requests.back().may_be_left = true;  // slots[i] is looked at only where it succeeds
    }
  }
  queue.run(reads);

  // A slot that the medium does not give holds no root that anybody can use: it may be written
  // over. One that could not be read just now may hold the newest.
  for (std::size_t i = 0; i < slots.size(); ++i) {
    for (unsigned slot = 0; slot < 2; ++slot) {
      Status& read = reads.requests[2 * i + slot].status;
      if (io::is_refused(reads.requests[2 * i + slot]) && results[i / 2].ok()) {
        results[i / 2] = read;
      }
      slots[i].status[slot] = std::move(read);
    }
  }
  std::vector<AlignedBuffer> buffers;
  io::IoBatch writes;
  std::vector<std::size_t> written;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const LaidOutDevice& device = devices[i / 2];
    if (!results[i / 2].ok()) continue;
    written.push_back(i / 2);
    const unsigned slot = slot_to_write(decode_slots(slots[i]), root.sequence);
    buffers.push_back(padded(bytes, write_block(device.device->geometry())));
    writes.requests.push_back(
        io::IoRequest::write(*device.device, root_offset(kDeviceEnds[i % 2], slot, device.size),
                             buffers.back().bytes(), io::WriteMode::kDurable, io::IoCause::kSuper));
  }
  queue.run(writes);
  for (std::size_t i = 0; i < written.size(); ++i) {
    Status& outcome = writes.requests[i].status;
    // What the device did not take weighs more than what it was refused just now.
    Status& result = results[written[i]];
    const bool heavier = !outcome.ok() && (result.ok() || io::is_medium(outcome.error()));
    if (heavier) result = std::move(outcome);
  }
  return results;
}

}  // namespace hexad::alloc
