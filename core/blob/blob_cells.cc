// The part of BlobReader that has to do with whole cells: reads without some of them, and what is
// lost rebuilt.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "base/units.h"
#include "core/blob/asked_again.h"
#include "core/blob/blob_job.h"
#include "core/blob/blob_read.h"
#include "core/blob/blob_words.h"
#include "ec/shard_subsets.h"
#include "ec/stripe_layout.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

std::size_t count_away(const std::vector<CellPlace>& places) {
  return static_cast<std::size_t>(std::count_if(
      places.begin(), places.end(), [](const CellPlace& place) { return !place.readable; }));
}

}  // namespace

// Whole cells, because parity can be judged only by the sum of a whole cell. Costs up to k+m cells
// of at most kPageSpan / k bytes each.
Status BlobReader::read_degraded(const Blob& blob, std::uint64_t offset, MutByteView out) const {
  counters_.add(CounterId::kDegradedReads);
  if (blob.placement == Placement::kPacked) return read_degraded_packed(blob, offset, out);
  HEXAD_TRY_ASSIGN(Cells cells, read_cells(blob.where, blob.cell_bytes, blob.cell_sums,
                                           ec::ShardSet::first(shape_.cells()), Wait::kBounded));
  const Status rebuilt = rebuild(blob.where, blob.cell_sums, cells);
  if (!rebuilt.ok()) {
    return cells.silent.empty() ? lost(blob, rebuilt.error()) : rebuilt.error();
  }
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
  fetch.widen(blob, shape_);
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
  Error error{ErrorCode::kUnavailable,
              describe(blob.where) + ": cell " + std::to_string(blob.cell) +
                  (places[blob.cell].readable ? " is damaged" : " is not there") + ", and " +
                  others + (why.empty() ? "" : " (" + why + ")"),
              advice(silent || count_away(places) > 0 ? TooFew::kAway : TooFew::kDamaged)};
  return silent ? error : lost(blob, std::move(error));
}

std::optional<CheckedPack> BlobReader::heal_pack(const Blob& blob) const {
  const std::optional<PackIdentity> stripe = map_.pack_stripe(blob.where);
  if (!stripe.has_value()) return std::nullopt;
  // A record may say anything.
  const std::uint64_t cell = stripe->where.units * shape_.unit;
  if (blob.cell_offset + std::uint64_t{blob.stored} > cell) return std::nullopt;
  const ExpectedBlob expected = expected_blob_of(blob);
  Result<CheckedPack> pack = packs_.check(*stripe, {&expected, 1});
  if (!pack.ok() || !pack->result.whole) return std::nullopt;
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
      // Recovery looks at cells that a crash may have kept from being written: that is no error.
      if (wait == Wait::kBounded) {
        counters_.add(CounterId::kChecksumErrors);
        request.device->note_mismatch();
      }
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
    const bool away_would_do = cells.good.size() + count_away(cells.places) >= shape_.k();
    const TooFew damaged = shape_.m() > 0 ? TooFew::kDamaged : TooFew::kDamagedWithoutParity;
    std::string why;
    for (const std::string& problem : cells.problems) why += (why.empty() ? "" : "; ") + problem;
    return Error{ErrorCode::kUnavailable,
                 describe(where) + ": only " + std::to_string(cells.good.size()) + " of " +
                     std::to_string(shape_.cells()) + " cells are good and " +
                     std::to_string(shape_.k()) + " are needed (" + why + ")",
                 advice(away_would_do ? TooFew::kAway : damaged)};
  }
  std::vector<MutByteView> shards;
  for (std::uint32_t role = 0; role < shape_.cells(); ++role) shards.push_back(cells.cell(role));
  HEXAD_TRY(codec_.reconstruct_wanted(shards, cells.good, lost));
  for (const std::uint32_t role : lost) {
    if (checksum(shape_.record.checksum, cells.cell(role)) != cell_sums[role]) {
      return Error{ErrorCode::kCorruption,
                   describe(where) + ": cell " + std::to_string(role) +
                       " rebuilt from good cells does not match its checksum",
                   "Run hexad fsck POOL --deep."};
    }
    counters_.add(CounterId::kCellsReconstructed);
    if (cells.places[role].readable) map_.heal(cells.places[role], cells.cell(role));
  }
  return {};
}

}  // namespace hexad::core
