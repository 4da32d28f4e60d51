// Any one byte of what an opening and a read rest on is damaged: headers of log blocks, footers of
// pack stripes, runs with the zone images in them, the manifest. It is survived or named, and what
// is read is never wrong. Labels and roots: tests/core/opening/device_ends_test.cc.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "alloc/device_layout.h"
#include "core/opening/opening.h"
#include "core/opening/pool_options.h"
#include "core/record/object_extents.h"
#include "kv/log/log_format.h"
#include "tests/base/thinned.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr const char* kExact = "";

// What there is after so many commits.
using State = std::map<std::string, std::string>;

class World {
 public:
  World() {
    Store store = fixture.open();
    // Some of each placement: in the record, in a pack stripe, in a stripe of its own.
    for (int i = 0; i < 12; ++i) commit(store, "a" + std::to_string(i), i % 3 == 0 ? 100 : 3000);
    commit(store, "large", 150'000);
    REQUIRE(message_of(store.checkpoint()) == "");
    for (int i = 0; i < 8; ++i) commit(store, "b" + std::to_string(i), 200);
    states = {values};
    // The last ones, one after the other: states[n] is what is there without the last n of them.
    for (int i = 0; i < 4; ++i) {
      commit(store, "c" + std::to_string(i), 200);
      states.insert(states.begin(), values);
    }
    // And let go of: no checkpoint, all these are in the log.
  }

  // Opens for reading: an error, or what differs from the newest state, or from that without the
  // last commit where that may be lost.
  std::string open_and_compare(bool may_lack_last = false) {
    Result<Store> opened = fixture.try_open(Access::kReadOnly);
    if (!opened.ok()) return "error: " + opened.error().to_string();
    const std::string found = difference(*opened, states[0]);
    if (found.empty() || !may_lack_last) return found;
    return difference(*opened, states[1]);
  }
  std::string difference(Store& store, const State& expected) const {
    const Result<ListPage> page = store.list(kBucket);
    if (!page.ok()) return page.error().to_string();
    if (page->entries.size() != expected.size()) {
      return std::to_string(page->entries.size()) + " objects instead of " +
             std::to_string(expected.size());
    }
    for (const auto& [name, value] : expected) {
      if (get(store, name) != value) return name + ": " + get(store, name).substr(0, 99);
    }
    return kExact;
  }
  core::StoreParts look() {
    RuntimeOptions options;
    options.access = Access::kReadOnly;
    Result<core::StoreParts> parts = core::open_parts(fixture.pool, options, &fixture.memory);
    REQUIRE(message_of(parts.status()) == "");
    return std::move(*parts);
  }

  StoreFixture fixture;
  State values;
  std::vector<State> states;

 private:
  void commit(Store& store, const std::string& name, std::size_t size) {
    values[name] = noise(size, values.size() + 1);
    REQUIRE(message_of(put(store, name, values[name]).status()) == "");
  }
};

// A byte that is another one while this lives, on each of some media.
class Damage {
 public:
  struct Place {
    std::shared_ptr<io::MemoryMedia> media;
    std::uint64_t offset = 0;
  };
  explicit Damage(std::vector<Place> places) : places_(std::move(places)) { flip(); }
  Damage(const Damage&) = delete;
  Damage& operator=(const Damage&) = delete;
  ~Damage() { flip(); }

 private:
  void flip() {
    for (const Place& place : places_) {
      Bytes byte(1);
      place.media->read(place.offset, byte);
      byte[0] ^= std::byte{0x41};
      place.media->write(place.offset, byte);
    }
  }
  const std::vector<Place> places_;
};

// --- the log ---

struct FoundBlock {
  kv::LogBlockHeader header;
  std::vector<Damage::Place> copies;  // where it begins
};

// The chain behind the trim point, the oldest first.
std::vector<FoundBlock> log_blocks(World& world) {
  const core::StoreParts parts = world.look();
  std::map<kv::LogPosition, FoundBlock> found;
  for (const DeviceId id : parts.root.log_devices) {
    const core::Member& member = *parts.members->find(id);
    const std::shared_ptr<io::MemoryMedia> media = world.fixture.memory.media(member.path);
    Bytes log(member.layout.log_size);
    media->read(member.layout.log_offset, log);
    for (std::size_t at = 0; at < log.size(); at += parts.shape->log_block) {
      const Result<kv::LogBlock> block = kv::decode_log_block(ByteView(log).subspan(at));
      const bool old = block.ok() && block->header.position < parts.root.log_trim.end;
      if (!block.ok() || old) continue;
      FoundBlock& one = found[block->header.position];
      one.header = block->header;
      one.copies.push_back({media, member.layout.log_offset + at});
    }
  }
  std::vector<FoundBlock> blocks;
  for (auto& [position, block] : found) {
    REQUIRE(block.copies.size() == parts.root.log_devices.size());
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TEST_CASE("damaged bytes: of a log block's header, in one copy, each is survived") {
  World world;
  const std::vector<FoundBlock> blocks = log_blocks(world);
  REQUIRE(blocks.size() >= 8);
  REQUIRE(world.open_and_compare() == kExact);
  for (const std::size_t which : {std::size_t{1}, blocks.size() / 2, blocks.size() - 1}) {
    for (std::size_t copy = 0; copy < blocks[which].copies.size(); ++copy) {
      for (std::uint64_t byte = copy % kThinned; byte < kv::kLogHeaderSize; byte += kThinned) {
        CAPTURE(which, copy, byte);
        Damage::Place place = blocks[which].copies[copy];
        place.offset += byte;
        const Damage damage({place});
        REQUIRE(world.open_and_compare() == kExact);
      }
    }
  }
}

// Whoever damages all copies takes the block. Where later blocks show that it was durable, that is
// named; of the last one nothing else tells, so the store is what it was before its commit.
TEST_CASE("damaged bytes: of a log block's header, in all copies, each is named or the end") {
  World world;
  const std::vector<FoundBlock> blocks = log_blocks(world);
  std::size_t named = 0;
  for (const std::size_t which : {std::size_t{1}, blocks.size() / 2, blocks.size() - 1}) {
    const bool last = which == blocks.size() - 1;
    for (std::uint64_t byte = 0; byte < kv::kLogHeaderSize; ++byte) {
      CAPTURE(which, byte);
      std::vector<Damage::Place> places = blocks[which].copies;
      for (Damage::Place& place : places) place.offset += byte;
      const Damage damage(std::move(places));
      const std::string outcome = world.open_and_compare(last);
      if (!last) {
        REQUIRE_THAT(outcome, Catch::StartsWith("error: log damaged: "));
        REQUIRE_THAT(outcome, Catch::Contains("(corruption)"));
        ++named;
        continue;
      }
      REQUIRE(outcome == kExact);
    }
  }
  REQUIRE(named == 2 * kv::kLogHeaderSize);
  REQUIRE(world.open_and_compare() == kExact);
}

TEST_CASE("damaged bytes: a log block that is bad in one copy is written there again") {
  World world;
  const FoundBlock block = log_blocks(world)[3];
  for (std::size_t copy = 0; copy < block.copies.size(); ++copy) {
    CAPTURE(copy);
    Damage::Place place = block.copies[copy];
    Bytes before(kv::kLogHeaderSize);
    place.media->read(place.offset, before);
    place.media->write(place.offset + 60, Bytes(1, std::byte{0x7f}));
    Store store = world.fixture.open();
    REQUIRE(world.difference(store, world.states[0]) == kExact);
    Bytes after(kv::kLogHeaderSize);
    place.media->read(place.offset, after);
    REQUIRE((after == before));
  }
}

// --- the coded devices ---

struct CellBytes {
  std::string what;
  Damage::Place begin;
  std::uint64_t length = 0;
};

std::vector<CellBytes> cells_of(World& world, const core::StoreParts& parts,
                                const alloc::Extent& where, std::uint64_t length,
                                const std::string& what) {
  std::vector<CellBytes> cells;
  const std::vector<core::CellPlace> places = parts.space->locate(where).value();
  for (const core::CellPlace& place : places) {
    const core::Member& member = *parts.members->find(place.id);
    cells.push_back({what + " on device " + std::to_string(place.id),
                     {world.fixture.memory.media(member.path), place.offset},
                     length});
  }
  return cells;
}

// Runs and the manifest: all cells, as far as they have bytes.
std::vector<CellBytes> metadata_cells(World& world) {
  const core::StoreParts parts = world.look();
  std::vector<CellBytes> cells;
  for (const core::RunCatalogue::Owned& owned : parts.runs->owned()) {
    for (const core::Blob& blob : core::blobs_of(owned.pieces)) {
      const auto more = cells_of(world, parts, blob.where, blob.cell_bytes, owned.owner);
      cells.insert(cells.end(), more.begin(), more.end());
    }
    for (const alloc::Extent& stripe : owned.stripes) {
      const auto more = cells_of(world, parts, stripe, parts.shape->block, owned.owner);
      cells.insert(cells.end(), more.begin(), more.end());
    }
  }
  return cells;
}

// The index would hide them.
void lose_index(World& world) {
  std::filesystem::remove_all(core::index_directory(world.fixture.pool.fast_directories));
}

TEST_CASE("damaged bytes: of runs, with the zone images in them, and of the manifest") {
  World world;
  const std::vector<CellBytes> cells = metadata_cells(world);
  REQUIRE(cells.size() >= 2 * 6);
  lose_index(world);
  for (const CellBytes& cell : cells) {
    for (std::uint64_t byte = 0; byte < cell.length; byte += 1 + 16 * kThinned) {
      CAPTURE(cell.what, byte);
      const Damage damage({{cell.begin.media, cell.begin.offset + byte}});
      REQUIRE(world.open_and_compare() == kExact);
    }
  }
  // And in all cells at once: more than the profile survives.
  std::map<std::string, std::vector<Damage::Place>> stripes;
  for (const CellBytes& cell : cells) {
    stripes[cell.what.substr(0, cell.what.find(" on device"))].push_back(cell.begin);
  }
  for (const auto& [what, begins] : stripes) {
    for (std::uint64_t byte = 0; byte < 256; ++byte) {
      CAPTURE(what, byte);
      std::vector<Damage::Place> places = begins;
      for (Damage::Place& place : places) place.offset += byte;
      const Damage damage(std::move(places));
      const std::string outcome = world.open_and_compare();
      REQUIRE((outcome == kExact || outcome.starts_with("error: ") ||
               outcome.find("corruption") != std::string::npos));
    }
  }
}

TEST_CASE("damaged bytes: of the footers of pack stripes, each is found, and read around") {
  World world;
  std::vector<CellBytes> footers;
  {
    // All that is packed by now lies in stripes.
    Store store = world.fixture.open();
    REQUIRE(message_of(store.checkpoint()) == "");
    REQUIRE(message_of(store.close()) == "");
  }
  {
    const core::StoreParts parts = world.look();
    for (const alloc::ZoneId zone : parts.space->zone_ids()) {
      for (const alloc::PackStripe& pack : parts.space->packs(zone)) {
        const alloc::Extent where{zone, pack.run.unit, pack.run.units};
        const std::uint64_t length = pack.run.units * parts.shape->unit;
        const auto cells = cells_of(world, parts, where, length, alloc::to_string(where));
        const CellBytes& last = cells[parts.shape->k() - 1];
        // Its length is in front of its end, behind magic and crc.
        Bytes end(4);
        last.begin.media->read(last.begin.offset + length - 4, end);
        std::uint64_t size = 12;
        for (int i = 0; i < 4; ++i)
          size += std::uint64_t{static_cast<unsigned char>(end[i])} << 8 * i;
        REQUIRE(size < length);
        footers.push_back({last.what, {last.begin.media, last.begin.offset + length - size}, size});
      }
    }
  }
  REQUIRE_FALSE(footers.empty());
  for (const CellBytes& footer : footers) {
    for (std::uint64_t byte = 0; byte < footer.length; byte += kThinned) {
      CAPTURE(footer.what, byte);
      const Damage damage({{footer.begin.media, footer.begin.offset + byte}});
      Store store = world.fixture.open(Access::kReadOnly);
      REQUIRE(world.difference(store, world.states[0]) == kExact);
      const FsckReport report = store.fsck({.deep = true}).value();
      REQUIRE(report.findings.size() == 1);
      REQUIRE_THAT(report.findings[0].subject, Catch::Contains("pack stripe"));
    }
  }
}

}  // namespace
}  // namespace hexad::testing
