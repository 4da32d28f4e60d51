// Many ranges at once, extents, checksums of ranges, and what else asks without reading it all.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <memory>

#include "base/checksum.h"
#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

std::string expected_of(const std::string& data, const std::vector<ByteRange>& ranges) {
  std::string bytes;
  for (const ByteRange& range : ranges) {
    if (range.offset < data.size()) bytes += data.substr(range.offset, range.length);
  }
  return bytes;
}

// The same ranges in both ways.
void require_ranges(Store& store, const std::string& name, const std::string& data,
                    const std::vector<ByteRange>& ranges) {
  const std::string expected = expected_of(data, ranges);
  const Result<Bytes> bytes = store.read_ranges(kBucket, name, ranges);
  REQUIRE(message_of(bytes.status()) == "");
  REQUIRE((as_text(*bytes) == expected));
  Bytes memory;
  for (const ByteRange& range : ranges) memory.resize(memory.size() + range.length);
  std::vector<RangeInto> into;
  std::size_t at = 0;
  for (const ByteRange& range : ranges) {
    into.push_back({range.offset, MutByteView(memory).subspan(at, range.length), 99});
    at += range.length;
  }
  REQUIRE(message_of(store.read_ranges(kBucket, name, into)) == "");
  std::string together;
  for (const RangeInto& range : into) together += as_text(ByteView(range.into).first(range.read));
  REQUIRE((together == expected));
}

TEST_CASE("read_ranges: in any order, overlapping, empty, behind the end") {
  StoreFixture fixture;
  std::optional<Store> store = fixture.open();
  const std::string data = noise(2'500'000, 1);
  REQUIRE(put(*store, "large", data).ok());
  REQUIRE(put(*store, "small", "0123456789").ok());
  REQUIRE(put(*store, "empty", "").ok());
  for (int round = 0; round < 2; ++round) {
    CAPTURE(round);
    require_ranges(*store, "large", data, {});
    require_ranges(*store, "large", data, {{0, 0}, {2'500'000, 5}, {2'499'999, 5}, {0, 1}});
    require_ranges(*store, "large", data, {{0, data.size()}, {0, data.size() + 1}, {7, 9}});
    require_ranges(*store, "large", data,
                   {{2'000'000, 10}, {5, 10}, {10, 10}, {(1 << 20) - 3, 6}, {5, 10}});
    require_ranges(*store, "small", "0123456789", {{9, 5}, {3, 2}, {10, 1}, {0, 3}});
    require_ranges(*store, "empty", "", {{0, 10}, {5, 0}});
    REQUIRE(store->close().ok());
    store.reset();
    store = fixture.open();
  }
  // Offsets that no object has.
  const std::vector<ByteRange> far = {{~std::uint64_t{0}, 5}, {8, ~std::uint64_t{0}}};
  REQUIRE(as_text(*store->read_ranges(kBucket, "small", far)) == "89");
  const std::vector<ByteRange> one = {{0, 1}};
  REQUIRE(code_of(store->read_ranges(kBucket, "none", one)) == ErrorCode::kNotFound);
  REQUIRE(code_of(store->read_ranges("none", "small", one)) == ErrorCode::kNotFound);
}

TEST_CASE("read_ranges: a hundred thousand ranges of one object in one call") {
  FormatOptions format = small_format();
  format.device_size = 32_MiB;
  const bool compress = GENERATE(false, true);
  if (compress) format.compression.mode = compression::Mode::kForce;
  StoreFixture fixture(format);
  Store store = fixture.open();
  std::string data = noise(12'000'000, 2);
  for (std::size_t i = 0; i < data.size(); i += 3) data[i] = 'x';
  REQUIRE(put(store, "data", data).ok());
  io::Rng rng(3);
  std::vector<ByteRange> ranges;
  for (int i = 0; i < 100'000; ++i) ranges.push_back({rng.below(data.size()), rng.below(40)});
  require_ranges(store, "data", data, ranges);
  // Each alone in its block, and all in one.
  ranges.clear();
  for (std::uint64_t at = 0; at < data.size(); at += 40'000) ranges.push_back({at, 1});
  require_ranges(store, "data", data, ranges);
  ranges.clear();
  for (int i = 0; i < 100'000; ++i) ranges.push_back({5'000'000 + rng.below(9000), 1});
  require_ranges(store, "data", data, ranges);
}

TEST_CASE("read_ranges: blocks that several ranges lie in are read once") {
  StoreFixture fixture;
  RuntimeOptions runtime;
  runtime.cache_size = 0;
  const std::string data = noise(1 << 20, 4);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "data", data).ok());
    REQUIRE(store.close().ok());
  }
  Store store = fixture.open(Access::kReadWrite, runtime);
  const auto bytes_read = [&] {
    std::uint64_t total = 0;
    for (const DeviceStatus& device : store.status().devices) total += device.bytes_read;
    return total;
  };
  std::vector<ByteRange> ranges;
  for (std::uint64_t at = 0; at < data.size(); at += 20) ranges.push_back({at, 10});
  const std::uint64_t before = bytes_read();
  require_ranges(store, "data", data, ranges);
  // Twice, by two calls.
  CHECK(bytes_read() - before <= 2 * (data.size() + 64 * 1024));
}

TEST_CASE("read_ranges: sparse objects, up to their far end") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  for (const std::uint64_t at :
       {std::uint64_t{1} << 31, std::uint64_t{1} << 32, kMaxObjectSize - 3}) {
    t.write(kBucket, "sparse", at, as_bytes("abc"));
  }
  REQUIRE(store.commit(std::move(t)).ok());
  const std::vector<ByteRange> ranges = {
      {kMaxObjectSize - 4, 10}, {(1ULL << 32) - 1, 5}, {1ULL << 31, 3}, {1ULL << 40, 3}};
  REQUIRE(as_text(*store.read_ranges(kBucket, "sparse", ranges)) ==
          std::string("\0abc\0abc\0abc\0\0\0", 15));
  const std::vector<ByteRange> all = {{0, kMaxObjectSize}};
  REQUIRE(code_of(store.read_ranges(kBucket, "sparse", all)) == ErrorCode::kTooBig);
  const std::vector<ByteRange> extents = {
      {1ULL << 31, 3}, {1ULL << 32, 3}, {kMaxObjectSize - 3, 3}};
  REQUIRE(*store.extents(kBucket, "sparse") == extents);
}

TEST_CASE("read_ranges: all ranges are of one version, whatever is written meanwhile") {
  StoreFixture fixture;
  Store store = fixture.open(Access::kReadWrite, busy_runtime());
  const std::size_t size = 1'200'000;
  REQUIRE(put(store, "turning", std::string(size, 'a')).ok());
  std::atomic<bool> stop{false};
  const auto writer = fixture.memory.executor().start("write", [&] {
    for (int i = 1; !stop.load(); ++i) {
      const std::string data(size, static_cast<char>('a' + i % 26));
      HEXAD_ASSERT(put(store, "turning", data).ok());
    }
  });
  std::vector<ByteRange> ranges;
  for (std::uint64_t at = 0; at < size; at += 50'000) ranges.push_back({at, 20});
  for (int i = 0; i < 60; ++i) {
    const Result<Bytes> bytes = store.read_ranges(kBucket, "turning", ranges);
    if (!bytes.ok()) FAIL_CHECK(bytes.error().to_string());
    if (!bytes.ok()) break;
    CHECK(as_text(*bytes) ==
          std::string(bytes->size(), static_cast<char>(std::to_integer<char>((*bytes)[0]))));
  }
  stop = true;
  writer->join();
}

TEST_CASE("read_ranges: what is lost beside a range does not matter to it", "[one-thread]") {
  StoreFixture fixture;
  const std::string data = noise(1 << 20, 6);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", data).ok());
    // Small enough for the read cache to want all of it at once.
    Transaction t;
    t.clone_range(kBucket, "victim", 10'000, 12'000, kBucket, "part", 0);
    REQUIRE(store.commit(std::move(t)).ok());
    REQUIRE(store.close().ok());
  }
  const StripeOnMedia cells = find_private(fixture, data);
  // Three cells of 256 KiB lose their second checksum block; the others are good.
  for (const std::size_t role : {0, 4, 5}) flip_byte(fixture, cells[role], 20'000);
  Store store = fixture.open();
  // The gap between these two holds what is lost.
  require_ranges(store, "victim", data, {{32'768, 10}, {16'380, 4}, {500'000, 10}});
  const std::vector<ByteRange> lost = {{0, 10}, {20'000, 10}};
  const Result<Bytes> read = store.read_ranges(kBucket, "victim", lost);
  REQUIRE(code_of(read) == ErrorCode::kUnavailable);
  REQUIRE_THAT(read.error().message, Catch::Contains("default/victim"));
  REQUIRE(code_of(store.checksum(kBucket, "victim", {0, data.size()})) == ErrorCode::kUnavailable);
  REQUIRE(store.checksum(kBucket, "victim", {262'144, 100'000})->value ==
          crc32c(as_bytes(data).subspan(262'144, 100'000)));
  for (int i = 0; i < 2; ++i) {
    Bytes head(6000);
    REQUIRE(*store.read(kBucket, "part", 0, head) == head.size());
    REQUIRE(as_text(head) == data.substr(10'000, head.size()));
    require_ranges(store, "part", data.substr(10'000, 12'000), {{100, 10}, {6374, 10}, {0, 10}});
    REQUIRE(code_of(store.get(kBucket, "part")) == ErrorCode::kUnavailable);
    Bytes tail(6000);
    REQUIRE(code_of(store.read(kBucket, "part", 6000, tail)) == ErrorCode::kUnavailable);
  }
}

TEST_CASE("extents: what holds data, and nothing else") {
  StoreFixture fixture;
  Store store = fixture.open();
  Transaction t;
  t.write(kBucket, "a", 100, as_bytes(noise(50, 1)));
  t.write(kBucket, "a", 150, as_bytes(noise(1000, 2)));
  t.write(kBucket, "a", 2000, as_bytes(std::string(100, '\0')));
  t.truncate(kBucket, "a", 5000);
  t.write(kBucket, "b", (1 << 20) - 1000, as_bytes(noise(2000, 3)));
  t.zero(kBucket, "b", 1 << 20, 10);
  t.create(kBucket, "empty");
  t.create(kBucket, "hole");
  t.truncate(kBucket, "hole", 3 << 20);
  REQUIRE(store.commit(std::move(t)).ok());
  using Ranges = std::vector<ByteRange>;
  const auto extents = [&](const char* name, const ByteRange& range) {
    return store.extents(kBucket, name, range).value();
  };
  CHECK(*store.extents(kBucket, "a") == Ranges{{100, 1050}, {2000, 100}});
  CHECK(extents("a", {0, 100}) == Ranges{});
  CHECK(extents("a", {0, 101}) == Ranges{{100, 1}});
  CHECK(extents("a", {120, 60}) == Ranges{{120, 60}});
  CHECK(extents("a", {1149, 852}) == Ranges{{1149, 1}, {2000, 1}});
  CHECK(extents("a", {2099, 100'000}) == Ranges{{2099, 1}});
  CHECK(extents("a", {2100, 100'000}) == Ranges{});
  CHECK(extents("a", {5000, 1}) == Ranges{});
  CHECK(extents("a", {~std::uint64_t{0}, ~std::uint64_t{0}}) == Ranges{});
  CHECK(extents("a", {150, 0}) == Ranges{});
  const std::uint64_t page = 1 << 20;
  CHECK(extents("b", {0, kMaxObjectSize}) == Ranges{{page - 1000, 1000}, {page + 10, 990}});
  CHECK(extents("b", {page, 100}) == Ranges{{page + 10, 90}});
  CHECK(extents("b", {0, page - 999}) == Ranges{{page - 1000, 1}});
  CHECK(extents("empty", {0, 10}) == Ranges{});
  CHECK(extents("hole", {0, kMaxObjectSize}) == Ranges{});
  CHECK(code_of(store.extents(kBucket, "none")) == ErrorCode::kNotFound);
  CHECK(code_of(store.extents("none", "a")) == ErrorCode::kNotFound);
}

TEST_CASE("checksum: of a range as its bytes have it, cut at the end of the object") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string data = noise(9'000'000, 5);
  REQUIRE(put(store, "data", data).ok());
  Transaction t;
  t.write(kBucket, "gap", 5'000'000, as_bytes("end"));
  REQUIRE(store.commit(std::move(t)).ok());
  for (const ChecksumType type : {ChecksumType::kCrc32c, ChecksumType::kXxh3}) {
    const auto sum = [&](const char* name, const ByteRange& range) {
      return store.checksum(kBucket, name, range, type).value();
    };
    for (const ByteRange& range : {ByteRange{0, 9'000'000},
                                   {0, 0},
                                   {1, 5'000'000},
                                   {8'999'999, 1},
                                   {4'194'304, 4'194'304}}) {
      CAPTURE(range.offset, range.length);
      const RangeChecksum found = sum("data", range);
      CHECK(found.length == range.length);
      CHECK(found.value == checksum(type, as_bytes(data).subspan(range.offset, range.length)));
    }
    CHECK(sum("data", {8'999'990, 100}).length == 10);
    CHECK(sum("data", {8'999'990, 100}).value == checksum(type, as_bytes(data).subspan(8'999'990)));
    CHECK(sum("data", {9'000'000, 1}).length == 0);
    CHECK(sum("data", {~std::uint64_t{0}, 1}).value == checksum(type, {}));
    CHECK(sum("gap", {0, kMaxObjectSize}).value ==
          checksum(type, as_bytes(std::string(5'000'000, '\0') + "end")));
  }
  CHECK(code_of(store.checksum(kBucket, "none", {0, 1})) == ErrorCode::kNotFound);
}

TEST_CASE("exists, attribute: what is there, what is not, and names that nothing can have") {
  StoreFixture fixture;
  Store store = fixture.open();
  const std::string longest(kMaxNameSize, 'n');
  Transaction t;
  t.put(kBucket, "a", "data");
  t.set_attrs(kBucket, "a", {{"k", "v"}, {"empty", ""}});
  t.create(kBucket, longest);
  REQUIRE(store.commit(std::move(t)).ok());
  for (int round = 0; round < 2; ++round) {  // from the metadata, from the cache
    CHECK(store.exists(kBucket, "a").value());
    CHECK(store.exists(kBucket, longest).value());
    CHECK_FALSE(store.exists(kBucket, "b").value());
    CHECK_FALSE(store.exists("none", "a").value());
    CHECK_FALSE(store.exists(kBucket, "").value());
    CHECK_FALSE(store.exists(kBucket, longest + "n").value());
    CHECK(store.attribute(kBucket, "a", "k").value() == "v");
    CHECK(store.attribute(kBucket, "a", "empty").value() == "");
    CHECK(store.attribute(kBucket, "a", "l").value() == std::nullopt);
    CHECK(store.attribute(kBucket, "a", "").value() == std::nullopt);
    CHECK(code_of(store.attribute(kBucket, "b", "k")) == ErrorCode::kNotFound);
  }
  REQUIRE(::hexad::testing::remove(store, "a").ok());
  CHECK_FALSE(store.exists(kBucket, "a").value());
}

}  // namespace
}  // namespace hexad::testing
