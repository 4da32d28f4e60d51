#include "alloc/zone.h"

#include <catch2/catch.hpp>

using namespace hexad;
using namespace hexad::alloc;

TEST_CASE("zone: an extent survives encoding at every varint boundary") {
  for (const std::uint32_t zone : {0u, 1u, 127u, 128u, 0xffffffffu}) {
    for (const std::uint32_t unit : {1u, 127u, 128u, 16383u, 16384u, 0xfffffff0u}) {
      for (const std::uint32_t units : {1u, 15u}) {
        const Extent extent{zone, unit, units};
        std::string bytes;
        Encoder encoder(bytes);
        encode_extent(encoder, extent);
        Decoder decoder(bytes);
        CHECK(decode_extent(decoder) == extent);
        CHECK(decoder.finish("extent").ok());
        for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
          Decoder partial(std::string_view(bytes).substr(0, cut));
          CHECK(decode_extent(partial) == Extent{});
          CHECK(!partial.ok());
        }
      }
    }
  }
}

TEST_CASE("zone: the header unit, no units and an end beyond 32 bits are refused") {
  const auto refused = [](std::uint64_t zone, std::uint64_t unit, std::uint64_t units) {
    std::string bytes;
    Encoder encoder(bytes);
    encoder.varint(zone);
    encoder.varint(unit);
    encoder.varint(units);
    Decoder decoder(bytes);
    decode_extent(decoder);
    return !decoder.ok();
  };
  CHECK(refused(0, 0, 1));
  CHECK(refused(0, 1, 0));
  CHECK(refused(0, 0xffffffff, 1));
  CHECK(refused(std::uint64_t{1} << 32, 1, 1));
  CHECK(refused(0, std::uint64_t{1} << 32, 1));
  CHECK_FALSE(refused(0, 0xfffffffe, 1));
}

TEST_CASE("zone: an extent and a slot say where they are") {
  CHECK(to_string(Extent{17, 40, 16}) == "zone 17 units 40..55 (16)");
  CHECK(to_string(ZoneSlot{3, 12}) == "device 3 slab 12");
  CHECK(Extent{1, 0xffffffff, 2}.end() == 0x100000001);
}
