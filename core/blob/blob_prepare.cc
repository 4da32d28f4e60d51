#include "core/blob/blob_prepare.h"

#include <algorithm>

#include "base/units.h"
#include "core/record/blob_uses.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

void append_block_sums(ChecksumType type, ByteView bytes, std::uint32_t block, SumList& sums) {
  for (std::size_t at = 0; at < bytes.size(); at += block) {
    sums.push_back(
        checksum(type, bytes.subspan(at, std::min<std::size_t>(block, bytes.size() - at))));
  }
}

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

Result<PreparedBlob> code_cells(ByteView stored, const StoreShape& shape, const ec::Codec& codec) {
  HEXAD_ASSERT(!stored.empty());
  PreparedBlob prepared;
  Blob& blob = prepared.blob;
  blob.raw = static_cast<std::uint32_t>(stored.size());
  blob.stored = blob.raw;
  const std::uint32_t k = shape.k();
  blob.cell_bytes = static_cast<std::uint32_t>(ec::cell_bytes(blob.stored, k, shape.block));
  prepared.stride =
      static_cast<std::uint32_t>(round_up(blob.cell_bytes, AlignedBuffer::kAlignment));
  prepared.units = static_cast<std::uint32_t>(divide_up(blob.cell_bytes, shape.unit));
  prepared.cells = AlignedBuffer(std::size_t{prepared.stride} * shape.cells());

  std::vector<ByteView> data;
  std::vector<MutByteView> parity;
  for (std::uint32_t role = 0; role < shape.cells(); ++role) {
    const MutByteView cell =
        prepared.cells.bytes().subspan(std::size_t{role} * prepared.stride, blob.cell_bytes);
    if (role >= k) {
      parity.push_back(cell);
      continue;
    }
    const ByteView part = stored.first(std::min<std::size_t>(stored.size(), cell.size()));
    stored = stored.subspan(part.size());
    copy_bytes(cell, part);
    fill_zero(cell.subspan(part.size()));
    data.push_back(cell);
  }
  HEXAD_TRY(codec.encode(data, parity));
  return prepared;
}

Result<PreparedBlob> BlobPreparer::code(ByteView stored) const {
  HEXAD_ASSERT(stored.size() <= kPageSpan);
  HEXAD_TRY_ASSIGN(PreparedBlob prepared, code_cells(stored, shape_, codec_));
  Blob& blob = prepared.blob;
  const RecordShape& record = shape_.record;
  blob.cell_sums.reserve(shape_.cells());
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    blob.cell_sums.push_back(checksum(record.checksum, prepared.cell(role)));
  }
  const std::uint64_t block_sums = record.private_block_sums(blob.cell_bytes);
  if (block_sums > 0) {
    blob.block_sums.reserve(block_sums);
    for (std::uint32_t role = 0; role < shape_.k(); ++role) {
      append_block_sums(record.checksum, prepared.cell(role), record.checksum_block,
                        blob.block_sums);
    }
    HEXAD_ASSERT(blob.block_sums.size() == block_sums);
  }
  return prepared;
}

}  // namespace hexad::core
