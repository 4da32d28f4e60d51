// From user bytes to a blob: compress and checksum, and for a large one cut and encode the cells of
// its private stripe. Pure computation on the caller's thread; where the blob will lie is not known
// yet. A small one stays as it is: its group decides with whom it shares a stripe.
#pragma once

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "compression/compressor.h"
#include "core/api/shared_bytes.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "ec/codec.h"
#include "io/device.h"

namespace hexad::core {

struct PreparedBlob {
  Blob blob;            // everything but its place
  SharedBytes stored;   // of a young blob; else none
  AlignedBuffer cells;  // the k+m cells in role order, `stride` bytes apart; not of a young one
  std::uint32_t stride = 0;  // cell_bytes rounded up to the buffer alignment of direct I/O
  std::uint32_t units = 0;   // of a stripe of its own

  bool is_young() const { return !stored.empty(); }
  ByteView cell(std::uint32_t role) const {
    return cells.bytes().subspan(std::size_t{role} * stride, blob.cell_bytes);
  }
};

// Of the write of a cell to its device.
inline io::IoCause cause_of_cell(std::uint32_t role, std::uint32_t k) {
  return role < k ? io::IoCause::kUser : io::IoCause::kParity;
}

class BlobPreparer {
 public:
  // All outlive the preparer.
  BlobPreparer(const StoreShape& shape, const ec::Codec& codec,
               const compression::Compressor& compressor)
      : shape_(shape), codec_(codec), compressor_(compressor) {}

  // `raw`: 1 to kPageSpan bytes. Any thread. Order of transforms: compress, cut and pad with zeros,
  // checksum, encode. A blob below the store's private_threshold stays young, unless kOwnStripe.
  // `copies`: where the bytes of a young one are kept beside others; null: alone.
  // Errors: those of compression and coding; never for lack of gain.
  enum class Form : std::uint8_t { kBySize, kOwnStripe };
  Result<PreparedBlob> prepare(ByteView raw, compression::Hint hint,
                               const compression::Policy& policy, Form form = Form::kBySize,
                               SharedCopies* copies = nullptr) const;
  // The cells of a private stripe of `stored` bytes, and their sums. 1 to kPageSpan bytes.
  Result<PreparedBlob> code(ByteView stored) const;

 private:
  const StoreShape& shape_;
  const ec::Codec& codec_;
  const compression::Compressor& compressor_;
};

// Sums over consecutive blocks of `block` bytes, the last one short where need be.
void append_block_sums(ChecksumType type, ByteView bytes, std::uint32_t block, SumList& sums);

}  // namespace hexad::core
