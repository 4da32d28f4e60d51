#include "core/blob/blob_read.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <utility>

#include "base/units.h"
#include "core/blob/blob_job.h"
#include "ec/shard_subsets.h"
#include "ec/stripe_layout.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

std::string describe(const alloc::Extent& where) {
  return "stripe at zone " + std::to_string(where.zone) + " unit " + std::to_string(where.unit);
}

// Without parity: how often a cell is asked for again that is not what it should be. The device may
// have other copies of it below, and answer from one of those.
constexpr int kAskedAgain = 2;

std::string not_answered(io::Device& device) {
  return device.name() + " " + io::describe_silence(device);
}

Error mismatch() { return Error{ErrorCode::kCorruption, "does not match its checksum", ""}; }

std::size_t count_away(const std::vector<CellPlace>& places) {
  return static_cast<std::size_t>(std::count_if(
      places.begin(), places.end(), [](const CellPlace& place) { return !place.readable; }));
}

// What to do where too few cells are good. Cells that are damaged come back with no device.
std::string advice(bool devices_may_help, bool parity) {
  if (!parity && !devices_may_help) {
    return "The devices are said to be redundant themselves, so the pool has no parity: see to the "
           "device, and store the object again from a copy. hexad fsck --deep names all that is "
           "damaged.";
  }
  return devices_may_help
             ? "Attach the missing devices and open the store again."
             : "More cells are damaged than parity gives back: store the object again from a copy. "
               "hexad fsck --deep names all that is damaged.";
}

// Of a range of a private blob's stored bytes, as ec::map_range() would have it in one piece. False
// also where the range is not all there.
bool lies_in_one_cell(const Blob& blob, std::uint32_t k, std::uint64_t offset,
                      std::uint64_t length) {
  const std::uint64_t cell = blob.cell_bytes;
  if (cell == 0 || length == 0 || length > cell || offset > k * cell - length) return false;
  return offset / cell == (offset + length - 1) / cell;
}

// The smallest verifiable range around a piece, and the whole device blocks around that.
void widen(Fetch& fetch, const Blob& blob, const StoreShape& shape) {
  const bool packed = blob.placement == Placement::kPacked;
  const std::uint64_t length = packed ? blob.stored : blob.cell_bytes;
  fetch.begin = 0;
  fetch.end = length;
  if (!blob.block_sums.empty()) {
    const std::uint32_t block = shape.record.checksum_block;
    fetch.begin = round_down(fetch.wanted.offset, block);
    fetch.end =
        std::min<std::uint64_t>(length, round_up(fetch.wanted.offset + fetch.wanted.length, block));
  }
  const std::uint64_t shift = packed ? blob.cell_offset : 0;
  fetch.from = round_down(fetch.begin + shift, shape.block);
  fetch.skip = fetch.begin + shift - fetch.from;
  fetch.size = round_up(fetch.end + shift, shape.block) - fetch.from;
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
  std::pmr::vector<Job> jobs(&memory);
  jobs.reserve(ranges.size());
  std::unique_ptr<ReadRoom> spare = rooms_.take();
  for (const Range& range : ranges) HEXAD_TRY(plan(jobs.emplace_back(range, &memory), *spare));
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
                   "Run hexad fsck."};
    }
    job.stored = found->stored;
    const std::uint64_t stored =
        found->place.has_value() ? found->place->stored : found->stored.size();
    if (stored != job.blob->stored) {
      return Error{ErrorCode::kCorruption,
                   "blob " + std::to_string(job.blob->log.index) + " of LSN " +
                       std::to_string(job.blob->log.lsn) + " has " + std::to_string(stored) +
                       " bytes in the log, " + std::to_string(job.blob->stored) + " in its record",
                   "Run hexad fsck."};
    }
    if (found->place.has_value()) {
      job.placed = placed_blob(*job.blob, *found->place);
      job.blob = &job.placed;
    }
  }
  const Blob& blob = *job.blob;
  if (job.range.offset > blob.raw || out.size() > blob.raw - job.range.offset) {
    return Error{ErrorCode::kCorruption,
                 describe(blob.where) + ": bytes " + std::to_string(job.range.offset) + " to " +
                     std::to_string(job.range.offset + out.size()) + " asked of a blob of " +
                     std::to_string(blob.raw),
                 "Run hexad fsck."};
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
  job.fetches.resize(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const CellPlace& place = place_of(pieces[i]);
    Fetch& fetch = job.fetches[i];
    fetch.wanted = pieces[i];
    fetch.device = place.id;
    widen(fetch, blob, shape_);
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
  return lost(blob, unpacked.error(), false);
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
  return lost(blob,
              Error{ErrorCode::kUnavailable, describe(blob.where) + ": " + why,
                    advice(job.silent || away, false)},
              job.silent);
}

Error BlobReader::lost(const Blob& blob, Error error, bool silent) const {
  if (!silent && on_lost_) on_lost_(blob, error);
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

// Whole cells, because parity can be judged only by the sum of a whole cell. Costs up to k+m cells
// of at most kPageSpan / k bytes each.
Status BlobReader::read_degraded(const Blob& blob, std::uint64_t offset, MutByteView out) const {
  counters_.add(CounterId::kDegradedReads);
  if (blob.placement == Placement::kPacked) return read_degraded_packed(blob, offset, out);
  HEXAD_TRY_ASSIGN(Cells cells, read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                           ec::ShardSet::first(shape_.cells()), Wait::kBounded));
  const Status rebuilt = rebuild(blob.where, blob.cell_sums, cells);
  if (!rebuilt.ok()) return lost(blob, rebuilt.error(), !cells.silent.empty());
  HEXAD_TRY_ASSIGN(const std::vector<ec::CellPiece> pieces,
                   ec::map_range(shape_.k(), blob.cell_bytes, offset, out.size()));
  for (const ec::CellPiece& piece : pieces) {
    copy_bytes(out.subspan(piece.stream_offset - offset),
               ByteView(cells.cell(piece.role)).subspan(piece.offset, piece.length));
  }
  return {};
}

// The same bytes of all other cells give the wanted ones back, column by column. Only those can be
// judged, by the blob's sums: so choices of k cells are tried until one gives bytes that verify.
// When that says that some cell is damaged, and not only away, the whole stripe is judged and
// healed; that also answers where the choices were too many to try.
Status BlobReader::read_degraded_packed(const Blob& blob, std::uint64_t offset,
                                        MutByteView out) const {
  constexpr int kMaxChoices = 256;
  Fetch fetch;
  fetch.wanted = {blob.cell, offset, out.size(), offset};
  widen(fetch, blob, shape_);
  const auto length = static_cast<std::uint32_t>(fetch.size);
  HEXAD_TRY_ASSIGN(std::vector<CellPlace> places, map_.locate(blob.where));
  bool silent = !leave_out_silent(places).empty();
  const auto stride = static_cast<std::uint32_t>(round_up(length, AlignedBuffer::kAlignment));
  AlignedBuffer buffer(std::size_t{stride} * shape_.cells());
  std::vector<MutByteView> shards;
  std::vector<std::uint32_t> roles;
  std::string why;
  auto batch = std::make_unique<io::IoBatch>();
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
    shards.push_back(buffer.bytes().subspan(std::size_t{role} * stride, length));
    if (!places[role].readable) {
      why += (why.empty() ? "" : "; ") + std::string("cell ") + std::to_string(role) +
             " on device " + std::to_string(places[role].id) + " is not there";
    } else if (role != blob.cell) {
      roles.push_back(role);
      batch->requests.push_back(io::IoRequest::read(
          *places[role].device, places[role].offset + fetch.from, shards[role]));
      counters_.add(CounterId::kDeviceBytesRead, length);
    }
  }
  const bool complete = run(*batch);
  const Status ours = check_not_fenced(*batch);
  ec::ShardSet good;
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const io::IoRequest& request = batch->requests[i];
    if (!request.is_answered()) {
      silent = true;
      why += (why.empty() ? "" : "; ") + not_answered(*request.device);
    } else if (request.status.ok()) {
      good.add(roles[i]);
    } else {
      counters_.add(CounterId::kReadErrors);
      why += (why.empty() ? "" : "; ") + request.status.error().message;
    }
  }
  if (!complete) {
    // A device may still write into these shards.
    AlignedBuffer others(buffer.size());
    for (const std::uint32_t role : good) {
      copy_bytes(others.bytes().subspan(std::size_t{role} * stride, length), shards[role]);
    }
    std::vector<AlignedBuffer> abandoned;
    abandoned.push_back(std::move(buffer));
    queue_.abandon(std::move(batch), std::move(abandoned));
    buffer = std::move(others);
    for (std::uint32_t role = 0; role < shape_.cells(); ++role) {
      shards[role] = buffer.bytes().subspan(std::size_t{role} * stride, length);
    }
  }
  HEXAD_TRY(ours);
  const ByteView rebuilt = ByteView(shards[blob.cell]).subspan(fetch.skip, fetch.end - fetch.begin);
  int choices = 0;
  bool found = false;
  for (ec::ShardSubsets choice(good, shape_.k()); !found && !choice.done() && choices < kMaxChoices;
       choice.next(), ++choices) {
    HEXAD_TRY(codec_.reconstruct_wanted(shards, choice.get(), ec::ShardSet{blob.cell}));
    found = verifies(fetch, rebuilt, blob, shape_.record);
  }
  if (found) {
    counters_.add(CounterId::kCellsReconstructed);
    copy_bytes(out, rebuilt.subspan(offset - fetch.begin, out.size()));
    // Judging the stripe takes an answer of every device.
    const bool damaged = !silent && (places[blob.cell].readable || choices > 1);
    if (damaged && map_.may_heal()) heal_pack(blob);
    return {};
  }
  if (good.size() >= shape_.k() && !silent) {
    const std::optional<CheckedPack> pack = heal_pack(blob);
    if (pack.has_value()) {
      copy_bytes(out,
                 ByteView(pack->right[blob.cell]).subspan(blob.cell_offset + offset, out.size()));
      return {};
    }
  }
  const std::string others =
      good.size() < shape_.k()
          ? "of the other cells " + std::to_string(good.size()) + " can be read, " +
                std::to_string(shape_.k()) + " good ones are needed"
          : "no " + std::to_string(shape_.k()) + " of the " + std::to_string(good.size()) +
                " others that can be read give it back: some are damaged, too";
  return lost(blob,
              Error{ErrorCode::kUnavailable,
                    describe(blob.where) + ": cell " + std::to_string(blob.cell) +
                        (places[blob.cell].readable ? " is damaged" : " is not there") + ", and " +
                        others + (why.empty() ? "" : " (" + why + ")"),
                    advice(silent || count_away(places) > 0, true)},
              silent);
}

std::optional<CheckedPack> BlobReader::heal_pack(const Blob& blob) const {
  const std::optional<PackIdentity> stripe = map_.pack_stripe(blob.where);
  if (!stripe.has_value()) return std::nullopt;
  // A record may say anything.
  const std::uint64_t cell = stripe->where.units * shape_.unit;
  if (blob.cell_offset + std::uint64_t{blob.stored} > cell) return std::nullopt;
  const PackWitness witness = witness_of(blob);
  Result<CheckedPack> pack = packs_.check(*stripe, {&witness, 1});
  if (!pack.ok() || !pack->verdict.whole) return std::nullopt;
  packs_.heal(*pack);
  return std::move(pack).value();
}

Result<BlobReader::Cells> BlobReader::read_cells(const alloc::Extent& where,
                                                 std::uint32_t cell_bytes, const SumList& cell_sums,
                                                 ec::ShardSet wanted, Wait wait) const {
  HEXAD_ASSERT(cell_sums.size() == shape_.cells());
  Cells cells;
  cells.cell_bytes = cell_bytes;
  cells.stride = static_cast<std::uint32_t>(round_up(cell_bytes, AlignedBuffer::kAlignment));
  cells.buffer = AlignedBuffer(std::size_t{cells.stride} * shape_.cells());
  HEXAD_TRY_ASSIGN(cells.places, map_.locate(where));
  if (wait == Wait::kBounded) cells.silent = leave_out_silent(cells.places);

  auto batch = std::make_unique<io::IoBatch>();
  std::vector<std::uint32_t> roles;
  for (const std::uint32_t role : wanted) {
    const CellPlace& place = cells.places[role];
    if (!place.readable) {
      cells.problems.push_back(
          "cell " + std::to_string(role) + " on device " + std::to_string(place.id) +
          (cells.silent.contains(role) ? ": " + not_answered(*place.device) : " is not there"));
      continue;
    }
    roles.push_back(role);
    batch->requests.push_back(io::IoRequest::read(*place.device, place.offset, cells.cell(role)));
    counters_.add(CounterId::kDeviceBytesRead, cell_bytes);
  }
  bool complete = true;
  if (wait == Wait::kBounded) {
    complete = run(*batch);
  } else {
    queue_.run(*batch);
  }
  Status ours = check_not_fenced(*batch);
  for (std::size_t i = 0; i < roles.size(); ++i) {
    const std::uint32_t role = roles[i];
    const io::IoRequest& request = batch->requests[i];
    const std::string subject =
        "cell " + std::to_string(role) + " on device " + std::to_string(cells.places[role].id);
    if (!request.is_answered()) {
      cells.places[role].readable = false;
      cells.silent.add(role);
      cells.problems.push_back(subject + ": " + not_answered(*request.device));
      continue;
    }
    if (shape_.m() == 0 && is_bad(request, cells.cell(role), cell_sums[role])) {
      const Status again = ask_again(request, cells.cell(role), cell_sums[role], wait);
      if (again.ok()) {
        counters_.add(request.status.ok() ? CounterId::kChecksumErrors : CounterId::kReadErrors);
        cells.good.add(role);
        continue;
      }
      if (again.error().code == ErrorCode::kFenced) ours = again;
      if (again.error().code == ErrorCode::kUnavailable) {
        cells.places[role].readable = false;
        cells.silent.add(role);
        cells.problems.push_back(subject + ": " + not_answered(*request.device));
        continue;
      }
    }
    if (!request.status.ok()) {
      counters_.add(CounterId::kReadErrors);
      cells.problems.push_back(subject + ": " + request.status.error().message);
    } else if (checksum(shape_.record.checksum, cells.cell(role)) != cell_sums[role]) {
      counters_.add(CounterId::kChecksumErrors);
      // Recovery looks at cells that a crash may have kept from being written: no device's fault.
      if (wait == Wait::kBounded) request.device->note_mismatch();
      cells.problems.push_back(subject + " does not match its checksum");
    } else {
      cells.good.add(role);
    }
  }
  if (!complete) {
    // A device may still write into these cells.
    std::vector<AlignedBuffer> abandoned;
    abandoned.push_back(std::exchange(cells.buffer, AlignedBuffer(cells.buffer.size())));
    for (const std::uint32_t role : cells.good) {
      copy_bytes(cells.cell(role),
                 abandoned[0].bytes().subspan(std::size_t{role} * cells.stride, cell_bytes));
    }
    queue_.abandon(std::move(batch), std::move(abandoned));
  }
  HEXAD_TRY(ours);
  return cells;
}

bool BlobReader::is_bad(const io::IoRequest& read, ByteView cell, std::uint64_t sum) const {
  return !read.status.ok() || checksum(shape_.record.checksum, cell) != sum;
}

Status BlobReader::ask_again(const io::IoRequest& before, MutByteView cell, std::uint64_t sum,
                             Wait wait) const {
  Status last;
  for (int i = 0; i < kAskedAgain; ++i) {
    AlignedBuffer buffer(cell.size());
    counters_.add(CounterId::kDeviceBytesRead, cell.size());
    counters_.add(CounterId::kCellsAskedAgain);
    io::IoRequest read = io::IoRequest::read(*before.device, before.offset, buffer.bytes());
    Status status;
    if (wait == Wait::kBounded) {
      status = io::read_round(queue_, {read}, buffer)[0];
    } else {
      io::IoBatch batch;
      batch.requests.push_back(read);
      queue_.run(batch);
      status = batch.requests[0].status;
    }
    last = status;
    if (!status.ok() && !io::is_medium(status.error())) return status;
    if (!status.ok()) continue;
    last = mismatch();
    if (checksum(shape_.record.checksum, buffer.bytes()) != sum) continue;
    copy_bytes(cell, buffer.bytes());
    return {};
  }
  return last;
}

Status BlobReader::rebuild(const alloc::Extent& where, const SumList& cell_sums,
                           Cells& cells) const {
  return rebuild(where, cell_sums, cells, ec::ShardSet::first(shape_.cells()));
}

Status BlobReader::rebuild(const alloc::Extent& where, const SumList& cell_sums, Cells& cells,
                           ec::ShardSet wanted) const {
  const ec::ShardSet lost = wanted - cells.good;
  if (lost.empty()) return {};
  if (cells.good.size() < shape_.k()) {
    std::string why;
    for (const std::string& problem : cells.problems) why += (why.empty() ? "" : "; ") + problem;
    return Error{
        ErrorCode::kUnavailable,
        describe(where) + ": only " + std::to_string(cells.good.size()) + " of " +
            std::to_string(shape_.cells()) + " cells are good and " + std::to_string(shape_.k()) +
            " are needed (" + why + ")",
        advice(cells.good.size() + count_away(cells.places) >= shape_.k(), shape_.m() > 0)};
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
