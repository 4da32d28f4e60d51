// One range of a blob on its way through BlobReader: what of which cell is asked for, and what came
// of it. For the files of BlobReader alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/units.h"
#include "compression/compressor.h"
#include "core/api/shared_bytes.h"
#include "core/blob/blob_read.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/stripe_map.h"
#include "ec/shard_set.h"
#include "ec/stripe_layout.h"
#include "io/bounded_reads.h"

namespace hexad::core {

// A part of one data cell that is read and verified as a whole. Offsets of a private blob count
// from the start of the cell, those of a packed one from the start of its stored bytes.
struct Fetch {
  ec::CellPiece wanted;
  DeviceId device = 0;
  std::uint64_t begin = 0;  // a multiple of the checksum block
  std::uint64_t end = 0;    // likewise, or the end of the cell or of the stored bytes
  std::uint64_t from = 0;   // in the cell: where the buffer begins, a multiple of the block
  std::uint64_t skip = 0;   // in the buffer: where `begin` is
  std::uint64_t size = 0;   // of the buffer
  MutByteView buffer;       // of the room, `own` or `rebuilt`
  AlignedBuffer own;
  AlignedBuffer rebuilt;  // where the device is late: from other cells, and verified; else empty

  // The smallest verifiable range around `wanted`, and the whole device blocks around that.
  void widen(const Blob& blob, const StoreShape& shape);
  ByteView verified() const { return buffer.subspan(skip, end - begin); }
};

struct BlobReader::Job {
  // What it allocates for its fetches comes from `memory`, which outlives it.
  Job(const Range& wanted, std::pmr::memory_resource* memory) : range(wanted), fetches(memory) {}

  Range range;
  std::optional<Blob> placed;      // an unplaced blob's, when its place is known
  const Blob* blob = nullptr;      // range.blob, or `placed`
  SharedBytes stored;              // an unplaced blob's bytes that are still in memory
  compression::FrameRange frames;  // compressed blobs only
  AlignedBuffer packed;            // of those: the stored bytes of the frames
  std::uint64_t offset = 0;        // in the stored bytes, where `target` begins
  MutByteView target;              // the stored bytes wanted: `packed`, or the caller's
  std::pmr::vector<Fetch> fetches;
  std::size_t first_request = 0;  // of the fetches, in order, in the batch
  bool degraded = false;
  bool silent = false;  // some device has not answered: what is not there says nothing for good
};

// Whether `bytes`, as the fetch has them from `begin` to `end`, are what the blob's sums say.
inline bool verifies(const Fetch& fetch, ByteView bytes, const Blob& blob,
                     const RecordShape& shape) {
  const std::uint32_t role = blob.placement == Placement::kPacked ? 0 : fetch.wanted.role;
  if (blob.block_sums.empty()) return checksum(shape.checksum, bytes) == blob.cell_sums[role];
  const std::uint64_t per_cell = divide_up(blob.cell_bytes, shape.checksum_block);
  std::uint64_t index = role * per_cell + fetch.begin / shape.checksum_block;
  for (std::size_t at = 0; at < bytes.size(); at += shape.checksum_block, ++index) {
    const std::size_t length = std::min<std::size_t>(shape.checksum_block, bytes.size() - at);
    if (checksum(shape.checksum, bytes.subspan(at, length)) != blob.block_sums[index]) return false;
  }
  return true;
}

// Silent devices count as not there. The cells on them.
inline ec::ShardSet leave_out_silent(std::vector<CellPlace>& places) {
  ec::ShardSet silent;
  for (std::uint32_t role = 0; role < places.size(); ++role) {
    CellPlace& place = places[role];
    if (!place.readable || !io::is_silent(*place.device)) continue;
    place.readable = false;
    silent.add(role);
  }
  return silent;
}

}  // namespace hexad::core
