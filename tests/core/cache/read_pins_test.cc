#include "core/cache/read_pins.h"

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "io/rng.h"

namespace hexad::core {
namespace {

struct Fixture {
  std::unique_ptr<io::Executor> executor = io::make_thread_executor(1);
  ReadPins pins{*executor};

  ReadPins::Pin pin(Lsn lsn) {
    return pins.pin([lsn] { return lsn; });
  }
  Lsn reclaimable(Lsn limit) {
    Lsn found = 0;
    pins.reclaim(limit, [&](const ReadPins::Limits& limits) { found = limits.oldest; });
    return found;
  }
  ReadPins::Limits limits(Lsn limit) {
    ReadPins::Limits found;
    pins.reclaim(limit, [&](const ReadPins::Limits& limits) { found = limits; });
    return found;
  }
};

TEST_CASE("read_pins: the oldest pin bounds what is reclaimed") {
  Fixture fixture;
  REQUIRE(fixture.reclaimable(3) == 3);
  ReadPins::Pin first = fixture.pin(5);
  const ReadPins::Pin second = fixture.pin(7);
  REQUIRE(first.lsn() == 5);
  REQUIRE(fixture.reclaimable(4) == 4);
  REQUIRE(fixture.reclaimable(9) == 5);
  first = ReadPins::Pin();
  REQUIRE(fixture.reclaimable(9) == 7);
}

TEST_CASE("read_pins: a moved pin holds on, the one it was moved from does not") {
  Fixture fixture;
  ReadPins::Pin outer;
  {
    ReadPins::Pin inner = fixture.pin(5);
    outer = std::move(inner);
  }
  REQUIRE(fixture.reclaimable(9) == 5);
  const ReadPins::Pin last(std::move(outer));
  outer = ReadPins::Pin();
  REQUIRE(fixture.reclaimable(9) == 5);
}

TEST_CASE("read_pins: a state below what is being reclaimed is not pinned") {
  Fixture fixture;
  REQUIRE(fixture.reclaimable(10) == 10);
  Lsn answers[] = {8, 9, 10, 11};
  std::size_t asked = 0;
  const ReadPins::Pin pin = fixture.pins.pin([&] { return answers[asked++]; });
  REQUIRE(pin.lsn() == 10);
}

TEST_CASE("read_pins: more pins than slots count all the same, and LSN 0 is a state") {
  Fixture fixture;
  for (const Lsn first : {Lsn{0}, Lsn{1000}}) {
    std::vector<ReadPins::Pin> pins;
    for (Lsn i = 0; i < 3 * ReadPins::kSlots; ++i) pins.push_back(fixture.pin(first + i));
    io::Rng rng(first + 1);
    while (!pins.empty()) {
      Lsn oldest = kMaxLsn;
      for (const ReadPins::Pin& pin : pins) oldest = std::min(oldest, pin.lsn());
      REQUIRE(fixture.reclaimable(oldest) == oldest);
      pins.erase(pins.begin() + static_cast<std::ptrdiff_t>(rng.below(pins.size())));
    }
    REQUIRE(fixture.reclaimable(first + 50) == first + 50);
  }
}

TEST_CASE("read_pins: a narrow pin says what it needs and stands in nobody's way otherwise") {
  Fixture fixture;
  ReadPins::Pin first = fixture.pin(5);
  const ReadPins::Pin second = fixture.pin(7);
  ReadPins::Pin third = fixture.pin(5);
  first.narrow(6);
  CHECK(fixture.limits(9).wide == 5);
  third.narrow(6);  // the same
  CHECK(fixture.limits(9).wide == 7);
  CHECK(fixture.limits(9).oldest == 5);
  CHECK(fixture.limits(9).narrow == std::vector<alloc::ReadRange>{{5, 6}});
  first = ReadPins::Pin();
  CHECK(fixture.limits(9).narrow.size() == 1);
  third = ReadPins::Pin();
  CHECK(fixture.limits(9).narrow.empty());
  CHECK(fixture.limits(9).oldest == 7);
  // Whoever has the slot next is wide (PN7).
  std::vector<ReadPins::Pin> all;
  for (std::size_t i = 0; i + 1 < ReadPins::kSlots; ++i) all.push_back(fixture.pin(9));
  CHECK(fixture.limits(10).narrow.empty());
}

TEST_CASE("read_pins: a narrow pin that nobody is reading by may be ended, the oldest first") {
  Fixture fixture;
  REQUIRE_FALSE(fixture.pins.end_oldest());
  const ReadPins::Pin wide = fixture.pin(1);
  REQUIRE_FALSE(fixture.pins.end_oldest());
  ReadPins::Pin old = fixture.pin(5);
  ReadPins::Pin young = fixture.pin(7);
  old.narrow(5);
  young.narrow(7);
  {
    const ReadPins::Pin::Reading reading(old);
    REQUIRE_FALSE(reading.ended());
    REQUIRE(fixture.pins.end_oldest());  // the other one
  }
  CHECK(fixture.limits(9).narrow == std::vector<alloc::ReadRange>{{5, 5}});
  CHECK(ReadPins::Pin::Reading(young).ended());
  CHECK(ReadPins::Pin::Reading(young).ended());
  CHECK_FALSE(ReadPins::Pin::Reading(old).ended());
  REQUIRE(fixture.pins.end_oldest());
  CHECK(ReadPins::Pin::Reading(old).ended());
  CHECK(fixture.limits(9).narrow.empty());
  CHECK(fixture.limits(9).oldest == 1);
  // The slot is whole again for the next one.
  old = ReadPins::Pin();
  young = fixture.pin(9);
  CHECK_FALSE(ReadPins::Pin::Reading(young).ended());
}

// Space freed at f may be reused once `reclaimed` is at least f: then no reader may hold a state
// below f.
TEST_CASE("read_pins: while a state is pinned nothing freed after it is reclaimed") {
  Fixture fixture;
  std::atomic<Lsn> durable{1};
  std::atomic<Lsn> reclaimed{0};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        const ReadPins::Pin pin = fixture.pins.pin([&] { return durable.load(); });
        for (int look = 0; look < 10; ++look) {
          if (reclaimed.load() > pin.lsn()) wrong.fetch_add(1);
        }
      }
    });
  }
  // A reader that is not running holds its pin: goes on until each has let go at least once.
  for (Lsn lsn = 2; lsn < 20'000 || reclaimed.load() < 2; ++lsn) {
    if (lsn % 64 == 0) std::this_thread::yield();
    durable.store(lsn);
    fixture.pins.reclaim(lsn, [&](const ReadPins::Limits& limits) {
      reclaimed.store(std::max(reclaimed.load(), limits.oldest));
    });
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  REQUIRE(wrong.load() == 0);
  REQUIRE(reclaimed.load() > 1);
}

}  // namespace
}  // namespace hexad::core
