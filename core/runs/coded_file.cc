#include "core/runs/coded_file.h"

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "core/record/extent_codec.h"
#include "ec/stripe_layout.h"

namespace hexad::core {

namespace {

// Of the cells in flight. With the page being filled and the extents of the file, 16 MiB is not
// passed: at most 9 MiB are the cells of one piece.
constexpr std::uint64_t kFlightBytes = 12 << 20;

Error broken(std::string message) {
  return Error{ErrorCode::kCorruption, std::move(message), "Run hexad fsck POOL."};
}

}  // namespace

std::vector<alloc::Extent> stripes_of(const CodedFile& file) {
  std::vector<alloc::Extent> stripes;
  stripes.reserve(file.pieces.size());
  for (const Extent& piece : file.pieces) stripes.push_back(piece.blob.where);
  return stripes;
}

Status check_disjoint(std::vector<alloc::Extent> stripes) {
  std::sort(stripes.begin(), stripes.end());
  for (std::size_t i = 1; i < stripes.size(); ++i) {
    if (stripes[i - 1].zone == stripes[i].zone && stripes[i - 1].end() > stripes[i].unit) {
      return broken(alloc::to_string(stripes[i - 1]) + " and " + alloc::to_string(stripes[i]) +
                    " are in use at the same time");
    }
  }
  return {};
}

Status check_file(const CodedFile& file, const RecordShape& shape) {
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < file.pieces.size(); ++i) {
    const Extent& piece = file.pieces[i];
    const bool follows = piece.offset == end;                                     // H1
    const bool whole = piece.blob_offset == 0 && piece.length == piece.blob.raw;  // H1
    const bool plain = !piece.is_inline() && !piece.blob.is_compressed() &&       // H2
                       piece.blob.placement == Placement::kPrivate;               // H2
    if (!follows || !whole || !plain) {
      return broken("piece " + std::to_string(i) + " of a file, at offset " +
                    std::to_string(piece.offset) +
                    ": it leaves a gap, shows a part, or is not a plain private stripe");
    }
    HEXAD_TRY(check_extents({piece}, round_down(piece.offset, kPageSpan), shape));
    end = piece.end();
  }
  if (end != file.bytes) {  // H1
    return broken("a file of " + std::to_string(file.bytes) + " bytes whose pieces hold " +
                  std::to_string(end));
  }
  return check_disjoint(stripes_of(file));  // H3
}

CodedFileWriter::~CodedFileWriter() {
  for (const std::unique_ptr<Flight>& flight : flights_) wait_for(*flight);
  if (handed_out_) return;
  for (const Extent& piece : file_.pieces) stripes_.release(piece.blob.where);
}

Status CodedFileWriter::fail(const Error& error) {
  if (problem_.ok()) problem_ = error;
  return error;
}

Status CodedFileWriter::append(ByteView bytes) {
  HEXAD_ASSERT(!handed_out_);
  HEXAD_TRY(problem_);
  while (!bytes.empty()) {
    const std::size_t room = static_cast<std::size_t>(kPageSpan) - buffer_.size();
    const ByteView part = bytes.first(std::min(room, bytes.size()));
    buffer_.insert(buffer_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (buffer_.size() == kPageSpan) HEXAD_TRY(write_page());
  }
  return {};
}

// The buffered bytes, in one piece where that is possible.
Status CodedFileWriter::write_page() {
  ByteView rest = buffer_;
  bool may_make_zone = make_zone_ != nullptr;
  std::size_t length = rest.size();
  while (!rest.empty()) {
    length = std::min(length, rest.size());
    const Result<alloc::Extent> where = allocate(length, may_make_zone);
    if (!where.ok()) return fail(where.error());
    HEXAD_TRY(write_piece(rest.first(length), *where));
    rest = rest.subspan(length);
  }
  buffer_.clear();
  return {};
}

// A stripe for `length` bytes, or for as many of them as there is a run for.
Result<alloc::Extent> CodedFileWriter::allocate(std::size_t& length, bool& may_make_zone) {
  const StoreShape& shape = world_.shape;
  for (;;) {
    const auto units = static_cast<std::uint32_t>(
        divide_up(ec::cell_bytes(length, shape.k(), shape.block), shape.unit));
    Result<alloc::Extent> where = world_.space.allocate_internal(units);
    if (where.ok() || where.error().code != ErrorCode::kNoSpace) return where;
    if (may_make_zone) {
      may_make_zone = false;
      const Status made = make_zone_();
      if (!made.ok() && made.error().code != ErrorCode::kNoSpace) return made.error();
      if (made.ok()) continue;
    }
    if (units == 1) return where;
    length = std::min<std::size_t>(length, std::size_t{units / 2} * shape.k() * shape.unit);
  }
}

// Of the cells of a stripe of so many bytes.
std::uint64_t CodedFileWriter::cells_bound(std::size_t length) const {
  const StoreShape& shape = world_.shape;
  return shape.cells() *
         round_up(ec::cell_bytes(length, shape.k(), shape.block), AlignedBuffer::kAlignment);
}

Status CodedFileWriter::write_piece(ByteView bytes, const alloc::Extent& where) {
  auto flight = std::make_unique<Flight>(stripes_);
  flight->stripe.where = where;
  Extent piece;
  piece.offset = file_.bytes;
  piece.length = bytes.size();
  piece.blob.where = where;
  // From here on the destructor gives it back.
  file_.pieces.push_back(std::move(piece));
  while (!flights_.empty() && flying_ + cells_bound(bytes.size()) > kFlightBytes) {
    HEXAD_TRY(land_oldest());
  }
  Result<PreparedBlob> prepared = world_.preparer.code(bytes);
  if (!prepared.ok()) return fail(prepared.error());
  HEXAD_ASSERT(prepared->units == where.units);
  prepared->blob.where = where;
  file_.pieces.back().blob = prepared->blob;
  file_.bytes += bytes.size();
  flying_ += prepared->cells.size();
  flight->stripe.prepared = std::move(prepared).value();
  flight->batch.add(flight->stripe, failed_);
  flight->batch.submit();
  flights_.push_back(std::move(flight));
  return {};
}

LandedStripes CodedFileWriter::wait_for(Flight& flight) {
  LandedStripes landed = flight.batch.land();
  failed_.insert(landed.failed.begin(), landed.failed.end());
  return landed;
}

Status CodedFileWriter::land_oldest() {
  const std::unique_ptr<Flight> flight = std::move(flights_.front());
  flights_.pop_front();
  flying_ -= flight->stripe.prepared.cells.size();
  const LandedStripes landed = wait_for(*flight);
  return landed.status.ok() ? Status() : fail(landed.status.error());
}

Result<CodedFile> CodedFileWriter::finish() {
  HEXAD_ASSERT(!handed_out_);
  HEXAD_TRY(problem_);
  HEXAD_TRY(write_page());
  while (!flights_.empty()) HEXAD_TRY(land_oldest());
  handed_out_ = true;
  return std::move(file_);
}

Status CodedFileReader::add_ranges(std::uint64_t offset, MutByteView out,
                                   std::vector<BlobReader::Range>& ranges) const {
  if (offset > file_.bytes || out.size() > file_.bytes - offset) {
    return broken("bytes " + std::to_string(offset) + " to " + std::to_string(offset + out.size()) +
                  " of a file of " + std::to_string(file_.bytes));
  }
  auto piece = std::upper_bound(file_.pieces.begin(), file_.pieces.end(), offset,
                                [](std::uint64_t at, const Extent& e) { return at < e.end(); });
  for (; !out.empty(); ++piece) {
    const std::uint64_t from = offset - piece->offset;
    const MutByteView part = out.first(std::min<std::size_t>(out.size(), piece->length - from));
    ranges.push_back({&piece->blob, from, part});
    out = out.subspan(part.size());
    offset += part.size();
  }
  return {};
}

Status CodedFileReader::read(std::uint64_t offset, MutByteView out) const {
  std::vector<BlobReader::Range> ranges;
  HEXAD_TRY(add_ranges(offset, out, ranges));
  return reader_.read(ranges);
}

Status CodedFileReader::read_together(std::span<const Read> reads) {
  std::vector<BlobReader::Range> ranges;
  for (const Read& read : reads) HEXAD_TRY(read.file->add_ranges(read.offset, read.out, ranges));
  return ranges.empty() ? Status() : reads.front().file->reader_.read(ranges);
}

}  // namespace hexad::core
