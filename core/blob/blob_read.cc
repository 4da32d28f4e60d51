#include "core/blob/blob_read.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

#include "core/blob/asked_again.h"
#include "core/blob/blob_job.h"
#include "core/blob/blob_words.h"
#include "ec/stripe_layout.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

// Of a range of a private blob's stored bytes, as ec::map_range() would have it in one piece. False
// also where the range is not all there.
bool lies_in_one_cell(const Blob& blob, std::uint32_t k, std::uint64_t offset,
                      std::uint64_t length) {
  const std::uint64_t cell = blob.cell_bytes;
  if (cell == 0 || length == 0 || length > cell || offset > k * cell - length) return false;
  return offset / cell == (offset + length - 1) / cell;
}

}  // namespace

Status BlobReader::read(const Blob& blob, std::uint64_t offset, MutByteView out) const {
  const Range range{&blob, offset, out};
  return read({&range, 1});
}

Status BlobReader::read(std::span<const Range> ranges) const {
  // Enough for the usual read, of one range in one cell.
  alignas(std::max_align_t) std::array<std::byte, sizeof(Job) + 2 * sizeof(Fetch)> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  if (ranges.size() == 1) {
    Job job(ranges.front(), &memory);
    return read_jobs({&job, 1});
  }
  std::pmr::vector<Job> jobs(&memory);
  jobs.reserve(ranges.size());
  for (const Range& range : ranges) jobs.emplace_back(range, &memory);
  return read_jobs(jobs);
}

Status BlobReader::read_jobs(std::span<Job> jobs) const {
  std::unique_ptr<ReadRoom> spare = rooms_.take();
  for (Job& job : jobs) HEXAD_TRY(plan(job, *spare));
  const bool hedged = hedges_ != nullptr && hedges_->is_on() && !spare->batch().requests.empty();
  const bool complete = hedged ? run_hedged(jobs, spare->batch()) : run(spare->batch());
  Status status = check_not_fenced(spare->batch());
  for (Job& job : jobs) {
    if (status.ok()) status = finish(job, spare->batch());
  }
  if (complete) {
    rooms_.put(std::move(spare));
  } else {
    abandon(jobs, *spare);
  }
  return status;
}

void BlobReader::abandon(std::span<Job> jobs, ReadRoom& room) const {
  std::vector<AlignedBuffer> buffers;
  buffers.push_back(room.give_buffer());
  for (Job& job : jobs) {
    for (Fetch& fetch : job.fetches) {
      if (!fetch.own.empty()) buffers.push_back(std::move(fetch.own));
    }
  }
  queue_.abandon(room.give_batch(), std::move(buffers));
}

// False when some device is silent, and the batch not complete.
bool BlobReader::run(io::IoBatch& batch) const { return queue_.run_for(batch, kSilence); }

Status BlobReader::plan(Job& job, ReadRoom& room) const {
  job.blob = job.range.blob;
  const MutByteView out = job.range.out;
  if (out.empty()) return {};
  if (job.blob->placement == Placement::kLog) {
    const std::optional<LogBlobs::Found> found = log_blobs_.find(job.blob->log);
    if (!found.has_value()) {
      return Error{ErrorCode::kCorruption,
                   "blob " + std::to_string(job.blob->log.index) + " of LSN " +
                       std::to_string(job.blob->log.lsn) + " is in no log block and has no place",
                   "Run hexad fsck POOL."};
    }
    job.stored = found->stored;
    const std::uint64_t stored =
        found->place.has_value() ? found->place->stored : found->stored.size();
    if (stored != job.blob->stored) {
      return Error{ErrorCode::kCorruption,
                   "blob " + std::to_string(job.blob->log.index) + " of LSN " +
                       std::to_string(job.blob->log.lsn) + " has " + std::to_string(stored) +
                       " bytes in the log, " + std::to_string(job.blob->stored) + " in its record",
                   "Run hexad fsck POOL."};
    }
    if (found->place.has_value()) {
      job.placed = placed_blob(*job.blob, *found->place);
      job.blob = &*job.placed;
    }
  }
  const Blob& blob = *job.blob;
  if (job.range.offset > blob.raw || out.size() > blob.raw - job.range.offset) {
    return Error{ErrorCode::kCorruption,
                 describe(blob.where) + ": bytes " + std::to_string(job.range.offset) + " to " +
                     std::to_string(job.range.offset + out.size()) + " asked of a blob of " +
                     std::to_string(blob.raw),
                 "Run hexad fsck POOL."};
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
  if (blob.placement == Placement::kLog) return {};
  ec::CellPiece only;
  std::vector<ec::CellPiece> several;
  std::span<const ec::CellPiece> pieces(&only, 1);
  if (blob.placement == Placement::kPacked) {
    only = {blob.cell, job.offset, job.target.size(), job.offset};
  } else if (lies_in_one_cell(blob, shape_.k(), job.offset, job.target.size())) {
    only = {static_cast<std::uint32_t>(job.offset / blob.cell_bytes), job.offset % blob.cell_bytes,
            job.target.size(), job.offset};
  } else {
    HEXAD_TRY_ASSIGN(several,
                     ec::map_range(shape_.k(), blob.cell_bytes, job.offset, job.target.size()));
    pieces = several;
  }
  if (in_flight_ != nullptr && copy_in_flight(job, pieces)) return {};
  // All are located before any is asked for: who has to do without one asks for none.
  CellPlace only_place;
  std::vector<CellPlace> all_places;
  if (several.empty()) {
    HEXAD_TRY_ASSIGN(only_place, map_.locate_cell(blob.where, only.role));
  } else {
    HEXAD_TRY_ASSIGN(all_places, map_.locate(blob.where));
  }
  const auto place_of = [&](const ec::CellPiece& piece) -> const CellPlace& {
    return several.empty() ? only_place : all_places[piece.role];
  };
  for (const ec::CellPiece& piece : pieces) {
    const CellPlace& place = place_of(piece);
    const bool silent = place.readable && io::is_silent(*place.device);
    job.silent = job.silent || silent;
    job.degraded = job.degraded || !place.readable || silent;
  }
  if (job.degraded) return {};
  std::vector<io::IoRequest>& requests = room.batch().requests;
  job.first_request = requests.size();
  job.fetches.reserve(pieces.size());
  for (const ec::CellPiece& piece : pieces) {
    const CellPlace& place = place_of(piece);
    Fetch& fetch = job.fetches.emplace_back();
    fetch.wanted = piece;
    fetch.device = place.id;
    fetch.widen(blob, shape_);
    fetch.buffer = room.take(fetch.size);
    if (fetch.buffer.empty()) {
      fetch.own = AlignedBuffer(fetch.size);
      fetch.buffer = fetch.own.bytes();
    }
    requests.push_back(io::IoRequest::read(*place.device, place.offset + fetch.from, fetch.buffer));
    counters_.add(CounterId::kDeviceBytesRead, fetch.size);
  }
  return {};
}

// The stored bytes that the job wants, where its stripe is still on its way to the devices.
bool BlobReader::copy_in_flight(Job& job, std::span<const ec::CellPiece> pieces) const {
  const Blob& blob = *job.blob;
  const std::uint64_t shift = blob.placement == Placement::kPacked ? blob.cell_offset : 0;
  return in_flight_->read(blob.where, [&](const auto& cell_of) {
    for (const ec::CellPiece& piece : pieces) {
      const ByteView cell = cell_of(piece.role);
      if (shift + piece.offset + piece.length > cell.size()) return false;  // a record that lies
      copy_bytes(job.target.subspan(piece.stream_offset - job.offset),
                 cell.subspan(shift + piece.offset, piece.length));
    }
    return true;
  });
}

// TO3: whoever is shut out learns that, and nothing is looked for elsewhere: what it would find may
// be of another owner by now.
Status BlobReader::check_not_fenced(const io::IoBatch& batch) {
  for (const io::IoRequest& request : batch.requests) {
    if (!request.is_answered() || request.status.ok()) continue;
    if (request.status.error().code == ErrorCode::kFenced) return request.status;
  }
  return {};
}

Status BlobReader::finish(Job& job, const io::IoBatch& batch) const {
  if (job.range.out.empty()) return {};
  const Blob& blob = *job.blob;
  if (blob.placement == Placement::kLog) {
    copy_bytes(job.target, job.stored.bytes().subspan(job.offset, job.target.size()));
  }
  for (std::size_t i = 0; i < job.fetches.size() && !job.degraded; ++i) {
    const io::IoRequest& request = batch.requests[job.first_request + i];
    if (!job.fetches[i].rebuilt.empty()) continue;
    if (!request.is_answered()) {
      job.degraded = job.silent = true;
      continue;
    }
    if (request.status.ok()) {
      if (verifies(job.fetches[i], job.fetches[i].verified(), blob, shape_.record)) continue;
      counters_.add(CounterId::kChecksumErrors);
      request.device->note_mismatch();
    } else {
      counters_.add(CounterId::kReadErrors);
    }
    if (shape_.m() > 0) {
      job.degraded = true;
    } else {
      HEXAD_TRY(note_again(job, ask_again(job.fetches[i], request, blob)));
    }
  }
  if (job.degraded) {
    HEXAD_TRY(shape_.m() > 0 ? read_degraded(blob, job.offset, job.target) : not_there(job, batch));
  } else {
    copy_fetched(job);
  }
  if (job.packed.empty()) return {};
  Status unpacked =
      compressor_.decompress(blob.frames, job.range.offset, job.packed, job.range.out);
  if (unpacked.ok() || blob.placement == Placement::kLog) return unpacked;
  if (unpacked.error().code != ErrorCode::kCorruption) return unpacked;
  return lost(blob, unpacked.error());
}

Status BlobReader::note_again(Job& job, const Status& again) {
  if (again.ok()) return {};
  const bool silent = again.error().code == ErrorCode::kUnavailable;
  if (!silent && !io::is_medium(again.error())) return again;
  job.degraded = true;
  job.silent = job.silent || silent;
  return {};
}

Status BlobReader::ask_again(Fetch& fetch, const io::IoRequest& before, const Blob& blob) const {
  Status last;
  for (int i = 0; i < kAskedAgain; ++i) {
    AlignedBuffer buffer(fetch.size);
    counters_.add(CounterId::kDeviceBytesRead, fetch.size);
    counters_.add(CounterId::kCellsAskedAgain);
    last = io::read_round(
        queue_, {io::IoRequest::read(*before.device, before.offset, buffer.bytes())}, buffer)[0];
    if (!last.ok() && !io::is_medium(last.error())) return last;
    if (!last.ok()) continue;
    const MutByteView bytes = buffer.bytes();
    if (!verifies(fetch, bytes.subspan(fetch.skip, fetch.end - fetch.begin), blob, shape_.record)) {
      last = mismatch();
      continue;
    }
    fetch.buffer = bytes;
    fetch.rebuilt = std::move(buffer);
    return {};
  }
  return last;
}

Status BlobReader::not_there(const Job& job, const io::IoBatch& batch) const {
  const Blob& blob = *job.blob;
  std::string why;
  bool away = false;
  const auto add = [&](const std::string& what) { why += (why.empty() ? "" : "; ") + what; };
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    const Fetch& fetch = job.fetches[i];
    const io::IoRequest& request = batch.requests[job.first_request + i];
    const std::string subject =
        "cell " + std::to_string(fetch.wanted.role) + " on device " + std::to_string(fetch.device);
    if (!request.is_answered()) {
      add(subject + ": " + not_answered(*request.device));
    } else if (!request.status.ok()) {
      if (!fetch.rebuilt.empty()) continue;
      if (!io::is_medium(request.status.error())) return request.status;
      add(subject + ": " + request.status.error().message);
    } else if (!verifies(fetch, fetch.verified(), blob, shape_.record)) {
      add(subject + " does not match its checksum, however often it is read");
    }
  }
  if (job.fetches.empty()) {  // it was not even asked for
    HEXAD_TRY_ASSIGN(std::vector<CellPlace> places, map_.locate(blob.where));
    leave_out_silent(places);
    for (std::uint32_t role = 0; role < places.size(); ++role) {
      if (places[role].readable) continue;
      away = true;
      add("cell " + std::to_string(role) + " on device " + std::to_string(places[role].id) +
          " is not there");
    }
  }
  if (why.empty()) add("a device that holds a cell of it did not answer in time");
  Error error{ErrorCode::kUnavailable, describe(blob.where) + ": " + why,
              advice(job.silent || away ? TooFew::kAway : TooFew::kDamagedWithoutParity)};
  return job.silent ? error : lost(blob, std::move(error));
}

Error BlobReader::lost(const Blob& blob, Error error) const {
  if (on_lost_) on_lost_(blob, error);
  return error;
}

void BlobReader::copy_fetched(const Job& job) {
  for (const Fetch& fetch : job.fetches) {
    copy_bytes(job.target.subspan(fetch.wanted.stream_offset - job.offset),
               fetch.verified().subspan(fetch.wanted.offset - fetch.begin, fetch.wanted.length));
  }
}

bool BlobReader::is_sound(const Job& job, const io::IoBatch& batch) const {
  if (job.degraded) return false;
  for (std::size_t i = 0; i < job.fetches.size(); ++i) {
    const io::IoRequest& request = batch.requests[job.first_request + i];
    const bool replaced = !job.fetches[i].rebuilt.empty();
    if (!replaced && (!request.is_answered() || !request.status.ok())) return false;
    if (!verifies(job.fetches[i], job.fetches[i].verified(), *job.blob, shape_.record))
      return false;
  }
  if (job.packed.empty()) return true;
  copy_fetched(job);
  const MutByteView out = job.range.out;
  return compressor_.decompress(job.blob->frames, job.range.offset, job.packed, out).ok();
}

Result<std::vector<ByteRange>> BlobReader::find_lost(const Blob& blob) const {
  std::vector<ByteRange> found;
  AlignedBuffer bytes(blob.raw);
  const Status whole = read(blob, 0, bytes.bytes());
  if (whole.ok()) return found;
  const ErrorCode code = whole.error().code;
  if (code != ErrorCode::kUnavailable && code != ErrorCode::kCorruption) return whole.error();
  HEXAD_TRY_ASSIGN(std::vector<CellPlace> places, map_.locate(blob.where));
  if (!leave_out_silent(places).empty()) return whole.error();
  // As long as what one checksum covers, so that no more is lost than must be.
  const bool plain = !blob.is_compressed();
  const std::uint64_t cell = plain && blob.cell_bytes > 0 ? blob.cell_bytes : blob.raw;
  const std::uint64_t step = plain ? shape_.record.checksum_block : blob.frames.frame_bytes;
  std::pmr::monotonic_buffer_resource memory;
  std::pmr::vector<Job> jobs(&memory);
  jobs.reserve(divide_up(blob.raw, step) + shape_.k());
  std::unique_ptr<ReadRoom> spare = rooms_.take();
  for (std::uint64_t at = 0; at < blob.raw;) {
    const std::uint64_t length = std::min({step, blob.raw - at, cell - at % cell});
    const Range range{&blob, at, bytes.bytes().subspan(at, length)};
    HEXAD_TRY(plan(jobs.emplace_back(range, &memory), *spare));
    at += length;
  }
  const bool complete = run(spare->batch());
  for (Job& job : jobs) {
    if (!complete) break;
    for (std::size_t i = 0; i < job.fetches.size() && shape_.m() == 0; ++i) {
      const io::IoRequest& request = spare->batch().requests[job.first_request + i];
      Fetch& fetch = job.fetches[i];
      const bool good =
          request.status.ok() && verifies(fetch, fetch.verified(), blob, shape_.record);
      if (!good) HEXAD_TRY(note_again(job, ask_again(fetch, request, blob)));
    }
    if (job.silent) return whole.error();
    if (is_sound(job, spare->batch())) continue;
    const std::uint64_t length = job.range.out.size();
    if (!found.empty() && found.back().offset + found.back().length == job.range.offset) {
      found.back().length += length;
    } else {
      found.push_back({job.range.offset, length});
    }
  }
  const Status ours = check_not_fenced(spare->batch());
  if (!complete) {
    abandon(jobs, *spare);
    return whole.error();
  }
  rooms_.put(std::move(spare));
  HEXAD_TRY(ours);
  return found;
}

}  // namespace hexad::core
