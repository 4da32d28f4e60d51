// How many bytes structures of the format take, of contents that are written out here: so a change
// of the format shows what it costs (doc/benchmarks.md, "Metadata"). Nothing is measured, and the
// same comes out everywhere.
#include <cstdio>
#include <string>

#include "alloc/zone_image.h"
#include "core/record/keys.h"
#include "core/record/log_record.h"

namespace {

using namespace hexad;

constexpr core::RecordShape kShape{4, 2, ChecksumType::kCrc32c, 16384};

void print(const std::string& what, std::size_t bytes) {
  std::printf("%-66s %6zu\n", what.c_str(), bytes);
}

core::StripeProof stripe(std::uint32_t units) {
  core::StripeProof proof;
  proof.where = {3, 1000, units};
  proof.cell_bytes = units * 4096;
  for (std::uint32_t i = 1; i <= 6; ++i) proof.cell_sums.push_back(0x1e3779b9U * i);
  return proof;
}

// The object, as long as that of a put of 4 to 64 KiB is, and the collection's totals.
core::LogRecord put() {
  core::LogRecord record;
  record.time = 1'700'000'000'000'000'000;
  record.images.push_back({core::object_key(1, "dir/object-0000123"), std::string(44, 'x')});
  record.images.push_back({core::totals_key(1), std::string(8, 'x')});
  return record;
}

core::LogRecord first_of_group() {
  core::LogRecord record = put();
  core::StripeProof proof = stripe(2);
  proof.footer = 0xdeadbeef;
  for (std::uint32_t i = 0; i < 4; ++i) {
    core::UnplacedPlace place;
    place.from = {5000 + i, 0};
    place.stored = 4096;
    place.where = {3, 1000, 0};
    place.cell = i;
    record.group.placed.push_back(place);
    proof.live += place.stored;
  }
  record.group.allocated.push_back(proof);
  return record;
}

// Stripes of two units with a unit between them, then runs of four units that are given up.
alloc::ZoneImage zone(std::uint32_t packs, std::uint32_t deferred) {
  alloc::ZoneImage image;
  image.zone = 3;
  image.lsn = 1'000'000;
  image.units = 4096;
  for (std::uint32_t i = 0; i < 6; ++i) image.slots.push_back({i, 7});
  image.bitmap.assign(image.units / 64, ~std::uint64_t{0});
  std::uint32_t at = 1;
  for (std::uint32_t i = 0; i < packs; ++i, at += 3) {
    image.packs.push_back({{at, 2}, 12'000 + i, 990'000 + i * 17, 0x9e3779b9U * i});
  }
  for (std::uint32_t i = 0; i < deferred; ++i, at += 5) {
    alloc::DeferredFree run;
    run.run = {at, 4};
    run.freed = 999'000 + i;
    run.born = 900'000 + i;
    image.deferred.push_back(run);
  }
  return image;
}

}  // namespace

int main() {
  core::LogRecord large = put();
  large.allocated.push_back(stripe(4));
  print("log record, put of 64 KiB", encode_log_record(large, kShape).size());
  large.freed.push_back({3, 900, 4});
  print("log record, overwrite of 64 KiB", encode_log_record(large, kShape).size());
  print("log record, first of four puts of 4 KiB that share a stripe",
        encode_log_record(first_of_group(), kShape).size());
  print("log record, each of the others", encode_log_record(put(), kShape).size());
  for (const std::uint32_t packs : {0U, 100U, 400U}) {
    print("zone image, 4096 units, " + std::to_string(packs) + " pack stripes, " +
              std::to_string(packs / 10) + " deferred runs",
          encode_zone_image(zone(packs, packs / 10)).size());
  }
  return 0;
}
