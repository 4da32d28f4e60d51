#include "kv/lmdb/lmdb_store.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <functional>
#include <map>

#include "io/rng.h"
#include "kv/index.h"
#include "tests/io/temporary.h"
#include "tests/kv/lmdb/lmdb_env.h"

namespace hexad::kv {
namespace {

using testing::LmdbEnv;
using Model = std::map<std::string, std::string>;

std::string short_key(io::Rng& rng) {
  static constexpr std::size_t kLengths[] = {1, 2, 3, 8, 480, 481, 511};
  std::string key(kLengths[rng.below(std::size(kLengths))], rng.chance(1, 2) ? 'a' : '\0');
  key.back() = static_cast<char>(rng.below(8));
  return key;
}

// The cursor and the model make the same random steps.
void walk(LmdbStore& store, ShortTable table, const Model& model, io::Rng& rng) {
  const std::unique_ptr<ShortCursor> cursor = std::move(*store.cursor(table));
  auto at = model.end();
  bool before = true;  // the first entry: a cursor begins nowhere
  for (int step = 0; step < 300; ++step) {
    switch (rng.below(4)) {
      case 0: {
        const std::string key = rng.chance(1, 10) ? "" : short_key(rng);
        REQUIRE(cursor->seek(key).ok());
        at = model.lower_bound(key);
        before = false;
        break;
      }
      case 1:
        REQUIRE(cursor->seek_to_last().ok());
        before = model.empty();
        at = before ? model.end() : std::prev(model.end());
        break;
      case 2:
        if (at == model.end()) continue;  // a precondition
        REQUIRE(cursor->next().ok());
        ++at;
        break;
      default:
        if (at == model.end() && before) continue;
        REQUIRE(cursor->prev().ok());
        before = at == model.begin();
        at = before ? model.end() : std::prev(at);
    }
    REQUIRE(cursor->valid() == (at != model.end()));
    if (at == model.end()) continue;
    REQUIRE(cursor->key() == at->first);
    REQUIRE(cursor->value() == at->second);
  }
}

TEST_CASE("lmdb_store: two tables agree with two maps, while written and when read") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    io::Rng rng(seed);
    const io::testing::TemporaryDirectory temporary;
    LmdbEnv env(temporary.path("index"));
    Model models[2];
    LmdbState state;
    for (int round = 0; round < 6; ++round) {
      env.write([&](MDB_txn* txn) {
        const LmdbBounds everything;
        LmdbStore store(txn, env.tables, everything, &state);
        for (int step = 0; step < 150; ++step) {
          const std::uint64_t side = rng.below(2);
          const ShortTable table = side == 0 ? ShortTable::kTop : ShortTable::kSegments;
          const std::string key = short_key(rng);
          if (rng.chance(1, 3)) {
            REQUIRE(store.erase(table, key).ok());
            models[side].erase(key);
          } else {
            const std::string value(rng.below(rng.chance(1, 20) ? 20000 : 50),
                                    static_cast<char>(rng.next()));
            REQUIRE(store.put(table, key, value).ok());
            models[side][key] = value;
          }
        }
        walk(store, ShortTable::kTop, models[0], rng);
        REQUIRE(store.write_code() == 0);
        std::uint64_t prints = 0;
        for (const auto& [key, value] : models[0]) {
          prints += lmdb_print(LmdbTable::kKeys, key, value);
        }
        for (const auto& [key, value] : models[1]) {
          prints += lmdb_print(LmdbTable::kSegments, key, value);
        }
        REQUIRE(state.prints == prints);
      });
      MDB_txn* const txn = env.begin(MDB_RDONLY);
      const LmdbBounds bounds(4096, 8u << 20);
      LmdbStore store(txn, env.tables, bounds, nullptr);
      for (const std::uint64_t side : {0, 1}) {
        const ShortTable table = side == 0 ? ShortTable::kTop : ShortTable::kSegments;
        walk(store, table, models[side], rng);
        for (int i = 0; i < 50; ++i) {
          const std::string key = short_key(rng);
          const auto found = store.get(table, key).value();
          const auto expected = models[side].find(key);
          REQUIRE(found.has_value() == (expected != models[side].end()));
          if (found.has_value()) REQUIRE(*found == expected->second);
        }
        REQUIRE_FALSE(store.get(table, "")->has_value());
      }
      ::mdb_txn_abort(txn);
    }
  }
}

TEST_CASE("lmdb_store: segments count up from where they were told") {
  const io::testing::TemporaryDirectory temporary;
  LmdbEnv env(temporary.path("index"));
  env.write([&](MDB_txn* txn) {
    const LmdbBounds everything;
    LmdbState state;
    state.next_segment = 41;
    LmdbStore store(txn, env.tables, everything, &state);
    REQUIRE(store.new_segment().value() == 41);
    REQUIRE(store.new_segment().value() == 42);
    REQUIRE(state.next_segment == 43);
  });
}

TEST_CASE("lmdb_store: a write that fails leaves LMDB's own code with the store") {
  const io::testing::TemporaryDirectory temporary;
  LmdbEnv env(temporary.path("index"), 256u << 10);
  const LmdbBounds everything;
  LmdbState state;
  env.write([&](MDB_txn* txn) {
    LmdbStore store(txn, env.tables, everything, &state);
    REQUIRE(store.put(ShortTable::kTop, "there", "v").ok());
  });
  const std::uint64_t prints = state.prints;
  unsigned flags = 0;
  std::function<void(LmdbStore&)> act;
  SECTION("the map is full") {
    act = [](LmdbStore& store) {
      const Status full = store.put(ShortTable::kTop, "key", std::string(300u << 10, 'x'));
      REQUIRE(full.error().code == ErrorCode::kNoSpace);
      REQUIRE(store.write_code() == MDB_MAP_FULL);
    };
  }
  SECTION("the key is longer than LMDB's") {
    act = [](LmdbStore& store) {
      const Status refused = store.put(ShortTable::kTop, std::string(512, 'k'), "v");
      REQUIRE(refused.error().code == ErrorCode::kIo);
      REQUIRE(store.write_code() == MDB_BAD_VALSIZE);
    };
  }
  SECTION("the transaction only reads") {
    flags = MDB_RDONLY;
    act = [](LmdbStore& store) {
      for (const char* key : {"key", "there"}) {
        REQUIRE(store.put(ShortTable::kTop, key, "v").error().code == ErrorCode::kReadOnly);
      }
      REQUIRE(store.erase(ShortTable::kTop, "there").error().code == ErrorCode::kReadOnly);
      REQUIRE(store.write_code() == EACCES);
    };
  }
  MDB_txn* const txn = env.begin(flags);
  {
    LmdbStore store(txn, env.tables, everything, &state);
    act(store);
    REQUIRE(state.prints == prints);
  }
  ::mdb_txn_abort(txn);
}

TEST_CASE("lmdb_store: a value is plausible inside one page or right behind an overflow header") {
  const LmdbBounds bounds(4096, 1u << 20);
  const auto at = [](std::uint64_t address, std::size_t size) {
    return std::string_view(reinterpret_cast<const char*>(address), size);  // never looked at
  };
  constexpr std::uint64_t kPage = 0x7f0000000000;
  for (const std::uint64_t offset : {0, 1, 15, 16, 17, 4000, 4095}) {
    for (const std::uint64_t size : {0, 1, 96, 97, 4078, 4080, 4081, 4095, 4096, 4097, 100000}) {
      CAPTURE(offset, size);
      REQUIRE(bounds.plausible(at(kPage + offset, size)) ==
              (offset + size <= 4096 || offset == 16));
    }
  }
  REQUIRE_FALSE(bounds.plausible(at(kPage + 16, 1u << 20)));  // as long as the file
  const LmdbBounds large(4096, std::uint64_t{1} << 40);
  REQUIRE(large.plausible(at(kPage + 16, kMaxIndexValue + kMaxIndexKey)));
  REQUIRE_FALSE(large.plausible(at(kPage + 16, kMaxIndexValue + kMaxIndexKey + 1)));
  REQUIRE(LmdbBounds().plausible(at(kPage + 4095, 100000)));
}

// With bounds of another page size what LMDB hands out looks as a damaged page would.
TEST_CASE("lmdb_store: an entry outside its page is damage, for a get and for a cursor") {
  const io::testing::TemporaryDirectory temporary;
  LmdbEnv env(temporary.path("index"));
  env.write([&](MDB_txn* txn) {
    const LmdbBounds everything;
    LmdbState state;
    LmdbStore store(txn, env.tables, everything, &state);
    REQUIRE(store.put(ShortTable::kTop, "key", std::string(600, 'v')).ok());
  });
  MDB_txn* const txn = env.begin(MDB_RDONLY);
  const LmdbBounds narrow(256, 8u << 20);
  LmdbStore store(txn, env.tables, narrow, nullptr);
  REQUIRE(store.get(ShortTable::kTop, "key").error().code == ErrorCode::kCorruption);
  {
    const std::unique_ptr<ShortCursor> cursor = std::move(*store.cursor(ShortTable::kTop));
    const Status status = cursor->seek("");
    REQUIRE(status.error().code == ErrorCode::kCorruption);
    REQUIRE_FALSE(status.error().hint.empty());
    REQUIRE_FALSE(cursor->valid());
  }
  ::mdb_txn_abort(txn);
}

TEST_CASE("lmdb_store: LMDB's codes become ours, and positive ones are the system's") {
  REQUIRE(lmdb_error(MDB_MAP_FULL, "x").code == ErrorCode::kNoSpace);
  REQUIRE(lmdb_error(MDB_READERS_FULL, "x").code == ErrorCode::kBusy);
  REQUIRE_FALSE(lmdb_error(MDB_READERS_FULL, "x").hint.empty());
  for (const int code : {MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH,
                         MDB_INCOMPATIBLE, MDB_CURSOR_FULL, MDB_NOTFOUND}) {
    CAPTURE(code);
    REQUIRE(lmdb_error(code, "x").code == ErrorCode::kCorruption);
    REQUIRE(lmdb_error(code, "x").hint.find("drop its directory") != std::string::npos);
    REQUIRE(lmdb_error(code, "the index").message.find("the index: MDB_") == 0);
  }
  REQUIRE(lmdb_error(MDB_PANIC, "x").code == ErrorCode::kIo);
  REQUIRE(lmdb_error(MDB_TXN_FULL, "x").code == ErrorCode::kIo);
  REQUIRE(lmdb_error(ENOSPC, "x").code == ErrorCode::kNoSpace);
  REQUIRE(lmdb_error(EIO, "x").message == "x: Input/output error");
  REQUIRE(lmdb_damage("x").code == ErrorCode::kCorruption);
  REQUIRE_FALSE(lmdb_damage("x").hint.empty());
}

}  // namespace
}  // namespace hexad::kv
