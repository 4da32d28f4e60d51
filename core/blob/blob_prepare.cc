#include "core/blob/blob_prepare.h"

#include <utility>
#include <vector>

#include "base/checksum.h"
#include "base/units.h"
#include "core/blob/fill_cells.h"
#include "core/record/blob_uses.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

bool takes_own_stripe(std::uint64_t stored, const StoreShape& shape) {
  if (stored < shape.private_threshold) return false;
  if (stored >= kAlwaysOwnStripe || shape.private_threshold == 0) return true;
  const std::uint64_t units = divide_up(ec::cell_bytes(stored, shape.k(), shape.block), shape.unit);
  return !is_lone(stored, units * shape.unit * shape.k(), kMostFilled);
}

Result<PreparedBlob> BlobPreparer::prepare(ByteView raw, compression::Hint hint,
                                           const compression::Policy& policy, Form form,
                                           SharedCopies* copies) const {
  HEXAD_ASSERT(!raw.empty() && raw.size() <= kPageSpan);
  compression::FrameSet kept;
  AlignedBuffer compressed;
  ByteView stored = raw;
  if (compression::decide(policy, hint, raw.size()) != compression::Decision::kStoreRaw) {
    compressed = AlignedBuffer(raw.size());
    HEXAD_TRY_ASSIGN(auto frames, compressor_.compress(policy, hint, raw, compressed.bytes()));
    if (frames.has_value()) {
      kept = *std::move(frames);
      stored = compressed.bytes().first(kept.stored_bytes);
    }
  }

  PreparedBlob prepared;
  const bool own = form == Form::kOwnStripe ||
                   (form == Form::kBySize && takes_own_stripe(stored.size(), shape_));
  if (own) {
    HEXAD_TRY_ASSIGN(prepared, code(stored));
  } else {
    const RecordShape& record = shape_.record;
    Blob& blob = prepared.blob;
    blob.placement = Placement::kLog;
    blob.stored = static_cast<std::uint32_t>(stored.size());
    // The sums are those of the copy, so that a caller who changes a borrowed payload meanwhile
    // gets a mixture that is intact.
    prepared.stored = copies == nullptr ? SharedBytes::copy_of(stored) : copies->copy(stored);
    const ByteView copy = prepared.stored.bytes();
    blob.cell_sums.push_back(checksum(record.checksum, copy));
    if (record.packed_block_sums(blob.stored) > 0) {
      append_block_sums(record.checksum, copy, record.checksum_block, blob.block_sums);
    }
    prepared.units = static_cast<std::uint32_t>(
        divide_up(ec::cell_bytes(blob.stored, shape_.k(), shape_.block), shape_.unit));
  }
  prepared.blob.raw = static_cast<std::uint32_t>(raw.size());
  prepared.blob.frames = std::move(kept);
  return prepared;
}

namespace {

// With cells of the right size, in which nothing has been written yet.
PreparedBlob empty_cells(std::size_t stored, const StoreShape& shape) {
  HEXAD_ASSERT(stored > 0);
  PreparedBlob prepared;
  Blob& blob = prepared.blob;
  blob.raw = static_cast<std::uint32_t>(stored);
  blob.stored = blob.raw;
  blob.cell_bytes = static_cast<std::uint32_t>(ec::cell_bytes(stored, shape.k(), shape.block));
  prepared.stride =
      static_cast<std::uint32_t>(round_up(blob.cell_bytes, AlignedBuffer::kAlignment));
  prepared.units = static_cast<std::uint32_t>(divide_up(blob.cell_bytes, shape.unit));
  prepared.cells = AlignedBuffer(std::size_t{prepared.stride} * shape.cells());
  return prepared;
}

std::vector<MutByteView> cells_of(PreparedBlob& prepared, const StoreShape& shape) {
  std::vector<MutByteView> cells;
  cells.reserve(shape.cells());
  for (std::uint32_t role = 0; role < shape.cells(); ++role) {
    cells.push_back(prepared.cells.bytes().subspan(std::size_t{role} * prepared.stride,
                                                   prepared.blob.cell_bytes));
  }
  return cells;
}

}  // namespace

Result<PreparedBlob> code_cells(ByteView stored, const StoreShape& shape, const ec::Codec& codec) {
  PreparedBlob prepared = empty_cells(stored.size(), shape);
  HEXAD_TRY(fill_cells(stored, cells_of(prepared, shape), codec));
  return prepared;
}

Result<PreparedBlob> BlobPreparer::code(ByteView stored) const {
  HEXAD_ASSERT(stored.size() <= kPageSpan);
  PreparedBlob prepared = empty_cells(stored.size(), shape_);
  HEXAD_TRY_ASSIGN(StripeSums sums,
                   fill_and_sum_cells(stored, cells_of(prepared, shape_), codec_, shape_.record));
  prepared.blob.cell_sums = std::move(sums.cells);
  prepared.blob.block_sums = std::move(sums.blocks);
  return prepared;
}

}  // namespace hexad::core
