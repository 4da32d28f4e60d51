// A file in the coded zones: what runs are kept in. It is cut into pieces, each a private stripe of
// its own, stored as it is, with its checksums in the piece. Nobody but its description says where
// it is; a log record never does.
//
// Invariants, checked by check_file()
//   H1  pieces follow one another without gaps from 0 to `bytes`, each shows all of its blob, and
//       none crosses a multiple of kPageSpan. Usually that is where they end; they are shorter
//       where the space is in short runs
//   H2  every blob is private, not compressed, and sound by EB1 to EB5 (core/record/extent_codec.h)
//   H3  no two stripes share a unit
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "alloc/zone.h"
#include "base/bytes.h"
#include "base/error.h"
#include "core/blob/blob_prepare.h"
#include "core/blob/blob_read.h"
#include "core/blob/stripe_writer.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"

namespace hexad::core {

struct CodedFile {
  std::uint64_t bytes = 0;
  ExtentList pieces;  // offsets count from the start of the file

  bool operator==(const CodedFile&) const = default;
};

// In the order of the pieces.
std::vector<alloc::Extent> stripes_of(const CodedFile& file);
// H1 to H3. Errors: kCorruption.
Status check_file(const CodedFile& file, const RecordShape& shape);
// H3 over the stripes of several files. Errors: kCorruption, naming two.
Status check_disjoint(std::vector<alloc::Extent> stripes);

// Writes one file, from the first byte to the last. One thread. Coding goes on while cells are on
// their way. Memory: at most 16 MiB, whatever the profile.
//
// Crash: the stripes are in flight in the allocator until the caller publishes them, so a crash
// gives them back. When finish() has succeeded all cells are durable on all usable devices but
// those in failed(), and at least k of each stripe.
class CodedFileWriter {
 public:
  struct World {  // all outlive the writer
    const StoreShape& shape;
    const BlobPreparer& preparer;
    Space& space;
    const Members& members;
    Counters& counters;
    StripeUse use = StripeUse::kRun;
  };
  // `make_zone` is called when no zone has room, at most once for each page of the file; where it
  // fails for lack of space, what is free is used in shorter pieces. Empty: no zone can be made.
  explicit CodedFileWriter(const World& world, std::function<Status()> make_zone = {})
      : world_(world),
        stripes_(world.shape, world.space, world.members, world.counters, world.use),
        make_zone_(std::move(make_zone)) {}
  // Gives back what finish() did not hand out.
  ~CodedFileWriter();
  CodedFileWriter(const CodedFileWriter&) = delete;
  CodedFileWriter& operator=(const CodedFileWriter&) = delete;

  // `bytes` are borrowed until the call returns. Errors, which stick: kNoSpace, kUnavailable or
  // that of a device (a stripe has fewer than k cells, or a write was refused: io/refused.h), those
  // of make_zone.
  Status append(ByteView bytes);
  std::uint64_t size() const { return file_.bytes + buffer_.size(); }
  // Writes the rest and waits for all. The stripes are the caller's then, to be published or
  // abandoned. Called once. Errors: as append(); the destructor gives all space back.
  Result<CodedFile> finish();
  // Devices that did not take a cell, whatever the outcome; they are not written to again. The
  // caller takes them out of the membership before the file is named anywhere (R13).
  const std::set<DeviceId>& failed() const { return failed_; }

 private:
  // One stripe on its way.
  struct Flight {
    explicit Flight(const StripeWriter& writer) : batch(writer) {}
    StripeWrite stripe;
    StripeBatch batch;
  };

  Status fail(const Error& error);
  Status write_page();
  Status write_piece(ByteView bytes, const alloc::Extent& where);
  Result<alloc::Extent> allocate(std::size_t& length, bool& may_make_zone);
  std::uint64_t cells_bound(std::size_t length) const;
  LandedStripes wait_for(Flight& flight);
  Status land_oldest();

  World world_;
  const StripeWriter stripes_;
  std::function<Status()> make_zone_;
  Bytes buffer_;    // of the page being filled
  CodedFile file_;  // what has been sent; its pieces have landed but for those in flights_
  std::deque<std::unique_ptr<Flight>> flights_;
  std::uint64_t flying_ = 0;  // bytes of their cells
  std::set<DeviceId> failed_;
  Status problem_;
  bool handed_out_ = false;
};

class CodedFileReader {
 public:
  // `reader` outlives it. Precondition: check_file() is ok.
  CodedFileReader(const BlobReader& reader, CodedFile file)
      : reader_(reader), file_(std::move(file)) {}

  std::uint64_t size() const { return file_.bytes; }
  const CodedFile& file() const { return file_; }
  // All of `out`, verified; what is lost is rebuilt from any k cells and healed where that is
  // allowed. One round of device reads where nothing is lost. Any thread.
  // Errors: kCorruption (not all of it lies in the file), and those of BlobReader::read().
  Status read(std::uint64_t offset, MutByteView out) const;
  // The same of several files of one store, in one round for all of them. Errors: of any.
  struct Read {
    const CodedFileReader* file;
    std::uint64_t offset;
    MutByteView out;
  };
  static Status read_together(std::span<const Read> reads);

 private:
  Status add_ranges(std::uint64_t offset, MutByteView out,
                    std::vector<BlobReader::Range>& ranges) const;

  const BlobReader& reader_;
  CodedFile file_;
};

}  // namespace hexad::core
