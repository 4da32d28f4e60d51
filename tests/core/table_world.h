// Space over devices in memory that fail where they are told to, and what prepares, writes and
// reads stripes there: for what the store keeps in its coded zones. One thread.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compression/compressor.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/space/space.h"
#include "ec/codec.h"
#include "io/executor.h"
#include "io/rng.h"
#include "tests/core/device_table.h"

namespace hexad::core::testing {

struct TableWorldOptions {
  ec::Profile profile;
  std::uint32_t devices = 0;  // 0: as many as a stripe has cells
  std::uint32_t slab_units = 257;
  std::uint32_t slabs = 4;  // per device
  std::uint32_t unit = 4096;
};

struct TableWorld {
  explicit TableWorld(const TableWorldOptions& options = {}) {
    shape.uuid.bytes.fill(5);
    shape.profile = options.profile;
    shape.record.k = options.profile.k;
    shape.record.m = options.profile.m;
    shape.unit = options.unit;
    shape.block = 512;
    alloc::DeviceLayout layout;
    layout.physical_block = 512;
    layout.unit = options.unit;
    layout.first_slab = 64 << 10;
    layout.slab_units = options.slab_units;
    layout.slab_count = options.slabs;
    layout.device_size = layout.end();
    const std::uint32_t count = options.devices == 0 ? shape.cells() : options.devices;
    for (std::uint32_t i = 0; i < count; ++i) table.add(alloc::DeviceRole::kData, layout);
    devices = table.devices;
    members.emplace(*executor, std::move(table.rows));
    codec = ec::make_codec(shape.profile).value();
    reopen();
  }

  // Nothing is known of any zone.
  Space& reopen() {
    reader.reset();
    space.emplace(*executor, shape, *members, counters, log_blobs);
    reader.emplace(shape, *codec, compressor, *space, table.queue, counters, log_blobs);
    return *space;
  }
  // One more zone that can be allocated from.
  ZoneCreation add_zone() {
    ZoneCreation zone = space->prepare_zone(Space::Zeroing::kNone).value();
    REQUIRE(space->add_zone(zone).ok());
    space->open_zone(zone.zone);
    return zone;
  }
  std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng.next());
    return bytes;
  }
  // Of the cell at `place`.
  MutByteView cell(const CellPlace& place, std::size_t size) {
    return MutByteView(devices[place.id]->bytes).subspan(place.offset, size);
  }

  io::Rng rng{1};
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  StoreShape shape;
  hexad::testing::DeviceTable table;
  std::vector<hexad::testing::TableDevice*> devices;  // by id
  Counters counters;
  compression::Counters compression_counters;
  compression::Compressor compressor{executor->clock(), compression_counters};
  std::unique_ptr<ec::Codec> codec;
  LogBlobs log_blobs{*executor, shape.record};
  std::optional<Members> members;
  std::optional<Space> space;
  std::optional<BlobReader> reader;
};

inline std::string problem_of(const Status& status) {
  return status.ok() ? "" : status.error().to_string();
}

}  // namespace hexad::core::testing
