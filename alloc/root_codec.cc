// The bytes of a root: doc/format.md, "Root".
#include <algorithm>
#include <string_view>

#include "alloc/root.h"
#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/codec.h"

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

}  // namespace

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

}  // namespace hexad::alloc
