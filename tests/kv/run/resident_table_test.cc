#include "kv/run/resident_table.h"

#include <catch2/catch.hpp>
#include <map>

#include "io/rng.h"

namespace hexad::kv {
namespace {

TEST_CASE("resident table: has what a map has, full or not") {
  io::Rng rng(7);
  ResidentTable table(1000, 1 << 20);
  std::map<std::uint64_t, std::uint64_t> model;
  const auto key = [&] { return ResidentKey::of(1 + rng.below(3), rng.below(1000)); };
  bool was_full = false;
  for (int i = 0; i < 200'000; ++i) {
    const ResidentKey one = key();
    if (rng.chance(2, 5)) {
      table.erase(one);
      model.erase(one.bits);
    } else if (model.count(one.bits) == 1 || !table.full()) {
      const ResidentPlace place = ResidentPlace::of(rng.below(1 << 20) * 64, rng.below(1 << 20));
      table.put(one, place);
      model[one.bits] = place.bits;
    }
    was_full = was_full || table.full();
    if (i % 20'000 == 0) {
      const std::uint64_t run = 1 + rng.below(3);
      table.erase_if([&](ResidentKey of, ResidentPlace) { return of.run() == run; });
      std::erase_if(model, [&](const auto& of) { return ResidentKey{of.first}.run() == run; });
    }
    const ResidentKey asked = key();
    const ResidentPlace* const found = table.find(asked);
    REQUIRE((found != nullptr) == (model.count(asked.bits) == 1));
    if (found != nullptr) REQUIRE(found->bits == model[asked.bits]);
    if (i % 1000 == 0) table.check_invariants();
  }
  REQUIRE(was_full);
  std::map<std::uint64_t, std::uint64_t> seen;
  table.for_each([&](ResidentKey of, ResidentPlace place) { seen[of.bits] = place.bits; });
  REQUIRE((seen == model));
}

// RT2
TEST_CASE("resident table: has what a map has while it becomes larger and smaller") {
  io::Rng rng(11);
  ResidentTable table(1000, 1 << 20);
  std::map<std::uint64_t, std::uint64_t> model;
  int moved = 0;
  for (int i = 0; i < 200'000; ++i) {
    const ResidentKey one = ResidentKey::of(1 + rng.below(3), rng.below(1000));
    if (rng.chance(2, 5)) {
      table.erase(one);
      model.erase(one.bits);
    } else if (model.count(one.bits) == 1 || !table.full()) {
      const ResidentPlace place = ResidentPlace::of(rng.below(1 << 20) * 64, rng.below(1 << 20));
      table.put(one, place);
      model[one.bits] = place.bits;
    }
    if (!table.moves() && rng.chance(1, 500)) {
      table.begin_move(ResidentTable::Slots(std::size_t{64} << rng.below(8)));
    }
    if (table.moves() && rng.chance(1, 4)) {
      // What has no room goes, and so does what is not kept.
      const std::uint64_t odd = rng.below(2);
      ResidentTable::Slots emptied;
      const bool more = table.move_some(
          1 + rng.below(50),
          [&](ResidentPlace place) { return odd == 0 || place.bytes() % 50 != 0; }, emptied);
      REQUIRE(more == table.moves());
      REQUIRE(more == emptied.empty());
      if (!more) ++moved;
      std::map<std::uint64_t, std::uint64_t> seen;
      table.for_each([&](ResidentKey of, ResidentPlace place) {
        REQUIRE(seen.emplace(of.bits, place.bits).second);
        REQUIRE(model.at(of.bits) == place.bits);
      });
      REQUIRE(seen.size() == table.count());
      std::erase_if(model, [&](const auto& of) {
        return seen.count(of.first) == 0 &&
               (table.count() >= table.capacity() || ResidentPlace{of.second}.bytes() % 50 == 0);
      });
      REQUIRE(seen.size() == model.size());
    }
    const ResidentKey asked = ResidentKey::of(1 + rng.below(3), rng.below(1000));
    const ResidentPlace* const found = table.find(asked);
    REQUIRE((found != nullptr) == (model.count(asked.bits) == 1));
    if (found != nullptr) REQUIRE(found->bits == model[asked.bits]);
    if (i % 100 == 0) table.check_invariants();
  }
  REQUIRE(moved > 50);
}

TEST_CASE("resident table: keys and places are what they were made of, and memory is bounded") {
  const ResidentPlace place =
      ResidentPlace::of(ResidentPlace::kMostPosition, ResidentPlace::kMostBytes);
  REQUIRE(place.position() == ResidentPlace::kMostPosition);
  REQUIRE(place.bytes() == ResidentPlace::kMostBytes);
  REQUIRE(ResidentKey::of(ResidentKey::kMostRuns, ResidentKey::kMostOffset).run() ==
          ResidentKey::kMostRuns);
  REQUIRE(ResidentTable(1 << 20, 64 << 10).memory() == 64 << 10);
  REQUIRE(ResidentTable(100, 1 << 20).capacity() >= 100);
  REQUIRE(ResidentTable(100, 0).capacity() > 0);
}

TEST_CASE("resident table: it has as many entries as its memory was said to be good for") {
  for (const std::uint64_t memory : {0u, 1000u, 4096u, 100'000u, 1u << 20}) {
    const ResidentTable table(1 << 30, memory);
    REQUIRE(table.capacity() == ResidentTable::most_entries(memory));
  }
}

}  // namespace
}  // namespace hexad::kv
