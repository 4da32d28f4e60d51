#include "core/space/members.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>

#include "base/aligned_buffer.h"
#include "core/space/log_set.h"
#include "io/rng.h"
#include "tests/core/device_table.h"

namespace hexad::core {
namespace {

using hexad::testing::DeviceTable;
using hexad::testing::TableDevice;

alloc::DeviceLayout small_layout() {
  alloc::DeviceLayout layout;
  layout.device_size = 8192;
  layout.log_offset = 1024;
  layout.log_size = 2048;
  return layout;
}

// `data` data devices and one log device behind them.
struct Fixture {
  explicit Fixture(std::size_t data = 6) {
    for (std::size_t i = 0; i < data; ++i) table.add(alloc::DeviceRole::kData, small_layout());
    table.add(alloc::DeviceRole::kLog, small_layout());
  }
  Members& make(FlushSharing sharing = FlushSharing::kWhereSafe) {
    members = std::make_unique<Members>(*executor, std::move(table.rows), sharing);
    return *members;
  }

  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  DeviceTable table;
  std::unique_ptr<Members> members;
};

TEST_CASE("members: rows are found by id and by device, ids without a row are nobody's") {
  Fixture f(4);
  for (std::size_t i = 0; i < f.table.rows.size(); ++i) {
    f.table.rows[i].id = static_cast<DeviceId>(3 * i + 2);
  }
  const Members& members = f.make();
  REQUIRE(members.size() == 5);
  for (DeviceId id = 0; id < 40; ++id) {
    CAPTURE(id);
    const bool known = id >= 2 && id <= 14 && id % 3 == 2;
    const Member* found = members.find(id);
    REQUIRE((found != nullptr) == known);
    REQUIRE(members.usable(id) == known);
    REQUIRE((members.device(id) != nullptr) == known);
    if (!known) continue;
    REQUIRE(found->id == id);
    REQUIRE(members.owner(found->device.get()) == found);
    REQUIRE(members.device(id) == f.table.devices[(id - 2) / 3]);
  }
  REQUIRE(members.find(~DeviceId{0}) == nullptr);
  TableDevice other("other", 4096, f.table.queue);
  REQUIRE(members.owner(&other) == nullptr);
  REQUIRE(members.flush_domain(&other) == kNoFlushDomain);
  REQUIRE(members.owner(nullptr) == nullptr);
  REQUIRE(members.usable_ids() == std::vector<DeviceId>{2, 5, 8, 11, 14});
}

TEST_CASE("members: a log area is the place on the device that the layout names") {
  Fixture f(1);
  const Members& members = f.make();
  const kv::LogArea area = members.at(0).log_area();
  REQUIRE(area.device == f.table.devices[0]);
  REQUIRE(area.offset == 1024);
  REQUIRE(area.size == 2048);
}

TEST_CASE("members: a lost device says why it was lost first, and is not used again") {
  Fixture f;
  Members& members = f.make();
  REQUIRE(members.state(2) == "ok");
  members.mark_failed(2, "a write failed");
  members.mark_failed(2, "another write failed");
  REQUIRE(members.state(2) == "failed");
  REQUIRE(members.detail(2) == "a write failed");
  REQUIRE_FALSE(members.usable(2));
  REQUIRE(members.device(2) == nullptr);
  // Requests under way may still name it.
  REQUIRE(members.find(2)->device.get() == f.table.devices[2]);
  REQUIRE(members.owner(f.table.devices[2])->id == 2);
  REQUIRE(members.state(1) == "ok");
}

TEST_CASE("members: a device that is blamed is used all the same") {
  Fixture f;
  Members& members = f.make();
  members.report_failure(1, "the last write failed");
  REQUIRE(members.state(1) == "failed");
  REQUIRE(members.detail(1) == "the last write failed");
  REQUIRE(members.usable(1));
  REQUIRE(members.device(1) == f.table.devices[1]);
  REQUIRE(members.lost_cells() == 0);
  members.mark_failed(1, "gone");
  REQUIRE(members.detail(1) == "gone");
  REQUIRE_FALSE(members.usable(1));
}

TEST_CASE("members: an absent device keeps its own reason when it is lost once more") {
  Fixture f;
  f.table.rows[3].device.reset();
  f.table.rows[3].state = "missing";
  f.table.rows[3].detail = "not attached";
  Members& members = f.make();
  REQUIRE_FALSE(members.usable(3));
  members.mark_failed(3, "cannot be");
  REQUIRE(members.state(3) == "missing");
  REQUIRE(members.detail(3) == "not attached");
  REQUIRE(members.lost_cells() == 1);
}

TEST_CASE("members: who is usable, counted for every set of absent and of lost devices") {
  for (std::uint32_t absent = 0; absent < 32; ++absent) {
    for (std::uint32_t lost = 0; lost < 32; ++lost) {
      CAPTURE(absent, lost);
      Fixture f(4);
      for (std::size_t i = 0; i < 5; ++i) {
        if ((absent >> i & 1) != 0) f.table.rows[i].device.reset();
      }
      Members& members = f.make();
      std::vector<DeviceId> ids;
      std::vector<io::Device*> devices;
      std::uint32_t gone = 0;
      for (DeviceId id = 0; id < 5; ++id) {
        if ((lost >> id & 1) != 0) members.mark_failed(id, "told to");
        const bool usable = ((absent | lost) >> id & 1) == 0;
        if (usable) ids.push_back(id);
        if (usable) devices.push_back(f.table.devices[id]);
        if (!usable && id < 4) ++gone;  // the log device is no data device
      }
      REQUIRE(members.usable_ids() == ids);
      const std::vector<alloc::LaidOutDevice> laid_out = members.usable_devices();
      REQUIRE(laid_out.size() == devices.size());
      for (std::size_t i = 0; i < devices.size(); ++i) {
        REQUIRE(laid_out[i].device == devices[i]);
        REQUIRE(laid_out[i].size == 8192);
      }
      REQUIRE(members.lost_cells() == gone);
    }
  }
}

TEST_CASE("members: devices are in one flush domain where their caches are one, and only there") {
  const std::uint64_t seed = GENERATE(range(1, 40));
  const FlushSharing sharing = GENERATE(FlushSharing::kWhereSafe, FlushSharing::kNever);
  CAPTURE(seed, static_cast<int>(sharing));
  io::Rng rng(seed);
  Fixture f(8);
  for (std::size_t i = 0; i < 9; ++i) {
    f.table.devices[i]->shape.volatile_cache = rng.below(4) != 0;
    f.table.devices[i]->shape.flush_domain = rng.below(4) * 1000;
    if (rng.below(8) == 0) {
      f.table.rows[i].device.reset();
      f.table.devices[i] = nullptr;
    }
  }
  const Members& members = f.make(sharing);
  std::map<FlushDomain, std::uint32_t> sizes;
  for (std::size_t a = 0; a < 9; ++a) {
    const TableDevice* left = f.table.devices[a];
    if (left == nullptr) continue;
    const FlushDomain domain = members.flush_domain(left);
    REQUIRE((domain == kNoFlushDomain) == !left->shape.volatile_cache);
    if (domain == kNoFlushDomain) continue;
    ++sizes[domain];
    for (std::size_t b = 0; b < a; ++b) {
      const TableDevice* right = f.table.devices[b];
      if (right == nullptr || !right->shape.volatile_cache) continue;
      const bool one_cache = sharing == FlushSharing::kWhereSafe && left->shape.flush_domain != 0 &&
                             left->shape.flush_domain == right->shape.flush_domain;
      CAPTURE(a, b);
      REQUIRE((members.flush_domain(right) == domain) == one_cache);
    }
  }
  REQUIRE(members.flush_domains() == sizes.size());
  for (FlushDomain domain = 0; domain < sizes.size(); ++domain) {
    REQUIRE(sizes.count(domain) == 1);
    REQUIRE(members.is_shared(domain) == (sizes[domain] > 1));
  }
}

TEST_CASE("members: a failed flush poisons every device of its domain that is in use, no other") {
  // Devices 0 to 2 have one cache, 3 and 4 another, 5 one of its own; the log device has none.
  Fixture f;
  const std::uint64_t caches[] = {7, 7, 7, 8, 8, 0};
  for (std::size_t i = 0; i < 6; ++i) f.table.devices[i]->shape.flush_domain = caches[i];
  f.table.devices[6]->shape.volatile_cache = false;
  Members& members = f.make();
  const std::set<DeviceId> mates[] = {{0, 1, 2}, {0, 1, 2}, {0, 1, 2}, {3, 4}, {3, 4}, {5}, {}};
  REQUIRE(members.poisoned().empty());

  const std::size_t victim = GENERATE(range(0, 7));
  const int how = GENERATE(0, 1, 2, 3);
  CAPTURE(victim, how);
  TableDevice& device = *f.table.devices[victim];
  AlignedBuffer block = AlignedBuffer::zeroed(512);
  device.fails = [](const io::IoRequest&) { return true; };
  bool poisons = false;
  switch (how) {
    case 0:
      REQUIRE_FALSE(device.flush().ok());
      poisons = true;
      break;
    case 1:  // its own flush may be what failed
      REQUIRE_FALSE(device.write(0, block.bytes(), io::WriteMode::kDurable).ok());
      poisons = true;
      break;
    case 2:
      REQUIRE_FALSE(device.write(0, block.bytes()).ok());
      break;
    default:
      REQUIRE_FALSE(device.read(0, block.bytes()).ok());
      break;
  }
  REQUIRE(members.poisoned() == (poisons ? mates[victim] : std::set<DeviceId>{}));
  for (std::size_t i = 0; i < 6; ++i) {
    const bool together = mates[victim].count(static_cast<DeviceId>(i)) > 0;
    REQUIRE(members.flush_failed(members.flush_domain(f.table.devices[i])) ==
            (poisons && together));
  }
  // Those that are lost already need no second failure; their domain stays failed.
  if (poisons && victim < 3) {
    members.mark_failed(0, "told to");
    members.mark_failed(1, "told to");
    REQUIRE(members.poisoned() == std::set<DeviceId>{2});
    REQUIRE(members.flush_failed(members.flush_domain(f.table.devices[0])));
  }
}

// A device that is opened again, as another handle.
Member reopened(Fixture& f, DeviceId id, TableDevice*& handle) {
  auto device = std::make_unique<TableDevice>("again", 8192, f.table.queue);
  handle = device.get();
  Member member;
  member.id = id;
  member.uuid.bytes[0] = static_cast<std::uint8_t>(id + 1);
  member.layout = small_layout();
  member.path = "again";
  member.device = std::move(device);
  return member;
}

TEST_CASE("members: a device that is opened again is a new version, the old one stays and fails") {
  Fixture f;
  f.table.devices[2]->shape.volatile_cache = true;
  Members& members = f.make();
  const Member* const before = members.find(2);
  members.mark_failed(2, "gone");
  REQUIRE(members.let_go(2).ok());
  REQUIRE(members.let_go(2).ok());
  AlignedBuffer block = AlignedBuffer::zeroed(512);
  const Status late = before->device->write(0, block.bytes());
  REQUIRE_FALSE(late.ok());
  REQUIRE(late.error().code == ErrorCode::kIo);
  TableDevice* handle = nullptr;
  Member member = reopened(f, 2, handle);
  handle->shape.volatile_cache = true;
  members.attach(std::move(member));
  REQUIRE_FALSE(members.usable(2));
  REQUIRE(members.returning() == std::set<DeviceId>{2});
  REQUIRE(members.state(2) == "away");
  members.keep_out(2, "failed", "not yet");
  REQUIRE(members.returning().empty());
  REQUIRE(members.detail(2) == "not yet");
  REQUIRE(members.let_go(2).ok());
  TableDevice* last = nullptr;
  members.attach(reopened(f, 2, last));
  members.take_in(2);
  REQUIRE(members.usable(2));
  REQUIRE(members.is_behind(2));
  REQUIRE(members.lost_cells() == 1);
  REQUIRE(members.device(2) == last);
  REQUIRE(members.find(2)->path == "again");
  // Whoever has the former ones still may name them.
  REQUIRE(before->path == "dev2");
  REQUIRE(members.owner(f.table.devices[2]) == before);
  REQUIRE(members.owner(last) == members.find(2));
  REQUIRE(members.handles(2) == std::vector<const io::Device*>{f.table.devices[2], handle, last});
  REQUIRE(members.handles(1) == std::vector<const io::Device*>{f.table.devices[1]});
  members.note_whole(2);
  REQUIRE(members.state(2) == "ok");
  REQUIRE(members.lost_cells() == 0);
}

TEST_CASE("members: a number keeps its failure domain, whatever is attached under it") {
  Fixture f;
  for (std::size_t i = 0; i < 6; ++i) f.table.rows[i].domain = i < 3 ? "A" : "B";
  f.members =
      std::make_unique<Members>(*f.executor, std::move(f.table.rows), FlushSharing::kWhereSafe, 2);
  Members& members = *f.members;
  CHECK(members.cells_on({0, 1, 2}) == 2);
  CHECK(members.cells_on({0, 1, 2, 3}) == 3);
  members.mark_failed(1, "gone");
  REQUIRE(members.let_go(1).ok());
  TableDevice* handle = nullptr;
  members.attach(reopened(f, 1, handle));
  CHECK(members.find(1)->domain == "A");
  members.take_in(1);
  members.mark_failed(1, "gone");
  for (const DeviceId id : {0, 2}) members.mark_failed(id, "gone");
  CHECK(members.lost_cells() == 2);
}

TEST_CASE("members: what comes back joins its flush domain, unless that has failed") {
  for (const bool failed : {false, true}) {
    CAPTURE(failed);
    Fixture f;
    for (std::size_t i = 0; i < 3; ++i) f.table.devices[i]->shape.flush_domain = 7;
    Members& members = f.make();
    const FlushDomain before = members.flush_domain(f.table.devices[1]);
    const std::size_t count = members.flush_domains();
    if (failed) {
      f.table.devices[1]->fail(io::IoOp::kFlush);
      REQUIRE_FALSE(f.table.devices[1]->flush().ok());
    }
    std::vector<TableDevice*> again;
    for (const DeviceId id : {DeviceId{0}, DeviceId{1}}) {
      members.mark_failed(id, "gone");
      REQUIRE(members.let_go(id).ok());
      TableDevice* handle = nullptr;
      Member member = reopened(f, id, handle);
      handle->shape.flush_domain = 7;
      members.attach(std::move(member));
      members.take_in(id);
      again.push_back(handle);
    }
    const FlushDomain now = members.flush_domain(again[0]);
    REQUIRE(members.flush_domain(again[1]) == now);
    REQUIRE((now == before) == !failed);
    REQUIRE(members.flush_domains() == count + (failed ? 1 : 0));
    REQUIRE(members.is_shared(now));
    REQUIRE_FALSE(members.flush_failed(now));
    // What fails on a handle that is retired says nothing of the cache.
    REQUIRE_FALSE(f.table.devices[0]->flush().ok());
    REQUIRE(members.flush_failed(before) == failed);
    REQUIRE(members.poisoned() == (failed ? std::set<DeviceId>{2} : std::set<DeviceId>{}));
  }
}

TEST_CASE("members: one is added and found by all, one is removed and counts no more") {
  DeviceTable more;
  Fixture f(4);
  more.add(alloc::DeviceRole::kData, small_layout());
  Members& members = f.make();
  REQUIRE(members.size() == 5);
  CHECK_FALSE(members.has(9));
  Member fresh = std::move(more.rows[0]);
  fresh.id = 9;
  const io::Device* const device = fresh.device.get();
  members.add(std::move(fresh));
  REQUIRE(members.size() == 6);
  CHECK(members.has(9));
  CHECK(members.usable(9));
  CHECK(members.at(5).id == 9);
  CHECK(members.find(9)->device.get() == device);
  CHECK(members.owner(device) == members.find(9));
  CHECK(members.find(8) == nullptr);
  CHECK(members.usable_ids().back() == 9);
  CHECK(members.lost_cells() == 0);
  CHECK(members.state(5) == "ok");

  CHECK_FALSE(members.is_draining(9));
  members.begin_draining(9);
  CHECK(members.is_draining(9));
  CHECK(members.state(5) == "draining");
  CHECK(members.lost_cells() == 0);

  members.dismiss(9, "it goes");
  CHECK_FALSE(members.usable(9));
  CHECK(members.state(5) == "away");
  CHECK(members.lost_cells() == 1);
  members.remove(9);
  CHECK(members.is_removed(5));
  CHECK_FALSE(members.is_removed(4));
  CHECK_FALSE(members.has(9));
  CHECK(members.lost_cells() == 0);
  // Who has it keeps it.
  CHECK(members.size() == 6);
  CHECK(members.find(9)->device.get() == device);
}

TEST_CASE("members: one with the number of one that was removed is there once") {
  DeviceTable more;
  Fixture f(4);
  for (int i = 0; i < 2; ++i) more.add(alloc::DeviceRole::kData, small_layout());
  Members& members = f.make();
  Member first = std::move(more.rows[0]);
  Member second = std::move(more.rows[1]);
  first.id = 9;
  second.id = 9;
  more.devices[0]->fail(io::IoOp::kFlush);
  members.add(std::move(first));
  REQUIRE_FALSE(more.devices[0]->flush().ok());
  CHECK(members.poisoned() == std::set<DeviceId>{9});
  members.mark_failed(9, "it has failed");
  members.remove(9);
  members.add(std::move(second));
  REQUIRE(members.size() == 7);
  CHECK(members.is_removed(5));
  CHECK_FALSE(members.is_usable(5));
  CHECK(members.is_usable(6));
  CHECK(members.has(9));
  CHECK(members.find(9)->device.get() == more.devices[1]);

  CHECK(members.usable_ids() == std::vector<DeviceId>{0, 1, 2, 3, 4, 9});
  CHECK(members.usable_devices().size() == 6);
  CHECK(members.usable_devices().back().device == more.devices[1]);
  CHECK(members.lost_cells() == 0);
  CHECK(members.poisoned().empty());
  // Another device has the number.
  CHECK(members.handles(9) == std::vector<const io::Device*>{more.devices[1]});
  CHECK(members.all_handles(9) == std::vector<const io::Device*>{more.devices[0], more.devices[1]});
  const std::vector<DeviceId> logs = choose_log_devices(members, 5);
  CHECK(std::count(logs.begin(), logs.end(), DeviceId{9}) == 1);
  members.mark_failed(9, "it has failed, too");
  CHECK(members.lost_cells() == 1);
  CHECK(members.behind().empty());
}

TEST_CASE("members: a flush is shared no more with one that was removed") {
  Fixture f(4);
  for (const std::size_t i : {1, 3}) f.table.devices[i]->shape.flush_domain = 7;
  Members& members = f.make();
  const FlushDomain shared = members.flush_domain(f.table.devices[1]);
  CHECK(members.is_shared(shared));
  members.dismiss(3, "it goes");
  members.remove(3);
  CHECK_FALSE(members.is_shared(shared));
  CHECK(members.flush_domain(f.table.devices[1]) == shared);
}

TEST_CASE("members: one that is filling is behind, and counts as lost by zones alone") {
  Fixture f;
  Members& members = f.make();
  members.fill(3);
  CHECK(members.is_behind(3));
  CHECK(members.is_filling(3));
  CHECK(members.any_filling());
  CHECK(members.state(3) == "filling");
  CHECK(members.behind() == std::set<DeviceId>{3});
  CHECK_FALSE(members.counts_as_lost(3));
  CHECK(members.lost().empty());
  // One that is drained says so when it lacks nothing.
  members.begin_draining(3);
  CHECK(members.state(3) == "filling");
  members.note_whole(3);
  CHECK(members.state(3) == "draining");
  CHECK_FALSE(members.any_filling());
  // Lost amid it, it comes back like any other.
  members.end_draining(3);
  members.fill(3);
  members.mark_failed(3, "it has failed");
  CHECK_FALSE(members.is_filling(3));
  CHECK(members.lost() == std::set<DeviceId>{3});
  REQUIRE(members.let_go(3).ok());
  TableDevice* handle = nullptr;
  members.attach(reopened(f, 3, handle));
  members.take_in(3);
  CHECK(members.is_behind(3));
  CHECK_FALSE(members.is_filling(3));
  CHECK(members.counts_as_lost(3));
  members.fill(3);
  CHECK_FALSE(members.is_filling(3));
}

}  // namespace
}  // namespace hexad::core
