#include "tests/core/cells_on_media.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/checksum.h"
#include "ec/codec.h"
#include "ec/stripe_layout.h"

namespace hexad::testing {

namespace {

constexpr std::uint32_t kBlock = 4096;

Bytes copy_of(ByteView bytes) { return {bytes.begin(), bytes.end()}; }

// The parity of these cells.
std::vector<AlignedBuffer> encode(const ec::Profile& profile, const std::vector<ByteView>& data) {
  std::vector<AlignedBuffer> cells;
  std::vector<MutByteView> parity;
  for (std::uint32_t i = 0; i < profile.m; ++i) {
    cells.push_back(AlignedBuffer::zeroed(data[0].size()));
    parity.push_back(cells.back().bytes());
  }
  const auto codec = ec::make_codec(profile);
  REQUIRE(codec.ok());
  REQUIRE((*codec)->encode(data, parity).ok());
  return cells;
}

// The only place on any device with these bytes.
CellOnMedia find_bytes(const std::vector<Bytes>& media, ByteView wanted) {
  StripeOnMedia places;
  for (std::size_t device = 0; device < media.size(); ++device) {
    for (std::size_t at = 0; at + wanted.size() <= media[device].size(); at += kBlock) {
      if (std::memcmp(media[device].data() + at, wanted.data(), wanted.size()) == 0) {
        places.push_back({device, at, copy_of(wanted)});
      }
    }
  }
  REQUIRE(places.size() == 1);
  return places[0];
}

std::vector<Bytes> all_media(StoreFixture& fixture) {
  std::vector<Bytes> media;
  for (std::size_t i = 0; i < fixture.pool.devices.size(); ++i) {
    media.push_back(read_media(*fixture.media(i)));
  }
  return media;
}

}  // namespace

StripeOnMedia find_private(StoreFixture& fixture, std::string_view value) {
  const ec::Profile profile;
  const std::uint64_t cell = ec::cell_bytes(value.size(), profile.k, kBlock);
  std::vector<AlignedBuffer> cells;
  std::vector<ByteView> data;
  for (std::uint32_t role = 0; role < profile.k; ++role) {
    cells.push_back(AlignedBuffer::zeroed(cell));
    const std::uint64_t from = std::min<std::uint64_t>(role * cell, value.size());
    copy_bytes(cells.back().bytes(), as_bytes(value.substr(from, cell)));
    data.push_back(cells.back().bytes());
  }
  for (AlignedBuffer& parity : encode(profile, data)) cells.push_back(std::move(parity));
  const std::vector<Bytes> media = all_media(fixture);
  StripeOnMedia places;
  for (const AlignedBuffer& wanted : cells) places.push_back(find_bytes(media, wanted.bytes()));
  return places;
}

PackOnMedia find_pack(StoreFixture& fixture, const FormatOptions& options) {
  const std::vector<Bytes> media = all_media(fixture);
  const core::RecordShape shape{options.profile.k, options.profile.m, options.checksum};
  PackOnMedia best;
  CellOnMedia last;
  for (std::size_t device = 0; device < media.size(); ++device) {
    for (std::size_t end = kBlock; end <= media[device].size(); end += kBlock) {
      const ByteView bytes = ByteView(media[device]).first(end);
      const Result<core::PackFooter> footer = core::decode_pack_footer(bytes, shape);
      if (!footer.ok() || footer->entries.size() <= best.footer.entries.size()) continue;
      // How long the cell is, its checksum tells.
      for (std::size_t cell = kBlock; cell <= end && cell <= core::kMaxCellBytes; cell += kBlock) {
        const ByteView summed = bytes.last(cell).first(cell - footer->length);
        if (checksum(shape.checksum, summed) != footer->cell_sums.back()) continue;
        best.footer = *footer;
        last = {device, end - cell, copy_of(bytes.last(cell))};
        break;
      }
    }
  }
  REQUIRE_FALSE(best.footer.entries.empty());
  // The others lie at the same offset of their devices, which are all alike.
  std::vector<ByteView> data;
  for (std::uint32_t role = 0; role + 1 < shape.k; ++role) {
    for (std::size_t device = 0; device < media.size(); ++device) {
      const ByteView cell = ByteView(media[device]).subspan(last.offset, last.bytes.size());
      if (device == last.device || checksum(shape.checksum, cell) != best.footer.cell_sums[role]) {
        continue;
      }
      best.cells.push_back({device, last.offset, copy_of(cell)});
      data.push_back(cell);
    }
  }
  best.cells.push_back(last);
  data.push_back(last.bytes);
  REQUIRE(data.size() == shape.k);
  for (const AlignedBuffer& parity : encode(options.profile, data)) {
    best.cells.push_back(find_bytes(media, parity.bytes()));
  }
  return best;
}

void write_cell(StoreFixture& fixture, const CellOnMedia& cell, ByteView bytes) {
  fixture.media(cell.device)->write(cell.offset, bytes);
}

void flip_byte(StoreFixture& fixture, const CellOnMedia& cell, std::size_t at) {
  Bytes byte(1);
  fixture.media(cell.device)->read(cell.offset + at, byte);
  byte[0] ^= std::byte{0x10};
  fixture.media(cell.device)->write(cell.offset + at, byte);
}

Bytes read_cell(StoreFixture& fixture, const CellOnMedia& cell) {
  Bytes now(cell.bytes.size());
  fixture.media(cell.device)->read(cell.offset, now);
  return now;
}

void restore(StoreFixture& fixture, const StripeOnMedia& cells) {
  for (const CellOnMedia& cell : cells) write_cell(fixture, cell, cell.bytes);
}

bool is_whole(StoreFixture& fixture, const StripeOnMedia& cells) {
  for (const CellOnMedia& cell : cells) {
    if (read_cell(fixture, cell) != cell.bytes) return false;
  }
  return true;
}

void require_repair(Store& store) {
  const Result<FsckReport> repaired = store.fsck({true, true});
  REQUIRE(repaired.ok());
  REQUIRE(repaired->findings.size() == 1);
  REQUIRE(repaired->findings[0].repaired);
  REQUIRE(repaired->errors() == 0);
}

}  // namespace hexad::testing
