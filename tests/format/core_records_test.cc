// The worked examples of doc/format.md for what core writes: the bytes there are these.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "core/blob/pack_stripe.h"
#include "core/record/damage_record.h"
#include "core/record/device_record.h"
#include "core/record/keys.h"
#include "core/record/log_record.h"
#include "core/record/record.h"
#include "core/stats/counters.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

std::string to_hex(std::string_view bytes) {
  std::string hex;
  for (const char byte : bytes) {
    if (!hex.empty()) hex += ' ';
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t at = 0; at + 1 < hex.size(); at += 3) {
    bytes += static_cast<char>(kDigits.find(hex[at]) << 4 | kDigits.find(hex[at + 1]));
  }
  return bytes;
}

bool is_in_the_document(const std::string& hex) {
  std::ifstream file("doc/format.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str().find("`" + hex + "`") != std::string::npos;
}

// These bytes are the ones of the document.
void require_golden(std::string_view bytes, const std::string& golden) {
  REQUIRE(to_hex(bytes) == golden);
  REQUIRE(is_in_the_document(golden));
}

// 4+2, crc32c, 16 KiB.
const RecordShape kShape;

ObjectRecord example_object() {
  ObjectRecord record;
  record.version = 1000;
  record.size = 65536;
  record.mtime = 1'700'000'000'000'000'000;
  record.hint = 1;
  record.attributes["type"] = "a/b";
  Extent& extent = record.extents.emplace_back();
  extent.length = 65536;
  extent.blob.where = {17, 300, 4};
  extent.blob.cell_bytes = 16384;
  extent.blob.raw = extent.blob.stored = 65536;
  extent.blob.cell_sums = {0xa0a1a2a3, 1, 2, 3, 4, 5};
  return record;
}

// In page 2: an inline extent of 3 bytes at offset 5 of the page, then 10 bytes of a blob, a hole
// of 100 bytes, and the blob's last 90 bytes. The blob is packed and compressed.
ExtentList example_page() {
  ExtentList page(3);
  page[0] = inline_extent(2 * kPageSpan + 5, "abc");
  Blob blob;
  blob.placement = Placement::kPacked;
  blob.where = {3, 9, 0};
  blob.cell = 2;
  blob.cell_offset = 256;
  blob.raw = 200;
  blob.stored = 64;
  blob.frames = {compression::Algorithm::kZstd, 65536, 200, 64, {64}};
  blob.cell_sums = {0xdeadbeef};
  page[1].offset = page[0].end();
  page[1].length = 10;
  page[1].blob = blob;
  page[2].offset = page[1].end() + 100;
  page[2].length = 90;
  page[2].blob_offset = 110;
  page[2].blob = blob;
  return page;
}

CollectionRecord example_collection() {
  CollectionRecord record;
  record.id = 300;
  record.compression.mode = compression::Mode::kAggressive;
  record.compression.algorithm = compression::Algorithm::kZstd;
  record.compression.level = 3;
  return record;
}

LogRecord example_log_record() {
  LogRecord record;
  record.time = 1'700'000'000'000'000'000;
  record.images.push_back({object_key(1, "a"), "\x01\x02"});
  record.images.push_back({object_key(1, "b"), std::nullopt});
  record.allocated.push_back({{17, 300, 4}, 16384, false, {0xa0a1a2a3, 1, 2, 3, 4, 5}, 0});
  record.freed.push_back({17, 200, 2});
  record.packed_releases.push_back({3, 9, 64});
  record.unplaced_releases.push_back({990, 1});
  record.zones.push_back({18, 512, {{0, 7}, {1, 7}, {2, 7}, {3, 7}, {4, 7}, {5, 200}}});
  return record;
}

// Two blobs of 3000 and 1000 bytes in a pack stripe, 700 bytes with a stripe of their own, and one
// that stays in the log.
GroupPart example_group() {
  GroupPart group;
  group.allocated.push_back(
      {{3, 40, 1}, 4096, false, {0xb0b1b2b3, 1, 2, 3, 4, 5}, 4000, 0, 0x0badf007});
  group.allocated.push_back({{3, 41, 1}, 512, true, {}, 0, 1 << 5});
  group.placed = {packed_place({50, 0}, 3000, {3, 40, 0}, {0, 0}),
                  packed_place({51, 2}, 1000, {3, 40, 0}, {3, 16}),
                  private_place({50, 1}, 700, {3, 41, 1}, 512, {6, 7, 8, 9, 10, 11})};
  group.payloads.push_back({{52, 0}, object_key(1, "a"), 4096, "hello"});
  return group;
}

PackFooter example_footer() {
  PackFooter footer;
  footer.store.bytes.fill(0x11);
  footer.where = {3, 40, 1};
  footer.entries.push_back({0, 0, 3000, 50, 0, object_key(1, "a")});
  footer.entries.push_back({3, 16, 1000, 51, 65536, object_key(1, "b")});
  footer.cell_sums = {0xb0b1b2b3, 1, 2, 3};
  return footer;
}

TEST_CASE("format: the example of a group's part") {
  const std::string golden =
      "02 06 03 28 01 08 a0 1f 07 f0 ad 0b b3 b2 b1 b0 01 00 00 00 02 00 00 00 "
      "03 00 00 00 04 00 00 00 05 00 00 00 09 03 29 01 01 20 03 32 00 02 b8 17 "
      "03 28 00 00 33 02 02 e8 07 03 28 03 02 32 01 01 bc 05 03 29 01 01 06 00 "
      "00 00 07 00 00 00 08 00 00 00 09 00 00 00 0a 00 00 00 0b 00 00 00 01 34 "
      "00 06 6f 00 00 00 01 61 80 20 05 68 65 6c 6c 6f";
  require_golden(encode_group_part(example_group(), kShape), golden);
  const LogRecord record =
      decode_log_record(encode_own_part({}, kShape) + from_hex(golden), kShape).value();
  REQUIRE(record.group == example_group());
}

TEST_CASE("format: the example of the footer of a pack stripe") {
  const std::string golden =
      "11 11 11 11 11 11 11 11 11 11 11 11 11 11 11 11 03 28 01 02 00 00 b8 17 "
      "32 00 06 6f 00 00 00 01 61 03 02 e8 07 33 80 80 04 06 6f 00 00 00 01 62 "
      "b3 b2 b1 b0 01 00 00 00 02 00 00 00 03 00 00 00 48 58 50 46 ae 54 c0 af "
      "40 00 00 00";
  require_golden(encode_pack_footer(example_footer(), kShape), golden);
  const std::string cell = std::string(4096 - from_hex(golden).size(), 'x') + from_hex(golden);
  const PackFooter footer = decode_pack_footer(as_bytes(cell), kShape).value();
  REQUIRE(footer.store == example_footer().store);
  REQUIRE(footer.where == example_footer().where);
  REQUIRE(footer.entries == example_footer().entries);
  REQUIRE(footer.cell_sums == example_footer().cell_sums);
  REQUIRE(footer.length == from_hex(golden).size());
}

TEST_CASE("format: the example of a page with an unplaced blob") {
  ExtentList page(1);
  page[0].offset = 2 * kPageSpan;
  page[0].length = 300;
  page[0].blob = unplaced_blob({990, 1}, 300, 0xdeadbeef);
  const std::string golden = "06 01 42 de 07 01 ac 02 ef be ad de";
  require_golden(encode_page(page, kShape), golden);
  REQUIRE(decode_page(from_hex(golden), 2, kShape).value() == page);
}

TEST_CASE("format: the example of the object record") {
  const std::string golden =
      "01 05 e8 07 80 80 04 00 00 2a 36 fe 9c 97 17 01 04 74 79 70 65 03 61 2f "
      "62 01 02 11 ac 02 04 20 80 80 04 a3 a2 a1 a0 01 00 00 00 02 00 00 00 03 "
      "00 00 00 04 00 00 00 05 00 00 00";
  require_golden(encode_object(example_object(), kShape), golden);
  REQUIRE(decode_object(from_hex(golden), kShape).value() == example_object());
}

TEST_CASE("format: the example of an object with more hints") {
  ObjectRecord record;
  record.version = 7;
  record.mtime = 1'700'000'000'000'000'000;
  record.hint = static_cast<std::uint16_t>(Hint::kSequentialRead | Hint::kImmutable);
  const std::string golden = "01 20 07 00 00 00 2a 36 fe 9c 97 17 21 00";
  REQUIRE(to_hex(encode_object(record, kShape)) == golden);
  REQUIRE(is_in_the_document(golden));
  REQUIRE(decode_object(from_hex(golden), kShape).value() == record);
}

TEST_CASE("format: the example of an object with an omap") {
  ObjectRecord record;
  record.version = 7;
  record.mtime = 1'700'000'000'000'000'000;
  record.omap = std::uint64_t{7} << 32 | 9;
  const std::string golden = "01 40 07 00 00 00 2a 36 fe 9c 97 17 07 09 00";
  REQUIRE(to_hex(encode_object(record, kShape)) == golden);
  REQUIRE(is_in_the_document(golden));
  REQUIRE(decode_object(from_hex(golden), kShape).value() == record);
}

TEST_CASE("format: the example of an object with layers") {
  ObjectRecord record;
  record.version = 7;
  record.mtime = 1'700'000'000'000'000'000;
  record.layers = {std::uint64_t{7} << 32 | 9, std::uint64_t{6} << 32 | 1};
  const std::string golden = "01 80 07 00 00 00 2a 36 fe 9c 97 17 02 07 09 06 01 00";
  require_golden(encode_object(record, kShape), golden);
  REQUIRE(decode_object(from_hex(golden), kShape).value() == record);
}

TEST_CASE("format: the example of damage") {
  const DamagedBlob blob{3, 9, 1, 8, 258};
  require_golden(damage_key(blob),
                 "6d 64 61 6d 61 67 65 00 00 00 03 00 00 00 09 00 00 00 01 00 00 00 08 00 00 00 00 "
                 "00 00 01 02");
  REQUIRE(parse_damage_key(damage_key(blob)).value() == blob);
  const DamageRecord record{1'700'000'000'000'000'000, true, "lost"};
  require_golden(encode_damage(record), "10 01 00 00 2a 36 fe 9c 97 17 04 6c 6f 73 74");
  REQUIRE(decode_damage(encode_damage(record)).value() == record);
}

TEST_CASE("format: the examples of cut pages") {
  const PageCuts cuts = {{1, 2}, {300, kEndOfPages}};
  require_golden(encode_cuts(cuts), "0e 02 01 01 aa 02 d4 fd ff 07");
  REQUIRE(decode_cuts(encode_cuts(cuts)).value() == cuts);
  ObjectRecord record;
  record.version = 7;
  record.size = 5;
  record.mtime = 1'700'000'000'000'000'000;
  record.body = BodyId{7} << 32 | 9;
  record.cuts = cuts;
  const std::string golden = "0d 02 07 05 00 00 2a 36 fe 9c 97 17 07 09 02 01 01 aa 02 d4 fd ff 07";
  require_golden(encode_object(record, kShape), golden);
  REQUIRE(decode_object(from_hex(golden), kShape).value() == record);
  require_golden(cut_key(record.body), "6b 00 00 00 07 00 00 00 09");
}

TEST_CASE("format: the examples of a shared blob and its owners") {
  ExtentList page(1);
  page[0].length = 100;
  Blob& blob = page[0].blob;
  blob.placement = Placement::kPacked;
  blob.where = {3, 9, 0};
  blob.cell = 2;
  blob.cell_offset = 256;
  blob.raw = blob.stored = 100;
  blob.cell_sums = {0xdeadbeef};
  blob.share = std::uint64_t{7} << 32 | 10;
  const std::string golden = "02 01 92 03 09 02 20 64 ef be ad de 07 0a";
  require_golden(encode_page(page, kShape), golden);
  REQUIRE(decode_page(from_hex(golden), 0, kShape).value() == page);
  blob.forward = Forward::kWritten;
  const std::string forwarded = "02 01 90 03 09 02 20 64 ef be ad de 07 0a";
  require_golden(encode_page(page, kShape), forwarded);
  REQUIRE(decode_page(from_hex(forwarded), 0, kShape).value() == page);
  const std::string list = object_key(258, "ab");
  require_golden(forward_key(3, 9, list), "66 00 00 00 03 00 00 00 09 6f 00 00 01 02 61 62");
  require_golden(unplaced_forward_key(990, 1, list),
                 "79 00 00 00 00 00 00 03 de 00 00 00 01 6f 00 00 01 02 61 62");
  require_golden(encode_owners(300), "08 ac 02");
  require_golden(share_key(blob.share), "73 00 00 00 07 00 00 00 0a");
  require_golden(layer_key(std::uint64_t{7} << 32 | 9), "6c 00 00 00 07 00 00 00 09");
}

TEST_CASE("format: the example of the extent page") {
  const std::string golden =
      "02 03 05 05 02 61 62 63 3a 00 0a 03 09 02 20 c8 01 02 10 40 ef be ad de "
      "0f 64 6e 5a 00";
  require_golden(encode_page(example_page(), kShape), golden);
  REQUIRE(decode_page(from_hex(golden), 2, kShape).value() == example_page());
}

TEST_CASE("format: the example of the collection record") {
  const std::string golden = "03 ac 02 02 02 03 00 6b 03 00 00 00 02 00 00 00 80 00 00";
  require_golden(encode_collection(example_collection()), golden);
  REQUIRE(decode_collection(from_hex(golden)).value() == example_collection());
}

TEST_CASE("format: the example of a collection with a quota") {
  CollectionRecord record = example_collection();
  record.quota.objects = 1000;
  const std::string golden = "03 ac 02 02 02 03 00 6b 03 00 00 00 02 00 00 00 80 00 00 e8 07 00";
  REQUIRE(to_hex(encode_collection(record)) == golden);
  REQUIRE(is_in_the_document(golden));
  REQUIRE(decode_collection(from_hex(golden)).value() == record);
}

TEST_CASE("format: the example of a collection whose names are in several ranges") {
  CollectionRecord record = example_collection();
  record.parts = {{"", 300}, {"a/", 7}, {"a0", 300}};
  const std::string golden =
      "0a ac 02 02 02 03 00 6b 03 00 00 00 02 00 00 00 80 00 00 00 00 03 00 ac 02 02 61 2f 07 02 "
      "61 30 ac 02";
  REQUIRE(to_hex(encode_collection(record)) == golden);
  REQUIRE(is_in_the_document(golden));
  REQUIRE(decode_collection(from_hex(golden)).value() == record);
}

TEST_CASE("format: the example of removed names") {
  REQUIRE(to_hex(deletion_key(300, "")) == "64 00 00 01 2c");
  REQUIRE(is_in_the_document("64 00 00 01 2c"));
  REQUIRE(encode_deletion("").empty());
  const std::string key = "64 00 00 01 2c 61 2f";
  const std::string value = "0b 61 30";
  REQUIRE(to_hex(deletion_key(300, "a/")) == key);
  REQUIRE(to_hex(encode_deletion("a0")) == value);
  REQUIRE(is_in_the_document(key));
  REQUIRE(is_in_the_document(value));
  REQUIRE(decode_deletion(from_hex(key), from_hex(value)).value() == NameRange{300, "a/", "a0"});
  REQUIRE(decode_deletion(deletion_key(300, ""), "").value() == NameRange{300, "", ""});
  for (const char* bad : {"0b", "0b 61 2f", "0b 61", "0a 61 30"}) {
    REQUIRE(decode_deletion(from_hex(key), from_hex(bad)).error().code == ErrorCode::kCorruption);
  }
}

TEST_CASE("format: the example of the totals of a collection") {
  const CollectionTotals totals{300, 70'000};
  const std::string golden = "07 ac 02 f0 a2 04";
  REQUIRE(to_hex(encode_totals(totals)) == golden);
  REQUIRE(is_in_the_document(golden));
  REQUIRE(decode_totals(from_hex(golden)).value() == totals);
  REQUIRE(to_hex(totals_key(300)) == "74 00 00 01 2c");
  REQUIRE(is_in_the_document("74 00 00 01 2c"));
}

TEST_CASE("format: the example of the log record") {
  const std::string golden =
      "04 00 00 2a 36 fe 9c 97 17 02 06 6f 00 00 00 01 61 03 01 02 06 6f 00 00 "
      "00 01 62 00 01 02 11 ac 02 04 20 a3 a2 a1 a0 01 00 00 00 02 00 00 00 03 "
      "00 00 00 04 00 00 00 05 00 00 00 01 11 c8 01 02 01 03 09 40 01 de 07 01 "
      "01 12 80 04 00 07 01 07 02 07 03 07 04 07 05 c8 01 00 00 00";
  require_golden(encode_log_record(example_log_record(), kShape), golden);
  REQUIRE(decode_log_record(from_hex(golden), kShape).value() == example_log_record());
}

TEST_CASE("format: the example of a patch") {
  const std::string golden =
      "0c 00 00 2a 36 fe 9c 97 17 01 06 6f 00 00 00 01 61 01 88 bf fa cb 01 64 "
      "01 02 79 7a 00 00 00 00 00 00 00 00";
  const std::string before(300, 'x');
  const std::string after = std::string(before).replace(100, 1, "yz");
  LogRecord record;
  record.time = 1'700'000'000'000'000'000;
  record.images.push_back({object_key(1, "a"), after, make_patch(before, after)});
  require_golden(encode_log_record(record, kShape), golden);
  const LogRecord back = decode_log_record(from_hex(golden), kShape).value();
  REQUIRE_FALSE(back.images.at(0).value.has_value());
  REQUIRE(apply_patch(before, back.images[0].patch.value()).value() == after);
}

TEST_CASE("format: the examples of keys") {
  REQUIRE(to_hex(collection_key("default")) == "63 64 65 66 61 75 6c 74");
  REQUIRE(to_hex(object_key(258, "ab")) == "6f 00 00 01 02 61 62");
  for (const std::string_view hex :
       {"63 64 65 66 61 75 6c 74", "6f 00 00 01 02 61 62", "7a 00 00 00 11"}) {
    REQUIRE(is_in_the_document(std::string(hex)));
  }
  const BodyId body = BodyId{7} << 32 | 9;
  REQUIRE(to_hex(writer_key(body)) == "77 00 00 00 07 00 00 00 09");
  REQUIRE(to_hex(page_key(body, 2)) == "78 00 00 00 07 00 00 00 09 00 00 00 02");
  REQUIRE(to_hex(zone_key(17)) == "7a 00 00 00 11");
  REQUIRE(to_hex(meta_key("counters")) == "6d 63 6f 75 6e 74 65 72 73");
}

TEST_CASE("format: the example of what is remembered of a device") {
  DeviceRecord record;
  for (std::uint8_t i = 0; i < 16; ++i) record.uuid.bytes[i] = i;
  record.since = 256;
  record.errors = {0, 0, 0, 3, 0};
  record.last = DeviceFilled{{FillKind::kRebuild, 512, 12, 300, 0}, 768, 4, 990};
  const std::string golden =
      "11 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 00 01 00 00 00 00 00 00 00 00 00 03 00 "
      "01 "
      "02 00 02 00 00 00 00 00 00 0c ac 02 00 00 03 00 00 00 00 00 00 04 de 07";
  require_golden(encode_device(record), golden);
  REQUIRE(decode_device(from_hex(golden)).value() == record);
}

TEST_CASE("format: the example of saved counters") {
  const std::string golden = "05 02 05 72 65 61 64 73 ac 02 0b 63 68 65 63 6b 70 6f 69 6e 74 73 01";
  REQUIRE(is_in_the_document(golden));
  Counters counters;
  REQUIRE(counters.load_base(from_hex(golden)).ok());
  REQUIRE(counters.total(CounterId::kReads) == 300);
  REQUIRE(counters.total(CounterId::kCheckpoints) == 1);
}

}  // namespace
}  // namespace hexad::core
