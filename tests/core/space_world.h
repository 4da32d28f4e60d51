// Space on six memory devices with one zone, and what prepares blobs for it: for what gives blobs
// their places, and what looks at those places.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/space/space.h"
#include "ec/codec.h"
#include "io/memory_system.h"
#include "io/rng.h"

namespace hexad::core::testing {

inline constexpr std::uint32_t kSlabUnits = 257;  // one is the header's

struct SpaceWorld {
  explicit SpaceWorld(std::uint32_t slab_units = kSlabUnits) {
    shape.uuid.bytes[0] = 1;
    shape.max_pack_units = 32;
    alloc::LayoutRequest request;
    request.device_size = 2_MiB + alloc::kEndsSize;
    request.slab_units = slab_units;
    std::vector<Member> rows(shape.cells());
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      rows[i].id = i;
      rows[i].layout = alloc::plan_layout(request).value();
      rows[i].device = system.create_device("dev" + std::to_string(i), request.device_size).value();
    }
    members.emplace(system.executor(), std::move(rows));
    space.emplace(system.executor(), shape, *members, counters, log_blobs);
    zone = space->prepare_zone(Space::Zeroing::kNone).value();
    REQUIRE(space->add_zone(zone).ok());
    space->open_zone(zone.zone);
  }

  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.next());
    return bytes;
  }

  StoreShape shape;
  io::Rng rng{1};
  io::MemorySystem system;
  Counters counters;
  compression::Counters compression_counters;
  compression::Compressor compressor{system.clock(), compression_counters};
  std::unique_ptr<ec::Codec> codec = ec::make_codec(shape.profile).value();
  BlobPreparer preparer{shape, *codec, compressor};
  LogBlobs log_blobs{system.executor(), shape.record};
  std::optional<Members> members;
  std::optional<Space> space;
  ZoneCreation zone;
};

}  // namespace hexad::core::testing
