#include "core/runs/manifest.h"

#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <sstream>

#include "io/rng.h"
#include "tests/core/broken_input.h"
#include "tests/core/runs/sample_manifests.h"

namespace hexad::core {
namespace {

constexpr std::size_t kSectionCount = 56;  // where the number of sections stands

ErrorCode refused(const std::string& bytes, const RecordShape& shape = small_shape()) {
  return decode_manifest(as_bytes(bytes), shape).error().code;
}

std::string to_hex(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    if (!hex.empty()) hex += ' ';
    hex += kDigits[static_cast<unsigned char>(byte) >> 4];
    hex += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return hex;
}

TEST_CASE("manifest: the example of the format") {
  const std::string bytes = encode_manifest(example_manifest(), small_shape());
  REQUIRE(decode_manifest(as_bytes(bytes), small_shape()).value() == example_manifest());
  // The rows of the document, one behind the other.
  std::ifstream file("doc/format.md");
  std::stringstream text;
  text << file.rdbuf();
  const std::string document = text.str();
  const std::size_t begin = document.find("```\n48 45 58 41 44 4d 41 4e");
  REQUIRE(begin != std::string::npos);
  std::istringstream rows(document.substr(begin + 4, document.find("```", begin + 4) - begin - 4));
  std::string golden;
  for (std::string row; std::getline(rows, row);) {
    const std::string hex = row.substr(0, row.find("  "));
    golden += (golden.empty() ? "" : " ") + hex;
  }
  REQUIRE(to_hex(bytes) == golden);
}

TEST_CASE("manifest: what is encoded is decoded, and to the same bytes again") {
  for (const RecordShape& shape :
       {small_shape(), RecordShape{}, RecordShape{10, 4, ChecksumType::kXxh3, 4096}}) {
    io::Rng rng(shape.k);
    for (int i = 0; i < 60; ++i) {
      CAPTURE(shape.k, i);
      const Manifest manifest = random_manifest(rng, shape);
      const std::string bytes = encode_manifest(manifest, shape);
      const Manifest again = decode_manifest(as_bytes(bytes), shape).value();
      REQUIRE(again == manifest);
      REQUIRE(encode_manifest(again, shape) == bytes);
    }
  }
}

TEST_CASE("manifest: a new store has no runs, and holds nothing above LSN 0") {
  Manifest manifest;
  manifest.store = manifest_store_uuid();
  manifest.epoch = 1;
  const std::string bytes = encode_manifest(manifest, small_shape());
  REQUIRE(decode_manifest(as_bytes(bytes), small_shape()).value() == manifest);
  manifest.lsn = 1;
  REQUIRE_FALSE(check_manifest(manifest, small_shape()).ok());
}

TEST_CASE("manifest: any damage is refused, or gives a manifest that keeps the rules") {
  io::Rng rng(3);
  const RecordShape shape = small_shape();
  std::vector<Manifest> manifests = {example_manifest()};
  for (int i = 0; i < 2; ++i) manifests.push_back(random_manifest(rng, shape));
  for (const Manifest& manifest : manifests) {
    for_each_broken(encode_manifest(manifest, shape), rng, [&](std::string_view bytes) {
      const Result<Manifest> decoded = decode_manifest(as_bytes(bytes), shape);
      if (!decoded.ok()) return;
      REQUIRE(check_manifest(*decoded, shape).ok());
      REQUIRE(encode_manifest(*decoded, shape) == bytes);
    });
  }
}

TEST_CASE("manifest: every rule is checked") {
  const RecordShape shape = small_shape();
  const auto problem = [&](const std::function<void(Manifest&)>& change) {
    Manifest bad = example_manifest();
    change(bad);
    const Status status = check_manifest(bad, shape);
    return status.ok() ? "" : status.error().message;
  };
  CHECK(problem([](Manifest&) {}) == "");
  CHECK(problem([](Manifest& m) { m.store = {}; }) == "manifest: of no store, or no epoch");
  CHECK(problem([](Manifest& m) { m.epoch = 0; }) == "manifest: of no store, or no epoch");
  // M1
  CHECK(problem([](Manifest& m) { m.lsn = 1001; }) ==
        "manifest: run 5 holds LSNs above 900 to 1000 where those up to 1001 are next");
  CHECK(problem([](Manifest& m) { m.runs[1].last_lsn = 899; }) ==
        "manifest: run 2 holds LSNs above 0 to 899 where those up to 900 are next");
  CHECK(problem([](Manifest& m) { m.runs[1].last_lsn = 901; }) != "");
  CHECK(problem([](Manifest& m) { m.runs[0].first_lsn = 1000; }) != "");
  CHECK(problem([](Manifest& m) { m.runs[1].first_lsn = 1; }) ==
        "manifest: no run holds the LSNs up to 1");
  CHECK(problem([](Manifest& m) { m.runs.pop_back(); }) ==
        "manifest: no run holds the LSNs up to 900");
  CHECK(problem([](Manifest& m) { std::swap(m.runs[0], m.runs[1]); }) != "");
  // M2
  CHECK(problem([](Manifest& m) { m.next_run = 5; }) ==
        "manifest: run 5 is there twice, or not below 5");
  CHECK(problem([](Manifest& m) { m.runs[1].id = 5; }) ==
        "manifest: run 5 is there twice, or not below 6");
  CHECK(problem([](Manifest& m) { m.runs[0].tombstones = 21; }) ==
        "manifest: run 5 has more tombstones than entries");
  // M3
  CHECK(problem([](Manifest& m) { m.runs[0].file = {}; }) == "manifest: run 5 is empty");
  CHECK(problem([](Manifest& m) { m.runs[0].file.bytes = 1001; }) ==
        "manifest: run 5: a file of 1001 bytes whose pieces hold 1000");
  // M4
  CHECK(problem([](Manifest& m) {
          m.runs[0].file.pieces[0].blob.where = {17, 41, 2};
        }) ==
        "manifest: zone 17 units 41..42 (2) and zone 17 units 42..42 (1) are in use at the same "
        "time");
  // M5
  const auto moved = [&](alloc::Extent where) {
    return problem([&](Manifest& m) { m.runs[0].file.pieces[0].blob.where = where; });
  };
  CHECK(moved({16, 300, 1}) == "manifest: zone 16 units 300..300 (1) is in no zone of the table");
  CHECK(moved({17, 511, 1}) == "");
  CHECK(moved({17, 511, 2}) == "manifest: zone 17 units 511..512 (2) is in no zone of the table");
  CHECK(moved({17, 0, 1}) != "");
  CHECK(problem([](Manifest& m) { m.zones.push_back(m.zones[0]); }) ==
        "manifest: zone 17 is not behind the zone before it");
  CHECK(problem([](Manifest& m) {
          m.zones.push_back(m.zones[0]);
          m.zones[1].zone = 18;
        }) == "manifest: zone 18: device 0 slab 7 is there twice");
  CHECK(problem([](Manifest& m) { m.zones[0].slots.pop_back(); }) ==
        "manifest: zone 17 has 2 slots on 2 devices, stripes have 3 cells");
  CHECK(problem([](Manifest& m) { m.zones[0].slots[1].device = 0; }) != "");
  CHECK(problem([](Manifest& m) {
          m.zones[0].slots[1] = {0, 8};
        }) == "manifest: zone 17 has 3 slots on 2 devices, stripes have 3 cells");
  CHECK(problem([](Manifest& m) { m.zones[0].units = 1; }) ==
        "manifest: zone 17 has slabs of 1 units");
}

TEST_CASE("manifest: sections of a later version are skipped where that is allowed") {
  const std::string bytes = encode_manifest(example_manifest(), small_shape());
  REQUIRE(bytes[kSectionCount] == 2);
  std::string more = bytes;
  more[kSectionCount] = 3;
  const std::string section = std::string("\x03") + "abc";
  const std::string skipped = more + "\x83" + section;
  REQUIRE(decode_manifest(as_bytes(skipped), small_shape()).value() == example_manifest());
  REQUIRE(refused(more + "\x03" + section) == ErrorCode::kUnsupported);
  // Ascending, each once, and as long as they say.
  REQUIRE(refused(more + "\x82" + section) == ErrorCode::kCorruption);
  REQUIRE(refused(more + "\x83\x04" + "abc") == ErrorCode::kCorruption);
  REQUIRE(refused(skipped + "x") == ErrorCode::kCorruption);
  // What this version knows it needs.
  std::string hidden = bytes;
  hidden[kSectionCount + 1] = '\x81';
  REQUIRE(refused(hidden) == ErrorCode::kCorruption);
}

TEST_CASE("manifest: another version, another thing and nothing are told apart") {
  std::string bytes = encode_manifest(example_manifest(), small_shape());
  REQUIRE(refused("") == ErrorCode::kNotFound);
  REQUIRE(refused(std::string(4096, '\0')) == ErrorCode::kNotFound);
  REQUIRE(refused(bytes, RecordShape{}) == ErrorCode::kCorruption);
  bytes[12] = 1;  // reserved
  REQUIRE(refused(bytes) == ErrorCode::kCorruption);
  bytes[8] = 2;
  REQUIRE(refused(bytes) == ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace hexad::core
