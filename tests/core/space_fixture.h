// A Space over devices in memory, as its tests take it.
#pragma once

#include <catch2/catch.hpp>
#include <memory>
#include <string>

#include "core/space/space.h"
#include "tests/core/device_table.h"

namespace hexad::core::testing {

using hexad::testing::DeviceTable;
using Zeroing = Space::Zeroing;

inline constexpr std::uint32_t kSlabUnits = 33;  // one is the header's
inline constexpr std::uint32_t kSlabs = 4;       // per device
inline constexpr std::uint32_t kUnit = 4096;

inline alloc::DeviceLayout slab_layout(std::uint32_t slabs = kSlabs) {
  alloc::DeviceLayout layout;
  layout.physical_block = layout.unit = kUnit;
  layout.first_slab = 64 << 10;
  layout.slab_units = kSlabUnits;
  layout.slab_count = slabs;
  layout.device_size = layout.end();
  return layout;
}

// 4+2 over so many data devices, no zone yet.
struct SpaceFixture {
  explicit SpaceFixture(std::size_t count = 6, std::uint32_t slabs = kSlabs) {
    shape.uuid.bytes.fill(5);
    for (std::size_t i = 0; i < count; ++i) table.add(alloc::DeviceRole::kData, slab_layout(slabs));
  }
  Space& make() {
    if (members == nullptr) members = std::make_unique<Members>(*executor, std::move(table.rows));
    space = std::make_unique<Space>(*executor, shape, *members, counters, log_blobs);
    return *space;
  }
  // One more zone that can be allocated from.
  ZoneCreation add_zone() {
    ZoneCreation zone = space->prepare_zone(Zeroing::kNone).value();
    REQUIRE(space->add_zone(zone).ok());
    space->open_zone(zone.zone);
    return zone;
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  StoreShape shape;
  DeviceTable table;
  Counters counters;
  LogBlobs log_blobs{*executor, shape.record};
  std::unique_ptr<Members> members;
  std::unique_ptr<Space> space;
};

inline StripeProof proof_of(const alloc::Extent& where, std::uint64_t live = 0) {
  StripeProof proof;
  proof.where = where;
  proof.live = live;
  return proof;
}

inline std::string message(const Status& status) {
  return status.ok() ? "" : status.error().message;
}

}  // namespace hexad::core::testing
