// What a store says that it has room for, of objects of one size, is what can be put.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdio>
#include <optional>
#include <string>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/sim_pool.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

SimPoolOptions pool_options() {
  SimPoolOptions options;
  options.device_size = 24_MiB;
  options.log_size = 1_MiB;
  options.fast_size = 8_MiB;
  return options;
}

// Bytes that no codec is asked about.
std::string bytes_of(std::size_t size, std::size_t number) {
  std::string bytes = std::to_string(number);
  bytes.resize(size, static_cast<char>('a' + number % 26));
  return bytes;
}

// Puts objects until there is no space; returns their bytes. `first`: the number of the first.
Result<std::uint64_t> put_all(Store& store, std::size_t size, std::size_t first) {
  const std::size_t at_once = std::clamp<std::size_t>(1_MiB / size, 1, 200);
  for (std::size_t count = 0;; count += at_once) {
    Transaction t;
    for (std::size_t i = 0; i < at_once; ++i) {
      const std::size_t number = first + count + i;
      t.put(kBucket, "object" + std::to_string(number), bytes_of(size, number));
    }
    const Status put = store.commit(std::move(t)).status();
    if (put.ok()) continue;
    if (put.error().code != ErrorCode::kNoSpace) return put.error();
    return std::uint64_t{count} * size;
  }
}

// `said` is what can be put, or less, by what one transaction more would be and so many hundredths:
// the metadata of small objects takes less than an estimate says that makes no promise in vain.
void check_said(std::uint64_t said, std::uint64_t put, std::size_t size) {
  CHECK(said <= put + 1_MiB);
  CHECK(said + said * (size < 4'096 ? 12 : 3) / 100 + 1_MiB >= put);
}

TEST_CASE("room for objects of one size: what an empty store says is what it takes") {
  const std::size_t size =
      GENERATE(1'000, 4'096, 8'192, 12'288, 16'384, 50'000, 65'536, 300'000, 1 << 20, 2'500'000);
  CAPTURE(size);
  SimPool pool(pool_options());
  ObjectRoom room;
  ObjectRoom full;
  std::uint64_t put = 0;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    room = store.room_for(size).value();
    const Result<std::uint64_t> bytes = put_all(store, size, 0);
    if (!bytes.ok()) return message_of(bytes.status());
    put = *bytes;
    full = store.room_for(size).value();
    return "";
  }) == "");
  std::printf("objects of %zu bytes: usable %.1f MiB, available %.1f MiB, put %.1f MiB\n", size,
              static_cast<double>(room.usable) / (1 << 20),
              static_cast<double>(room.available) / (1 << 20),
              static_cast<double>(put) / (1 << 20));
  CHECK(room.object_size == size);
  check_said(room.usable, put, size);
  check_said(room.available, put, size);
  CHECK(full.usable == room.usable);
  CHECK(full.available <= 1_MiB + put / 16);
}

TEST_CASE("room for objects of one size: in a store with holes it counts what moves would bring") {
  const std::size_t size = GENERATE(4'096, 65'536);
  CAPTURE(size);
  constexpr std::size_t kSmall = 4'096;
  SimPool pool(pool_options());
  ObjectRoom room;
  std::uint64_t put = 0;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    const std::size_t count = store.room_for(kSmall).value().usable / kSmall * 9 / 10;
    io::Rng rng(3);
    for (std::size_t i = 0; i < count; i += 100) {
      Transaction t;
      for (std::size_t j = i; j < i + 100; ++j) {
        t.put(kBucket, "small" + std::to_string(j), bytes_of(kSmall, j));
      }
      if (Status made = store.commit(std::move(t)).status(); !made.ok()) return message_of(made);
    }
    for (std::size_t i = 0; i < count; i += 100) {
      Transaction t;
      for (std::size_t j = i; j < i + 100; ++j) {
        if (rng.below(2) == 0) t.remove(kBucket, "small" + std::to_string(j));
      }
      if (Status gone = store.commit(std::move(t)).status(); !gone.ok()) return message_of(gone);
    }
    if (Status made = store.checkpoint(); !made.ok()) return message_of(made);
    room = store.room_for(size).value();
    const Result<std::uint64_t> bytes = put_all(store, size, 0);
    if (!bytes.ok()) return message_of(bytes.status());
    put = *bytes;
    return "";
  }) == "");
  std::printf("holes, objects of %zu bytes: available %.1f MiB, put %.1f MiB\n", size,
              static_cast<double>(room.available) / (1 << 20),
              static_cast<double>(put) / (1 << 20));
  check_said(room.available, put, size);
}

TEST_CASE("room for objects of one size: there are none of no bytes, nor of too many") {
  SimPool pool;
  std::optional<ErrorCode> none;
  std::optional<ErrorCode> too_long;
  REQUIRE(pool.with_store([&](Store& store) -> std::string {
    none = code_of(store.room_for(0));
    too_long = code_of(store.room_for(kMaxObjectSize + 1));
    return store.room_for(kMaxObjectSize).value().usable == 0 ? "" : "more than there is";
  }) == "");
  CHECK(none == ErrorCode::kInvalidArgument);
  CHECK(too_long == ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace hexad::testing
