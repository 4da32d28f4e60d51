// From user bytes to a blob: compress and checksum, and for a large one cut and encode the cells of
// its private stripe. Pure computation on the caller's thread; where the blob will lie is not known
// yet. A small one stays as it is: its group decides with whom it shares a stripe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "compression/compressor.h"
#include "core/api/shared_bytes.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "ec/codec.h"

namespace hexad::core {

struct PreparedBlob {
  Blob blob;            // everything but its place
  SharedBytes stored;   // of an unplaced blob; else none
  AlignedBuffer cells;  // the k+m cells in role order, `stride` bytes apart; not of an unplaced one
  std::uint32_t stride = 0;           // cell_bytes rounded up to the buffer alignment of direct I/O
  std::uint32_t units = 0;            // of a stripe of its own
  std::vector<std::uint32_t> packed;  // of a pack stripe: bytes of blobs in each data cell
  std::uint32_t footer = 0;           // of a pack stripe: the crc of its footer

  bool is_unplaced() const { return !stored.empty(); }
  ByteView cell(std::uint32_t role) const {
    return cells.bytes().subspan(std::size_t{role} * stride, blob.cell_bytes);
  }
  // Bytes of payload in a data cell; the rest of it is padding, or the footer of a pack.
  std::uint64_t payload_of(std::uint32_t role) const {
    if (!packed.empty()) return packed[role];
    const std::uint64_t before = std::uint64_t{role} * blob.cell_bytes;
    return before >= blob.stored ? 0
                                 : std::min<std::uint64_t>(blob.stored - before, blob.cell_bytes);
  }
};

// The cells of a private stripe of `stored` bytes, which are not empty: cut, padded with zeros and
// encoded; no sums. Errors: those of coding.
Result<PreparedBlob> code_cells(ByteView stored, const StoreShape& shape, const ec::Codec& codec);

// Whether one of so many stored bytes has a stripe of its own whoever comes with it.
bool takes_own_stripe(std::uint64_t stored, const StoreShape& shape);

class BlobPreparer {
 public:
  // All outlive the preparer.
  BlobPreparer(const StoreShape& shape, const ec::Codec& codec,
               const compression::Compressor& compressor)
      : shape_(shape), codec_(codec), compressor_(compressor) {}

  // `raw`: 1 to kPageSpan bytes. Any thread. Order of transforms: compress, cut and pad with zeros,
  // checksum, encode. By its size a blob has a stripe of its own or stays unplaced
  // (takes_own_stripe()). `copies`: where the bytes of an unplaced one are kept beside others;
  // null: alone. Errors: those of compression and coding; never for lack of gain.
  enum class Form : std::uint8_t { kBySize, kOwnStripe, kShared };
  Result<PreparedBlob> prepare(ByteView raw, compression::Hint hint,
                               const compression::Policy& policy, Form form = Form::kBySize,
                               SharedCopies* copies = nullptr) const;
  const StoreShape& shape() const { return shape_; }
  // The cells of a private stripe of `stored` bytes, and their sums. 1 to kPageSpan bytes.
  Result<PreparedBlob> code(ByteView stored) const;

 private:
  const StoreShape& shape_;
  const ec::Codec& codec_;
  const compression::Compressor& compressor_;
};

}  // namespace hexad::core
