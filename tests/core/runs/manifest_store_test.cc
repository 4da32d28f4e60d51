#include "core/runs/manifest_store.h"

#include <catch2/catch.hpp>

#include "base/checksum.h"
#include "base/units.h"
#include "tests/core/table_world.h"

namespace hexad::core {
namespace {

using testing::problem_of;
using testing::TableWorld;
using testing::TableWorldOptions;

struct Fixture : TableWorld {
  explicit Fixture(std::size_t size = 40'000, const TableWorldOptions& options = {})
      : TableWorld(options), bytes(noise(size)) {
    zone = add_zone();
    REQUIRE(space->allocate(3).ok());  // so that the roles are turned
  }
  alloc::ManifestAddress write() {
    std::set<DeviceId> failed;
    alloc::ManifestAddress address = store.write(*space, as_bytes(bytes), failed).value();
    REQUIRE(failed.empty());
    REQUIRE(address.cell_sums.size() == shape.cells());
    if (!with_sums) address.cell_sums.clear();
    return address;
  }
  // The cells of what was written.
  std::vector<MutByteView> cells(const alloc::ManifestAddress& address) {
    const std::uint64_t size = round_up(divide_up(address.length, shape.k()), shape.block);
    std::vector<MutByteView> found;
    const std::vector<CellPlace> places = space->locate(address.extent).value();
    for (const CellPlace& place : places) found.push_back(cell(place, size));
    return found;
  }

  ZoneCreation zone;
  std::string bytes;
  bool with_sums = true;  // else as roots of before had it
  ManifestStore store{shape, *codec, *members, counters};
};

enum class Harm { kUnreadable, kBitFlipped, kZeroed, kNoise };
constexpr Harm kHarms[] = {Harm::kUnreadable, Harm::kBitFlipped, Harm::kZeroed, Harm::kNoise};

void harm(Fixture& f, const alloc::ManifestAddress& address, std::uint32_t role, Harm how) {
  const MutByteView cell = f.cells(address)[role];
  switch (how) {
    case Harm::kUnreadable:
      f.devices[f.space->locate(address.extent).value()[role].id]->fail(io::IoOp::kRead);
      break;
    case Harm::kBitFlipped:
      cell[f.rng.below(address.length / f.shape.k())] ^= std::byte{4};
      break;
    case Harm::kZeroed:
      fill_zero(cell);
      break;
    case Harm::kNoise:
      copy_bytes(cell, as_bytes(f.noise(cell.size())));
      break;
  }
}

// What the cells hold, and back to that.
struct Cells {
  explicit Cells(const std::vector<MutByteView>& from) : cells(from) {
    for (const MutByteView cell : cells) copies.emplace_back(cell.begin(), cell.end());
  }
  void restore(Fixture& f) const {
    for (std::size_t i = 0; i < cells.size(); ++i) copy_bytes(cells[i], copies[i]);
    for (auto* device : f.devices) device->fails = [](const io::IoRequest&) { return false; };
  }

  std::vector<MutByteView> cells;
  std::vector<Bytes> copies;
};

TEST_CASE("manifest_store: a manifest of any length is read back by its address alone") {
  for (const std::size_t size : {1u, 511u, 2048u, 2049u, 16384u, 16385u, 700'000u}) {
    CAPTURE(size);
    Fixture f(size);
    const alloc::ManifestAddress address = f.write();
    REQUIRE(address.length == size);
    REQUIRE(address.crc == crc32c(as_bytes(f.bytes)));
    REQUIRE(address.slots == f.zone.slots);
    f.reopen();  // no zone is known
    for (auto* device : f.devices) device->asked.clear();
    REQUIRE((f.store.read(address).value() == f.bytes));
    std::size_t asked = 0;
    for (const auto* device : f.devices) asked += device->asked.size();
    REQUIRE(asked == f.shape.k());
  }
}

TEST_CASE("manifest_store: any loss or damage of m cells is survived, of any two kinds") {
  Fixture f;
  f.with_sums = GENERATE(true, false);
  const alloc::ManifestAddress address = f.write();
  const Cells good(f.cells(address));
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = a; b < 6; ++b) {
      for (const Harm first : kHarms) {
        for (const Harm second : kHarms) {
          CAPTURE(a, b, static_cast<int>(first), static_cast<int>(second));
          harm(f, address, a, first);
          if (b != a) harm(f, address, b, second);
          const Result<std::string> found = f.store.read(address);
          REQUIRE(problem_of(found.status()) == "");
          REQUIRE((*found == f.bytes));
          good.restore(f);
        }
      }
    }
  }
}

TEST_CASE("manifest_store: two cells in each other's places are two bad cells") {
  Fixture f;
  f.with_sums = GENERATE(true, false);
  const alloc::ManifestAddress address = f.write();
  const Cells good(f.cells(address));
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      CAPTURE(a, b);
      const std::vector<MutByteView> cells = f.cells(address);
      std::swap_ranges(cells[a].begin(), cells[a].end(), cells[b].begin());
      const auto mismatches = [&] {
        std::vector<std::uint64_t> counts;
        for (const auto* device : f.devices) counts.push_back(device->traffic().mismatches);
        return counts;
      };
      const std::vector<std::uint64_t> before = mismatches();
      REQUIRE((f.store.read(address).value() == f.bytes));
      // Without checksums data cells are known to be wrong by what they should have been, and
      // parity is not. With them all that is read is.
      const std::vector<std::uint64_t> after = mismatches();
      std::uint64_t blamed = 0;
      for (std::size_t i = 0; i < after.size(); ++i) blamed += after[i] - before[i];
      const bool data_a = a < f.shape.k();
      const bool data_b = b < f.shape.k();
      REQUIRE(blamed == (f.with_sums && data_b ? 2u : (data_a ? 1u : 0u) + (data_b ? 1u : 0u)));
      good.restore(f);
    }
  }
}

TEST_CASE("manifest_store: devices that are not usable are not asked") {
  for (DeviceId a = 0; a < 6; ++a) {
    for (DeviceId b = 0; b <= a; ++b) {
      CAPTURE(a, b);
      Fixture f;
      const alloc::ManifestAddress address = f.write();
      for (auto* device : f.devices) device->asked.clear();
      f.members->mark_failed(a, "told to");
      f.members->mark_failed(b, "told to");
      REQUIRE((f.store.read(address).value() == f.bytes));
      REQUIRE(f.devices[a]->asked.empty());
      REQUIRE(f.devices[b]->asked.empty());
    }
  }
}

TEST_CASE("manifest_store: more than m cells gone is an error that names devices") {
  Fixture f;
  f.with_sums = GENERATE(true, false);
  const alloc::ManifestAddress address = f.write();
  const Cells good(f.cells(address));
  for (std::uint32_t a = 0; a < 6; ++a) {
    for (std::uint32_t b = 0; b < a; ++b) {
      for (std::uint32_t c = 0; c < b; ++c) {
        for (const Harm first : kHarms) {
          for (const Harm second : kHarms) {
            for (const Harm third : kHarms) {
              CAPTURE(a, b, c, static_cast<int>(first), static_cast<int>(second),
                      static_cast<int>(third));
              harm(f, address, a, first);
              harm(f, address, b, second);
              harm(f, address, c, third);
              const bool unreadable =
                  first == Harm::kUnreadable && second == first && third == first;
              const Result<std::string> found = f.store.read(address);
              REQUIRE_FALSE(found.ok());
              REQUIRE(found.error().code ==
                      (unreadable ? ErrorCode::kUnavailable : ErrorCode::kCorruption));
              REQUIRE(found.error().message.find("device") != std::string::npos);
              good.restore(f);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("manifest_store: it survives any m devices that do not take their cell, and names them") {
  for (std::uint32_t bad = 0; bad < 64; ++bad) {
    CAPTURE(bad);
    Fixture f;
    const std::uint64_t free = f.space->counters().free;
    std::set<DeviceId> failing;
    for (DeviceId id = 0; id < 6; ++id) {
      if ((bad >> id & 1) == 0) continue;
      failing.insert(id);
      f.devices[id]->fail(io::IoOp::kWrite);
    }
    std::set<DeviceId> failed;
    const Result<alloc::ManifestAddress> written =
        f.store.write(*f.space, as_bytes(f.bytes), failed);
    REQUIRE(written.ok() == (failing.size() <= 2));
    REQUIRE(failed == failing);
    if (!written.ok()) {
      REQUIRE(written.error().code == ErrorCode::kIo);
      // V3: what they did not take may still come.
      REQUIRE(f.space->counters().free < free);
      for (const DeviceId id : failing) f.members->mark_failed(id, "told to fail");
      f.space->free_kept_back();
      REQUIRE(f.space->counters().free == free);
      continue;
    }
    for (const DeviceId id : failing) f.members->mark_failed(id, "told to fail");
    REQUIRE((f.store.read(*written).value() == f.bytes));
  }
}

TEST_CASE("manifest_store: every cell is written durably, and nothing where there is no space") {
  Fixture f;
  for (auto* device : f.devices) device->asked.clear();
  f.write();
  for (const auto* device : f.devices) {
    REQUIRE(device->asked.size() == 1);
    REQUIRE(device->asked[0].mode == io::WriteMode::kDurable);
  }
  f.bytes = f.noise(5 << 20);
  const std::uint64_t free = f.space->counters().free;
  std::set<DeviceId> failed;
  REQUIRE(f.store.write(*f.space, as_bytes(f.bytes), failed).error().code == ErrorCode::kNoSpace);
  REQUIRE(f.space->counters().free == free);
}

TEST_CASE("manifest_store: it takes the run that is left to it, or what it needs at least") {
  Fixture f;
  f.space->set_reserve(40, 20);
  REQUIRE(f.write().extent.units == 20);
  while (f.space->allocate_internal(1).ok()) {
  }
  REQUIRE(f.space->largest_free_run() == 20);
  REQUIRE(f.write().extent.units == 20);
  f.space->set_reserve(40, 20);
  REQUIRE(f.space->counters().free < 20);
}

TEST_CASE("manifest_store: other profiles survive the loss of any m cells at random") {
  const bool with_sums = GENERATE(true, false);
  for (const ec::Profile profile : {ec::Profile{1, 1}, ec::Profile{2, 1}, ec::Profile{3, 3},
                                    ec::Profile{8, 3}, ec::Profile{16, 4, ec::default_codec(4)}}) {
    TableWorldOptions options;
    options.profile = profile;
    Fixture f(30'000, options);
    f.with_sums = with_sums;
    const alloc::ManifestAddress address = f.write();
    const Cells good(f.cells(address));
    for (int i = 0; i < 12; ++i) {
      CAPTURE(profile.k, profile.m, i);
      std::set<std::uint32_t> roles;
      while (roles.size() < profile.m) {
        roles.insert(static_cast<std::uint32_t>(f.rng.below(profile.shards())));
      }
      for (const std::uint32_t role : roles) harm(f, address, role, kHarms[f.rng.below(4)]);
      REQUIRE((f.store.read(address).value() == f.bytes));
      good.restore(f);
    }
  }
}

TEST_CASE("manifest_store: an address that cannot be is refused") {
  Fixture f;
  const alloc::ManifestAddress good = f.write();
  const auto refused = [&](const std::function<void(alloc::ManifestAddress&)>& change) {
    alloc::ManifestAddress bad = good;
    change(bad);
    const Result<std::string> found = f.store.read(bad);
    return !found.ok() && found.error().code == ErrorCode::kCorruption;
  };
  CHECK(refused([](alloc::ManifestAddress& a) { a = {}; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.length = 0; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.length = ~std::uint64_t{0}; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.length += 4 * 4096 * a.extent.units; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.extent.unit = 0; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.extent.unit = 0xffffffff; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.extent.units = 0xffffffff; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.slots.pop_back(); }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.slots[1] = a.slots[0]; }));
  CHECK(refused([](alloc::ManifestAddress& a) { a.slots[1].slab = 4; }));
  CHECK(refused([](alloc::ManifestAddress& a) { ++a.crc; }));
  CHECK(refused([](alloc::ManifestAddress& a) {
    for (std::uint32_t role = 0; role < 3; ++role) ++a.cell_sums[role];
  }));
  // A device that nobody knows is one that is not there.
  alloc::ManifestAddress unknown = good;
  unknown.slots[1].device = 77;
  CHECK(f.store.read(unknown).value() == f.bytes);
}

}  // namespace
}  // namespace hexad::core
