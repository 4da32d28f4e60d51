// Its golden bytes are in kv_format_test.cc.
#include "kv/lmdb/lmdb_state.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/checksum.h"
#include "base/codec.h"
#include "io/rng.h"

namespace hexad::kv {
namespace {

// The record with its checksum made right again after a change.
std::string resealed(std::string bytes) {
  bytes.resize(bytes.size() - 4);
  const std::uint32_t crc = crc32c(as_bytes(bytes));
  Encoder(bytes).le32(crc);
  return bytes;
}

TEST_CASE("lmdb_state: random states come back, the extremes too") {
  const std::uint64_t seed = 2;
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 500; ++i) {
    const auto number = [&] { return rng.next() >> rng.below(64); };
    LmdbState state{rng.uuid(), number(), number(), number(), number()};
    if (i == 0) state = LmdbState{};
    if (i == 1) {
      state.lsn = kMaxLsn;
      state.epoch = ~std::uint64_t{0};
      state.next_segment = state.prints = ~std::uint64_t{0};
    }
    REQUIRE(decode_lmdb_state(encode_lmdb_state(state)).value() == state);
  }
}

TEST_CASE("lmdb_state: every truncation, every extension and every flipped bit is refused") {
  io::Rng rng(7);
  const std::string whole = encode_lmdb_state({rng.uuid(), 1, 2, 3, 4});
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    CAPTURE(cut);
    REQUIRE(decode_lmdb_state(std::string_view(whole).substr(0, cut)).error().code ==
            ErrorCode::kCorruption);
  }
  REQUIRE_FALSE(decode_lmdb_state(whole + '\0').ok());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] ^= static_cast<char>(1 << bit % 8);
    REQUIRE(decode_lmdb_state(damaged).error().code == ErrorCode::kCorruption);
  }
}

TEST_CASE("lmdb_state: another version is refused by its number, a bad checksum as such") {
  std::string bytes = encode_lmdb_state({Uuid{{1}}, 1, 2, 3});
  bytes[0] = 1;
  REQUIRE(decode_lmdb_state(bytes).error().message == "LSN marker: checksum mismatch");
  REQUIRE(decode_lmdb_state(resealed(bytes)).error().message == "LSN marker: version 1, not 2");
  // That version had no prints.
  bytes.erase(bytes.size() - 12, 8);
  REQUIRE(decode_lmdb_state(resealed(bytes)).error().message == "LSN marker: version 1, not 2");
  bytes[0] = 2;
  REQUIRE(decode_lmdb_state(resealed(bytes)).error().code == ErrorCode::kCorruption);
}

TEST_CASE("lmdb_state: the print of an entry depends on each bit of it, and on its table") {
  const std::string key = "a key";
  const std::string stored = "what is stored";
  std::set<std::uint64_t> prints = {lmdb_print(LmdbTable::kKeys, key, stored),
                                    lmdb_print(LmdbTable::kSegments, key, stored)};
  const auto flipped = [](std::string text, std::size_t bit) {
    text[bit / 8] ^= static_cast<char>(1 << bit % 8);
    return text;
  };
  for (std::size_t bit = 0; bit < key.size() * 8; ++bit) {
    prints.insert(lmdb_print(LmdbTable::kKeys, flipped(key, bit), stored));
  }
  for (std::size_t bit = 0; bit < stored.size() * 8; ++bit) {
    prints.insert(lmdb_print(LmdbTable::kKeys, key, flipped(stored, bit)));
  }
  prints.insert(lmdb_print(LmdbTable::kKeys, "", ""));
  prints.insert(lmdb_print(LmdbTable::kKeys, stored, key));
  REQUIRE(prints.size() == 2 + 8 * (key.size() + stored.size()) + 2);
}

}  // namespace
}  // namespace hexad::kv
