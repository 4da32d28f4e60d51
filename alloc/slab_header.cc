#include "alloc/slab_header.h"

#include <algorithm>

#include "alloc/header_slot.h"
#include "alloc/sealed_block.h"
#include "base/assert.h"
#include "base/codec.h"
#include "base/units.h"

namespace hexad::alloc {

namespace {

constexpr std::string_view kMagic = "HEXADSLB";

bool is_sound(const SlabHeader& header) {
  const std::size_t n = header.slots.size();
  if (n == 0 || n != std::size_t{header.k} + header.m || header.k == 0 || header.slot >= n ||
      header.units < kMinSlabUnits || header.units > kMaxSlabUnits || header.store.is_nil()) {
    return false;
  }
  std::vector<DeviceId> devices;
  for (const ZoneSlot& slot : header.slots) devices.push_back(slot.device);
  std::sort(devices.begin(), devices.end());
  return std::adjacent_find(devices.begin(), devices.end()) == devices.end();
}

Status check_slab(const io::Device& device, const DeviceLayout& layout, std::uint32_t slab) {
  if (slab < layout.slab_count) return {};
  return Error{ErrorCode::kInvalidArgument,
               device.name() + ": no slab " + std::to_string(slab) + ", it has " +
                   std::to_string(layout.slab_count),
               ""};
}

}  // namespace

std::string encode_slab_header(const SlabHeader& header) {
  HEXAD_ASSERT(is_sound(header));
  std::string body;
  Encoder encoder(body);
  encode_uuid(encoder, header.store);
  encoder.le32(header.zone);
  encoder.le32(header.units);
  encoder.u8(header.k);
  encoder.u8(header.m);
  encoder.u8(header.slot);
  encoder.zeros(5);
  for (const ZoneSlot& slot : header.slots) {
    encoder.le32(slot.device);
    encoder.le32(slot.slab);
  }
  return seal(kMagic, body);
}

Result<SlabHeader> decode_slab_header(ByteView block) {
  HEXAD_TRY_ASSIGN(const std::string_view body, unseal(kMagic, block, "slab header"));
  Decoder decoder(body);
  SlabHeader header;
  header.store = decode_uuid(decoder);
  header.zone = decoder.le32();
  header.units = decoder.le32();
  header.k = decoder.u8();
  header.m = decoder.u8();
  header.slot = decoder.u8();
  decoder.zeros(5);
  const std::uint32_t slots = std::uint32_t{header.k} + header.m;
  for (std::uint32_t i = 0; i < slots && decoder.ok(); ++i) {
    const DeviceId device = decoder.le32();
    header.slots.push_back({device, decoder.le32()});
  }
  HEXAD_TRY(decoder.finish("slab header"));
  if (!is_sound(header)) {
    return Error{ErrorCode::kCorruption, "slab header: a field outside its range", ""};
  }
  return header;
}

Status write_slab_header(io::Device& device, const DeviceLayout& layout, const SlabHeader& header) {
  const std::uint32_t slab = header.slots[header.slot].slab;
  HEXAD_TRY(check_slab(device, layout, slab));
  const std::string bytes = encode_slab_header(header);
  if (bytes.size() > layout.unit) {
    return Error{ErrorCode::kInvalidArgument,
                 "the header of a slab in a zone of " + std::to_string(header.slots.size()) +
                     " slots takes " + std::to_string(bytes.size()) + " B, more than a unit of " +
                     format_size(layout.unit),
                 "Use a larger min_alloc or a smaller k + m."};
  }
  return device.write(layout.slab_offset(slab), padded(bytes, layout.physical_block).bytes(),
                      io::WriteMode::kCached, io::IoCause::kSuper);
}

Result<SlabHeader> read_slab_header(io::Device& device, const DeviceLayout& layout,
                                    std::uint32_t slab) {
  HEXAD_TRY(check_slab(device, layout, slab));
  // The header is short, whatever the unit: a frame of 255 slots takes less than 4 KiB.
  const std::uint64_t most = round_up(4096, layout.physical_block);
  AlignedBuffer block(std::min<std::uint64_t>(layout.unit, most));
  HEXAD_TRY(device.read(layout.slab_offset(slab), block.bytes()));
  HEXAD_TRY_ASSIGN(SlabHeader header, decode_slab_header(block.bytes()));
  if (header.slots[header.slot].slab != slab || header.units != layout.slab_units) {
    return Error{ErrorCode::kCorruption,
                 device.name() + " slab " + std::to_string(slab) + ": its header is that of " +
                     to_string(header.slots[header.slot]) + ", " + std::to_string(header.units) +
                     " units",
                 ""};
  }
  return header;
}

}  // namespace hexad::alloc
