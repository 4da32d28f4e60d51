// Random damage to real indexes is in lmdb_index_test.cc; here each rule is broken by itself.
#include "kv/lmdb/lmdb_check.h"

#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/codec.h"
#include "kv/lmdb/long_key.h"
#include "tests/io/file_bytes.h"
#include "tests/io/temporary.h"
#include "tests/kv/lmdb/lmdb_env.h"
#include "tests/kv/map_store.h"

namespace hexad::kv {
namespace {

using testing::LmdbEnv;
using testing::MapStore;

const Uuid kStore{{1, 2, 3}};
constexpr std::uint64_t kPage = 4096;

// The three tables as they are to be written.
struct Tables {
  MapStore keys;
  std::map<std::string, std::string> state;
  std::uint64_t lost_prints = 0;  // added to those of the entries

  Tables() { set_state({kStore, 5, 1, 100, 0}); }
  void set_state(const LmdbState& marker) {
    state = {{std::string(kLmdbStateKey), encode_lmdb_state(marker)}};
  }
  void put(const std::string& key, const std::string& value) {
    REQUIRE(long_put(keys, key, value).ok());
  }
  // The state with the prints of what is there; one that is broken stays so.
  std::map<std::string, std::string> state_with_prints() const {
    std::map<std::string, std::string> result = state;
    const auto marker = result.find(std::string(kLmdbStateKey));
    if (marker == result.end()) return result;
    const Result<LmdbState> decoded = decode_lmdb_state(marker->second);
    if (!decoded.ok()) return result;
    LmdbState with = *decoded;
    with.prints = lost_prints;
    for (const auto& [key, stored] : keys.top) {
      with.prints += lmdb_print(LmdbTable::kKeys, key, stored);
    }
    for (const auto& [key, stored] : keys.segments) {
      with.prints += lmdb_print(LmdbTable::kSegments, key, stored);
    }
    marker->second = encode_lmdb_state(with);
    return result;
  }
};

class Fixture {
 public:
  void write(const Tables& tables) {
    std::filesystem::remove_all(dir_);
    LmdbEnv env(dir_);
    env.write([&](MDB_txn* txn) {
      const auto fill = [&](unsigned table, const auto& entries) {
        for (const auto& [key, value] : entries) {
          LmdbEnv::must(lmdb_put(txn, table, key, value));
        }
      };
      fill(env.tables.state, tables.state_with_prints());
      fill(env.tables.keys, tables.keys.top);
      fill(env.tables.segments, tables.keys.segments);
    });
  }
  // "" or the message of the kCorruption that the check finds.
  std::string check(const Uuid& uuid = kStore) const {
    const LmdbFile file = std::move(LmdbFile::open(dir_, io::OpenMode::kReadOnly)).value();
    const Status status = check_lmdb_file(file, uuid);
    if (status.ok()) return "";
    REQUIRE(status.error().code == ErrorCode::kCorruption);
    return status.error().message;
  }
  std::string check(const Tables& tables) {
    write(tables);
    return check();
  }
  std::string image() const { return io::testing::file_bytes(dir_ + "/data.mdb"); }
  std::string check_image(const std::string& bytes) {
    std::ofstream(dir_ + "/data.mdb", std::ios::binary | std::ios::trunc) << bytes;
    return check();
  }
  const std::string& dir() const { return dir_; }

 private:
  io::testing::TemporaryDirectory temporary_;
  std::string dir_ = temporary_.path("index");
};

// Long keys that share heads, values of all sizes, enough for branch and overflow pages.
Tables sample() {
  Tables tables;
  for (int i = 0; i < 400; ++i) tables.put("key" + std::to_string(i), std::string(40, 'v'));
  for (int i = 0; i < 5; ++i) {
    tables.put(std::string(500, 'h') + std::to_string(i), "in a segment");
    tables.put(std::string(1000, 'h') + std::to_string(i), "in a segment of a segment");
    tables.put("big" + std::to_string(i), std::string(3000u * i, 'b'));
  }
  return tables;
}

std::uint64_t number_at(const std::string& image, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  std::memcpy(&number, image.data() + at, size);
  return number;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("lmdb_check: sound files pass, the empty one too") {
  Fixture fixture;
  REQUIRE(fixture.check(Tables()) == "");
  REQUIRE(fixture.check(sample()) == "");
}

TEST_CASE("lmdb_check: every bit of the uuid matters") {
  Fixture fixture;
  fixture.write(Tables());
  for (std::size_t bit = 0; bit < 128; ++bit) {
    Uuid other = kStore;
    other.bytes[bit / 8] = static_cast<std::uint8_t>(other.bytes[bit / 8] ^ 1 << bit % 8);
    REQUIRE(contains(fixture.check(other), "it belongs to store " + to_string(kStore)));
  }
}

TEST_CASE("lmdb_check: the marker has to be there, alone, and whole") {
  Fixture fixture;
  Tables tables = sample();
  tables.state.clear();
  REQUIRE(contains(fixture.check(tables), "no LSN marker"));
  tables = sample();
  tables.state["another"] = "x";
  REQUIRE(contains(fixture.check(tables), "an unknown entry beside the LSN marker"));
  const std::string whole = sample().state.begin()->second;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    Tables short_marker;
    short_marker.state.begin()->second = whole.substr(0, cut);
    REQUIRE(contains(fixture.check(short_marker), "LSN marker"));
  }
}

TEST_CASE("lmdb_check: a value under another key, or changed, does not pass") {
  Fixture fixture;
  Tables tables;
  tables.put("a", "one");
  tables.put("b", "two");
  std::swap(tables.keys.top["a"], tables.keys.top["b"]);
  REQUIRE(contains(fixture.check(tables), "checksum mismatch"));
  const std::string stored = [] {
    Tables one;
    one.put("a", "one");
    return one.keys.top["a"];
  }();
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    Tables damaged;
    damaged.keys.top["a"] = stored;
    damaged.keys.top["a"][bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE(fixture.check(damaged) != "");
  }
  for (std::size_t cut = 0; cut < stored.size(); ++cut) {
    Tables damaged;
    damaged.keys.top["a"] = stored.substr(0, cut);
    REQUIRE(fixture.check(damaged) != "");
  }
}

TEST_CASE("lmdb_check: LK2 markers and segments belong together, one to one") {
  Fixture fixture;
  SECTION("a marker whose segment is empty") {
    Tables tables;
    tables.put(std::string(500, 'h'), "v");
    tables.keys.segments.clear();
    REQUIRE(contains(fixture.check(tables), "a marker without a segment"));
  }
  SECTION("a segment whose marker is gone") {
    Tables tables;
    tables.put(std::string(500, 'h'), "v");
    tables.keys.top.clear();
    REQUIRE(contains(fixture.check(tables), "segment 1 has no marker"));
  }
  SECTION("two markers that name one segment") {
    Tables one;
    one.put(std::string(500, 'h'), "v");
    Tables other;
    other.put(std::string(500, 'i'), "v");  // segment 1 as well
    Tables tables;
    tables.keys.top = one.keys.top;
    tables.keys.top.insert(other.keys.top.begin(), other.keys.top.end());
    tables.keys.segments = one.keys.segments;
    REQUIRE(contains(fixture.check(tables), "segment 1 has two markers"));
  }
  SECTION("an id that was never given out") {
    Tables tables;
    for (int i = 0; i < 3; ++i) tables.put(std::string(480, static_cast<char>('a' + i)) + "x", "v");
    for (std::uint64_t next = 1; next <= 5; ++next) {
      tables.set_state({kStore, 5, 1, next, 0});
      REQUIRE((fixture.check(tables) == "") == (next > 3));
    }
  }
  SECTION("an entry without a key behind its segment") {
    Tables tables;
    tables.put(std::string(500, 'h'), "v");
    std::string prefix;
    append_be64(prefix, 1);
    tables.keys.segments[prefix] = "v";
    REQUIRE(contains(fixture.check(tables), "a segment entry without a key"));
  }
}

TEST_CASE("lmdb_check: entries that are sound and not all that was written do not pass") {
  Fixture fixture;
  Tables tables = sample();
  REQUIRE(fixture.check(tables) == "");
  tables.lost_prints = 1;
  REQUIRE(contains(fixture.check(tables), "writes of some pages were lost"));
  tables = sample();
  // As if it had been erased, and the page had stayed.
  tables.lost_prints = 0 - lmdb_print(LmdbTable::kKeys, "key7", tables.keys.top.at("key7"));
  REQUIRE(contains(fixture.check(tables), "writes of some pages were lost"));
}

TEST_CASE("lmdb_check: LK1 a key between inline and marker is neither") {
  Fixture fixture;
  for (const std::size_t size : {kInlineKey + 1, kInlineKey + 2, std::size_t{511}}) {
    Tables tables;
    tables.keys.top[std::string(size, 'x')] = "v";
    REQUIRE(contains(fixture.check(tables), "neither an inline key nor a marker"));
  }
}

TEST_CASE("lmdb_check: a table that is missing, or an entry in its place, is named") {
  Fixture fixture;
  fixture.write(Tables());
  for (const char* name : {kLmdbStateTable, kLmdbKeysTable, kLmdbSegmentsTable}) {
    CAPTURE(name);
    fixture.write(Tables());
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    MDB_dbi table = 0;
    LmdbEnv::must(::mdb_env_create(&env));
    LmdbEnv::must(::mdb_env_set_maxdbs(env, 4));
    LmdbEnv::must(::mdb_env_open(env, fixture.dir().c_str(), MDB_NOLOCK, 0600));
    LmdbEnv::must(::mdb_txn_begin(env, nullptr, 0, &txn));
    LmdbEnv::must(::mdb_dbi_open(txn, name, 0, &table));
    LmdbEnv::must(::mdb_drop(txn, table, 1));
    LmdbEnv::must(::mdb_txn_commit(txn));
    REQUIRE(contains(fixture.check(), "no table \"" + std::string(name) + "\""));
    LmdbEnv::must(::mdb_txn_begin(env, nullptr, 0, &txn));
    LmdbEnv::must(::mdb_dbi_open(txn, nullptr, 0, &table));
    LmdbEnv::must(lmdb_put(txn, table, name, "plain"));
    LmdbEnv::must(::mdb_txn_commit(txn));
    ::mdb_env_close(env);
    REQUIRE(contains(fixture.check(), "an entry that is no table"));
  }
}

// Page 0 and 1 are meta pages; which pages are in use is found by zeroing each of them.
TEST_CASE("lmdb_check: no page in use can be zeroed, replaced by another or claim to be another") {
  Fixture fixture;
  fixture.write(sample());
  const std::string whole = fixture.image();
  const std::size_t pages = whole.size() / kPage;
  std::vector<std::size_t> used;
  for (std::size_t page = 2; page < pages; ++page) {
    std::string damaged = whole;
    damaged.replace(page * kPage, kPage, kPage, '\0');
    if (damaged != whole && fixture.check_image(damaged) != "") used.push_back(page);
  }
  REQUIRE(used.size() > 15);
  for (const std::size_t page : used) {
    for (const std::size_t other : used) {
      if (page == other || page % 3 != 0) continue;
      CAPTURE(page, other);
      std::string damaged = whole;
      damaged.replace(page * kPage, kPage, whole, other * kPage, kPage);
      const std::string found = fixture.check_image(damaged);
      // The inside of an overflow value is covered by its checksum; sample() has many of one byte,
      // whose pages may be exchanged.
      const bool same = whole.compare(page * kPage, kPage, whole, other * kPage, kPage) == 0;
      REQUIRE((same || found != ""));
      if (same) continue;
      // The same, with the number that the place wants.
      std::memcpy(damaged.data() + page * kPage, whole.data() + page * kPage, 8);
      if (damaged != whole) REQUIRE(fixture.check_image(damaged) != "");
    }
  }
}

TEST_CASE("lmdb_check: a tree that leads back to itself, or outside the file, ends") {
  Fixture fixture;
  fixture.write(sample());
  const std::string whole = fixture.image();
  int branches = 0;
  for (std::size_t page = 2; page < whole.size() / kPage; ++page) {
    const std::size_t start = page * kPage;
    if (number_at(whole, start, 8) != page || number_at(whole, start + 10, 2) != 0x01) continue;
    ++branches;
    const std::size_t node = start + number_at(whole, start + 16, 2);  // its first child
    for (const std::uint64_t child :
         {std::uint64_t{page}, std::uint64_t{0}, std::uint64_t{1}, whole.size() / kPage,
          std::uint64_t{0xffffffff}, std::uint64_t{0xffffffffffff}}) {
      CAPTURE(page, child);
      std::string damaged = whole;
      const std::uint32_t low = static_cast<std::uint32_t>(child);
      const std::uint16_t high = static_cast<std::uint16_t>(child >> 32);
      std::memcpy(damaged.data() + node, &low, 4);
      std::memcpy(damaged.data() + node + 4, &high, 2);
      REQUIRE(fixture.check_image(damaged) != "");
    }
  }
  REQUIRE(branches > 0);
}

TEST_CASE("lmdb_check: page headers and the places of nodes are believed only where they fit") {
  Fixture fixture;
  Tables tables;
  for (int i = 0; i < 20; ++i) tables.put("key" + std::to_string(i), "value");
  fixture.write(tables);
  const std::string whole = fixture.image();
  // The leaf of the keys: the page that has them.
  const std::size_t leaf = whole.find("key19") / kPage;
  REQUIRE(number_at(whole, leaf * kPage, 8) == leaf);
  const auto with = [&](std::size_t at, std::uint16_t value) {
    std::string damaged = whole;
    std::memcpy(damaged.data() + leaf * kPage + at, &value, 2);
    return fixture.check_image(damaged);
  };
  REQUIRE(contains(with(10, 0x01), "of another kind"));
  REQUIRE(contains(with(10, 0x04), "of another kind"));
  const auto lower = static_cast<std::uint16_t>(number_at(whole, leaf * kPage + 12, 2));
  const auto upper = static_cast<std::uint16_t>(number_at(whole, leaf * kPage + 14, 2));
  REQUIRE(lower == 16 + 2 * 20);
  for (int value = 0; value <= 0xffff; value += value < 200 ? 1 : 97) {
    CAPTURE(value, lower, upper);
    const auto number = static_cast<std::uint16_t>(value);
    if (number != lower) REQUIRE(with(12, number) != "");
    // A higher bound cuts off nodes, a lower one only lays claim to the gap.
    const std::string moved = with(14, number);
    if (number > upper || number < lower) REQUIRE(moved != "");
    const std::string node = with(16, number);  // the place of the first node
    if (number != number_at(whole, leaf * kPage + 16, 2)) REQUIRE(node != "");
  }
}

}  // namespace
}  // namespace hexad::kv
