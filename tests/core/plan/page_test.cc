#include "core/plan/page.h"

#include <catch2/catch.hpp>
#include <memory>
#include <set>
#include <utility>

#include "base/units.h"
#include "core/record/extent_codec.h"
#include "core/record/object_extents.h"
#include "io/rng.h"
#include "tests/core/random_records.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

std::unique_ptr<KnownPage> remembered(const ExtentList& list, const RecordShape& shape) {
  auto known = std::make_unique<KnownPage>();
  known->extents = list;
  known->code = code_page(list, shape);
  known->plain = is_plain(list);
  return known;
}

// Of the page: new bytes of one blob that nobody shows yet.
Extent new_extent(io::Rng& rng, std::uint64_t start, const RecordShape& shape, bool plain) {
  Extent extent;
  do {
    extent.blob = random_blob(rng, shape);
  } while (plain && (extent.blob.share != 0 || extent.blob.forward != Forward::kNone));
  extent.offset = start + rng.below(kPageSpan);
  extent.length = std::min({std::uint64_t{extent.blob.raw}, start + kPageSpan - extent.offset,
                            1 + (rng.next() >> (44 + rng.below(20)))});
  return extent;
}

// What the sequencer does to the list that it has taken.
void place_some(io::Rng& rng, ExtentList& extents, std::uint32_t& unit) {
  std::set<LogPlace> chosen;
  for (const Extent& extent : extents) {
    if (extent.blob.placement == Placement::kLog && rng.chance(1, 2))
      chosen.insert(extent.blob.log);
  }
  for (const LogPlace& place : chosen) {
    ++unit;
    for (Extent& extent : extents) {
      if (extent.blob.placement != Placement::kLog || extent.blob.log != place) continue;
      extent.blob.placement = Placement::kPacked;
      extent.blob.log = {};
      extent.blob.where = {7, unit, 0};
      extent.blob.cell_offset = 8;
      if (extent.blob.forward != Forward::kNone) extent.blob.forward = Forward::kWritten;
    }
  }
}

std::vector<BlobId> ids_of(const std::vector<Blob>& blobs) {
  std::vector<BlobId> ids;
  for (const Blob& blob : blobs) ids.push_back(blob.id());
  return ids;
}

// The page as one that was remembered and as one that was decoded; both take the same writes.
bool check_writes(io::Rng& rng, const ExtentList& list, const RecordShape& shape, bool plain) {
  const std::uint64_t start = round_down(list.front().offset, kPageSpan);
  std::unique_ptr<KnownPage> known = remembered(list, shape);
  const std::string value = known->code.value;
  std::uint32_t unit = 1u << 24;
  if (rng.chance(1, 2)) place_some(rng, known->extents, unit);
  const ExtentList before = known->extents;
  Page decoded{ExtentList(before)};
  Page page{std::move(known)};
  for (std::uint64_t i = 1 + rng.below(5); i > 0; --i) {
    const Extent extent = new_extent(rng, start, shape, plain);
    page.overwrite(extent);
    decoded.overwrite(extent);
  }
  REQUIRE(page.now() == decoded.now());
  REQUIRE(page.extents_before() == before.size());
  if (!check_extents(page.now(), start, shape).ok()) return false;  // too many inline bytes
  const ExtentList now = page.now();
  if (!page.is_spliced()) {
    REQUIRE(page.before() == before);
    REQUIRE(page.code(shape).value == encode_page(now, shape));
    return false;
  }
  Page::Splice splice = page.splice(shape);
  REQUIRE(splice.page.code == code_page(now, shape));
  REQUIRE(splice.page.code.value == encode_page(now, shape));
  REQUIRE(splice.value_before == value);
  const ImagePatch patch{crc32c(as_bytes(value)), splice.page.pieces};
  REQUIRE(apply_patch(value, patch).value() == splice.page.code.value);
  std::vector<Blob> released;
  for (const Blob* const blob : splice.released) released.push_back(*blob);
  REQUIRE(ids_of(released) == ids_of(blobs_released(before, now)));
  REQUIRE(hidden_bytes(now, splice.page.code) == hidden_bytes(now));
  REQUIRE(page.give_back() == nullptr);
  page.set_code(std::move(splice.page.code));
  const std::unique_ptr<KnownPage> next = page.hand_over();
  REQUIRE(next->extents == now);
  REQUIRE(next->plain == is_plain(now));
  return true;
}

TEST_CASE("page: what overwrites make of a remembered page is what they make of a decoded one") {
  const std::uint64_t seed = GENERATE(range(1, 9));
  io::Rng rng(seed);
  int spliced = 0;
  for (int i = 0; i < 300; ++i) {
    CAPTURE(seed, i);
    const RecordShape shape = random_shape(rng);
    ExtentList list = random_page(rng, static_cast<std::uint32_t>(rng.below(3)), shape);
    const bool plain = rng.chance(3, 4);
    if (plain) std::erase_if(list, [](const Extent& extent) { return !is_plain({extent}); });
    if (list.empty()) continue;
    if (check_writes(rng, list, shape, plain)) ++spliced;
  }
  REQUIRE(spliced > 20);
}

TEST_CASE("page: one that is given back is what it was, whatever was done to it") {
  const std::uint64_t seed = GENERATE(range(1, 5));
  io::Rng rng(seed);
  for (int i = 0; i < 100; ++i) {
    CAPTURE(seed, i);
    const RecordShape shape = random_shape(rng);
    const ExtentList list = random_page(rng, 1, shape);
    if (list.empty()) continue;
    Page page{remembered(list, shape)};
    for (std::uint64_t n = rng.below(6); n > 0; --n) {
      page.overwrite(new_extent(rng, kPageSpan, shape, rng.chance(1, 2)));
    }
    switch (rng.below(4)) {
      case 0:
        REQUIRE(page.before() == list);
        break;
      case 1:
        page.change().clear();
        break;
      case 2:
        page.clear();
        break;
      default:
        break;
    }
    const std::unique_ptr<KnownPage> back = page.give_back();
    REQUIRE(back->extents == list);
    REQUIRE(back->code == code_page(list, shape));
    REQUIRE(page.give_back() == nullptr);
  }
}

TEST_CASE("page: what it was stays beside what is made of it") {
  const ExtentList list = {inline_extent(0, 10), inline_extent(20, 10)};
  for (const bool remembers : {false, true}) {
    Page page = remembers ? Page(remembered(list, {})) : Page(ExtentList(list));
    CHECK(page.was_there());
    CHECK(page.before() == list);
    CHECK(page.now() == list);
    CHECK_FALSE(page.is_dirty());
    page.change().pop_back();
    CHECK(page.before() == list);
    CHECK(page.now().size() == 1);
    CHECK(page.is_dirty());
    page.clear();
    CHECK(page.before() == list);
    CHECK(page.now().empty());
    CHECK(page.extents_before() == 2);
  }
  Page cleared{ExtentList(list)};
  cleared.clear();
  CHECK(cleared.before() == list);
  CHECK(cleared.now().empty());
  Page fresh;
  CHECK_FALSE(fresh.was_there());
  fresh.change() = list;
  CHECK(fresh.before().empty());
  Page made = Page::made_of(list);
  CHECK(made.before().empty());
  CHECK(made.is_dirty());
}

TEST_CASE("page: what nobody remembered, or has got share ids, is not given back") {
  Page fresh;
  REQUIRE(fresh.give_back() == nullptr);
  Page decoded{ExtentList{inline_extent(0, 10)}};
  REQUIRE(decoded.give_back() == nullptr);
  const ExtentList list = {inline_extent(0, 10), inline_extent(20, 10)};
  Page shared{remembered(list, {})};
  shared.replace_before(list);
  REQUIRE(shared.give_back() == nullptr);
  REQUIRE(shared.is_newly_shared());
}

}  // namespace
}  // namespace hexad::core
