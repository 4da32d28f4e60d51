#include "kv/lmdb/lmdb_snapshot.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "base/units.h"
#include "tests/io/temporary.h"
#include "tests/kv/lmdb/lmdb_env.h"

namespace hexad::kv {
namespace {

using testing::LmdbEnv;

constexpr std::uint64_t kMapSize = 8_MiB;

// An environment that writes, with a marker, and its file as long as its map.
struct World {
  io::testing::TemporaryDirectory temporary;
  LmdbEnv env{temporary.path("index"), kMapSize};
  LmdbFile file = std::move(LmdbFile::open(env.dir(), io::OpenMode::kReadWrite)).value();

  World() {
    REQUIRE(file.extend(kMapSize).ok());
    put("a", "1", 1);
  }
  void put(const std::string& key, const std::string& value, Lsn lsn) {
    env.write([&](MDB_txn* txn) {
      LmdbState state;
      state.lsn = lsn;
      LmdbEnv::must(lmdb_put(txn, env.tables.state, kLmdbStateKey, encode_lmdb_state(state)));
      LmdbEnv::must(lmdb_put(txn, env.tables.keys, key, value));
    });
  }
  std::shared_ptr<const LmdbMap> map() const {
    return LmdbMap::open(env.dir(), file, kMapSize).value();
  }
  std::shared_ptr<const LmdbSnapshot> newest(std::shared_ptr<const LmdbMap> map) {
    return LmdbSnapshot::make(env.dir(), std::move(map), LmdbPin::make(env.get()).value()).value();
  }
};

std::string value_of(const LmdbSnapshot& snapshot, const std::string& key) {
  const auto found =
      lmdb_get(snapshot.transaction(), snapshot.map().tables().keys, key, snapshot.map().bounds());
  return std::string(found->value_or("none"));
}

TEST_CASE("lmdb_snapshot: a state stays as it was while others are committed over it") {
  World world;
  const std::shared_ptr<const LmdbMap> map = world.map();
  std::vector<std::shared_ptr<const LmdbSnapshot>> states{world.newest(map)};
  for (Lsn lsn = 2; lsn <= 40; ++lsn) {
    world.put("a", std::to_string(lsn), lsn);
    states.push_back(world.newest(map));
    // Of each of them, so that the environment would like to use its pages again.
    for (Lsn at = 1; at <= lsn; ++at) {
      REQUIRE(states[at - 1]->state().lsn == at);
      REQUIRE(value_of(*states[at - 1], "a") == std::to_string(at));
    }
  }
}

// Y3: the entry of an older state keeps the pages of those after it.
TEST_CASE("lmdb_snapshot: a pin keeps the states after its own as well") {
  World world;
  const std::shared_ptr<const LmdbMap> map = world.map();
  const std::shared_ptr<const LmdbPin> pin = LmdbPin::make(world.env.get()).value();
  world.put("a", "2", 2);
  const auto second = LmdbSnapshot::make(world.env.dir(), map, pin).value();
  for (Lsn lsn = 3; lsn <= 40; ++lsn) world.put("a", std::to_string(lsn), lsn);
  REQUIRE(value_of(*second, "a") == "2");
}

TEST_CASE("lmdb_snapshot: a map of its own stays where the environment that writes gets another") {
  World world;
  const std::shared_ptr<const LmdbSnapshot> before = world.newest(world.map());
  REQUIRE(world.file.extend(2 * kMapSize).ok());
  LmdbEnv::must(::mdb_env_set_mapsize(world.env.get(), 2 * kMapSize));
  world.put("large", std::string(10_MiB, 'x'), 2);
  REQUIRE(value_of(*before, "a") == "1");
  REQUIRE(value_of(*before, "large") == "none");
  const auto map = LmdbMap::open(world.env.dir(), world.file, 2 * kMapSize).value();
  REQUIRE(value_of(*world.newest(map), "large") == std::string(10_MiB, 'x'));
}

TEST_CASE("lmdb_snapshot: the table of readers is full") {
  World world;
  std::vector<std::shared_ptr<const LmdbPin>> pins;
  for (;;) {
    const Result<std::shared_ptr<const LmdbPin>> pin = LmdbPin::make(world.env.get());
    if (!pin.ok()) {
      REQUIRE(pin.error().code == ErrorCode::kBusy);
      break;
    }
    pins.push_back(*pin);
    REQUIRE(pins.size() <= 126);  // LMDB's own limit
  }
  pins.pop_back();
  REQUIRE(LmdbPin::make(world.env.get()).ok());
}

TEST_CASE("lmdb_snapshot: another file in the place of the one that is open is not mapped") {
  World world;
  const std::string data = world.env.dir() + "/data.mdb";
  std::filesystem::copy_file(data, world.env.dir() + "/copy");
  std::filesystem::rename(world.env.dir() + "/copy", data);
  const Error refused = LmdbMap::open(world.env.dir(), world.file, kMapSize).error();
  REQUIRE(refused.code == ErrorCode::kCorruption);
}

TEST_CASE("lmdb_snapshot: an environment without our marker is no index") {
  const io::testing::TemporaryDirectory temporary;
  const LmdbEnv env(temporary.path("index"), kMapSize);
  const LmdbFile file = std::move(LmdbFile::open(env.dir(), io::OpenMode::kReadWrite)).value();
  REQUIRE(file.extend(kMapSize).ok());
  const auto map = LmdbMap::open(env.dir(), file, kMapSize).value();
  const Error refused = LmdbSnapshot::make(env.dir(), map, nullptr).error();
  REQUIRE(refused.code == ErrorCode::kCorruption);
  REQUIRE(refused.message.find("no LSN marker") != std::string::npos);
}

TEST_CASE("lmdb_snapshot: the pages of a state are counted") {
  World world;
  const std::shared_ptr<const LmdbMap> map = world.map();
  const IndexStats small = world.newest(map)->stats().value();
  REQUIRE(small.entries == 1);
  REQUIRE(small.page_size == map->page_size());
  world.put("large", std::string(1_MiB, 'x'), 2);
  const IndexStats large = world.newest(map)->stats().value();
  REQUIRE(large.entries == 2);
  REQUIRE(large.bytes_used >= small.bytes_used + 1_MiB);
  world.put("large", "", 3);
  REQUIRE(world.newest(map)->stats()->bytes_free >= 1_MiB);
}

}  // namespace
}  // namespace hexad::kv
