#include "core/blob/blob_job.h"

namespace hexad::core {

void Fetch::widen(const Blob& blob, const StoreShape& shape) {
  const bool packed = blob.placement == Placement::kPacked;
  const std::uint64_t length = packed ? blob.stored : blob.cell_bytes;
  begin = 0;
  end = length;
  if (!blob.block_sums.empty()) {
    const std::uint32_t block = shape.record.checksum_block;
    begin = round_down(wanted.offset, block);
    end = std::min<std::uint64_t>(length, round_up(wanted.offset + wanted.length, block));
  }
  const std::uint64_t shift = packed ? blob.cell_offset : 0;
  from = round_down(begin + shift, shape.block);
  skip = begin + shift - from;
  size = round_up(end + shift, shape.block) - from;
}

}  // namespace hexad::core
