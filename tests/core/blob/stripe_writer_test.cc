#include "core/blob/stripe_writer.h"

#include <catch2/catch.hpp>

#include "core/blob/pack_stripe.h"
#include "tests/core/table_world.h"

namespace hexad::core {
namespace {

using hexad::testing::TableDevice;
using testing::problem_of;
using testing::TableWorld;

constexpr CounterId kAccounts[] = {CounterId::kDeviceBytesUser,    CounterId::kDeviceBytesRun,
                                   CounterId::kDeviceBytesMerge,   CounterId::kDeviceBytesParity,
                                   CounterId::kDeviceBytesPadding, CounterId::kDeviceBytesSuper,
                                   CounterId::kDeviceBytesClean};

struct Fixture : TableWorld {
  Fixture() {
    add_zone();
    REQUIRE(space->allocate(3).ok());  // so that the roles are turned
    for (TableDevice* device : devices) device->asked.clear();
    headers = counters.since_open(CounterId::kDeviceBytesSuper);
  }
  StripeWriter writer(StripeUse use = StripeUse::kUser) {
    return {shape, *space, *members, counters, use};
  }
  StripeWrite make(std::size_t size) {
    StripeWrite stripe;
    stripe.prepared = code_cells(as_bytes(noise(size)), shape, *codec).value();
    stripe.where = space->allocate_internal(stripe.prepared.units).value();
    return stripe;
  }
  // What the devices hold.
  void require_written(const StripeWrite& stripe, const StripeOutcome& outcome) {
    const std::vector<CellPlace> places = space->locate(stripe.where).value();
    for (std::uint32_t role = 0; role < shape.cells(); ++role) {
      CAPTURE(role);
      const ByteView wanted = stripe.prepared.cell(role);
      const bool there = as_text(cell(places[role], wanted.size())) == as_text(wanted);
      REQUIRE(there == (outcome.cells[role].fate == CellFate::kDurable));
    }
  }
  std::uint64_t count(CounterId id) {
    return counters.since_open(id) - (id == CounterId::kDeviceBytesSuper ? headers : 0);
  }
  std::uint64_t counted() {
    std::uint64_t sum = 0;
    for (const CounterId id : kAccounts) sum += count(id);
    return sum;
  }
  std::uint64_t asked() {
    std::uint64_t sum = 0;
    for (const TableDevice* device : devices) {
      for (const io::IoRequest& request : device->asked) sum += request.length;
    }
    return sum;
  }

  std::uint64_t headers = 0;  // of the zone, bytes
};

TEST_CASE("stripe_writer: it says which slots have their cells, whatever devices fail") {
  for (std::uint32_t bad = 0; bad < 64; ++bad) {
    CAPTURE(bad);
    Fixture f;
    std::set<DeviceId> failing;
    for (DeviceId id = 0; id < 6; ++id) {
      if ((bad >> id & 1) == 0) continue;
      failing.insert(id);
      f.devices[id]->fail(io::IoOp::kWrite);
    }
    const StripeWrite stripe = f.make(50'000);
    StripeBatch batch(f.writer());
    batch.add(stripe);
    batch.submit();
    const LandedStripes landed = batch.land();
    REQUIRE(landed.failed == failing);
    REQUIRE(f.space->suspects() == failing);  // SW2
    REQUIRE(landed.stripes.size() == 1);
    const StripeOutcome& outcome = landed.stripes[0];
    REQUIRE(outcome.durable() == 6 - failing.size());
    const std::vector<alloc::ZoneSlot> slots = f.space->slots(stripe.where.zone);
    for (const StripeOutcome::Cell& cell : outcome.cells) {
      REQUIRE(slots[cell.slot].device == cell.device);
      REQUIRE((cell.fate == CellFate::kFailed) == failing.contains(cell.device));
    }
    f.require_written(stripe, outcome);
    REQUIRE(landed.status.ok() == (outcome.durable() >= 4));  // SW3
    if (!landed.status.ok()) {
      REQUIRE(landed.status.error().code == ErrorCode::kIo);
      REQUIRE_THAT(landed.status.error().message, Catch::Contains("of 6 cells could be written"));
    }
  }
}

TEST_CASE("stripe_writer: every write is durable by itself") {
  Fixture f;
  const StripeWrite stripe = f.make(50'000);
  StripeBatch batch(f.writer());
  batch.add(stripe);
  REQUIRE(batch.land().status.ok());
  for (const TableDevice* device : f.devices) {
    REQUIRE(device->asked.size() == 1);
    REQUIRE(device->asked[0].mode == io::WriteMode::kDurable);
  }
}

TEST_CASE("stripe_writer: one stripe with too few cells fails a batch, the others are told of") {
  Fixture f;
  const StripeWrite good = f.make(50'000);
  const StripeWrite bad = f.make(70'000);
  StripeBatch batch(f.writer());
  batch.add(good);
  batch.add(bad, {0, 2, 5});
  const LandedStripes landed = batch.land();
  REQUIRE(landed.status.error().code == ErrorCode::kUnavailable);
  REQUIRE_THAT(landed.status.error().message, Catch::Contains(alloc::to_string(bad.where)));
  REQUIRE(landed.failed.empty());
  REQUIRE(landed.stripes[0].durable() == 6);
  REQUIRE(landed.stripes[0].unwritten() == 0);
  REQUIRE(landed.stripes[1].durable() == 3);
  std::uint64_t unwritten = 0;
  for (const StripeOutcome::Cell& cell : landed.stripes[1].cells) {
    if (std::set<DeviceId>{0, 2, 5}.contains(cell.device)) unwritten |= 1u << cell.slot;
  }
  REQUIRE(landed.stripes[1].unwritten() == unwritten);
  f.require_written(bad, landed.stripes[1]);
}

TEST_CASE("stripe_writer: payload, padding and parity add up to what is sent, and nothing else") {
  const StripeUse use = GENERATE(StripeUse::kUser, StripeUse::kRun, StripeUse::kMerge,
                                 StripeUse::kManifest, StripeUse::kClean);
  const std::size_t size = GENERATE(1, 600, 4 * 512, 50'000, 300'001);
  const std::uint32_t away = GENERATE(0u, 1u, 0b100100u, 0b001010u);
  CAPTURE(static_cast<int>(use), size, away);
  Fixture f;
  for (DeviceId id = 0; id < 6; ++id) {
    if ((away >> id & 1) != 0) f.members->mark_failed(id, "away");
  }
  const StripeWrite stripe = f.make(size);
  StripeBatch batch(f.writer(use));
  batch.add(stripe);
  const LandedStripes landed = batch.land();
  REQUIRE(problem_of(landed.status) == "");
  REQUIRE(f.counted() == f.asked());  // SW1
  const std::uint64_t cell = stripe.prepared.blob.cell_bytes;
  if (use == StripeUse::kManifest) {
    REQUIRE(f.count(CounterId::kDeviceBytesSuper) == landed.stripes[0].durable() * cell);
    return;
  }
  std::uint64_t payload = 0;
  std::uint64_t parity = 0;
  for (std::uint32_t role = 0; role < 6; ++role) {
    if (landed.stripes[0].cells[role].fate != CellFate::kDurable) continue;
    if (role >= 4) {
      parity += cell;
    } else if (size > role * cell) {
      payload += std::min(cell, size - role * cell);
    }
  }
  const CounterId owner = use == StripeUse::kUser    ? CounterId::kDeviceBytesUser
                          : use == StripeUse::kRun   ? CounterId::kDeviceBytesRun
                          : use == StripeUse::kClean ? CounterId::kDeviceBytesClean
                                                     : CounterId::kDeviceBytesMerge;
  REQUIRE(f.count(owner) == payload);
  REQUIRE(f.count(CounterId::kDeviceBytesParity) == parity);
  if (away == 0) REQUIRE(payload == size);
}

TEST_CASE("stripe_writer: of a pack the blobs are payload, and its footer is padding") {
  Fixture f;
  std::vector<UnplacedBlob> blobs(3);
  PackPlan plan;
  plan.units = 1;
  for (std::size_t i = 0; i < blobs.size(); ++i) {
    blobs[i].stored = SharedBytes::copy_of(as_bytes(f.noise(1000 + 100 * i)));
    blobs[i].place.lsn = 1;
    blobs[i].owner = "o";
    plan.slots.push_back({i, static_cast<std::uint32_t>(i + 1), 0});  // cell 0 stays empty
  }
  StripeWrite stripe;
  stripe.where = f.space->allocate(1).value();
  stripe.prepared = build_pack(plan, blobs, stripe.where, f.shape, *f.codec).value();
  const std::vector<CellPlace> places = f.space->locate(stripe.where).value();
  std::uint64_t payload = 3300;
  SECTION("all cells are sent") {}
  SECTION("one with a blob is not") {
    f.members->mark_failed(places[2].id, "away");
    payload -= 1100;
  }
  SECTION("the empty one is not") { f.members->mark_failed(places[0].id, "away"); }
  StripeBatch batch(f.writer());
  batch.add(stripe);
  REQUIRE(batch.land().status.ok());
  REQUIRE(f.count(CounterId::kDeviceBytesUser) == payload);
  REQUIRE(f.count(CounterId::kDeviceBytesParity) == 2 * f.shape.unit);
  REQUIRE(f.counted() == f.asked());
}

TEST_CASE("stripe_writer: what is refused is no fault of a device, and may go out again") {
  Fixture f;
  f.devices[4]->failure = ErrorCode::kExhausted;
  const StripeWrite stripe = f.make(50'000);
  StripeBatch batch(f.writer());
  batch.add(stripe);
  SECTION("said") {
    f.devices[4]->fail(io::IoOp::kWrite);
    const LandedStripes landed = batch.land();
    REQUIRE(landed.status.error().code == ErrorCode::kExhausted);
    REQUIRE(landed.failed.empty());
    REQUIRE(f.space->suspects().empty());
    REQUIRE(landed.stripes[0].durable() == 5);
    for (const StripeOutcome::Cell& cell : landed.stripes[0].cells) {
      REQUIRE((cell.fate == CellFate::kRefused) == (cell.device == 4));
    }
  }
  SECTION("tried again") {
    int refusals = 2;
    f.devices[4]->fails = [&](const io::IoRequest&) { return refusals-- > 0; };
    const LandedStripes landed = batch.land_patiently(*f.executor);
    REQUIRE(problem_of(landed.status) == "");
    REQUIRE(landed.stripes[0].durable() == 6);
    f.require_written(stripe, landed.stripes[0]);
  }
}

TEST_CASE("stripe_writer: a stripe that is released is free again") {
  Fixture f;
  const std::uint64_t free = f.space->counters().free;
  const StripeWrite run = f.make(50'000);
  const alloc::Extent user = f.space->allocate(7).value();
  f.writer(StripeUse::kRun).release(run.where);
  f.writer(StripeUse::kUser).release(user);
  REQUIRE(f.space->counters().free == free);
  REQUIRE(f.space->room().internal == 0);
}

}  // namespace
}  // namespace hexad::core
