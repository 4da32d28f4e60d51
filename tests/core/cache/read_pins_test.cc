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
    pins.reclaim(limit, [&](Lsn lsn) { found = lsn; });
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
    fixture.pins.reclaim(lsn,
                         [&](Lsn limit) { reclaimed.store(std::max(reclaimed.load(), limit)); });
  }
  stop.store(true);
  for (std::thread& reader : readers) reader.join();
  REQUIRE(wrong.load() == 0);
  REQUIRE(reclaimed.load() > 1);
}

}  // namespace
}  // namespace hexad::core
