#include "core/cache/read_gather.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <utility>

#include "base/units.h"
#include "io/rng.h"
#include "tests/core/stored_blobs.h"

namespace hexad::core {
namespace {

constexpr std::uint64_t kBlock = 16384;

// An object's bytes and the extents that show them.
struct Object {
  Bytes bytes;
  ExtentList extents;
  std::uint64_t serial = 0;
};

struct Fixture : testing::StoredBlobs {
  explicit Fixture(std::uint64_t cache_size = 32_MiB)
      : cache(*executor, cache_size, kBlock), gather(reader, cache) {}

  // Appends a hole, inline bytes, or `length` bytes of a blob of `size`, from `from` on.
  void add_hole(Object& object, std::uint64_t length) {
    object.bytes.resize(object.bytes.size() + length);
  }
  void add_inline(Object& object, std::uint64_t length) {
    Extent extent;
    extent.offset = object.bytes.size();
    extent.length = length;
    const Bytes bytes = noise(length);
    extent.bytes = as_text(bytes);
    object.extents.push_back(extent);
    object.bytes.insert(object.bytes.end(), bytes.begin(), bytes.end());
  }
  void add_blob(Object& object, std::uint64_t size, std::uint64_t from, std::uint64_t length) {
    const Bytes raw = noise(size);
    Extent extent;
    extent.offset = object.bytes.size();
    extent.length = length;
    extent.blob_offset = static_cast<std::uint32_t>(from);
    extent.blob = store_blob(raw);
    object.extents.push_back(extent);
    const auto begin = raw.begin() + static_cast<std::ptrdiff_t>(from);
    object.bytes.insert(object.bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(length));
  }
  // One blob of `size` bytes that the cache may keep.
  Object one_blob(std::uint64_t size) {
    Object object;
    object.serial = cache.new_serial();
    add_blob(object, size, 0, size);
    return object;
  }

  // A read as the store does it; what it found has to be what the object has.
  bool read(const Object& object, std::uint64_t at, std::uint64_t length) {
    Bytes out(length, std::byte{0xee});
    const bool good =
        gather.add(object.extents, object.serial, nullptr, at, out).ok() && gather.finish().ok();
    return good && is_range(object, at, out);
  }
  static bool is_range(const Object& object, std::uint64_t at, const Bytes& out) {
    const auto begin = object.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    return std::equal(out.begin(), out.end(), begin);
  }
  bool has_block(const Object& object, std::uint32_t extent, std::uint32_t block) {
    return cache.find_block({object.serial, extent, block}, ReadCache::Count::kNothing) != nullptr;
  }
  void put_block(const Object& object, std::uint32_t block) {
    const std::uint64_t begin = block * kBlock;
    cache.insert_block(
        {object.serial, 0, block},
        ByteView(object.bytes).subspan(begin, std::min(kBlock, object.bytes.size() - begin)));
  }
  Bytes noise(std::uint64_t size) {
    Bytes bytes(size);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng.below(256));
    return bytes;
  }

  io::Rng rng{1};
  ReadCache cache;
  ReadGather gather;
};

TEST_CASE("read_gather: holes and inline bytes come at once, all blobs with one round") {
  Fixture f;
  Object object;
  f.add_inline(object, 100);
  f.add_blob(object, 50'000, 0, 50'000);
  f.add_hole(object, 3000);
  f.add_blob(object, 40'000, 10'000, 20'000);
  Bytes out(object.bytes.size() + 500, std::byte{0xee});
  REQUIRE(f.gather.add(object.extents, 0, nullptr, 0, out).ok());
  REQUIRE(f.queue.rounds == 0);
  REQUIRE(std::equal(out.begin(), out.begin() + 100, object.bytes.begin()));
  REQUIRE(is_zero(ByteView(out).subspan(50'100, 3000)));
  REQUIRE(is_zero(ByteView(out).last(500)));  // behind the last extent
  REQUIRE(f.gather.finish().ok());
  REQUIRE(f.queue.rounds == 1);
  REQUIRE(std::equal(object.bytes.begin(), object.bytes.end(), out.begin()));
}

TEST_CASE("read_gather: what several pages show is read together") {
  Fixture f;
  std::vector<Object> pages(4);
  std::vector<Bytes> out;
  for (Object& page : pages) {
    f.add_blob(page, 70'000, 0, 70'000);
    out.emplace_back(page.bytes.size());
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    REQUIRE(f.gather.add(pages[i].extents, 0, nullptr, 0, out[i]).ok());
  }
  REQUIRE(f.gather.finish().ok());
  REQUIRE(f.queue.rounds == 1);
  for (std::size_t i = 0; i < pages.size(); ++i) REQUIRE((out[i] == pages[i].bytes));
  // Once finished there is nothing left to do.
  REQUIRE(f.gather.finish().ok());
  REQUIRE(f.queue.rounds == 1);
}

TEST_CASE("read_gather: 8 MiB go out as soon as they are together") {
  Fixture f;
  std::vector<Object> pages(9);
  std::vector<Bytes> out;
  for (Object& page : pages) {
    f.add_blob(page, 1 << 20, 0, 1 << 20);
    out.emplace_back(page.bytes.size());
  }
  for (std::size_t i = 0; i < pages.size(); ++i) {
    REQUIRE(f.gather.add(pages[i].extents, 0, nullptr, 0, out[i]).ok());
    REQUIRE(f.queue.rounds == (i < 7 ? 0 : 1));
  }
  REQUIRE(f.gather.finish().ok());
  REQUIRE(f.queue.rounds == 2);
  for (std::size_t i = 0; i < pages.size(); ++i) REQUIRE((out[i] == pages[i].bytes));
}

TEST_CASE("read_gather: the extents are kept until the end, and no longer") {
  Fixture f;
  auto owner = std::make_shared<Object>();
  f.add_blob(*owner, 5000, 0, 5000);
  const Bytes wanted = owner->bytes;
  const std::weak_ptr<Object> watch = owner;
  const ExtentList& extents = owner->extents;
  Bytes out(5000);
  REQUIRE(f.gather.add(extents, 0, std::exchange(owner, nullptr), 0, out).ok());
  REQUIRE_FALSE(watch.expired());
  REQUIRE(f.gather.finish().ok());
  REQUIRE(watch.expired());
  REQUIRE((out == wanted));
}

TEST_CASE("read_gather: without a serial nothing is looked for and nothing is left") {
  Fixture f;
  Object object = f.one_blob(60'000);
  object.serial = 0;
  for (int i = 1; i <= 2; ++i) {
    REQUIRE(f.read(object, 100, 50'000));
    REQUIRE(f.queue.rounds == i);
  }
  REQUIRE(f.cache.usage().blocks == 0);
  REQUIRE(f.cache.take_tally().block_misses == 0);
}

TEST_CASE("read_gather: with one, whole blocks around what is wanted are read and left") {
  Fixture f;
  const Object object = f.one_blob(100'000);  // seven blocks, the last of them short
  REQUIRE(f.read(object, 20'000, 10'000));    // in the second
  REQUIRE(f.queue.rounds == 1);
  for (std::uint32_t block = 0; block < 7; ++block) {
    REQUIRE(f.has_block(object, 0, block) == (block == 1));
  }
  REQUIRE(f.read(object, kBlock, kBlock));
  REQUIRE(f.queue.rounds == 1);
  REQUIRE(f.read(object, 99'999, 1));
  REQUIRE(f.has_block(object, 0, 6));
  REQUIRE(f.queue.rounds == 2);
  // What lies between is one read of the four.
  REQUIRE(f.read(object, 0, 100'000));
  REQUIRE(f.queue.rounds == 3);
  for (std::uint32_t block = 0; block < 7; ++block) REQUIRE(f.has_block(object, 0, block));
  const int reads = f.queue.reads;
  REQUIRE(f.read(object, 0, 100'000));
  REQUIRE(f.queue.reads == reads);
  REQUIRE(f.counters.since_open(CounterId::kDegradedReads) == 0);
}

TEST_CASE("read_gather: whatever the cache has of a blob, and whatever range is wanted of it") {
  Fixture f;
  constexpr std::uint64_t kSize = 4 * kBlock + 1000;
  const std::vector<std::uint64_t> edges = {
      0, 1, kBlock - 1, kBlock, kBlock + 1, 2 * kBlock, 3 * kBlock, 4 * kBlock, kSize - 1, kSize};
  Object object = f.one_blob(kSize);
  for (std::uint32_t have = 0; have < 1u << 5; ++have) {
    for (const std::uint64_t at : edges) {
      for (const std::uint64_t end : edges) {
        if (at >= end) continue;
        CAPTURE(have, at, end);
        object.serial = f.cache.new_serial();  // nothing of it is known
        bool missing = false;
        for (std::uint32_t block = 0; block < 5; ++block) {
          const bool touched = at < (block + 1) * kBlock && end > block * kBlock;
          if ((have >> block & 1) != 0) {
            f.put_block(object, block);
          } else {
            missing = missing || touched;
          }
        }
        Bytes out(end - at);
        const bool cached = copy_from_cache(f.cache, object.extents, object.serial, at, out);
        REQUIRE(cached == !missing);
        if (cached) REQUIRE(Fixture::is_range(object, at, out));
        const int before = f.queue.rounds;
        REQUIRE(f.read(object, at, end - at));
        REQUIRE(f.queue.rounds - before == (missing ? 1 : 0));
        REQUIRE(copy_from_cache(f.cache, object.extents, object.serial, at, out));
        REQUIRE(Fixture::is_range(object, at, out));
      }
    }
  }
}

TEST_CASE("read_gather: blocks belong to one extent of one record") {
  Fixture f;
  Object object;
  object.serial = f.cache.new_serial();
  f.add_blob(object, 30'000, 5000, 20'000);
  f.add_blob(object, 30'000, 0, 30'000);
  REQUIRE(f.read(object, 0, object.bytes.size()));
  // Counted from the blob's beginning, not from where the extent shows it.
  for (std::uint32_t extent = 0; extent < 2; ++extent) {
    for (std::uint32_t block = 0; block < 2; ++block) REQUIRE(f.has_block(object, extent, block));
    REQUIRE_FALSE(f.has_block(object, extent, 2));
  }
  Object other = object;
  other.serial = f.cache.new_serial();
  Bytes out(1000);
  REQUIRE(copy_from_cache(f.cache, object.extents, object.serial, 19'500, out));
  REQUIRE(Fixture::is_range(object, 19'500, out));
  REQUIRE_FALSE(copy_from_cache(f.cache, other.extents, other.serial, 19'500, out));
}

TEST_CASE("read_gather: a read that fails leaves nothing in the cache") {
  Fixture f;
  const Object object = f.one_blob(60'000);
  for (int i = 0; i < 3; ++i) f.map.present[i] = false;
  Bytes out(60'000);
  REQUIRE(f.gather.add(object.extents, object.serial, nullptr, 0, out).ok());
  REQUIRE(f.gather.finish().error().code == ErrorCode::kUnavailable);
  REQUIRE(f.cache.usage().blocks == 0);
  // A degraded read does: the bytes were verified.
  f.map.present[2] = true;
  Fixture g;
  const Object again = g.one_blob(60'000);
  for (int i = 0; i < 2; ++i) g.map.present[i] = false;
  REQUIRE(g.read(again, 0, 60'000));
  REQUIRE(g.has_block(again, 0, 0));
}

TEST_CASE("read_gather: a cache that keeps nothing changes nothing") {
  Fixture f(0);
  const Object object = f.one_blob(60'000);
  for (int i = 1; i <= 2; ++i) {
    REQUIRE(f.read(object, 10'000, 40'000));
    REQUIRE(f.queue.rounds == i);
  }
  Bytes out(10);
  REQUIRE_FALSE(copy_from_cache(f.cache, object.extents, object.serial, 0, out));
}

TEST_CASE("read_gather: get_from_cache gives the first bytes, or nothing") {
  Fixture f;
  Object object;
  object.serial = f.cache.new_serial();
  REQUIRE(get_from_cache(f.cache, {}, object.serial, 0) == Bytes());
  REQUIRE(get_from_cache(f.cache, {}, object.serial, 10) == Bytes(10));  // a hole
  f.add_inline(object, 200);
  REQUIRE(get_from_cache(f.cache, object.extents, object.serial, 200) == object.bytes);
  f.add_blob(object, 40'000, 1000, 39'000);
  REQUIRE_FALSE(get_from_cache(f.cache, object.extents, object.serial, 39'200).has_value());
  REQUIRE(f.read(object, 0, 39'200));
  REQUIRE(get_from_cache(f.cache, object.extents, object.serial, 39'200) == object.bytes);

  const Object one = f.one_blob(50'000);
  REQUIRE(f.read(one, 0, kBlock));
  REQUIRE_FALSE(get_from_cache(f.cache, one.extents, one.serial, 50'000).has_value());
  REQUIRE(get_from_cache(f.cache, one.extents, one.serial, kBlock) ==
          Bytes(one.bytes.begin(), one.bytes.begin() + kBlock));
  REQUIRE(f.read(one, 0, 50'000));
  REQUIRE(get_from_cache(f.cache, one.extents, one.serial, 50'000) == one.bytes);
}

TEST_CASE("read_gather: random objects read in random pieces are what was written") {
  Fixture f;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    f.rng = io::Rng(seed);
    f.next_unit = 1;
    Object object;
    object.serial = f.cache.new_serial();
    while (object.bytes.size() < 400'000) {
      if (f.rng.chance(1, 3)) f.add_hole(object, 1 + f.rng.below(5000));
      if (f.rng.chance(1, 3)) f.add_inline(object, 1 + f.rng.below(kInlineLimit));
      const std::uint64_t size = 1 + f.rng.below(90'000);
      const std::uint64_t from = f.rng.below(size);
      f.add_blob(object, size, from, 1 + f.rng.below(size - from));
    }
    for (int i = 0; i < 100; ++i) {
      const std::uint64_t at = f.rng.below(object.bytes.size());
      const std::uint64_t length = f.rng.below(object.bytes.size() - at);
      CAPTURE(at, length);
      Bytes out(length);
      if (copy_from_cache(f.cache, object.extents, object.serial, at, out)) {
        REQUIRE(Fixture::is_range(object, at, out));
      }
      REQUIRE(f.read(object, at, length));
      REQUIRE(copy_from_cache(f.cache, object.extents, object.serial, at, out));
      REQUIRE(Fixture::is_range(object, at, out));
    }
  }
}

}  // namespace
}  // namespace hexad::core
