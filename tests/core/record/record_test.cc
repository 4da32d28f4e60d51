#include "core/record/record.h"

#include <catch2/catch.hpp>

#include "core/record/extent_codec.h"
#include "tests/core/broken_input.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

// The largest encoding whose every damage is tried.
constexpr std::size_t kSmall = 400;

ObjectRecord object_of_64_kib() {
  ObjectRecord record;
  record.version = 123'456'789;
  record.size = 64 << 10;
  record.mtime = 1'700'000'000'123'456'789;
  record.extents = {extent_of_64_kib()};
  return record;
}

bool is_refusal(const Error& error) {
  return error.code == ErrorCode::kCorruption || error.code == ErrorCode::kUnsupported;
}

// Whatever a decoder accepts is the encoding of what it returns.
template <typename T>
void check_decoded(const Result<T>& decoded, std::string_view input,
                   const std::function<std::string(const T&)>& encode) {
  if (!decoded.ok()) {
    REQUIRE(is_refusal(decoded.error()));
    return;
  }
  REQUIRE(encode(*decoded) == input);
}

TEST_CASE("record: random objects, pages and collections come back as they were") {
  const std::uint64_t seed = GENERATE(1, 2, 3, 4);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    const RecordShape shape = random_shape(rng);
    const ObjectRecord object = random_object(rng, shape);
    const std::string value = encode_object(object, shape);
    const Result<ObjectRecord> back = decode_object(value, shape);
    REQUIRE(back.ok());
    REQUIRE(*back == object);
    const Result<ObjectSummary> summary = decode_summary(value);
    REQUIRE(summary.ok());
    REQUIRE(summary->version == object.version);
    REQUIRE(summary->size == object.size);

    const auto page = static_cast<std::uint32_t>(rng.below(kMaxObjectSize / kPageSpan));
    const ExtentList extents = random_page(rng, page, shape);
    REQUIRE(check_extents(extents, page * kPageSpan, shape).ok());
    const Result<ExtentList> page_back = decode_page(encode_page(extents, shape), page, shape);
    REQUIRE(page_back.ok());
    REQUIRE(*page_back == extents);

    const CollectionTotals totals = random_totals(rng);
    REQUIRE(decode_totals(encode_totals(totals)).value() == totals);

    const PageCuts cuts = random_cuts(rng);
    REQUIRE(decode_cuts(encode_cuts(cuts)).value() == cuts);

    const CollectionRecord collection = random_collection(rng);
    const Result<CollectionRecord> collection_back =
        decode_collection(encode_collection(collection));
    REQUIRE(collection_back.ok());
    REQUIRE(*collection_back == collection);
  }
}

TEST_CASE("record: decoders survive every truncation, flip, loss and doubling of a byte") {
  const std::uint64_t seed = GENERATE(11, 12, 13);
  CAPTURE(seed);
  io::Rng rng(seed);
  for (int tried = 0; tried < 12;) {
    const RecordShape shape = random_shape(rng);
    const std::string object = encode_object(random_object(rng, shape), shape);
    const std::string page = encode_page(random_page(rng, 3, shape), shape);
    if (object.size() > kSmall || page.size() > kSmall) continue;
    ++tried;
    for_each_broken(object, rng, [&](std::string_view input) {
      check_decoded<ObjectRecord>(decode_object(input, shape), input,
                                  [&](const ObjectRecord& it) { return encode_object(it, shape); });
      if (const auto summary = decode_summary(input); !summary.ok()) {
        REQUIRE(is_refusal(summary.error()));
      }
    });
    for_each_broken(page, rng, [&](std::string_view input) {
      check_decoded<ExtentList>(decode_page(input, 3, shape), input,
                                [&](const ExtentList& it) { return encode_page(it, shape); });
    });
    const std::string collection = encode_collection(random_collection(rng));
    for_each_broken(collection, rng, [&](std::string_view input) {
      check_decoded<CollectionRecord>(decode_collection(input), input, encode_collection);
    });
    const std::string totals = encode_totals(random_totals(rng));
    for_each_broken(totals, rng, [&](std::string_view input) {
      check_decoded<CollectionTotals>(decode_totals(input), input, encode_totals);
    });
    const std::string cuts = encode_cuts(random_cuts(rng));
    for_each_broken(cuts, rng, [&](std::string_view input) {
      check_decoded<PageCuts>(decode_cuts(input), input,
                              [](const PageCuts& it) { return encode_cuts(it); });
    });
  }
}

TEST_CASE("record: no truncation of an object, a page or a collection decodes") {
  io::Rng rng(21);
  const RecordShape shape;
  const std::string object = encode_object(object_of_64_kib(), shape);
  const std::string page = encode_page(object_of_64_kib().extents, shape);
  CollectionRecord without_quota = random_collection(rng);
  without_quota.quota = {};
  without_quota.parts = {};
  const std::string collection = encode_collection(without_quota);
  const std::string totals = encode_totals(random_totals(rng));
  for (std::size_t size = 0; size < totals.size(); ++size) {
    REQUIRE_FALSE(decode_totals(std::string_view(totals).substr(0, size)).ok());
  }
  for (std::size_t size = 0; size < object.size(); ++size) {
    REQUIRE_FALSE(decode_object(std::string_view(object).substr(0, size), shape).ok());
  }
  for (std::size_t size = 0; size < page.size(); ++size) {
    REQUIRE_FALSE(decode_page(std::string_view(page).substr(0, size), 0, shape).ok());
  }
  for (std::size_t size = 0; size < collection.size(); ++size) {
    REQUIRE_FALSE(decode_collection(std::string_view(collection).substr(0, size)).ok());
  }
}

TEST_CASE("record: an object of 64 KiB over four cells takes at most 64 bytes") {
  const RecordShape shape;
  const std::string value = encode_object(object_of_64_kib(), shape);
  INFO(value.size());
  REQUIRE(value.size() <= 64);
  REQUIRE(decode_object(value, shape).value() == object_of_64_kib());
}

TEST_CASE("record: a blob that several extents show is written once") {
  const RecordShape shape;
  ObjectRecord whole = object_of_64_kib();
  ObjectRecord cut = whole;
  Extent tail = cut.extents[0];
  tail.offset = tail.blob_offset = 40'000;
  tail.length -= 40'000;
  cut.extents[0].length = 30'000;
  cut.extents.push_back(tail);
  const std::string value = encode_object(cut, shape);
  REQUIRE(value.size() <= encode_object(whole, shape).size() + 16);
  REQUIRE(decode_object(value, shape).value() == cut);
}

TEST_CASE("record: a blob that is written as new twice is refused") {
  const RecordShape shape;
  ExtentList page = {object_of_64_kib().extents[0], object_of_64_kib().extents[0]};
  page[0].blob.where.unit = 5;
  page[1].blob.where.unit = 6;
  page[1].offset = page[0].end();
  std::string value = encode_page(page, shape);
  const std::string where("\x11\x06\x04", 3);  // zone 17, unit 6, 4 units
  REQUIRE(value.find(where) != std::string::npos);
  REQUIRE(decode_page(value, 0, shape).ok());
  value[value.find(where) + 1] = 5;
  REQUIRE(decode_page(value, 0, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("record: a page belongs to its number") {
  io::Rng rng(5);
  const RecordShape shape;
  ExtentList page;
  page.push_back(inline_extent(7 * kPageSpan + 10, 20));
  const std::string value = encode_page(page, shape);
  REQUIRE(decode_page(value, 7, shape).value() == page);
  // The offsets are relative, so another page gives other extents, never these.
  REQUIRE(decode_page(value, 8, shape).value()[0].offset == 8 * kPageSpan + 10);
  // The last page ends one byte short of a full one.
  constexpr std::uint32_t kLast = kMaxObjectSize / kPageSpan;
  page = {inline_extent((kLast + 1) * kPageSpan - 20, 20)};
  REQUIRE(check_extents(page, kLast * kPageSpan, shape).error().code == ErrorCode::kCorruption);
  page[0].offset -= 1;
  REQUIRE(check_extents(page, kLast * kPageSpan, shape).ok());
  REQUIRE_FALSE(decode_page(value, kLast + 1, shape).ok());
}

TEST_CASE("record: an empty object and an empty page have records") {
  const RecordShape shape;
  REQUIRE(decode_object(encode_object({}, shape), shape).value() == ObjectRecord{});
  REQUIRE(decode_page(encode_page({}, shape), 9, shape).value().empty());
}

bool shows_unplaced(const ExtentList& extents) {
  for (const Extent& extent : extents) {
    if (!extent.is_inline() && extent.blob.placement == Placement::kLog) return true;
  }
  return false;
}

TEST_CASE("record: a value says at its front whether it has an unplaced blob, and says it truly") {
  io::Rng rng(31);
  int unplaced = 0;
  for (int i = 0; i < 300; ++i) {
    const RecordShape shape = random_shape(rng);
    const ExtentList page = random_page(rng, 0, shape);
    std::string value = encode_page(page, shape);
    REQUIRE(has_unplaced_blob(value) == shows_unplaced(page));
    value[0] = static_cast<char>(value[0] ^ 2 ^ 6);
    REQUIRE(decode_page(value, 0, shape).error().code == ErrorCode::kCorruption);

    const ObjectRecord object = random_object(rng, shape);
    value = encode_object(object, shape);
    REQUIRE(has_unplaced_blob(value) == shows_unplaced(object.extents));
    value[1] = static_cast<char>(value[1] ^ 0x10);
    REQUIRE(decode_object(value, shape).error().code == ErrorCode::kCorruption);
    unplaced += shows_unplaced(object.extents) ? 1 : 0;
    REQUIRE_FALSE(has_unplaced_blob(encode_collection(random_collection(rng))));
  }
  REQUIRE(unplaced > 20);
  for (const std::string_view other : {"", "\x01", "\x06", "\x02\x10", "\x04\x10"}) {
    REQUIRE_FALSE(has_unplaced_blob(other));
  }
}

TEST_CASE("record: hints come back, and what excludes each other or is unknown is refused") {
  const RecordShape shape;
  int valid = 0;
  for (unsigned hint = 0; hint < 1 << 10; ++hint) {
    if (!is_valid(static_cast<Hint>(hint))) continue;
    ++valid;
    ObjectRecord record;
    record.hint = static_cast<std::uint16_t>(hint);
    const std::string value = encode_object(record, shape);
    REQUIRE(decode_object(value, shape).value() == record);
    REQUIRE(decode_summary(value)->compression_hint == (hint & 3));
  }
  REQUIRE(valid == 3 * 3 * 64);
  // Kind, flags, version, size, time, hints, extents.
  const std::string head("\x01\x20\0\0\0\0\0\0\0\0\0\0", 12);
  const auto decode = [&](const std::string& hints) {
    return decode_object(head + hints + std::string(1, '\0'), shape);
  };
  REQUIRE(decode("\x01").ok());
  REQUIRE(decode("\xbf\x01").ok());
  for (const std::string& bad : {std::string(1, '\0'), std::string("\xc0\x01"),
                                 std::string("\x80\x02"), std::string("\x81\x00", 2)}) {
    REQUIRE(decode(bad).error().code == ErrorCode::kCorruption);
  }
  std::string both = encode_object({}, shape);
  both[1] = 0x0c;
  REQUIRE(decode_object(both, shape).error().code == ErrorCode::kCorruption);
}

TEST_CASE("record: parts of a collection that break a rule have no encoding") {
  const CollectionRecord plain{7, {}, {}};
  const std::string head = "\x0a" + encode_collection(plain).substr(1);
  const auto decode = [&](std::string_view parts) {
    return decode_collection(head + std::string("\0\0", 2) + std::string(parts));
  };
  CollectionRecord parted = plain;
  parted.set_parts({{"", 8}});
  REQUIRE(decode(std::string("\x01\x00\x08", 3)).value() == parted);
  parted.set_parts({{"", 7}, {"a", 8}});
  REQUIRE(decode(std::string("\x02\x00\x07\x01"
                             "a\x08",
                             6))
              .value() == parted);
  const std::string_view bad[] = {
      std::string_view("\x00", 1),                            // none
      std::string_view("\x01\x00\x07", 3),                    // what a collection has without parts
      std::string_view("\x01\x01z\x08", 4),                   // no first name
      std::string_view("\x02\x00\x07\x00\x08", 5),            // twice the same beginning
      std::string_view("\x02\x00\x07\x01z\x07", 6),           // neighbours in one space
      std::string_view("\x03\x00\x07\x01z\x08\x01y\x07", 9),  // not ascending
      std::string_view("\x01\x00\x08\x00", 4),                // bytes behind
  };
  for (const std::string_view parts : bad) {
    CAPTURE(printable(parts));
    REQUIRE(decode(parts).error().code == ErrorCode::kCorruption);
  }
  parted.parts.clear();
  for (CollectionId i = 0; i < kMaxNameParts; ++i) {
    parted.parts.push_back({i == 0 ? "" : std::to_string(1000 + i), i});
  }
  const std::string most = encode_collection(parted);
  REQUIRE(decode_collection(most).value() == parted);
  parted.set_parts({{"", 7}});
  REQUIRE(parted == plain);
}

TEST_CASE("record: a quota of nothing, and totals of nothing, have no encoding") {
  const std::string collection = encode_collection({7, {}, {}});
  REQUIRE(decode_collection(collection).ok());
  REQUIRE(decode_collection(collection + std::string("\0\0", 2)).error().code ==
          ErrorCode::kCorruption);
  REQUIRE_FALSE(decode_collection(collection + "\x01").ok());
  REQUIRE(decode_collection(collection + std::string("\0\x05", 2))->quota == Quota{0, 5});
  REQUIRE_FALSE(decode_totals(std::string("\x07\0\0", 3)).ok());
  REQUIRE_FALSE(decode_totals(std::string("\x03\x01\0", 3)).ok());
  REQUIRE(decode_totals(encode_totals({1, kMaxCollectionBytes})).ok());
  std::string beyond = "\x07\x01";
  Encoder(beyond).varint(kMaxCollectionBytes + 1);
  REQUIRE(decode_totals(beyond).error().code == ErrorCode::kCorruption);
}

TEST_CASE("record: no layers, too many, one twice and the object's own have no encoding") {
  const RecordShape shape;
  ObjectRecord record;
  record.omap = 5;
  for (OmapId layer = 10; layer < 10 + kMaxOmapLayers; ++layer) {
    record.layers.push_back(layer);
    REQUIRE(record.has_omap());
    REQUIRE(decode_object(encode_object(record, shape), shape).value() == record);
  }
  // Kind, flags, version, size, time, its own omap.
  const std::string head("\x01\xc0\0\0\0\0\0\0\0\0\0\0\0\x05", 14);
  const auto decode = [&](std::uint64_t count, const std::string& layers) {
    std::string value = head;
    Encoder(value).varint(count);
    return decode_object(value + layers + std::string(1, '\0'), shape);
  };
  const auto layer = [](int id) { return std::string(1, '\0') + static_cast<char>(id); };
  REQUIRE(decode(2, layer(7) + layer(6))->layers == std::vector<OmapId>{7, 6});
  REQUIRE_FALSE(decode(0, "").ok());
  REQUIRE_FALSE(decode(2, layer(7) + layer(7)).ok());
  REQUIRE_FALSE(decode(1, layer(5)).ok());
  REQUIRE_FALSE(decode(1, layer(0)).ok());
  std::string many;
  for (int id = 10; id < 27; ++id) many += layer(id);
  REQUIRE_FALSE(decode(17, many).ok());
  record.omap = 0;
  REQUIRE(record.has_omap());
  record.layers.clear();
  REQUIRE_FALSE(record.has_omap());
}

TEST_CASE("record: cuts that touch, are empty, none or beyond the last page have no encoding") {
  const auto decode = [](const std::vector<std::uint64_t>& numbers) {
    std::string value(1, '\x0e');
    for (const std::uint64_t number : numbers) Encoder(value).varint(number);
    return decode_cuts(value);
  };
  REQUIRE(decode({1, 0, 1}).value() == PageCuts{{0, 1}});
  REQUIRE(decode({2, 0, 1, 1, 2}).value() == PageCuts{{0, 1}, {2, 4}});
  REQUIRE(decode({1, kEndOfPages - 1, 1}).value() == PageCuts{{kEndOfPages - 1, kEndOfPages}});
  REQUIRE_FALSE(decode({0}).ok());
  REQUIRE_FALSE(decode({1, 0, 0}).ok());
  REQUIRE_FALSE(decode({2, 0, 1, 0, 2}).ok());
  REQUIRE_FALSE(decode({1, kEndOfPages - 1, 2}).ok());
  REQUIRE_FALSE(decode({1, kEndOfPages, 1}).ok());
  REQUIRE_FALSE(decode({2, 0, kEndOfPages, 1, 1}).ok());
  REQUIRE_FALSE(decode_cuts("\x0d").ok());
  std::vector<std::uint64_t> many{kMaxPageCuts + 1};
  for (std::size_t i = 0; i <= kMaxPageCuts; ++i) many.insert(many.end(), {1, 1});
  REQUIRE_FALSE(decode(many).ok());
  // An object without pages has no cuts, and one with pages and none has another kind.
  ObjectRecord object;
  object.body = 7;
  std::string value = encode_object(object, {});
  value[0] = '\x0d';
  REQUIRE_FALSE(decode_object(value, {}).ok());
  value = encode_object({}, {});
  value[0] = '\x0d';
  REQUIRE_FALSE(decode_object(value, {}).ok());
  REQUIRE_FALSE(decode_summary(value).ok());
}

TEST_CASE("record: owners are one or more, and a hidden entry is no object") {
  for (const std::uint64_t owners : {1, 2, 300}) {
    REQUIRE(decode_owners(encode_owners(owners)).value() == owners);
  }
  REQUIRE_FALSE(decode_owners(std::string("\x08\0", 2)).ok());
  REQUIRE_FALSE(decode_owners("\x07\x01").ok());
  REQUIRE_FALSE(decode_owners("\x08\x01\x01").ok());
  REQUIRE(is_hidden_entry(encode_hidden_entry()));
  REQUIRE_FALSE(is_hidden_entry(""));
  REQUIRE_FALSE(is_hidden_entry(encode_object({}, {})));
  REQUIRE_FALSE(decode_object(encode_hidden_entry(), {}).ok());
  REQUIRE_FALSE(has_unplaced_blob(encode_hidden_entry()));
}

TEST_CASE("record: blocks are summed only where cells are longer than a block") {
  RecordShape shape;  // 4+2, 16 KiB
  REQUIRE(shape.private_block_sums(4096) == 0);
  REQUIRE(shape.private_block_sums(16 << 10) == 0);
  REQUIRE(shape.private_block_sums((16 << 10) + 4096) == 8);
  REQUIRE(shape.private_block_sums(256 << 10) == 64);
  REQUIRE(shape.packed_block_sums(16 << 10) == 0);
  REQUIRE(shape.packed_block_sums((16 << 10) + 1) == 2);
}

}  // namespace
}  // namespace hexad::core
