#include "core/record/log_record.h"

#include <catch2/catch.hpp>
#include <limits>

#include "core/record/group_part.h"
#include "tests/core/broken_input.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

TEST_CASE("log_record: random records come back as they were") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 500; ++i) {
    const RecordShape shape = random_shape(rng);
    const LogRecord record = random_log_record(rng, shape);
    const Result<LogRecord> back = decode_log_record(encode_log_record(record, shape), shape);
    REQUIRE(back.ok());
    REQUIRE(*back == record);
  }
}

TEST_CASE("log_record: groups' parts without their payloads are the same bytes, cut") {
  io::Rng rng(31);
  for (int round = 0; round < 300; ++round) {
    const RecordShape shape = random_shape(rng);
    std::vector<GroupPart> groups(1 + rng.below(4));
    CutGroupParts cut;
    std::string whole;
    for (GroupPart& group : groups) {
      group = random_log_record(rng, shape).group;
      append_group_part(group, shape, cut);
      whole += encode_group_part(group, shape);
    }
    std::string joined;
    std::size_t from = 0;
    auto place = cut.places.begin();
    for (const GroupPart& group : groups) {
      for (std::size_t i = 0; i <= group.payloads.size(); ++i) {
        REQUIRE(place != cut.places.end());
        joined.append(cut.bytes, from, *place - from);
        if (i < group.payloads.size()) joined += group.payloads[i].bytes;
        from = *place++;
      }
    }
    REQUIRE(place == cut.places.end());
    REQUIRE(from == cut.bytes.size());
    REQUIRE(joined == whole);
  }
}

TEST_CASE("log_record: the decoder survives every truncation, flip, loss and doubling of a byte") {
  const std::uint64_t seed = GENERATE(11, 12, 13);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int tried = 0; tried < 12;) {
    const RecordShape shape = random_shape(rng);
    const std::string good = encode_log_record(random_log_record(rng, shape), shape);
    if (good.size() > 700) continue;
    ++tried;
    for_each_broken(good, rng, [&](std::string_view input) {
      const Result<LogRecord> decoded = decode_log_record(input, shape);
      if (decoded.ok()) {
        REQUIRE(encode_log_record(*decoded, shape) == input);
      } else {
        REQUIRE(decoded.error().code == ErrorCode::kCorruption);
      }
    });
    for (std::size_t size = 0; size < good.size(); ++size) {
      REQUIRE_FALSE(decode_log_record(std::string_view(good).substr(0, size), shape).ok());
    }
  }
}

TEST_CASE("log_record: what dies is freed, dropped or named, by where it is") {
  LogRecord record;
  Blob blob;
  blob.where = {1, 2, 3};
  blob.stored = 700;
  add_release(record, blob);
  blob.placement = Placement::kPacked;
  blob.where.units = 0;
  add_release(record, blob);
  blob.placement = Placement::kLog;
  blob.log = {9, 4};
  add_release(record, blob);
  REQUIRE(record.freed == std::vector<alloc::Extent>{{1, 2, 3}});
  REQUIRE(record.packed_releases == std::vector<PackedRelease>{{1, 2, 700}});
  REQUIRE(record.unplaced_releases == std::vector<LogPlace>{{9, 4}});
  REQUIRE(decode_log_record(encode_log_record(record, {}), {}).value() == record);
}

TEST_CASE("log_record: a pack stripe's live bytes fit into its data cells") {
  const RecordShape shape;  // 4+2
  LogRecord record;
  record.allocated.push_back({{1, 2, 1}, 4096, true, {}, 4 * 4096});
  std::string bytes = encode_log_record(record, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == record);
  // 80 80 01 is 16384.
  const std::size_t at = bytes.find(std::string("\x80\x80\x01", 3));
  REQUIRE(at != std::string::npos);
  bytes[at] = '\x81';
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

// A part with one of everything: a pack stripe of two blobs, a private stripe, a payload.
GroupPart small_group() {
  GroupPart group;
  group.allocated.push_back({{3, 40, 2}, 8192, false, {1, 2, 3, 4, 5, 6}, 5100});
  group.allocated.push_back({{3, 44, 1}, 4096, false, {7, 8, 9, 10, 11, 12}, 0});
  group.placed = {packed_place({50, 0}, 5000, {3, 40, 0}, {1, 0}),
                  packed_place({50, 1}, 100, {3, 40, 0}, {1, 5000}),
                  private_place({51, 0}, 12'000, {3, 44, 1}, 4096, {7, 8, 9, 10, 11, 12})};
  group.payloads.push_back({{52, 0}, object_key(1, "a"), 1 << 20, "payload"});
  return group;
}

TEST_CASE("log_record: a group's part that contradicts itself is refused") {
  const RecordShape shape;
  const LogRecord good = [] {
    LogRecord record;
    record.group = small_group();
    return record;
  }();
  const std::string bytes = encode_log_record(good, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == good);
  // Where in the bytes each number stands, found by what stands around it.
  const auto refused = [&](std::string_view from, std::string_view to) {
    std::string wrong = bytes;
    const std::size_t at = wrong.find(from);
    REQUIRE(at != std::string::npos);
    REQUIRE(wrong.find(from, at + 1) == std::string::npos);
    wrong.replace(at, from.size(), to);
    const Result<LogRecord> decoded = decode_log_record(wrong, shape);
    return !decoded.ok() && decoded.error().code == ErrorCode::kCorruption;
  };
  using namespace std::string_view_literals;
  // LSN 50, 1; packed; 100 bytes; zone 3, unit 40; cell 1; 5000 / 8.
  const std::string_view second = "\x32\x01\x02\x64\x03\x28\x01\xf1\x04"sv;
  CHECK_FALSE(refused(second, second));
  CHECK(refused(second, "\x32\x00\x02\x64\x03\x28\x01\xf1\x04"sv));  // the first blob again
  CHECK(refused(second, "\x34\x00\x02\x64\x03\x28\x01\xf1\x04"sv));  // that of the payload
  CHECK(refused(second, "\x32\x01\x03\x64\x03\x28\x01\xf1\x04"sv));  // in the log
  CHECK(refused(second, "\x32\x01\x02\x63\x03\x28\x01\xf1\x04"sv));  // a byte less than live
  CHECK(refused(second, "\x32\x01\x02\x64\x03\x29\x01\xf1\x04"sv));  // in no stripe
  CHECK(refused(second, "\x32\x01\x02\x64\x03\x2c\x01\xf1\x04"sv));  // in the private one
  CHECK(refused(second, "\x32\x01\x02\x64\x03\x28\x04\xf1\x04"sv));  // in a parity cell
  CHECK(refused(second, "\x32\x01\x02\x64\x03\x28\x01\xf0\x04"sv));  // over the end of the first
  CHECK(refused(second, "\x32\x01\x02\x64\x03\x28\x01\xf5\x07"sv));  // over the end of the cell
  CHECK_FALSE(refused(second, "\x32\x01\x02\x64\x03\x28\x01\xf3\x07"sv));
  CHECK_FALSE(refused(second, "\x32\x01\x02\x64\x03\x28\x00\x00"sv));
  // LSN 51, 0; private; 12000 bytes; zone 3, units 44 to 44; 8 sectors; the first sum.
  const std::string_view own = "\x33\x00\x01\xe0\x5d\x03\x2c\x01\x08\x07"sv;
  CHECK_FALSE(refused(own, own));
  CHECK(refused(own, "\x33\x00\x01\xe0\x5d\x03\x2c\x02\x08\x07"sv));           // other units
  CHECK(refused(own, "\x33\x00\x01\xe0\x5d\x03\x2c\x01\x09\x07"sv));           // other cells
  CHECK(refused(own, "\x33\x00\x01\xe0\x5d\x03\x2c\x01\x08\x08"sv));           // another sum
  CHECK(refused(own, "\x33\x00\x01\xff\x7f\x03\x2c\x01\x08\x07"sv) == false);  // 16383 bytes fit
  CHECK(refused(own, "\x33\x00\x01\x81\x80\x01\x03\x2c\x01\x08\x07"sv));       // 16385 do not
}

TEST_CASE(
    "log_record: a private stripe much longer than its blob is refused, as no record could name "
    "it") {
  RecordShape shape;
  shape.checksum_block = 64 << 10;  // so that the number of sums does not tell
  LogRecord record;
  record.group = small_group();
  record.group.allocated.erase(record.group.allocated.begin());
  record.group.placed.erase(record.group.placed.begin(), record.group.placed.begin() + 2);
  UnplacedPlace& place = record.group.placed[0];
  place.stored = 4;
  place.cell_bytes = record.group.allocated[0].cell_bytes = 16 << 10;
  REQUIRE(decode_log_record(encode_log_record(record, shape), shape).value() == record);
  place.cell_bytes = record.group.allocated[0].cell_bytes = (16 << 10) + 512;
  REQUIRE(decode_log_record(encode_log_record(record, shape), shape).error().code ==
          ErrorCode::kCorruption);
}

TEST_CASE("log_record: stripes without blobs and blobs without stripes are refused") {
  const RecordShape shape;
  const std::string empty = encode_group_part({}, shape);
  REQUIRE(empty == std::string(3, '\0'));
  const GroupPart good = small_group();
  const std::string own = encode_own_part({}, shape);
  const auto code = [&](const std::string& part) {
    const Result<LogRecord> decoded = decode_log_record(own + part, shape);
    return decoded.ok() ? ErrorCode{} : decoded.error().code;
  };
  const std::string whole = encode_group_part(good, shape);
  REQUIRE(decode_log_record(own + whole, shape)->group == good);
  // The parts of it: the private stripe alone, its place alone, both.
  GroupPart one;
  one.allocated = {good.allocated[1]};
  one.placed = {good.placed[2]};
  const std::string both = encode_group_part(one, shape);
  REQUIRE(decode_log_record(own + both, shape)->group == one);
  std::string stripe_only = both;
  stripe_only.resize(1 + 5 + 24);
  stripe_only += std::string(2, '\0');
  CHECK(code(stripe_only) == ErrorCode::kCorruption);
  const std::string place_only = std::string(1, '\0') + both.substr(1 + 5 + 24);
  CHECK(code(place_only) == ErrorCode::kCorruption);
}

TEST_CASE(
    "log_record: what an unplaced blob adds to its group's part is bounded before that is known") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 300; ++i) {
    const RecordShape shape = random_shape(rng);
    const GroupPart group = random_group(rng, shape);
    std::uint64_t bound = 32;  // the counts
    for (const UnplacedPlace& place : group.placed) bound += group_part_bound(place.stored, shape);
    for (const UnplacedPayload& payload : group.payloads) {
      bound += group_part_bound(payload.bytes.size(), shape) + payload.bytes.size() +
               payload.owner.size();
    }
    REQUIRE(encode_group_part(group, shape).size() <= bound);
  }
}

TEST_CASE("log_record: a removed key differs from a key with an empty value") {
  const RecordShape shape;
  LogRecord record;
  record.images.push_back({"gone", std::nullopt});
  record.images.push_back({"empty", ""});
  const LogRecord back = decode_log_record(encode_log_record(record, shape), shape).value();
  REQUIRE_FALSE(back.images[0].value.has_value());
  REQUIRE(back.images[1].value == "");
}

TEST_CASE("log_record: a stripe that was durable before needs no sums, any other does") {
  const RecordShape shape;
  LogRecord record;
  record.allocated.push_back({{1, 2, 3}, 4096, true, {}});
  std::string bytes = encode_log_record(record, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == record);
  // Kind, time, no images, one stripe: the flags of the stripe are the byte at 11.
  REQUIRE(bytes[11] == 1);
  bytes[11] = 0;
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("log_record: a zone with two slabs on one device is refused") {
  const RecordShape shape;
  LogRecord record;
  record.zones.push_back({1, 512, {{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}}});
  std::string bytes = encode_log_record(record, shape);
  REQUIRE(decode_log_record(bytes, shape).value() == record);
  bytes[bytes.size() - 2] = 3;
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("log_record: a count that cannot be true allocates nothing") {
  const RecordShape shape;
  std::string bytes = encode_log_record({}, shape);
  bytes.resize(9);
  Encoder(bytes).varint(std::numeric_limits<std::uint64_t>::max());
  REQUIRE(decode_log_record(bytes, shape).error().code == ErrorCode::kCorruption);
}

}  // namespace
}  // namespace hexad::core
