#include "core/blob/enough_cells.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/units.h"
#include "io/bounded_reads.h"
#include "io/sim/sim_system.h"

namespace hexad::core {
namespace {

constexpr std::uint32_t kCells = 6;

struct Disks {
  Disks() {
    for (std::uint32_t i = 0; i < kCells; ++i) {
      const std::string name = "disk" + std::to_string(i);
      system.add_disk(name, 64_KiB);
      devices.push_back(system.open_device(name, io::OpenMode::kReadWrite).value());
      places.push_back({i, devices.back().get(), 0, true});
    }
  }
  io::SimSystem system;
  std::vector<std::unique_ptr<io::Device>> devices;
  std::vector<CellPlace> places;
};

TEST_CASE("enough_cells: the lowest k that can be read, or nothing where there are fewer") {
  for (std::uint32_t lost = 0; lost < 1u << kCells; ++lost) {
    CAPTURE(lost);
    Disks disks;
    std::vector<std::uint32_t> there;
    for (std::uint32_t role = 0; role < kCells; ++role) {
      disks.places[role].readable = (lost >> role & 1) == 0;
      if (disks.places[role].readable) there.push_back(role);
      // Its device may be gone altogether.
      if (!disks.places[role].readable && role % 2 == 0) disks.places[role].device = nullptr;
    }
    const std::optional<ec::ShardSet> enough = enough_cells(disks.places, 4);
    REQUIRE(enough.has_value() == (there.size() >= 4));
    if (!enough.has_value()) continue;
    REQUIRE(enough->size() == 4);
    for (std::size_t i = 0; i < 4; ++i) REQUIRE(enough->contains(there[i]));
  }
}

TEST_CASE("enough_cells: a device that does not answer is passed by") {
  Disks disks;
  std::optional<ec::ShardSet> enough;
  disks.system.run([&] {
    disks.system.disk("disk1").inject({.kind = io::FaultKind::kHang});
    AlignedBuffer buffer(4_KiB);
    std::vector<io::IoRequest> reads;
    reads.push_back(io::IoRequest::read(*disks.devices[1], 0, buffer.bytes()));
    io::read_round(disks.system.queue(), std::move(reads), buffer);
    enough = enough_cells(disks.places, 4);
    disks.system.disk("disk1").release_hung();
  });
  REQUIRE(enough.has_value());
  REQUIRE(*enough == ec::ShardSet{0, 2, 3, 4});
}

}  // namespace
}  // namespace hexad::core
