#include "core/plan/shifted_range.h"

#include <catch2/catch.hpp>
#include <set>

#include "core/record/object_extents.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

std::set<std::uint32_t> set_of(const PageRange& pages) {
  std::set<std::uint32_t> all;
  for (std::uint32_t page = pages.from; page < pages.end; ++page) all.insert(page);
  return all;
}

TEST_CASE("shifted_range: all of an object is where it was") {
  const ShiftedRange all;
  for (const std::uint32_t page : {0u, 1u, 77u, kEndOfPages - 1}) {
    CHECK(all.shown_by(page) == PageRange{page, page + 1});
    CHECK(all.sources_of(page) == PageRange{page, page + 1});
    CHECK(all.first_source(page) == page);
  }
  CHECK(all.first_source(kEndOfPages) == kEndOfPages);
  CHECK(all.pages() == PageRange{0, kEndOfPages});
  CHECK(all.whole_pages() == PageRange{0, kEndOfPages});
}

// Against a look at bytes at the ends of each page.
TEST_CASE("shifted_range: pages of one lie in those of the other that have one of their bytes") {
  const std::uint64_t seed = GENERATE(range(1, 200));
  CAPTURE(seed);
  io::Rng rng(seed);
  const auto place = [&] { return rng.below(5) * kPageSpan + rng.below(3); };
  const ShiftedRange range{place(), 1 + rng.below(4) * kPageSpan + rng.below(3), place()};
  constexpr std::uint32_t kPages = 12;
  std::map<std::uint32_t, std::set<std::uint32_t>> shown;
  std::map<std::uint32_t, std::set<std::uint32_t>> sources;
  std::set<std::uint32_t> whole;
  std::map<std::uint32_t, std::uint64_t> bytes;
  for (std::uint64_t at = range.offset; at < range.end();) {
    const std::uint64_t to = range.there(at);
    REQUIRE(range.back(to) == at);
    const auto from_page = static_cast<std::uint32_t>(at / kPageSpan);
    const auto to_page = static_cast<std::uint32_t>(to / kPageSpan);
    shown[from_page].insert(to_page);
    sources[to_page].insert(from_page);
    const std::uint64_t step =
        std::min({kPageSpan - at % kPageSpan, kPageSpan - to % kPageSpan, range.end() - at});
    bytes[to_page] += step;
    if (bytes[to_page] == kPageSpan) whole.insert(to_page);
    at += step;
  }
  for (std::uint32_t page = 0; page < kPages; ++page) {
    CAPTURE(page);
    CHECK(set_of(range.shown_by(page)) == shown[page]);
    CHECK(set_of(range.sources_of(page)) == sources[page]);
    std::uint32_t first = range.pages().end;
    for (std::uint32_t later = kPages; later-- > page;) {
      if (!sources[later].empty()) first = *sources[later].begin();
    }
    CHECK(range.first_source(page) == first);
  }
  CHECK(set_of(range.whole_pages()) == whole);
}

TEST_CASE("shifted_range: what a page shows is cut at the ends of the page and of the range") {
  const ShiftedRange range{10, 2 * kPageSpan, kPageSpan - 5};
  ExtentList from;
  for (const std::uint64_t offset : {8, 100}) {
    Extent extent;
    extent.offset = offset;
    extent.length = 20;
    extent.bytes = std::string(20, offset == 8 ? 'a' : 'b');
    insert(from, extent);
  }
  ExtentList first;
  add_shifted(first, from, range, 0);
  REQUIRE(first.size() == 1);
  CHECK(first[0].offset == kPageSpan - 5);
  CHECK(first[0].length == 5);
  CHECK(first[0].bytes == "aaaaa");
  ExtentList second;
  add_shifted(second, from, range, 1);
  REQUIRE(second.size() == 2);
  CHECK(second[0].offset == kPageSpan);
  CHECK(second[0].length == 13);
  CHECK(second[1].offset == kPageSpan - 5 + 90);
  CHECK(is_well_formed(first));
  CHECK(is_well_formed(second));
  ExtentList none;
  add_shifted(none, from, range, 3);
  CHECK(none.empty());
}

}  // namespace
}  // namespace hexad::core
