#include "core/space/kept_back.h"

#include <catch2/catch.hpp>
#include <memory>
#include <vector>

#include "tests/core/space_fixture.h"

using namespace hexad;
using namespace hexad::core;
using namespace hexad::core::testing;

namespace {

struct World {
  World() : members(*executor, std::move(f.table.rows)), kept(members) {}

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  SpaceFixture f;
  Members members;
  hexad::testing::TableQueue queue;
  KeptBack kept;
};

}  // namespace

TEST_CASE("kept back: what was given up waits until the suspects have left (V3)") {
  World w;
  CHECK_FALSE(w.kept.keeps());
  w.kept.suspect({2, 3});
  w.kept.keep(alloc::Extent{1, 5, 2});
  w.kept.keep({{2, 0}, {4, 1}});
  CHECK(w.kept.take().units.empty());
  w.members.mark_failed(2, "told to");
  CHECK(w.kept.suspects() == std::set<DeviceId>{3});
  w.kept.end_suspects();
  CHECK(w.kept.is_suspect(2));
  CHECK(w.kept.take().slabs.empty());
  w.kept.forget({2, 3});
  CHECK_FALSE(w.kept.keeps());
  const KeptBack::Kept free = w.kept.take();
  CHECK(free.units == std::vector<alloc::Extent>{{1, 5, 2}});
  CHECK(free.slabs == std::vector<alloc::ZoneSlot>{{2, 0}, {4, 1}});
  CHECK(w.kept.take().units.empty());
}

TEST_CASE("kept back: while a cell is on its way nothing goes beyond where it was sent (V4)") {
  World w;
  const std::vector<alloc::ReadRange> before = {{3, 4}};
  const std::vector<alloc::ReadRange> after = {{7, 8}};
  CHECK(w.kept.bound(10, before) == 10);
  std::shared_ptr<Lsn> token = w.kept.send_late(3, w.queue);
  CHECK(w.kept.is_late(3));
  CHECK_FALSE(w.kept.is_late(2));
  CHECK(&w.kept.late_queue() == &w.queue);
  CHECK(w.kept.bound(20, after) == 10);
  CHECK(w.kept.readers() == std::vector<alloc::ReadRange>{{3, 4}, {7, 8}});
  w.kept.drop_answered();
  CHECK(w.kept.keeps());
  token.reset();
  CHECK(w.kept.keeps());
  w.kept.drop_answered();
  CHECK_FALSE(w.kept.keeps());
  CHECK(w.kept.bound(20, after) == 20);
  CHECK(w.kept.readers() == after);
}
