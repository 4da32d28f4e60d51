#include "core/blob/fill_cells.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "io/rng.h"

namespace hexad::core {
namespace {

struct Stripe {
  Stripe(const ec::Profile& profile, std::size_t cell, std::size_t stride)
      : buffer(stride * profile.shards()) {
    for (std::byte& byte : buffer.bytes()) byte = std::byte{0x5a};
    for (std::uint32_t role = 0; role < profile.shards(); ++role) {
      cells.push_back(buffer.bytes().subspan(role * stride, cell));
    }
  }
  AlignedBuffer buffer;
  std::vector<MutByteView> cells;
};

// One pass after the other, each over whole cells.
StripeSums reference(ByteView stored, Stripe& stripe, const ec::Codec& codec,
                     const RecordShape& record) {
  StripeSums sums;
  std::vector<ByteView> data;
  for (std::uint32_t role = 0; role < record.k; ++role) {
    for (std::size_t i = 0; i < stripe.cells[role].size(); ++i) {
      const std::size_t at = role * stripe.cells[role].size() + i;
      stripe.cells[role][i] = at < stored.size() ? stored[at] : std::byte{0};
    }
    data.push_back(stripe.cells[role]);
  }
  REQUIRE(codec.encode(data, std::span(stripe.cells).subspan(record.k)).ok());
  for (const MutByteView cell : stripe.cells) {
    sums.cells.push_back(checksum(record.checksum, cell));
    const bool is_data = sums.cells.size() <= record.k;
    if (!is_data || cell.size() <= record.checksum_block) continue;
    for (std::size_t at = 0; at < cell.size(); at += record.checksum_block) {
      const std::size_t size = std::min<std::size_t>(record.checksum_block, cell.size() - at);
      sums.blocks.push_back(checksum(record.checksum, cell.subspan(at, size)));
    }
  }
  return sums;
}

TEST_CASE("fill_cells: cells and sums are those of one pass after the other") {
  const std::string codec = GENERATE("isa:reed_sol_van", "isa:cauchy", "jerasure:reed_sol_van",
                                     "jerasure:cauchy_good,packetsize=64");
  const std::string shape = GENERATE("1+1", "2+1", "4+2", "10+4");
  if (codec == "isa:reed_sol_van" && shape == "10+4") return;  // cauchy from m = 4 on
  const ChecksumType type = GENERATE(ChecksumType::kCrc32c, ChecksumType::kXxh3);
  const ec::Profile profile = *ec::parse_profile(shape, codec);
  const std::unique_ptr<ec::Codec> coder = std::move(ec::make_codec(profile)).value();
  io::Rng rng(profile.k);
  for (const std::uint32_t block : {4096u, 16384u, 65536u}) {
    for (const std::size_t cell : {512u, 4096u, 7680u, 8192u, 8704u, 16384u, 20480u, 70144u}) {
      // Full, one byte short, one byte, and an end somewhere: cells that are partly or all padding.
      for (const std::size_t size : {profile.k * cell, profile.k * cell - 1, std::size_t{1},
                                     1 + rng.below(profile.k * cell)}) {
        CAPTURE(codec, shape, static_cast<int>(type), block, cell, size);
        // An offset that no vector would like.
        Bytes memory(size + 3);
        for (std::byte& byte : memory) byte = static_cast<std::byte>(rng.next());
        const ByteView stored = ByteView(memory).subspan(3);
        const RecordShape record{profile.k, profile.m, type, block};
        const std::size_t stride = (cell + 4095) / 4096 * 4096 + 4096;
        Stripe expected(profile, cell, stride);
        Stripe filled(profile, cell, stride);
        const StripeSums wanted = reference(stored, expected, *coder, record);
        const StripeSums sums = fill_and_sum_cells(stored, filled.cells, *coder, record).value();
        // Between the cells nothing is written either.
        REQUIRE(std::equal(filled.buffer.bytes().begin(), filled.buffer.bytes().end(),
                           expected.buffer.bytes().begin()));
        REQUIRE(sums.cells == wanted.cells);
        REQUIRE(sums.blocks == wanted.blocks);
        Stripe without_sums(profile, cell, stride);
        REQUIRE(fill_cells(stored, without_sums.cells, *coder).ok());
        REQUIRE(std::equal(filled.buffer.bytes().begin(), filled.buffer.bytes().end(),
                           without_sums.buffer.bytes().begin()));
      }
    }
  }
}

}  // namespace
}  // namespace hexad::core
