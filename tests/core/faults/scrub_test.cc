// Scrubs of stores whose cells have gone bad on the media.
#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "alloc/device_layout.h"
#include "base/units.h"
#include "tests/core/cells_on_media.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

ScrubReport scrub(Store& store, const ScrubOptions& options = {}) {
  Result<ScrubReport> report = store.scrub(options);
  if (!report.ok()) FAIL(report.error().to_string());
  return std::move(report).value();
}

// Every kind of place that a blob can have, in packs and stripes of its own, in records and pages,
// of objects, omaps and clones.
void fill(Store& store, std::uint64_t seed = 0) {
  REQUIRE(commit(store, [&](Transaction& t) {
            for (int i = 0; i < 40; ++i) {
              t.put(kBucket, "small" + std::to_string(i), noise(2000 + 97 * i, seed + i));
            }
            t.put(kBucket, "stripe", noise(300'000, seed + 100));
            t.put(kBucket, "inline", noise(100, seed + 101));
            t.put(kBucket, "omap", noise(500, seed + 102));
            t.omap_set(kBucket, "omap", "k", noise(270'000, seed + 103));
          }).ok());
  REQUIRE(put(store, "pages", noise(2'500'000, seed + 104)).ok());
  REQUIRE(commit(store, [&](Transaction& t) {
            t.clone(kBucket, "stripe", kBucket, "clone");
            t.clone(kBucket, "pages", kBucket, "clone of pages");
          }).ok());
  REQUIRE(message_of(store.checkpoint()) == "");
}

TEST_CASE("scrub: of a sound store reads every stripe once, finds nothing and writes nothing") {
  StoreFixture fixture;
  Store store = fixture.open();
  CHECK(scrub(store).findings.empty());  // also where nothing is
  fill(store);
  const std::uint64_t read = counter(store, "device_read_bytes");
  const std::uint64_t scrubbed = counter(store, "scrub_bytes");
  const auto before = fixture.fingerprint();
  const ScrubReport report = scrub(store);
  CHECK(report.findings.empty());
  CHECK(report.next.empty());
  // The stripes of clones are shared; the manifest alone is not looked at.
  CHECK(report.stripes_checked >= 5);
  CHECK(report.bytes_checked <= report.bytes_expected);
  CHECK(report.bytes_checked >= report.bytes_expected * 9 / 10);
  CHECK(counter(store, "device_read_bytes") - read == report.bytes_checked);
  CHECK(counter(store, "scrub_bytes") - scrubbed == report.bytes_checked);
  CHECK(counter(store, "scrub_findings") == 0);
  CHECK((fixture.fingerprint() == before));
}

TEST_CASE("scrub: damage to a whole device is found and put right, whatever lies there") {
  StoreFixture fixture;
  Store store = fixture.open();
  fill(store);
  constexpr std::size_t kDevice = 5;  // without a copy of the log
  io::MemoryMedia& media = *fixture.media(kDevice);
  const Bytes original = read_media(media);
  Bytes damaged = original;
  const std::size_t tail = alloc::header_offset(alloc::DeviceEnd::kTail, damaged.size());
  for (std::size_t at = alloc::kHeadEnd + 100; at < tail; at += 512) {
    damaged[at] ^= std::byte{1};
  }
  media.write(0, damaged);
  const ScrubReport report = scrub(store);
  CHECK(report.errors() == 0);
  // One finding for each stripe, each named after whom it belongs to.
  CHECK(report.findings.size() == report.stripes_checked);
  const auto names = [&](const std::string& text) {
    return std::count_if(report.findings.begin(), report.findings.end(), [&](const Finding& one) {
      return one.subject.find(text) != std::string::npos;
    });
  };
  CHECK(names("pack stripe at zone ") >= 1);
  CHECK(names("object default/stripe") + names("object default/clone") >= 1);
  CHECK(names("object default/pages") + names("object default/clone of pages") >= 3);
  CHECK(names("omap entry ") == 1);
  CHECK(names("run ") >= 1);
  CHECK(scrub(store).findings.empty());
  CHECK(deep_findings(store) == "");
  // Nothing was written but what was there before.
  const Bytes after = read_media(media);
  for (std::size_t at = 0; at < after.size(); at += 512) {
    const auto same = [&](const Bytes& as) {
      return std::equal(after.begin() + at, after.begin() + at + 512, as.begin() + at);
    };
    if (!same(original)) REQUIRE(same(damaged));
  }
}

TEST_CASE("scrub: any two cells of a stripe are found by name and put right") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(store.close().ok());
  }
  const StripeOnMedia cells = find_private(fixture, value);
  for (const auto& [a, b] : pairs_below(6)) {
    CAPTURE(a, b);
    for (const std::size_t role : {a, b}) flip_byte(fixture, cells[role], 1000);
    {
      // Looking alone changes nothing.
      Store store = fixture.open(Access::kReadOnly);
      const auto before = fixture.fingerprint();
      const ScrubReport report = scrub(store);
      REQUIRE(report.findings.size() == 1);
      REQUIRE(report.errors() == 1);
      REQUIRE((fixture.fingerprint() == before));
    }
    Store store = fixture.open();
    const ScrubReport report = scrub(store);
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.errors() == 0);
    REQUIRE(report.findings[0].subject == "object default/victim");
    REQUIRE(report.findings[0].repaired);
    const std::string& problem = report.findings[0].problem;
    REQUIRE(std::count(problem.begin(), problem.end(), ';') == 1);
    REQUIRE(is_whole(fixture, cells));
    REQUIRE(counter(store, "cells_healed") == 2);
  }
}

TEST_CASE("scrub: any two cells of a pack stripe are put right") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
    REQUIRE(store.close().ok());
  }
  const PackOnMedia pack = find_pack(fixture, small_format());
  for (const auto& [a, b] : pairs_below(6)) {
    CAPTURE(a, b);
    for (const std::size_t role : {a, b}) {
      flip_byte(fixture, pack.cells[role], pack.cells[role].bytes.size() - 1);
    }
    Store store = fixture.open();
    const ScrubReport report = scrub(store);
    REQUIRE(report.findings.size() == 1);
    REQUIRE(report.errors() == 0);
    REQUIRE_THAT(report.findings[0].subject, Catch::StartsWith("pack stripe at zone "));
    REQUIRE(is_whole(fixture, pack.cells));
    REQUIRE(scrub(store).findings.empty());
  }
}

TEST_CASE("scrub: what is damaged in more than m cells is told, and nothing is made worse") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    fill(store, 50);
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(store.close().ok());
  }
  const StripeOnMedia cells = find_private(fixture, value);
  for (const std::size_t role : {0, 2, 5}) flip_byte(fixture, cells[role], 7);
  std::vector<Bytes> damaged;
  for (const CellOnMedia& cell : cells) damaged.push_back(read_cell(fixture, cell));
  Store store = fixture.open();
  const ScrubReport report = scrub(store);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.errors() == 1);
  REQUIRE(report.findings[0].subject == "object default/victim");
  REQUIRE_THAT(report.findings[0].problem, Catch::Contains("only 3 good cells, 4 are needed"));
  REQUIRE(report.next.empty());
  for (std::size_t i = 0; i < cells.size(); ++i)
    REQUIRE(read_cell(fixture, cells[i]) == damaged[i]);
}

TEST_CASE("scrub: cells on devices that are away are no finding, and the others are looked at") {
  StoreFixture fixture;
  {
    Store store = fixture.open();
    fill(store);
    REQUIRE(store.close().ok());
  }
  const PackOnMedia pack = find_pack(fixture, small_format());
  fixture.take_away(pack.cells[1].device);
  Store store = fixture.open();
  REQUIRE(scrub(store).findings.empty());
  flip_byte(fixture, pack.cells[4], 10);
  const ScrubReport report = scrub(store);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.errors() == 0);
  REQUIRE(counter(store, "cells_healed") == 1);
}

// U3: most cells of a pack stripe have what an earlier owner of the place wrote, whole and with a
// footer of its own. The few right ones are worth more.
TEST_CASE("scrub: a pack stripe that an earlier owner has left does not become the truth") {
  // The same objects with other bytes, in another pool.
  const auto pack_of = [](StoreFixture& fixture, std::uint64_t seed) {
    Store store = fixture.open();
    fill(store, seed);
    REQUIRE(store.close().ok());
    return find_pack(fixture, small_format());
  };
  StoreFixture earlier;
  StoreFixture fixture;
  const PackOnMedia old = pack_of(earlier, 1000);
  const PackOnMedia pack = pack_of(fixture, 2000);
  REQUIRE(old.cells[0].bytes.size() == pack.cells[0].bytes.size());
  const std::size_t left = GENERATE(4, 5, 6);
  for (std::size_t i = 0; i < left; ++i) {
    const std::size_t role = 5 - i;
    write_cell(fixture, pack.cells[role], old.cells[role].bytes);
  }
  const auto read_cells = [&] {
    std::vector<Bytes> cells;
    for (const CellOnMedia& cell : pack.cells) cells.push_back(read_cell(fixture, cell));
    return cells;
  };
  const std::vector<Bytes> before = read_cells();
  Store store = fixture.open();
  const ScrubReport report = scrub(store);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.errors() == 1);
  REQUIRE_THAT(report.findings[0].problem,
               Catch::Contains("gives the footer of this stripe; one of store "));
  REQUIRE((read_cells() == before));
}

TEST_CASE("scrub: a pack stripe is put right although no name in its footer leads to its blobs") {
  StoreFixture fixture;
  {
    // Where its blobs are, no name of its footer leads to any more.
    Store store = fixture.open();
    REQUIRE(commit(store, [&](Transaction& t) {
              for (int i = 0; i < 40; ++i) t.put(kBucket, std::to_string(i), noise(3000, i));
            }).ok());
    REQUIRE(commit(store, [&](Transaction& t) {
              for (int i = 0; i < 40; ++i) {
                t.rename(kBucket, std::to_string(i), kBucket, "new" + std::to_string(i));
              }
            }).ok());
    REQUIRE(store.close().ok());
  }
  const PackOnMedia pack = find_pack(fixture, small_format());
  Store store = fixture.open();
  REQUIRE(scrub(store).findings.empty());
  flip_byte(fixture, pack.cells[2], 3);
  const ScrubReport report = scrub(store);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.errors() == 0);
  REQUIRE(is_whole(fixture, pack.cells));
}

TEST_CASE("scrub: may be stopped after every piece and goes on there, in another store, too") {
  FormatOptions format = small_format();
  format.device_size = 32_MiB;
  StoreFixture fixture(format);
  std::uint64_t whole = 0;
  {
    Store store = fixture.open();
    fill(store);
    for (int i = 0; i < 20; ++i) {
      const std::string name = "more" + std::to_string(i);
      REQUIRE(put(store, name, noise(1'500'000, 200 + i)).ok());
    }
    REQUIRE(message_of(store.checkpoint()) == "");
    whole = scrub(store).stripes_checked;
    REQUIRE(store.close().ok());
  }
  std::uint64_t checked = 0;
  std::set<std::string> places;
  ScrubOptions options;
  options.rate = 4_MiB;  // pieces of a MiB, and no wait where each is the last
  int told = 0;
  options.progress = [&](const ScrubReport& report) {
    ++told;
    CHECK(report.bytes_checked <= 3_MiB);
    return false;
  };
  do {
    Store store = fixture.open(Access::kReadOnly);
    const int before = told;
    const ScrubReport report = scrub(store, options);
    REQUIRE(told == before + 1);
    checked += report.stripes_checked;
    options.from = report.next;
    REQUIRE(places.insert(report.next).second);
  } while (!options.from.empty());
  CHECK(places.size() > 5);
  CHECK(std::any_of(places.begin(), places.end(),
                    [](const std::string& place) { return place.starts_with("objects:1:"); }));
  // A stripe that clones share is looked at once in each of the calls.
  CHECK(checked >= whole);
  CHECK(checked <= whole + 10);
}

TEST_CASE("scrub: goes on from nothing but what a scrub has said, and not in a closed store") {
  StoreFixture fixture;
  Store store = fixture.open();
  ScrubOptions options;
  options.from = "somewhere";
  CHECK(code_of(store.scrub(options)) == ErrorCode::kInvalidArgument);
  // Places that are not there any more are no mistake.
  for (const char* const from : {"packs:900:17", "objects:7:6fff", "objects:0:00", "runs"}) {
    options.from = from;
    CHECK(scrub(store, options).next.empty());
  }
  REQUIRE(store.close().ok());
  CHECK(code_of(store.scrub()) == ErrorCode::kClosed);
}

TEST_CASE("scrub: a store in memory") {
  Store store = Store::in_memory().value();
  fill(store);
  CHECK(scrub(store).findings.empty());
}

}  // namespace
}  // namespace hexad::testing
