// From user bytes to the cells of a private stripe: compress, cut, checksum, encode. Pure
// computation on the caller's thread; where the stripe will lie is not known yet.
#pragma once

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/error.h"
#include "compression/compressor.h"
#include "core/record.h"
#include "core/shape.h"
#include "ec/codec.h"

namespace hexad::core {

struct PreparedBlob {
  Blob blob;                 // everything but `where`
  AlignedBuffer cells;       // the k+m cells in role order, `stride` bytes apart
  std::uint32_t stride = 0;  // cell_bytes rounded up to the buffer alignment of direct I/O
  std::uint32_t units = 0;   // how many to allocate

  ByteView cell(std::uint32_t role) const {
    return cells.bytes().subspan(std::size_t{role} * stride, blob.cell_bytes);
  }
};

class BlobPreparer {
 public:
  // All outlive the preparer.
  BlobPreparer(const StoreShape& shape, const ec::Codec& codec,
               const compression::Compressor& compressor)
      : shape_(shape), codec_(codec), compressor_(compressor) {}

  // `raw`: 1 to kPageSpan bytes. Any thread. Order of transforms: compress, cut and pad with zeros,
  // checksum, encode. Errors: those of compression and coding; never for lack of gain.
  Result<PreparedBlob> prepare(ByteView raw, compression::Hint hint,
                               const compression::Policy& policy) const;

 private:
  const StoreShape& shape_;
  const ec::Codec& codec_;
  const compression::Compressor& compressor_;
};

// Sums over consecutive blocks of `block` bytes, the last one short where need be.
void append_block_sums(ChecksumType type, ByteView bytes, std::uint32_t block,
                       std::vector<std::uint64_t>& sums);

}  // namespace hexad::core
