#include "core/record/plain_object.h"

#include <catch2/catch.hpp>
#include <string>

#include "tests/core/broken_input.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

// PO1. Whether it is taken.
bool agrees(std::string_view value, const RecordShape& shape) {
  PlainObject plain;
  if (!read_plain(value, shape, plain)) return false;
  const Result<ObjectRecord> record = decode_object(value, shape);
  REQUIRE(record.ok());
  REQUIRE(record->size == plain.size);
  REQUIRE(record->body == 0);
  REQUIRE_FALSE(record->has_omap());
  REQUIRE(record->extents.size() == 1);
  const Extent& extent = record->extents[0];
  REQUIRE(extent.offset == 0);
  REQUIRE(extent.length == plain.size);
  REQUIRE(extent.blob_offset == 0);
  REQUIRE(extent.blob == plain.blob);
  REQUIRE(extent.blob.forward == Forward::kNone);
  return true;
}

// Of all of the blob, as most small objects are.
ObjectRecord object_of(const Blob& blob) {
  ObjectRecord record;
  record.version = 77;
  record.mtime = 1'700'000'000'123'456'789;
  record.size = blob.raw;
  Extent extent;
  extent.length = blob.raw;
  extent.blob = blob;
  extent.blob.forward = Forward::kNone;
  record.extents = {extent};
  return record;
}

TEST_CASE("plain_object: an object of one whole blob is read, wherever that lies") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const RecordShape shape = random_shape(rng);
    ObjectRecord record = object_of(random_blob(rng, shape));
    if (rng.chance(1, 2)) record.attributes = {{"a", ""}, {"b", random_bytes(rng, 40)}};
    REQUIRE(agrees(encode_object(record, shape), shape));
  }
}

TEST_CASE("plain_object: what says more is left to the decoder") {
  const RecordShape shape;
  const ObjectRecord plain = object_of(extent_of_64_kib().blob);
  REQUIRE(agrees(encode_object(plain, shape), shape));
  const auto refused = [&](const auto& change) {
    ObjectRecord record = plain;
    change(record);
    PlainObject into;
    return !read_plain(encode_object(record, shape), shape, into);
  };
  CHECK(refused([](ObjectRecord& r) { r.extents.clear(); }));
  CHECK(refused([](ObjectRecord& r) { r.size += 1; }));  // it ends with a hole
  CHECK(refused([](ObjectRecord& r) { r.omap = 5; }));
  CHECK(refused([](ObjectRecord& r) { r.layers = {5}; }));
  CHECK(refused([](ObjectRecord& r) {
    r.body = 5;
    r.extents.clear();
  }));
  CHECK(refused([](ObjectRecord& r) {
    r.extents = {inline_extent(0, 100)};
    r.size = 100;
  }));
  CHECK(refused([](ObjectRecord& r) {  // a part of its blob
    r.extents[0].length -= 1;
    r.size -= 1;
  }));
  CHECK(refused([](ObjectRecord& r) {
    r.extents[0].offset += 1;
    r.size += 1;
  }));
  CHECK(refused([](ObjectRecord& r) {
    r.extents.push_back(inline_extent(r.size, 5));
    r.size += 5;
  }));
  CHECK(refused([](ObjectRecord& r) {
    r.extents[0].blob = unplaced_blob({9, 0}, 1000, 1);
    r.extents[0].blob.forward = Forward::kDue;
    r.extents[0].length = r.size = 1000;
  }));
  CHECK_FALSE(refused([](ObjectRecord& r) {
    r.extents[0].blob = unplaced_blob({9, 0}, 1000, 1);
    r.extents[0].length = r.size = 1000;
  }));
  PlainObject into;
  CHECK_FALSE(read_plain(encode_collection({}), shape, into));
  CHECK_FALSE(read_plain("", shape, into));
}

TEST_CASE("plain_object: whatever is broken, what it takes the decoder takes, too") {
  const std::uint64_t seed = GENERATE(11, 12, 13);
  CAPTURE(seed);
  io::Rng rng(seed);
  constexpr std::size_t kSmall = 300;
  int taken = 0;
  for (int tried = 0; tried < 12;) {
    const RecordShape shape = random_shape(rng);
    ObjectRecord record = object_of(random_blob(rng, shape));
    if (rng.chance(1, 2)) record.attributes = {{"name", "value"}, {"other", "x"}};
    const std::string value = encode_object(record, shape);
    if (value.size() > kSmall) continue;
    ++tried;
    for_each_broken(value, rng,
                    [&](std::string_view input) { taken += agrees(input, shape) ? 1 : 0; });
  }
  CHECK(taken > 0);
  for (int i = 0; i < 200; ++i) {
    const RecordShape shape = random_shape(rng);
    agrees(encode_object(random_object(rng, shape), shape), shape);
  }
}

}  // namespace
}  // namespace hexad::core
