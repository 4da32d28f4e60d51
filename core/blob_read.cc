#include "core/blob_read.h"

#include <algorithm>

#include "base/units.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

namespace {

std::string describe(const alloc::Extent& where) {
  return "stripe at zone " + std::to_string(where.zone) + " unit " + std::to_string(where.unit);
}

// A part of one data cell that is read and verified as a whole.
struct Fetch {
  ec::CellPiece wanted;
  std::uint64_t begin = 0;  // in the cell, a multiple of the checksum block
  std::uint64_t end = 0;    // likewise, or the end of the cell
  AlignedBuffer buffer;
};

// The smallest verifiable range around a piece.
void widen(Fetch& fetch, const Blob& blob, std::uint32_t checksum_block) {
  if (blob.block_sums.empty()) {
    fetch.begin = 0;
    fetch.end = blob.cell_bytes;
  } else {
    fetch.begin = round_down(fetch.wanted.offset, checksum_block);
    fetch.end = std::min<std::uint64_t>(
        blob.cell_bytes, round_up(fetch.wanted.offset + fetch.wanted.length, checksum_block));
  }
  fetch.buffer = AlignedBuffer(fetch.end - fetch.begin);
}

bool verifies(const Fetch& fetch, const Blob& blob, const RecordShape& shape) {
  const std::uint32_t role = fetch.wanted.role;
  if (blob.block_sums.empty()) {
    return checksum(shape.checksum, fetch.buffer) == blob.cell_sums[role];
  }
  const std::uint64_t per_cell = divide_up(blob.cell_bytes, shape.checksum_block);
  std::uint64_t index = role * per_cell + fetch.begin / shape.checksum_block;
  const ByteView bytes = fetch.buffer.bytes();
  for (std::size_t at = 0; at < bytes.size(); at += shape.checksum_block, ++index) {
    const std::size_t length = std::min<std::size_t>(shape.checksum_block, bytes.size() - at);
    if (checksum(shape.checksum, bytes.subspan(at, length)) != blob.block_sums[index]) return false;
  }
  return true;
}

}  // namespace

// One range on its way through read().
struct BlobReader::Job {
  Range range;
  compression::FrameRange frames;  // compressed blobs only
  AlignedBuffer packed;            // of those: the stored bytes of the frames
  std::uint64_t offset = 0;        // in the stored bytes, where `target` begins
  MutByteView target;              // the stored bytes wanted: `packed`, or the caller's
  std::vector<Fetch> fetches;
  std::size_t first_request = 0;  // of the fetches, in order, in the batch
  bool degraded = false;
};

Status BlobReader::read(const Blob& blob, std::uint64_t offset, MutByteView out) const {
  const Range range{&blob, offset, out};
  return read({&range, 1});
}

Status BlobReader::read(std::span<const Range> ranges) const {
  std::vector<Job> jobs(ranges.size());
  io::IoBatch batch;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    jobs[i].range = ranges[i];
    HEXAD_TRY(plan(jobs[i], batch));
  }
  queue_.submit(batch);
  queue_.wait(batch);
  for (Job& job : jobs) HEXAD_TRY(finish(job, batch));
  return {};
}

Status BlobReader::plan(Job& job, io::IoBatch& batch) const {
  const Blob& blob = *job.range.blob;
  const MutByteView out = job.range.out;
  if (out.empty()) return {};
  if (job.range.offset > blob.raw || out.size() > blob.raw - job.range.offset) {
    return Error{ErrorCode::kCorruption,
                 describe(blob.where) + ": bytes " + std::to_string(job.range.offset) + " to " +
                     std::to_string(job.range.offset + out.size()) + " asked of a blob of " +
                     std::to_string(blob.raw),
                 "Run hexad fsck."};
  }
  if (blob.placement != Placement::kPrivate) {
    return Error{ErrorCode::kUnsupported, describe(blob.where) + ": a pack stripe",
                 "This version reads private stripes only; use the version that wrote the store."};
  }
  job.offset = job.range.offset;
  job.target = out;
  if (!blob.frames.stored_lengths.empty()) {
    HEXAD_TRY_ASSIGN(job.frames,
                     compression::frames_for_range(blob.frames, job.range.offset, out.size()));
    job.packed = AlignedBuffer(job.frames.stored_length);
    job.offset = job.frames.stored_offset;
    job.target = job.packed.bytes();
  }
  HEXAD_TRY_ASSIGN(const std::vector<ec::CellPiece> pieces,
                   ec::map_range(shape_.k(), blob.cell_bytes, job.offset, job.target.size()));
  HEXAD_TRY_ASSIGN(const std::vector<CellPlace> places, map_.locate(blob.where));
  for (const ec::CellPiece& piece : pieces) {
    job.degraded = job.degraded || !places[piece.role].readable;
  }
  if (job.degraded) return {};
  job.first_request = batch.requests.size();
  job.fetches.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const CellPlace& place = places[pieces[i].role];
    Fetch& fetch = job.fetches[i];
    fetch.wanted = pieces[i];
    widen(fetch, blob, shape_.record.checksum_block);
    batch.requests.push_back(
        io::IoRequest::read(*place.device, place.offset + fetch.begin, fetch.buffer.bytes()));
    counters_.add(CounterId::kDeviceBytesRead, fetch.buffer.size());
  }
  return {};
}

Status BlobReader::finish(Job& job, const io::IoBatch& batch) const {
  const Blob& blob = *job.range.blob;
  for (std::size_t i = 0; i < job.fetches.size() && !job.degraded; ++i) {
    if (!batch.requests[job.first_request + i].status.ok()) {
      counters_.add(CounterId::kReadErrors);
      job.degraded = true;
    } else if (!verifies(job.fetches[i], blob, shape_.record)) {
      counters_.add(CounterId::kChecksumErrors);
      job.degraded = true;
    }
  }
  if (job.degraded) {
    HEXAD_TRY(read_degraded(blob, job.offset, job.target));
  } else {
    for (const Fetch& fetch : job.fetches) {
      copy_bytes(
          job.target.subspan(fetch.wanted.stream_offset - job.offset),
          fetch.buffer.bytes().subspan(fetch.wanted.offset - fetch.begin, fetch.wanted.length));
    }
  }
  if (job.packed.empty()) return {};
  return compressor_.decompress(blob.frames, job.range.offset, job.packed, job.range.out);
}

// Whole cells, because parity can be judged only by the sum of a whole cell. Costs up to k+m cells
// of at most kPageSpan / k bytes each.
Status BlobReader::read_degraded(const Blob& blob, std::uint64_t offset, MutByteView out) const {
  counters_.add(CounterId::kDegradedReads);
  HEXAD_TRY_ASSIGN(Cells cells, read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                           ec::ShardSet::first(shape_.cells())));
  HEXAD_TRY(rebuild(blob.where, blob.cell_sums, cells));
  HEXAD_TRY_ASSIGN(const std::vector<ec::CellPiece> pieces,
                   ec::map_range(shape_.k(), blob.cell_bytes, offset, out.size()));
  for (const ec::CellPiece& piece : pieces) {
    copy_bytes(out.subspan(piece.stream_offset - offset),
               ByteView(cells.cell(piece.role)).subspan(piece.offset, piece.length));
  }
  return {};
}

Result<BlobReader::Cells> BlobReader::read_cells(const alloc::Extent& where,
                                                 std::uint32_t cell_bytes,
                                                 const std::vector<std::uint64_t>& cell_sums,
                                                 ec::ShardSet wanted) const {
  HEXAD_ASSERT(cell_sums.size() == shape_.cells());
  Cells cells;
  cells.cell_bytes = cell_bytes;
  cells.stride = static_cast<std::uint32_t>(round_up(cell_bytes, AlignedBuffer::kAlignment));
  cells.buffer = AlignedBuffer(std::size_t{cells.stride} * shape_.cells());
  HEXAD_TRY_ASSIGN(cells.places, map_.locate(where));

  io::IoBatch batch;
  std::vector<std::uint32_t> roles;
  for (const std::uint32_t role : wanted) {
    const CellPlace& place = cells.places[role];
    if (!place.readable) {
      cells.problems.push_back("cell " + std::to_string(role) + " on device " +
                               std::to_string(place.id) + " is not there");
      continue;
    }
    roles.push_back(role);
    batch.requests.push_back(io::IoRequest::read(*place.device, place.offset, cells.cell(role)));
    counters_.add(CounterId::kDeviceBytesRead, cell_bytes);
  }
  queue_.submit(batch);
  queue_.wait(batch);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const std::uint32_t role = roles[i];
    const std::string subject =
        "cell " + std::to_string(role) + " on device " + std::to_string(cells.places[role].id);
    if (!batch.requests[i].status.ok()) {
      counters_.add(CounterId::kReadErrors);
      cells.problems.push_back(subject + ": " + batch.requests[i].status.error().message);
    } else if (checksum(shape_.record.checksum, cells.cell(role)) != cell_sums[role]) {
      counters_.add(CounterId::kChecksumErrors);
      cells.problems.push_back(subject + " does not match its checksum");
    } else {
      cells.good.add(role);
    }
  }
  return cells;
}

Status BlobReader::rebuild(const alloc::Extent& where, const std::vector<std::uint64_t>& cell_sums,
                           Cells& cells) const {
  const ec::ShardSet lost = ec::ShardSet::first(shape_.cells()) - cells.good;
  if (lost.empty()) return {};
  if (cells.good.size() < shape_.k()) {
    std::string why;
    for (const std::string& problem : cells.problems) why += (why.empty() ? "" : "; ") + problem;
    return Error{ErrorCode::kUnavailable,
                 describe(where) + ": only " + std::to_string(cells.good.size()) + " of " +
                     std::to_string(shape_.cells()) + " cells are good and " +
                     std::to_string(shape_.k()) + " are needed (" + why + ")",
                 "Attach the missing devices and open the store again."};
  }
  std::vector<MutByteView> shards;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) shards.push_back(cells.cell(role));
  HEXAD_TRY(codec_.reconstruct_wanted(shards, cells.good, lost));
  for (const std::uint32_t role : lost) {
    if (checksum(shape_.record.checksum, cells.cell(role)) != cell_sums[role]) {
      return Error{ErrorCode::kCorruption,
                   describe(where) + ": cell " + std::to_string(role) +
                       " rebuilt from good cells does not match its checksum",
                   "Run hexad fsck --deep."};
    }
    counters_.add(CounterId::kCellsReconstructed);
    if (cells.places[role].readable) map_.heal(cells.places[role], cells.cell(role));
  }
  return {};
}

}  // namespace hexad::core
