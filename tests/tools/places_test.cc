#include "tools/bench/places.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

namespace hexad::tools {
namespace {

TEST_CASE("places: in order every block of every object comes once per lap") {
  Places places(3, 4, Places::Order::kInOrder, 0);
  io::Rng rng(1);
  for (std::uint64_t lap = 0; lap < 3; ++lap) {
    for (std::uint64_t object = 0; object < 3; ++object) {
      for (std::uint64_t block = 0; block < 4; ++block) {
        const Place place = places.next(rng);
        CHECK(place.object == object);
        CHECK(place.block == block);
        CHECK(place.lap == lap);
      }
    }
  }
}

TEST_CASE("places: at random every place comes about as often as any other") {
  Places places(5, 4, Places::Order::kRandom, 0);
  io::Rng rng(2);
  std::map<std::pair<std::uint64_t, std::uint64_t>, int> hits;
  for (int i = 0; i < 20'000; ++i) {
    const Place place = places.next(rng);
    ++hits[{place.object, place.block}];
  }
  REQUIRE(hits.size() == 20);
  for (const auto& [place, count] : hits) {
    CHECK(place.first < 5);
    CHECK(place.second < 4);
    CHECK(count > 850);
    CHECK(count < 1150);
  }
}

TEST_CASE("places: by Zipf's law a few places come most of the time, and they are not neighbours") {
  for (const Places::Order order : {Places::Order::kInOrder, Places::Order::kRandom}) {
    Places places(100, 10, order, 1.2);
    io::Rng rng(3);
    std::map<std::uint64_t, int> hits;  // by object
    for (int i = 0; i < 20'000; ++i) {
      const Place place = places.next(rng);
      REQUIRE(place.object < 100);
      REQUIRE(place.block < 10);
      ++hits[place.object];
    }
    int most = 0;
    for (const auto& [object, count] : hits) most = std::max(most, count);
    CHECK(most > 4'000);  // the first rank alone has 23 % of all
    CHECK(most < 8'000);  // the ranks behind it lie in other objects
  }
}

}  // namespace
}  // namespace hexad::tools
