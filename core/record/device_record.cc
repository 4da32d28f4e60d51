#include "core/record/device_record.h"

#include "base/codec.h"
#include "base/uuid_codec.h"
#include "core/record/keys.h"

namespace hexad::core {

namespace {

constexpr std::uint8_t kDeviceKind = 0x11;
constexpr std::uint8_t kHasLast = 1;
constexpr std::uint8_t kHasUnderWay = 2;

void encode_time(Encoder& out, std::int64_t time) { out.le64(static_cast<std::uint64_t>(time)); }
std::int64_t decode_time(Decoder& in) { return static_cast<std::int64_t>(in.le64()); }

void encode_fill(Encoder& out, const DeviceFill& fill) {
  out.u8(static_cast<std::uint8_t>(fill.kind));
  encode_time(out, fill.began);
  out.varint(fill.cells);
  out.varint(fill.bytes);
  out.varint(fill.copied);
}

DeviceFill decode_fill(Decoder& in) {
  DeviceFill fill;
  const std::uint8_t kind = in.u8();
  if (kind < static_cast<std::uint8_t>(FillKind::kCatchUp) ||
      kind > static_cast<std::uint8_t>(FillKind::kReplace)) {
    in.fail();
  } else {
    fill.kind = static_cast<FillKind>(kind);
  }
  fill.began = decode_time(in);
  fill.cells = in.varint();
  fill.bytes = in.varint();
  fill.copied = in.varint();
  return fill;
}

}  // namespace

std::string_view to_string(FillKind kind) {
  switch (kind) {
    case FillKind::kCatchUp:
      return "catch-up";
    case FillKind::kRebuild:
      return "rebuild";
    case FillKind::kReplace:
      break;
  }
  return "replace";
}

std::string device_key(DeviceId device) { return meta_key("device/" + std::to_string(device)); }

std::string encode_device(const DeviceRecord& record) {
  std::string bytes;
  Encoder out(bytes);
  out.u8(kDeviceKind);
  encode_uuid(out, record.uuid);
  encode_time(out, record.since);
  for (const std::uint64_t count : record.errors) out.varint(count);
  out.u8(static_cast<std::uint8_t>((record.last.has_value() ? kHasLast : 0) |
                                   (record.under_way.has_value() ? kHasUnderWay : 0)));
  if (record.last.has_value()) {
    encode_fill(out, record.last->fill);
    encode_time(out, record.last->ended);
    out.varint(record.last->epoch);
    out.varint(record.last->lsn);
  }
  if (record.under_way.has_value()) encode_fill(out, *record.under_way);
  return bytes;
}

Result<DeviceRecord> decode_device(std::string_view encoded) {
  Decoder in(encoded);
  DeviceRecord record;
  if (in.u8() != kDeviceKind) in.fail();
  record.uuid = decode_uuid(in);
  record.since = decode_time(in);
  for (std::uint64_t& count : record.errors) count = in.varint();
  const std::uint8_t parts = in.u8();
  if (parts > (kHasLast | kHasUnderWay)) in.fail();
  if ((parts & kHasLast) != 0) {
    DeviceFilled& last = record.last.emplace();
    last.fill = decode_fill(in);
    last.ended = decode_time(in);
    last.epoch = in.varint();
    last.lsn = in.varint();
  }
  if ((parts & kHasUnderWay) != 0) record.under_way = decode_fill(in);
  HEXAD_TRY(in.finish("what is remembered of a device"));
  return record;
}

}  // namespace hexad::core
