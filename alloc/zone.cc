#include "alloc/zone.h"

namespace hexad::alloc {

std::string to_string(const Extent& extent) {
  return "zone " + std::to_string(extent.zone) + " units " + std::to_string(extent.unit) + ".." +
         std::to_string(extent.units == 0 ? extent.end() : extent.end() - 1) + " (" +
         std::to_string(extent.units) + ")";
}

std::string to_string(const ZoneSlot& slot) {
  return "device " + std::to_string(slot.device) + " slab " + std::to_string(slot.slab);
}

void encode_extent(Encoder& encoder, const Extent& extent) {
  encoder.varint(extent.zone);
  encoder.varint(extent.unit);
  encoder.varint(extent.units);
}

Extent decode_extent(Decoder& decoder) {
  constexpr std::uint64_t kMax32 = 0xffffffff;
  Extent extent;
  extent.zone = static_cast<ZoneId>(decoder.varint_up_to(kMax32));
  extent.unit = static_cast<std::uint32_t>(decoder.varint_up_to(kMax32));
  extent.units = static_cast<std::uint32_t>(decoder.varint_up_to(kMax32));
  if (extent.unit == 0 || extent.units == 0 || extent.end() > kMax32) decoder.fail();
  return decoder.ok() ? extent : Extent{};
}

}  // namespace hexad::alloc
