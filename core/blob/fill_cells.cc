#include "core/blob/fill_cells.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"

namespace hexad::core {

namespace {

// Copies what `stored` has from there on, and zeros behind its end.
void fill_part(ByteView stored, std::size_t from, MutByteView part) {
  const std::size_t left = from < stored.size() ? stored.size() - from : 0;
  const std::size_t size = std::min(left, part.size());
  if (size > 0) copy_bytes(part.first(size), stored.subspan(from, size));
  fill_zero(part.subspan(size));
}

// A crc32c of each cell, and of each block of the data cells where there are such sums. The cells
// are filled from their beginning to their end, part by part.
class CrcsOfCells {
 public:
  CrcsOfCells(std::size_t cell_bytes, const ec::Profile& profile, const RecordShape& record)
      : cell_bytes_(cell_bytes),
        cells_(profile.shards()),
        block_(record.checksum_block),
        blocks_(record.private_block_sums(static_cast<std::uint32_t>(cell_bytes))),
        k_(profile.k),
        sums_(cells_ + blocks_) {}

  // How many bytes the parts from there on have: a block, or all.
  std::size_t part_size(std::size_t begin) const {
    return blocks_ == 0 ? cell_bytes_ : std::min(cell_bytes_ - begin, block_);
  }
  // The sums that the parts from `begin` on continue: of a block of each data cell, or of the
  // cells.
  std::array<std::uint32_t, ec::kMaxShards> before() const {
    std::array<std::uint32_t, ec::kMaxShards> sums{};
    for (std::size_t role = is_by_block(0) ? k_ : 0; role < cells_; ++role)
      sums[role] = sums_[role];
    return sums;
  }
  // What became of them.
  void note(std::size_t begin, std::size_t size, std::span<const std::uint32_t> after) {
    for (std::size_t role = 0; role < cells_; ++role) {
      if (!is_by_block(role)) {
        sums_[role] = after[role];
        continue;
      }
      sums_[cells_ + role * (blocks_ / k_) + begin / block_] = after[role];
      sums_[role] = crc32c_joined(sums_[role], after[role], size);
    }
  }
  StripeSums sums() const {
    StripeSums sums;
    sums.cells.reserve(cells_);
    sums.blocks.reserve(blocks_);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      (i < cells_ ? sums.cells : sums.blocks).push_back(sums_[i]);
    }
    return sums;
  }

 private:
  // Whether the blocks of this cell have sums of their own.
  bool is_by_block(std::size_t role) const { return blocks_ > 0 && role < k_; }

  std::size_t cell_bytes_;
  std::size_t cells_;
  std::size_t block_;   // bytes
  std::size_t blocks_;  // 0: the cell sums serve
  std::size_t k_;
  std::vector<std::uint32_t> sums_;  // of the cells, then of the blocks of each data cell
};

StripeSums sum_cells(std::span<const MutByteView> cells, std::uint32_t k,
                     const RecordShape& record) {
  StripeSums sums;
  for (const MutByteView cell : cells) sums.cells.push_back(checksum(record.checksum, cell));
  if (record.private_block_sums(static_cast<std::uint32_t>(cells[0].size())) == 0) return sums;
  for (const MutByteView cell : cells.first(k)) {
    append_block_sums(record.checksum, cell, record.checksum_block, sums.blocks);
  }
  return sums;
}

}  // namespace

void append_block_sums(ChecksumType type, ByteView bytes, std::uint32_t block, SumList& sums) {
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    sums.push_back(
        checksum(type, bytes.subspan(at, std::min<std::size_t>(block, bytes.size() - at))));
  }
}

Status fill_cells(ByteView stored, std::span<const MutByteView> cells, const ec::Codec& codec) {
  const std::uint32_t k = codec.profile().k;
  HEXAD_ASSERT(cells.size() == codec.profile().shards());
  std::vector<ByteView> data;
  for (std::uint32_t role = 0; role < k; ++role) {
    fill_part(stored, role * cells[role].size(), cells[role]);
    data.push_back(cells[role]);
  }
  return codec.encode(data, cells.subspan(k));
}

Result<StripeSums> fill_and_sum_cells(ByteView stored, std::span<const MutByteView> cells,
                                      const ec::Codec& codec, const RecordShape& record) {
  const std::uint32_t k = codec.profile().k;
  const std::uint32_t m = codec.profile().m;
  HEXAD_ASSERT(cells.size() == k + m);
  if (record.checksum != ChecksumType::kCrc32c) {
    HEXAD_TRY(fill_cells(stored, cells, codec));
    return sum_cells(cells, k, record);
  }
  const std::size_t cell_bytes = cells[0].size();
  CrcsOfCells sums(cell_bytes, codec.profile(), record);
  std::array<ByteView, ec::kMaxDataShards> sources;
  std::array<MutByteView, ec::kMaxShards> parts;
  for (std::size_t begin = 0, size = 0; begin < cell_bytes; begin += size) {
    size = sums.part_size(begin);
    for (std::uint32_t role = 0; role < k + m; ++role) {
      parts[role] = cells[role].subspan(begin, size);
      if (role >= k) continue;
      const std::size_t from = role * cell_bytes + begin;
      const bool whole = from + size <= stored.size();
      if (!whole) fill_part(stored, from, parts[role]);
      sources[role] = whole ? stored.subspan(from, size) : ByteView(parts[role]);
    }
    std::array<std::uint32_t, ec::kMaxShards> of_parts = sums.before();
    HEXAD_TRY(codec.encode_and_sum(std::span(sources).first(k), std::span(parts).first(k + m),
                                   std::span(of_parts).first(k + m)));
    sums.note(begin, size, std::span(of_parts).first(k + m));
  }
  return sums.sums();
}

}  // namespace hexad::core
