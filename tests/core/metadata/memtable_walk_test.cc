#include "core/metadata/memtable_walk.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <string>

using namespace hexad;
using namespace hexad::core;

namespace {

struct World {
  World() {
    frozen.apply(1, "a", "old");
    frozen.apply(2, "c", "old");
    frozen.apply(3, "d", "old");
    active.apply(4, "b", "new");
    active.apply(5, "c", "new");
  }
  MemtableWalk walk() { return {active.iterate(), frozen.iterate(), erasures}; }

  kv::Memtable frozen;
  kv::Memtable active;
  std::atomic<std::uint64_t> erasures{0};
};

// The keys that are left, each with the first letter of its value.
std::string keys_of(MemtableWalk& walk, kv::Direction direction) {
  std::string keys;
  while (const kv::Memtable::Iterator* const nearest = walk.nearest(direction)) {
    const std::string key(nearest->key());
    keys += key + nearest->value().value_or("-").front() + ",";
    walk.leave(direction, key);
  }
  return keys;
}

}  // namespace

TEST_CASE("memtable walk: of two versions the newer table's counts, both ways") {
  World w;
  MemtableWalk walk = w.walk();
  walk.place(kv::Direction::kForward, "");
  CHECK(walk.only_one() == nullptr);
  CHECK(keys_of(walk, kv::Direction::kForward) == "ao,bn,cn,do,");
  walk.begin();
  walk.place(kv::Direction::kBackward, "d");
  CHECK(keys_of(walk, kv::Direction::kBackward) == "cn,bn,ao,");
}

TEST_CASE("memtable walk: where one table has no more the other one is walked alone") {
  World w;
  MemtableWalk walk = w.walk();
  walk.place(kv::Direction::kForward, "d");
  REQUIRE(walk.only_one() != nullptr);
  CHECK(walk.only_one()->key() == "d");
  walk.begin();
  walk.place(kv::Direction::kForward, "e");
  CHECK(walk.only_one() == nullptr);
  CHECK(walk.nearest(kv::Direction::kForward) == nullptr);
}

TEST_CASE("memtable walk: after versions were dropped it goes on behind what was passed") {
  World w;
  MemtableWalk walk = w.walk();
  CHECK_FALSE(walk.stale());
  walk.place(kv::Direction::kForward, "a");
  walk.pass("b");
  w.active.erase_after(4);
  ++w.erasures;
  CHECK(walk.stale());
  walk.place(kv::Direction::kForward, "a");
  CHECK_FALSE(walk.stale());
  CHECK(keys_of(walk, kv::Direction::kForward) == "co,do,");
}
