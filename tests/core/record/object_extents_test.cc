#include "core/record/object_extents.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>

#include "io/rng.h"
#include "tests/base/thinned.h"
#include "tests/core/sample_records.h"

namespace hexad::core {
namespace {

using hexad::testing::kThinned;

// What a byte of the model shows: nothing, an inline byte, or a byte of a blob.
struct ModelByte {
  PieceKind kind = PieceKind::kHole;
  char value = 0;
  std::uint32_t blob_unit = 0;
  std::uint32_t blob_at = 0;

  bool operator==(const ModelByte&) const = default;
};
using Model = std::map<std::uint64_t, ModelByte>;  // by offset; a hole has no entry

// Blobs of a test are told apart by their unit alone.
Extent blob_extent(std::uint64_t offset, std::uint32_t unit, std::uint32_t raw) {
  Extent extent;
  extent.offset = offset;
  extent.length = raw;
  extent.blob.where = {1, unit, 1};
  extent.blob.raw = extent.blob.stored = raw;
  return extent;
}

void show(Model& model, const Extent& extent) {
  for (std::uint64_t i = 0; i < extent.length; ++i) {
    ModelByte& byte = model[extent.offset + i];
    byte = extent.is_inline() ? ModelByte{PieceKind::kInline, extent.bytes[i], 0, 0}
                              : ModelByte{PieceKind::kBlob, 0, extent.blob.where.unit,
                                          extent.blob_offset + static_cast<std::uint32_t>(i)};
  }
}

Model model_of(const ExtentList& extents) {
  Model model;
  for (const Extent& extent : extents) show(model, extent);
  return model;
}

std::set<std::uint32_t> units_of(const Model& model) {
  std::set<std::uint32_t> units;
  for (const auto& [offset, byte] : model) {
    if (byte.kind == PieceKind::kBlob) units.insert(byte.blob_unit);
  }
  return units;
}

std::set<std::uint32_t> units_of(const std::vector<Blob>& blobs) {
  std::set<std::uint32_t> units;
  for (const Blob& blob : blobs) REQUIRE(units.insert(blob.where.unit).second);
  return units;
}

// Whether the byte of the object that `piece` shows `i` bytes behind its start is `expected`.
bool shows(const ExtentList& extents, const Piece& piece, std::uint64_t i,
           const ModelByte& expected) {
  if (piece.kind != expected.kind) return false;
  if (piece.kind == PieceKind::kHole) return true;
  const Extent& extent = extents.at(piece.extent);
  if (piece.kind == PieceKind::kInline) return extent.bytes.at(piece.from + i) == expected.value;
  return extent.blob.where.unit == expected.blob_unit && piece.from + i == expected.blob_at;
}

void check_lookup(const ExtentList& extents, const Model& model, std::uint64_t offset,
                  std::uint64_t length) {
  std::uint64_t at = offset;
  std::uint64_t wrong = 0;
  PieceKind previous = PieceKind::kBlob;
  for (const Piece& piece : lookup(extents, offset, length)) {
    REQUIRE(piece.offset == at);
    REQUIRE(piece.length > 0);
    REQUIRE((piece.kind != PieceKind::kHole || previous != PieceKind::kHole));
    previous = piece.kind;
    for (std::uint64_t i = 0; i < piece.length; ++i, ++at) {
      const auto found = model.find(at);
      if (!shows(extents, piece, i, found == model.end() ? ModelByte{} : found->second)) ++wrong;
    }
  }
  REQUIRE(wrong == 0);
  REQUIRE(at == offset + length);
}

TEST_CASE("object_extents: random writes and holes agree with an array of bytes") {
  const std::uint64_t seed = GENERATE(range(1, 1 + 12 / static_cast<int>(kThinned)));
  CAPTURE(seed);
  io::Rng rng(seed);
  // Around a page border, with room to lie apart or to crowd.
  const std::uint64_t start = kPageSpan - (seed % 2 == 0 ? 300 : 3000);
  const std::uint64_t span = 2 * (kPageSpan - start);
  ExtentList extents;
  Model model;
  std::uint32_t next_unit = 1;
  for (int step = 0; step < 400; ++step) {
    CAPTURE(step);
    const std::uint64_t offset = start + rng.below(span);
    const std::uint64_t room = start + span - offset;
    std::uint64_t length = 1 + rng.below(std::min<std::uint64_t>(room, 1 + rng.below(700)));
    const ExtentList before = extents;
    const Model model_before = model;

    const bool is_write = rng.chance(3, 4);
    if (is_write) {  // into one page
      length = std::min(length, kPageSpan - offset % kPageSpan);
      if (rng.chance(1, 2)) length = std::min(length, kInlineLimit);
    }
    const ExtentList removed = punch(extents, offset, length);
    REQUIRE(is_well_formed(extents));
    REQUIRE(is_well_formed(removed));
    Model expected_removed;
    for (std::uint64_t at = offset; at < offset + length; ++at) {
      if (const auto found = model.find(at); found != model.end()) {
        expected_removed.insert(*found);
        model.erase(found);
      }
    }
    REQUIRE(model_of(removed) == expected_removed);
    REQUIRE(model_of(extents) == model);

    if (is_write) {
      Extent extent;
      if (length <= kInlineLimit && rng.chance(1, 2)) {
        std::string bytes(length, '\0');
        for (char& byte : bytes) byte = static_cast<char>(rng.next());
        extent = inline_extent(offset, bytes);
      } else {
        extent = blob_extent(offset, next_unit++, static_cast<std::uint32_t>(length));
      }
      show(model, extent);
      insert(extents, extent);
      REQUIRE(is_well_formed(extents));
      REQUIRE(model_of(extents) == model);
    }

    std::set<std::uint32_t> released = units_of(model_before);
    for (const std::uint32_t unit : units_of(model)) released.erase(unit);
    REQUIRE(units_of(blobs_released(before, extents)) == released);
    REQUIRE(units_of(blobs_of(extents)) == units_of(model));
    check_lookup(extents, model, start + rng.below(span), rng.below(span));
  }
  check_lookup(extents, model, start - 100, 2 * span);
  punch(extents, 0, ~std::uint64_t{0});
  REQUIRE(extents.empty());
}

TEST_CASE("object_extents: every hole in every small list, by brute force") {
  // Three extents of three bytes each, one byte apart or touching.
  for (int layout = 0; layout < 8; ++layout) {
    ExtentList list;
    std::uint64_t at = 2;
    for (std::uint32_t i = 0; i < 3; ++i) {
      if (i == 1) {
        insert(list, inline_extent(at, "abc"));
      } else {
        insert(list, blob_extent(at, i + 1, 3));
      }
      at += 3 + (layout >> i & 1);
    }
    const Model model = model_of(list);
    for (std::uint64_t from = 0; from <= at + 1; ++from) {
      for (std::uint64_t to = from; to <= at + 2; ++to) {
        CAPTURE(layout, from, to);
        ExtentList cut = list;
        const ExtentList removed = punch(cut, from, to - from);
        REQUIRE(is_well_formed(cut));
        Model inside;
        Model outside;
        for (const auto& entry : model) {
          (entry.first >= from && entry.first < to ? inside : outside).insert(entry);
        }
        REQUIRE(model_of(removed) == inside);
        REQUIRE(model_of(cut) == outside);
        check_lookup(list, model, from, to - from);
      }
    }
  }
}

TEST_CASE("object_extents: to overwrite is to make a hole and to fill it") {
  const std::uint64_t seed = GENERATE(1, 2, 3);
  CAPTURE(seed);
  io::Rng rng(seed);
  ExtentList extents;
  for (std::uint32_t i = 1; i < 3000; ++i) {
    const std::uint64_t offset = rng.below(200);
    const std::uint64_t length = 1 + rng.below(rng.chance(1, 8) ? 200 : 12);
    if (rng.chance(1, 4)) {
      punch(extents, offset, length);
      if (rng.chance(1, 2)) insert(extents, inline_extent(offset, length));
      continue;
    }
    Extent extent = blob_extent(offset, i, static_cast<std::uint32_t>(length));
    ExtentList other = extents;
    punch(other, offset, length);
    insert(other, extent);
    overwrite(extents, std::move(extent));
    REQUIRE(extents == other);
    REQUIRE(is_well_formed(extents));
  }
}

TEST_CASE("object_extents: a hole inside a blob leaves both ends of it, and the blob") {
  ExtentList list = {blob_extent(1000, 7, 500)};
  const ExtentList before = list;
  const ExtentList removed = punch(list, 1100, 100);
  REQUIRE(list.size() == 2);
  REQUIRE(list[0].length == 100);
  REQUIRE(list[0].blob_offset == 0);
  REQUIRE(list[1].offset == 1200);
  REQUIRE(list[1].length == 300);
  REQUIRE(list[1].blob_offset == 200);
  REQUIRE(list[0].blob == list[1].blob);
  REQUIRE(removed.size() == 1);
  REQUIRE(removed[0].blob_offset == 100);
  REQUIRE(blobs_released(before, list).empty());
  punch(list, 0, 1100);
  REQUIRE(blobs_released(before, list).empty());
  punch(list, 1200, 300);
  REQUIRE(blobs_released(before, list).size() == 1);
}

TEST_CASE("object_extents: inline neighbours join up to the limit and never over a page") {
  ExtentList list;
  insert(list, inline_extent(0, std::string(100, 'a')));
  insert(list, inline_extent(200, std::string(56, 'c')));
  insert(list, inline_extent(100, std::string(100, 'b')));
  REQUIRE(list.size() == 1);
  REQUIRE(list[0].bytes == std::string(100, 'a') + std::string(100, 'b') + std::string(56, 'c'));
  insert(list, inline_extent(256, "d"));
  REQUIRE(list.size() == 2);

  list.clear();
  insert(list, inline_extent(kPageSpan - 1, "a"));
  insert(list, inline_extent(kPageSpan, "b"));
  REQUIRE(list.size() == 2);
  REQUIRE(is_well_formed(list));
}

TEST_CASE("object_extents: packed blobs of one stripe are different blobs") {
  ExtentList list;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Extent extent = blob_extent(i * 1000, 5, 100);
    extent.blob.placement = Placement::kPacked;
    extent.blob.where.units = 0;
    extent.blob.cell = i / 2;
    extent.blob.cell_offset = 512 * (i % 2);
    insert(list, extent);
  }
  const ExtentList before = list;
  REQUIRE(blobs_of(list).size() == 4);
  punch(list, 1000, 1000);
  const std::vector<Blob> released = blobs_released(before, list);
  REQUIRE(released.size() == 1);
  REQUIRE(released[0].cell_offset == 512);
  REQUIRE(released[0].cell == 0);
}

TEST_CASE("object_extents: unplaced blobs of one transaction are different blobs") {
  ExtentList list;
  for (std::uint32_t i = 0; i < 4; ++i) {
    Extent extent = blob_extent(i * 1000, 5, 100);
    extent.blob.placement = Placement::kLog;
    extent.blob.where = {};
    extent.blob.log = {7 + i / 2, i % 2};
    insert(list, extent);
  }
  const ExtentList before = list;
  REQUIRE(blobs_of(list).size() == 4);
  punch(list, 1000, 1050);
  const std::vector<Blob> released = blobs_released(before, list);
  REQUIRE(released.size() == 1);
  REQUIRE(released[0].log == LogPlace{7, 1});
}

TEST_CASE("object_extents: stored bytes count a blob once and as compressed") {
  Extent extent = blob_extent(0, 3, 1000);
  extent.blob.stored = 400;
  ExtentList list = {extent};
  punch(list, 100, 100);
  insert(list, inline_extent(100, "0123456789"));
  REQUIRE(list.size() == 3);
  REQUIRE(stored_bytes(list) == 410);
  REQUIRE(stored_bytes({}) == 0);
}

TEST_CASE("object_extents: a page is crowded above either limit") {
  ExtentList page;
  for (std::uint64_t i = 0; i < kCrowdedExtents; ++i) page.push_back(inline_extent(2 * i, "x"));
  REQUIRE_FALSE(is_crowded(page));
  page.push_back(inline_extent(kPageSpan - 1, "x"));
  REQUIRE(is_crowded(page));
  page.clear();
  for (std::uint64_t i = 0; i < 16; ++i) {
    page.push_back(inline_extent(256 * i, std::string(256, 'x')));
  }
  REQUIRE_FALSE(is_crowded(page));
  page.push_back(inline_extent(kPageSpan - 1, "x"));
  REQUIRE(is_crowded(page));
}

TEST_CASE("object_extents: malformed lists are told from well-formed ones") {
  REQUIRE(is_well_formed(ExtentList{}));
  REQUIRE_FALSE(is_well_formed({inline_extent(5, "abc"), inline_extent(7, "d")}));
  REQUIRE_FALSE(is_well_formed({inline_extent(kPageSpan - 1, "ab")}));
  REQUIRE_FALSE(is_well_formed({inline_extent(0, std::string(kInlineLimit + 1, 'x'))}));
  Extent extent = blob_extent(0, 1, 10);
  extent.blob_offset = 1;
  REQUIRE_FALSE(is_well_formed({extent}));
  extent.length = 9;
  REQUIRE(is_well_formed({extent}));
  extent.length = 0;
  REQUIRE_FALSE(is_well_formed({extent}));
  extent.length = 1;
  extent.offset = ~std::uint64_t{0};
  REQUIRE_FALSE(is_well_formed({extent}));
}

}  // namespace
}  // namespace hexad::core
