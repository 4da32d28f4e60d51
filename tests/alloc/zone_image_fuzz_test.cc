// Any bytes as a zone image, behind a checksum that fits: what is accepted comes back, and loads
// into an allocator that keeps its invariants, or not at all.
#include "alloc/zone_image.h"
#include "alloc/zone_set.h"
#include "tests/alloc/sealed_fuzz.h"
#include "tests/format/golden_bytes.h"
#include "tools/build/fuzz_seeds.h"

using namespace hexad;
using namespace hexad::alloc;

namespace {

// Checking the invariants costs with the units of the zone, and small zones have every case.
constexpr std::uint32_t kCheckedUnits = 4096;

ZoneImage image_of(std::uint32_t units) {
  ZoneImage image;
  image.zone = 3;
  image.slots = {{0, 1}, {1, 1}, {2, 7}};
  image.lsn = 1000;
  image.units = units;
  image.bitmap.assign((units + 63) / 64, 0);
  image.bitmap.back() |= units % 64 == 0 ? 0 : ~std::uint64_t{0} << units % 64;
  image.bitmap.front() |= 0xff;
  return image;
}

}  // namespace

std::vector<std::string> hexad::testing::fuzz_seeds() {
  ZoneImage small = image_of(20);
  small.deferred = {{{2, 2}, 990, 900}};
  small.missing = {{0, {1, 1}}, {2, {5, 2}}};
  small.packs = {{{4, 3}, 12'345, 800, 0xdeadbeef}};
  ZoneImage ragged = image_of(1000);
  for (std::uint64_t& word : ragged.bitmap) word |= 0x5555'5555'5555'5555;
  std::vector<std::string> seeds = {alloc::testing::body_of(golden_bytes("zone_image"))};
  for (const ZoneImage& image : {small, ragged, image_of(4096)}) {
    seeds.push_back(alloc::testing::body_of(encode_zone_image(image)));
  }
  return seeds;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Result<ZoneImage> image =
      alloc::testing::decode_both("HEXADZON", data, size, decode_zone_image, encode_zone_image);
  if (!image.ok() || image->units > kCheckedUnits) return 0;
  ZoneSet zones(static_cast<std::uint32_t>(image->slots.size()));
  if (!zones.load_zone(*image).ok()) return 0;
  HEXAD_ASSERT(zones.check_invariants().ok());
  // Missing runs that touch are one run now; from then on nothing changes.
  const Result<ZoneImage> again = zones.image(image->zone, image->lsn);
  HEXAD_ASSERT(again.ok() && decode_zone_image(as_bytes(encode_zone_image(*again))).ok());
  ZoneSet others(static_cast<std::uint32_t>(image->slots.size()));
  HEXAD_ASSERT(others.load_zone(*again).ok());
  const Result<ZoneImage> third = others.image(image->zone, image->lsn);
  HEXAD_ASSERT(third.ok() && *third == *again);
  zones.reclaim(image->lsn / 2);
  zones.reclaim(image->lsn);
  HEXAD_ASSERT(zones.check_invariants().ok());
  return 0;
}
