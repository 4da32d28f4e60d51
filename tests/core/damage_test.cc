// Cells that have gone bad on the media, found by their content.
#include <catch2/catch.hpp>
#include <cstring>

#include "base/aligned_buffer.h"
#include "ec/codec.h"
#include "ec/stripe_layout.h"
#include "tests/core/store_fixture.h"

namespace hexad::testing {
namespace {

constexpr std::uint32_t kBlock = 4096;

struct Place {
  std::size_t device = 0;
  std::uint64_t offset = 0;
  Bytes bytes;
};

// Where the k+m cells of a blob of these bytes lie. They do not compress.
std::vector<Place> find_cells(StoreFixture& fixture, std::string_view value) {
  const ec::Profile profile;
  const std::uint64_t cell = ec::cell_bytes(value.size(), profile.k, kBlock);
  std::vector<AlignedBuffer> cells;
  std::vector<ByteView> data;
  std::vector<MutByteView> parity;
  for (std::uint32_t role = 0; role < profile.k + profile.m; ++role) {
    cells.push_back(AlignedBuffer::zeroed(cell));
    const std::uint64_t from = std::min<std::uint64_t>(role * cell, value.size());
    if (role < profile.k) {
      copy_bytes(cells.back().bytes(), as_bytes(value.substr(from, cell)));
      data.push_back(cells.back().bytes());
    } else {
      parity.push_back(cells.back().bytes());
    }
  }
  const auto codec = ec::make_codec(profile);
  REQUIRE(codec.ok());
  REQUIRE((*codec)->encode(data, parity).ok());

  std::vector<Place> places;
  for (AlignedBuffer& wanted : cells) {
    for (std::size_t device = 0; device < fixture.pool.devices.size(); ++device) {
      const Bytes media = read_media(*fixture.media(device));
      for (std::uint64_t at = 0; at + cell <= media.size(); at += kBlock) {
        if (std::memcmp(media.data() + at, wanted.bytes().data(), cell) != 0) continue;
        const ByteView bytes = wanted.bytes();
        places.push_back({device, at, Bytes(bytes.begin(), bytes.end())});
      }
    }
  }
  REQUIRE(places.size() == cells.size());
  return places;
}

enum class Damage { kFlip, kZeros, kSwap };

void damage(StoreFixture& fixture, const std::vector<Place>& cells, std::uint32_t role,
            Damage kind) {
  const Place& place = cells[role];
  Bytes bytes = place.bytes;
  if (kind == Damage::kFlip) bytes[bytes.size() / 2] ^= std::byte{1};
  if (kind == Damage::kZeros) bytes.assign(bytes.size(), std::byte{0});
  if (kind == Damage::kSwap) bytes = cells[(role + 1) % cells.size()].bytes;
  fixture.media(place.device)->write(place.offset, bytes);
}

void restore(StoreFixture& fixture, const std::vector<Place>& cells) {
  for (const Place& place : cells) fixture.media(place.device)->write(place.offset, place.bytes);
}

bool is_whole(StoreFixture& fixture, const std::vector<Place>& cells) {
  for (const Place& place : cells) {
    Bytes now(place.bytes.size());
    fixture.media(place.device)->read(place.offset, now);
    if (now != place.bytes) return false;
  }
  return true;
}

TEST_CASE(
    "store: any two cells of a stripe damaged in any way give the exact bytes and are healed") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(put(store, "other", noise(100'000, 2)).ok());
    REQUIRE(store.close().ok());
  }
  const std::vector<Place> cells = find_cells(fixture, value);
  for (const Damage kind : {Damage::kFlip, Damage::kZeros, Damage::kSwap}) {
    for (const auto& [a, b] : pairs_below(6)) {
      CAPTURE(static_cast<int>(kind), a, b);
      restore(fixture, cells);
      damage(fixture, cells, a, kind);
      damage(fixture, cells, b, kind);
      {
        // Reading alone changes nothing.
        const auto before = fixture.fingerprint();
        Store store = fixture.open(Access::kReadOnly);
        REQUIRE((get(store, "victim") == value));
        Bytes into(70'000);
        for (const std::uint64_t offset : {0u, 80'000u, 160'000u, 230'000u}) {
          REQUIRE(store.read(kDefaultCollection, "victim", offset, into).ok());
          REQUIRE((as_text(into) == value.substr(offset, into.size())));
        }
        REQUIRE((fixture.fingerprint() == before));
      }
      Store store = fixture.open();
      REQUIRE((get(store, "victim") == value));
      const bool data_cell_bad = a < 4;
      if (data_cell_bad) {
        REQUIRE(counter(store, "cells_healed") == 2);
        REQUIRE(is_whole(fixture, cells));
        REQUIRE(deep_findings(store) == "");
      } else {
        // Nobody reads parity until somebody needs it: fsck does.
        REQUIRE(deep_findings(store) != "");
        FsckOptions repair{true, true};
        const Result<FsckReport> report = store.fsck(repair);
        REQUIRE(report.ok());
        REQUIRE(report->errors() == 0);
        REQUIRE(is_whole(fixture, cells));
        REQUIRE(deep_findings(store) == "");
      }
      REQUIRE((get(store, "victim") == value));
    }
  }
}

TEST_CASE("store: a deep check that repairs finds every damaged cell once and leaves none") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(store.close().ok());
  }
  const std::vector<Place> cells = find_cells(fixture, value);
  for (std::uint32_t role = 0; role < 6; ++role) {
    CAPTURE(role);
    damage(fixture, cells, role, Damage::kFlip);
    Store store = fixture.open();
    const Result<FsckReport> looked = store.fsck({true, false});
    REQUIRE(looked.ok());
    REQUIRE(looked->findings.size() == 1);
    REQUIRE(looked->errors() == 1);
    REQUIRE_THAT(looked->findings[0].subject, Catch::Contains("default/victim"));
    REQUIRE_FALSE(is_whole(fixture, cells));
    const Result<FsckReport> repaired = store.fsck({true, true});
    REQUIRE(repaired.ok());
    REQUIRE(repaired->findings.size() == 1);
    REQUIRE(repaired->findings[0].repaired);
    REQUIRE(is_whole(fixture, cells));
    REQUIRE(deep_findings(store) == "");
  }
}

TEST_CASE("store: three damaged cells are an error that names the object, and harm nothing else") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  const std::string other = noise(100'000, 2);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(put(store, "other", other).ok());
    REQUIRE(store.close().ok());
  }
  const std::vector<Place> cells = find_cells(fixture, value);
  for (std::uint32_t role : {0, 2, 5}) damage(fixture, cells, role, Damage::kFlip);
  for (const Access access : {Access::kReadOnly, Access::kReadWrite}) {
    Store store = fixture.open(access);
    const Result<Bytes> lost = store.get(kDefaultCollection, "victim");
    REQUIRE(code_of(lost) == ErrorCode::kUnavailable);
    REQUIRE_THAT(lost.error().message, Catch::Contains("default/victim"));
    // The part in the good cells is still there.
    const std::uint64_t cell = cells[0].bytes.size();
    Bytes part(cell);
    REQUIRE(store.read(kDefaultCollection, "victim", cell, part).ok());
    REQUIRE((as_text(part) == value.substr(cell, cell)));

    REQUIRE((get(store, "other") == other));
    REQUIRE(store.list(kDefaultCollection)->entries.size() == 2);
    REQUIRE(store.stat(kDefaultCollection, "victim")->size == value.size());
    REQUIRE_THAT(deep_findings(store), Catch::Contains("default/victim"));
    REQUIRE(code_of(store.get(kDefaultCollection, "victim")) == ErrorCode::kUnavailable);
  }
  Store store = fixture.open();
  // Damage that nobody could repair is not covered up by a repair.
  const Result<FsckReport> report = store.fsck({true, true});
  REQUIRE(report.ok());
  REQUIRE(report->errors() == 1);
  REQUIRE(code_of(store.get(kDefaultCollection, "victim")) == ErrorCode::kUnavailable);
  // It can be replaced and removed.
  REQUIRE(put(store, "victim", "new").ok());
  REQUIRE(get(store, "victim") == "new");
  REQUIRE(deep_findings(store) == "");
}

TEST_CASE("store: two devices away and one cell bad are too many for that stripe alone") {
  StoreFixture fixture;
  const std::string value = noise(300'000, 1);
  const std::string other = noise(100'000, 2);
  {
    Store store = fixture.open();
    REQUIRE(put(store, "victim", value).ok());
    REQUIRE(put(store, "other", other).ok());
    REQUIRE(store.close().ok());
  }
  const std::vector<Place> cells = find_cells(fixture, value);
  damage(fixture, cells, 3, Damage::kZeros);
  fixture.take_away(cells[0].device);
  fixture.take_away(cells[4].device);
  Store store = fixture.open(Access::kReadOnly);
  REQUIRE(code_of(store.get(kDefaultCollection, "victim")) == ErrorCode::kUnavailable);
  REQUIRE((get(store, "other") == other));
}

}  // namespace
}  // namespace hexad::testing
