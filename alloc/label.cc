#include "alloc/label.h"

#include <bit>

#include "alloc/foreign_signature.h"
#include "alloc/header_slot.h"
#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/codec.h"
#include "base/units.h"

namespace hexad::alloc {

namespace {

constexpr std::string_view kMagic = "HEXADLBL";

DeviceLayout decode_layout(Decoder& decoder) {
  DeviceLayout layout;
  layout.device_size = decoder.le64();
  layout.physical_block = decoder.le32();
  layout.unit = decoder.le32();
  layout.log_offset = decoder.le64();
  layout.log_size = decoder.le64();
  layout.first_slab = decoder.le64();
  layout.slab_units = decoder.le32();
  layout.slab_count = decoder.le32();
  return layout;
}

// The part behind version and features, whose shape those two decide.
Label decode_fields(Decoder& decoder) {
  Label label;
  label.generation = decoder.le64();
  label.store = decode_uuid(decoder);
  label.device_uuid = decode_uuid(decoder);
  label.device = decoder.le32();
  label.device_count = decoder.le32();
  label.layout = decode_layout(decoder);
  label.created = static_cast<io::Nanos>(decoder.le64());
  label.checksum_granularity = decoder.le32();
  const std::uint8_t role = decoder.u8();
  const std::uint8_t checksum = decoder.u8();
  const std::uint8_t log_block = decoder.u8();  // its exponent
  decoder.zeros(1);
  label.k = decoder.u8();
  label.m = decoder.u8();
  label.codec = decoder.u8();
  decoder.zeros(1);
  label.packet_bytes = decoder.le32();
  label.pool_options = decoder.bytes();
  if (role != 1 && role != 2) decoder.fail();
  if (log_block >= 32) decoder.fail();
  if (log_block != 0 && log_block < 32) label.layout.log_block = std::uint32_t{1} << log_block;
  if (checksum != 1 && checksum != 2) decoder.fail();
  if (label.store.is_nil() || label.pool_options.size() > kMaxPoolOptions) decoder.fail();
  label.role = static_cast<DeviceRole>(role);
  label.checksum = static_cast<ChecksumType>(checksum);
  return label;
}

Status check_version(std::uint32_t version) {
  if (version == kFormatVersion) return {};
  return Error{ErrorCode::kUnsupported,
               "label of format version " + std::to_string(version) + "; this program knows " +
                   std::to_string(kFormatVersion),
               version < kFormatVersion
                   ? "Nothing has been changed. Export the pool with the older program that made "
                     "it (hexad export POOL DIR), make a new pool with this one (hexad mkfs NEW "
                     "--device PATH...), and import into that (hexad import NEW DIR)."
                   : "Use the program version that wrote it, or a later one."};
}

Error not_hexad(io::Device& device) {
  std::string seen;
  if (auto foreign = detect_foreign_signature(device); foreign.ok() && foreign->has_value()) {
    seen = "; it looks like: " + **foreign;
  }
  return Error{ErrorCode::kInvalidArgument, device.name() + ": not a hexad device" + seen,
               seen.empty() ? "Check the path; a new device has to be formatted or added first."
                            : "Check the path: formatting would destroy what is there."};
}

Result<Label> read_copy(io::Device& device, DeviceEnd end, std::uint64_t size) {
  HEXAD_TRY_ASSIGN(const AlignedBuffer slot, read_header_slot(device, label_offset(end, size)));
  return decode_label(slot.bytes());
}

// What version 1 left at the start of the device, if anything.
std::optional<Error> older_label(io::Device& device) {
  for (const std::uint64_t offset : {std::uint64_t{0}, 16_KiB}) {
    const Result<AlignedBuffer> slot = read_header_slot(device, offset);
    if (!slot.ok() || !has_magic(kMagic, slot->bytes())) continue;
    const Result<Label> label = decode_label(slot->bytes());
    if (!label.ok()) return label.error().with_context(device.name());
    return Error{ErrorCode::kUnsupported,
                 device.name() + ": a label at its very start, where this program has none",
                 "Nothing has been changed. Use the program version that wrote it."};
  }
  return std::nullopt;
}

bool same_device(const Label& a, const Label& b) {
  return a.store == b.store && a.device_uuid == b.device_uuid;
}

AlignedBuffer label_bytes(io::Device& device, const Label& label) {
  return padded(encode_label(label), write_block(device.geometry()));
}

Status write_copy(io::Device& device, DeviceEnd end, const Label& label) {
  const AlignedBuffer bytes = label_bytes(device, label);
  HEXAD_TRY(device.write(label_offset(end, label.layout.device_size), bytes.bytes(),
                         io::WriteMode::kCached, io::IoCause::kSuper));
  return device.flush();
}

Status check_device(const io::Device& device, const Label& label) {
  const io::Geometry& geometry = device.geometry();
  if (geometry.size < label.layout.device_size) {
    return Error{ErrorCode::kCorruption,
                 device.name() + ": " + format_size(geometry.size) + " long (" +
                     std::to_string(geometry.size) + " B), but its label says " +
                     format_size(label.layout.device_size) + " (" +
                     std::to_string(label.layout.device_size) + " B)",
                 "The file was cut, or copied to a smaller device: restore its length or treat the "
                 "device as lost."};
  }
  if (!is_multiple(label.layout.physical_block, geometry.logical_block)) {
    return Error{ErrorCode::kUnsupported,
                 device.name() + ": was laid out for blocks of " +
                     format_size(label.layout.physical_block) +
                     ", but the device now has blocks of " + format_size(geometry.logical_block),
                 "Attach it the way it was attached when the store was made."};
  }
  return {};
}

// Why there is no label, from what is the matter with each of the two.
Error without_label(io::Device& device, const Error& head, const Error& tail) {
  // What another version wrote is no damage: say so before anything else.
  for (const Error* error : {&head, &tail}) {
    if (error->code == ErrorCode::kUnsupported) return error->with_context(device.name());
  }
  if (std::optional<Error> older = older_label(device); older.has_value()) return *older;
  if (head.code == ErrorCode::kNotFound && tail.code == ErrorCode::kNotFound) {
    return not_hexad(device);
  }
  const bool unreadable = head.code == ErrorCode::kIo && tail.code == ErrorCode::kIo;
  return Error{unreadable ? ErrorCode::kIo : ErrorCode::kCorruption,
               device.name() + ": both label copies are damaged: at the head " + head.message +
                   "; at the tail " + tail.message,
               "Treat the device as lost and rebuild it, or repair the store from its other "
               "devices."};
}

}  // namespace

std::string encode_label(const Label& label) {
  HEXAD_ASSERT(label.pool_options.size() <= kMaxPoolOptions);
  HEXAD_ASSERT(check_layout(label.layout, label.role).ok());
  std::string body;
  Encoder encoder(body);
  encoder.le32(kFormatVersion);
  encoder.zeros(4);
  Features features = label.features;
  if (label.layout.log_block != 0) features.incompatible |= kLogBlockFeature;
  if (label.redundant_devices) features.incompatible |= kRedundantFeature;
  encode_features(encoder, features);
  encoder.le64(label.generation);
  encode_uuid(encoder, label.store);
  encode_uuid(encoder, label.device_uuid);
  encoder.le32(label.device);
  encoder.le32(label.device_count);
  encoder.le64(label.layout.device_size);
  encoder.le32(label.layout.physical_block);
  encoder.le32(label.layout.unit);
  encoder.le64(label.layout.log_offset);
  encoder.le64(label.layout.log_size);
  encoder.le64(label.layout.first_slab);
  encoder.le32(label.layout.slab_units);
  encoder.le32(label.layout.slab_count);
  encoder.le64(static_cast<std::uint64_t>(label.created));
  encoder.le32(label.checksum_granularity);
  encoder.u8(static_cast<std::uint8_t>(label.role));
  encoder.u8(static_cast<std::uint8_t>(label.checksum));
  encoder.u8(label.layout.log_block == 0
                 ? 0
                 : static_cast<std::uint8_t>(std::countr_zero(label.layout.log_block)));
  encoder.zeros(1);
  encoder.u8(label.k);
  encoder.u8(label.m);
  encoder.u8(label.codec);
  encoder.zeros(1);
  encoder.le32(label.packet_bytes);
  encoder.bytes(label.pool_options);
  return seal(kMagic, body);
}

Result<Label> decode_label(ByteView slot) {
  HEXAD_TRY_ASSIGN(const std::string_view body, unseal(kMagic, slot, "label"));
  Decoder decoder(body);
  const std::uint32_t version = decoder.le32();
  decoder.zeros(4);
  // Only these two are at their place in every version.
  HEXAD_TRY(decoder.check("label"));
  HEXAD_TRY(check_version(version));
  Features features = decode_features(decoder);
  HEXAD_TRY(decoder.check("label"));
  HEXAD_TRY(check_readable(features, kKnownLabelFeatures, "label"));
  Label label = decode_fields(decoder);
  const bool larger = (features.incompatible & kLogBlockFeature) != 0;
  if (larger != (label.layout.log_block != 0)) decoder.fail();
  label.redundant_devices = (features.incompatible & kRedundantFeature) != 0;
  if (label.m == 0 && !label.redundant_devices) decoder.fail();
  HEXAD_TRY(decoder.finish("label"));
  features.incompatible &= ~kKnownLabelFeatures;
  label.features = features;
  HEXAD_TRY(check_layout(label.layout, label.role));
  return label;
}

Result<LabelCopy> read_label(io::Device& device) {
  const std::uint64_t present = device.geometry().size;
  Result<Label> head = read_copy(device, DeviceEnd::kHead, present);
  Result<Label> tail =
      read_copy(device, DeviceEnd::kTail, head.ok() ? head->layout.device_size : present);
  for (const Result<Label>* copy : {&head, &tail}) {
    // Says nothing about the label.
    if (copy->ok()) continue;
    const ErrorCode code = copy->error().code;
    if (code == ErrorCode::kExhausted || code == ErrorCode::kUnavailable) return copy->error();
  }
  if (!head.ok() && !tail.ok()) return without_label(device, head.error(), tail.error());
  if (head.ok() && tail.ok() && !same_device(*head, *tail)) {
    return Error{ErrorCode::kCorruption,
                 device.name() + ": the label at its head is of device " +
                     std::to_string(head->device) + " of store " + to_string(head->store) +
                     ", the one at its tail of device " + std::to_string(tail->device) +
                     " of store " + to_string(tail->store),
                 "Somebody has copied a part of another device over it: treat it as lost."};
  }
  const bool take_tail = !head.ok() || (tail.ok() && tail->generation > head->generation);
  Result<Label>& best = take_tail ? tail : head;
  Result<Label>& other = take_tail ? head : tail;
  const std::string where(to_string(take_tail ? DeviceEnd::kHead : DeviceEnd::kTail));
  LabelCopy found{std::move(*best), std::nullopt};
  if (!other.ok()) {
    found.other_copy = other.error().with_context("at the " + where);
  } else if (!(*other == found.label)) {
    found.other_copy = Error{ErrorCode::kCorruption,
                             "the label at the " + where + " is of generation " +
                                 std::to_string(other->generation) + ", not " +
                                 std::to_string(found.label.generation),
                             ""};
  }
  HEXAD_TRY(check_device(device, found.label));
  return found;
}

Status write_label(io::Device& device, const Label& label) {
  for (const DeviceEnd end : kDeviceEnds) HEXAD_TRY(write_copy(device, end, label));
  return {};
}

Status mend_label(io::Device& device, const Label& label) {
  for (const DeviceEnd end : kDeviceEnds) {
    const Result<Label> there = read_copy(device, end, label.layout.device_size);
    if (there.ok() && *there == label) continue;
    HEXAD_TRY(write_copy(device, end, label));
  }
  return {};
}

}  // namespace hexad::alloc
