// Slabs that move, as Space sees it: SL1 to SL5 and SL9 of doc/invariants.md#slabs-that-move.
#include <catch2/catch.hpp>
#include <cstring>
#include <string>

#include "io/bounded_reads.h"
#include "io/sim/sim_system.h"
#include "tests/core/sample_records.h"
#include "tests/core/space_fixture.h"

using namespace hexad;
using namespace hexad::core;
using namespace hexad::core::testing;
using hexad::testing::TableDevice;

namespace {

// Seven devices in simulated time, one zone on six of them; `move` takes its first slot to the one
// it has none on.
struct MovingWorld {
  explicit MovingWorld(std::uint32_t slabs = kSlabs) : f(7, slabs) {
    f.members = std::make_unique<Members>(system.executor(), std::move(f.table.rows));
    space =
        std::make_unique<Space>(system.executor(), f.shape, *f.members, f.counters, f.log_blobs);
    zone = open_zone();
    DeviceId other = 0;
    for (const alloc::ZoneSlot& slot : zone.slots) other += slot.device;
    move = {zone.zone, 0, zone.slots[0], {DeviceId{21} - other, 1}};
  }
  // One more that can be allocated from.
  ZoneCreation open_zone() {
    ZoneCreation made = space->prepare_zone(Zeroing::kNone).value();
    REQUIRE(space->add_zone(made).ok());
    space->open_zone(made.zone);
    return made;
  }
  template <typename Use>
  void run(const Use& use) {
    system.run([&] { use(*space); });
  }
  alloc::Extent put(std::uint32_t units, Lsn lsn) {
    LogRecord record;
    record.allocated = {proof_of(space->allocate(units).value())};
    space->publish(lsn, record);
    return record.allocated[0].where;
  }
  alloc::UnitSet whole() {
    alloc::UnitSet copied;
    const std::vector<alloc::UnitRun> runs = space->settled_runs(zone.zone).value();
    for (const alloc::UnitRun& run : runs) copied.insert(run);
    return copied;
  }
  void commit(Lsn lsn) {
    REQUIRE(space->dirty_images(lsn).ok());
    space->images_written();
  }

  io::SimSystem system;
  SpaceFixture f;
  std::unique_ptr<Space> space;
  ZoneCreation zone;
  alloc::SlabMove move;
};

}  // namespace

TEST_CASE("space_moves: a zone is closed from the beginning until a root says where it is") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    const std::uint64_t free = space.counters().free;
    const alloc::Extent kept = w.put(3, 1);
    // Without a second zone nothing would be free.
    if (space.begin_move(w.move).error().code != ErrorCode::kNoSpace) problem = "closed the last";
    w.open_zone();
    if (!space.begin_move(w.move).ok()) problem += " not begun";
    if (space.begin_move(w.move).ok()) problem += " begun twice";
    if (space.counters().free >= kSlabUnits) problem += " not closed";
    for (int i = 0; i < 8; ++i) {
      if (space.allocate(1).value().zone == w.zone.zone) problem += " taken from it";
    }
    if (const Status done = space.finish_move(w.move, w.whole()); !done.ok()) {
      problem += " not finished: " + done.error().message;
    }
    if (space.slots(w.zone.zone)[0] != w.move.to) problem += " not there";
    if (space.locate(kept).value()[0].id == w.move.from.device &&
        space.locate(kept).value()[1].id == w.move.from.device) {
      problem += " read there";
    }
    if (space.counters().free >= kSlabUnits - 8) problem += " open before the root";
    const std::vector<alloc::ZoneImage> images = space.dirty_images(2).value();
    bool named = false;
    for (const alloc::ZoneImage& image : images) {
      named |= image.zone == w.zone.zone && image.slots[0] == w.move.to;
    }
    if (!named) problem += " not in the images";
    if (space.moving_zones() != 1) problem += " over with the images";
    space.images_written();
    if (space.moving_zones() != 0) problem += " not over";
    if (space.counters().free < free - 3) problem += " still closed";
    if (!space.check_invariants().ok()) problem += " invariants";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: nothing moves that is written to, repaired, missing, or not copied") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    w.open_zone();
    alloc::Extent flying = space.allocate(2).value();
    while (flying.zone != w.zone.zone) flying = space.allocate(2).value();
    const alloc::Extent kept = w.put(1, 1);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (space.settled_runs(w.zone.zone).has_value()) problem += " in flight";
    space.discard(flying);
    if (!space.settled_runs(w.zone.zone).has_value()) problem += " not settled";
    alloc::UnitSet copied = w.whole();
    if (kept.zone == w.zone.zone) {
      alloc::UnitSet less = copied;
      less.erase(kept.run());
      if (space.finish_move(w.move, less).ok()) problem += " not copied";
    }
    space.cancel_move(w.move);
    if (space.moving_zones() != 0) problem += " not cancelled";
    // A cell of it is missing.
    w.f.members->mark_failed(w.move.to.device, "gone");
    if (space.begin_move(w.move).ok()) problem += " to a device that has left";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: a cell that was located before is not written where it was") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    w.open_zone();
    alloc::Extent kept = w.put(1, 1);
    while (kept.zone != w.zone.zone) kept = w.put(1, 1);
    space.allow_healing();
    std::vector<CellPlace> before = space.locate(kept).value();
    const auto at = std::find_if(before.begin(), before.end(), [&](const CellPlace& place) {
      return place.id == w.move.from.device;
    });
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (const Status done = space.finish_move(w.move, w.whole()); !done.ok()) {
      problem += " not finished: " + done.error().message;
    }
    AlignedBuffer cell = AlignedBuffer::zeroed(kUnit);
    std::fill(cell.bytes().begin(), cell.bytes().end(), std::byte{7});
    space.heal(*at, cell.bytes());
    if (w.f.table.devices[at->id]->bytes[at->offset] == std::byte{7}) problem += " healed there";
    if (space.fill_missing(kept, *at, cell.bytes()).ok()) problem += " filled there";
    if (w.f.table.devices[at->id]->bytes[at->offset] == std::byte{7}) problem += " written there";
    // Where it is now it is written.
    const std::vector<CellPlace> now = space.locate(kept).value();
    for (const CellPlace& place : now) {
      if (place.id != w.move.to.device) continue;
      space.heal(place, cell.bytes());
      if (w.f.table.devices[place.id]->bytes[place.offset] != std::byte{7}) problem += " not here";
    }
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: the old slab is free when nobody can be reading there any more") {
  MovingWorld w(2);
  std::string problem;
  w.run([&](Space& space) {
    const auto taken = [&] { return space.has_retired(); };
    w.open_zone();
    w.put(1, 1);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (const Status done = space.finish_move(w.move, w.whole()); !done.ok()) {
      problem += " not finished: " + done.error().message;
    }
    space.reclaim(9);
    if (taken()) problem += " retired before the root";
    w.commit(2);
    if (!taken()) problem += " not retired";
    w.system.executor().sleep_for(2 * io::kSilence);
    space.reclaim(2, {}, 2);  // somebody may still read the state of the checkpoint
    if (!taken()) problem += " free under a reader";
    space.reclaim(5, {}, 1);
    if (!taken()) problem += " free under an old reader";
    space.reclaim(5, {}, 5);
    if (taken()) problem += " never free";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: what was asked of the device before the root has its time") {
  MovingWorld w(2);
  std::string problem;
  w.run([&](Space& space) {
    w.open_zone();
    w.put(1, 1);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (const Status done = space.finish_move(w.move, w.whole()); !done.ok()) {
      problem += " not finished: " + done.error().message;
    }
    w.commit(2);
    space.reclaim(5, {}, 5);
    if (!space.has_retired()) problem += " free at once";
    w.system.executor().sleep_for(io::kSilence);
    space.reclaim(5, {}, 5);
    if (space.has_retired()) problem += " never free";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: from a lost device all that the zone has is missing on the new slab") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    Members& members = *w.f.members;
    w.open_zone();
    alloc::Extent kept = w.put(3, 1);
    while (kept.zone != w.zone.zone) kept = w.put(3, 1);
    const DeviceId from = w.move.from.device;
    const DeviceId to = w.move.to.device;
    members.mark_failed(from, "gone");
    if (space.begin_move(w.move).ok()) problem = "begun, though nobody wants it to go";
    members.begin_draining(from);
    if (space.lost_cells() != 1) problem += " not one lost";
    if (const Status begun = space.begin_move(w.move); !begun.ok()) {
      problem += " not begun: " + begun.error().message;
      return;
    }
    if (!space.moves_from_lost(w.zone.zone)) problem += " not from a lost one";
    if (const Status done = space.finish_move(w.move, {}); !done.ok()) {
      problem += " not finished: " + done.error().message;
      return;
    }
    if (!members.is_filling(to)) problem += " not filling";
    if (!space.lacks_cells(kept)) problem += " lacks nothing";
    if (space.lacking_units(to) == 0) problem += " no units";
    // The zone is none the worse for it, and a third device is one more.
    if (space.lost_cells() != 1) problem += " counts more than it has lost";
    const DeviceId third = w.zone.slots[1].device;
    if (space.lost_cells({third}) != 2) problem += " a second loss is none";
    // Where the zone has a slab and lacks nothing, and the one that is filling: both are lost.
    if (space.lost_cells({third, to}) != 3) problem += " a third loss is none";
    const std::vector<alloc::ZoneImage> images = space.dirty_images(2).value();
    bool named = false;
    for (const alloc::ZoneImage& image : images) {
      named |= image.zone == w.zone.zone && image.slots[0] == w.move.to;
    }
    if (!named) problem += " not in the images";
    space.images_written();
    const std::vector<CellPlace> cells = space.locate(kept).value();
    const auto there = std::find_if(cells.begin(), cells.end(),
                                    [&](const CellPlace& place) { return place.id == to; });
    AlignedBuffer cell = AlignedBuffer::zeroed(3 * kUnit);
    if (const Status filled = space.fill_missing(kept, *there, cell.bytes()); !filled.ok()) {
      problem += " not filled: " + filled.error().message;
    }
    if (space.lacks_cells(kept)) problem += " still lacks it";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: from a lost device, undone, the zone is as it was") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    Members& members = *w.f.members;
    w.open_zone();
    alloc::Extent kept = w.put(3, 1);
    while (kept.zone != w.zone.zone) kept = w.put(3, 1);
    members.mark_failed(w.move.from.device, "gone");
    alloc::Extent later = w.put(2, 2);  // without it
    while (later.zone != w.zone.zone) later = w.put(2, 2);
    members.begin_draining(w.move.from.device);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (!space.finish_move(w.move, {}).ok()) problem += " not finished";
    if (!space.undo_move(w.move, 3)) problem += " not undone";
    if (space.slots(w.zone.zone)[0] != w.move.from) problem += " not back";
    for (const alloc::ZoneImage& image : space.dirty_images(3).value()) {
      if (image.zone != w.zone.zone) continue;
      std::uint64_t missing = 0;
      for (const alloc::MissingRun& run : image.missing) {
        if (run.slot == 0) missing += run.run.units;
      }
      if (missing != later.units) problem += " other cells are missing";
    }
    // To another slab: that one may be looked at for a moment.
    alloc::SlabMove other = w.move;
    ++other.to.slab;
    if (!space.begin_move(other).ok()) {
      problem += " not begun again";
      return;
    }
    space.cancel_move(other);
    if (space.moving_zones() != 0) problem += " not cancelled";
  });
  REQUIRE(problem == "");
}

TEST_CASE(
    "space_moves: what was filled since the last images lacks as long as a crash could say so") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    Members& members = *w.f.members;
    w.open_zone();
    alloc::Extent kept = w.put(3, 1);
    while (kept.zone != w.zone.zone) kept = w.put(3, 1);
    const DeviceId to = w.move.to.device;
    const DeviceId third = w.zone.slots[1].device;
    members.mark_failed(w.move.from.device, "gone");
    members.begin_draining(w.move.from.device);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (!space.finish_move(w.move, {}).ok()) problem += " not finished";
    w.commit(2);
    // Its row is gone; what it had is not all there.
    const auto lost = [&] { return space.lost_in_zone({third}); };
    if (lost() != 2) problem += " before it is filled: " + std::to_string(lost());
    for (const alloc::UnitRun& run : space.live_runs(w.zone.zone)) {
      const alloc::Extent stripe{w.zone.zone, run.unit, run.units};
      for (const CellPlace& place : space.locate(stripe).value()) {
        if (place.id != to) continue;
        const AlignedBuffer cell = AlignedBuffer::zeroed(run.units * kUnit);
        if (!space.fill_missing(stripe, place, cell.bytes()).ok()) problem += " not filled";
      }
    }
    if (lost() != 2) problem += " filled in memory alone: " + std::to_string(lost());
    if (!space.dirty_images(3).ok()) problem += " no images";
    if (lost() != 2) problem += " with images that no root names: " + std::to_string(lost());
    if (space.lost_in_zone({third}, Space::LackingBy::kNewestImages) != 1) {
      problem += " not by the newest images";
    }
    space.images_written();
    if (lost() != 1) problem += " with the root: " + std::to_string(lost());
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: what was filled on a slab that is left again says nothing of the former") {
  MovingWorld w;
  std::string problem;
  w.run([&](Space& space) {
    w.open_zone();
    alloc::Extent kept = w.put(3, 1);
    while (kept.zone != w.zone.zone) kept = w.put(3, 1);
    w.f.members->mark_failed(w.move.from.device, "gone");
    alloc::Extent later = w.put(2, 2);  // without it
    while (later.zone != w.zone.zone) later = w.put(2, 2);
    w.f.members->begin_draining(w.move.from.device);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (!space.finish_move(w.move, {}).ok()) problem += " not finished";
    const std::vector<CellPlace> cells = space.locate(later).value();
    const auto there = std::find_if(cells.begin(), cells.end(), [&](const CellPlace& place) {
      return place.id == w.move.to.device;
    });
    const AlignedBuffer cell = AlignedBuffer::zeroed(2 * kUnit);
    // The move is undone while the cell is on its way.
    TableDevice& device = *w.f.table.devices[there->id];
    device.fails = [&](const io::IoRequest& request) {
      if (request.op != io::IoOp::kWrite) return false;
      if (!space.undo_move(w.move, 3)) problem += " not undone";
      return false;
    };
    if (space.fill_missing(later, *there, cell.bytes()).ok()) problem += " filled all the same";
    std::uint64_t missing = 0;
    for (const alloc::ZoneImage& image : space.dirty_images(3).value()) {
      if (image.zone != w.zone.zone) continue;
      for (const alloc::MissingRun& run : image.missing) missing += run.run.units;
    }
    if (missing != later.units) problem += " the note has gone";
  });
  REQUIRE(problem == "");
}

TEST_CASE("space_moves: two threads that find one cell missing write it once") {
  MovingWorld w;
  std::string problem;
  int writes = 0;
  w.run([&](Space& space) {
    w.open_zone();
    alloc::Extent stripe = w.put(3, 1);
    while (stripe.zone != w.zone.zone) stripe = w.put(3, 1);
    w.f.members->mark_failed(w.move.from.device, "gone");
    w.f.members->begin_draining(w.move.from.device);
    if (!space.begin_move(w.move).ok()) problem = "not begun";
    if (!space.finish_move(w.move, {}).ok()) problem += " not finished";
    const std::vector<CellPlace> cells = space.locate(stripe).value();
    const auto there = std::find_if(cells.begin(), cells.end(),
                                    [](const CellPlace& place) { return place.missing; });
    const AlignedBuffer cell = AlignedBuffer::zeroed(3 * kUnit);
    const auto fill = [&] {
      const Status filled = space.fill_missing(stripe, *there, cell.bytes());
      if (!filled.ok()) problem += filled.error().message;
    };
    std::unique_ptr<io::Thread> second;
    w.f.table.devices[there->id]->fails = [&](const io::IoRequest& request) {
      if (request.op != io::IoOp::kWrite) return false;
      if (++writes > 1) return false;
      second = w.system.executor().start("second", fill);
      w.system.executor().sleep_for(1'000'000'000);
      return false;
    };
    fill();
    if (second != nullptr) second->join();
    // A mark that is gone leaves nothing to write.
    fill();
  });
  REQUIRE(problem == "");
  REQUIRE(writes == 1);
}
