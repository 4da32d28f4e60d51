#include "core/blob/fill_cells.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/assert.h"
#include "base/checksum.h"

namespace hexad::core {

namespace {

// Bytes of each cell that are worked on together: the parts of a few cells, and what they are
// copied from, lie in the nearest caches then. Shorter ones are summed and coded more slowly
// (doc/benchmarks.md#preparing-large-payloads).
constexpr std::size_t kColumn = 8192;

// Copies what `stored` has from there on, and zeros behind its end.
void fill_part(ByteView stored, std::size_t from, MutByteView part) {
  const std::size_t left = from < stored.size() ? stored.size() - from : 0;
  const std::size_t size = std::min(left, part.size());
  if (size > 0) copy_bytes(part.first(size), stored.subspan(from, size));
  fill_zero(part.subspan(size));
}

// A crc32c of each cell, and of each block of the data cells where there are such sums.
class CrcsOfCells {
 public:
  CrcsOfCells(std::size_t cell_bytes, const ec::Profile& profile, const RecordShape& record)
      : cell_bytes_(cell_bytes),
        cells_(profile.shards()),
        block_(record.checksum_block),
        blocks_(record.private_block_sums(static_cast<std::uint32_t>(cell_bytes))),
        blocks_per_cell_(blocks_ / profile.k),
        sums_(cells_ + blocks_) {}

  // How many bytes the parts from there on have: none goes beyond the end of a block.
  std::size_t part_size(std::size_t begin) const {
    return std::min({kColumn, cell_bytes_ - begin, block_ - begin % block_});
  }
  // The parts of a cell come in their order.
  void add_parity(std::uint32_t role, ByteView part) { add(sums_[role], part); }
  void add_data(std::uint32_t role, std::size_t begin, ByteView part) {
    if (blocks_ == 0) return add(sums_[role], part);
    std::uint32_t& block = sums_[cells_ + role * blocks_per_cell_ + begin / block_];
    add(block, part);
    const std::size_t end = begin + part.size();
    if (end % block_ != 0 && end != cell_bytes_) return;
    const std::size_t size = end % block_ == 0 ? block_ : end % block_;
    sums_[role] = crc32c_joined(sums_[role], block, size);
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
  static void add(std::uint32_t& sum, ByteView part) { sum = crc32c(part, sum); }

  std::size_t cell_bytes_;
  std::size_t cells_;
  std::size_t block_;   // bytes
  std::size_t blocks_;  // 0: the cell sums serve
  std::size_t blocks_per_cell_;
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
  std::array<ByteView, ec::kMaxDataShards> data;
  std::array<MutByteView, ec::kMaxParityShards> parity;
  for (std::size_t begin = 0, size = 0; begin < cell_bytes; begin += size) {
    size = sums.part_size(begin);
    for (std::uint32_t role = 0; role < k; ++role) {
      const MutByteView part = cells[role].subspan(begin, size);
      fill_part(stored, role * cell_bytes + begin, part);
      sums.add_data(role, begin, part);
      data[role] = part;
    }
    for (std::uint32_t i = 0; i < m; ++i) parity[i] = cells[k + i].subspan(begin, size);
    HEXAD_TRY(codec.encode(std::span(data).first(k), std::span(parity).first(m)));
    for (std::uint32_t i = 0; i < m; ++i) sums.add_parity(k + i, parity[i]);
  }
  return sums.sums();
}

}  // namespace hexad::core
