// From a blob back to user bytes: read only the blocks that the range needs, verify every one,
// rebuild what is lost from any k cells, decompress.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/error.h"
#include "compression/compressor.h"
#include "core/api/types.h"
#include "core/blob/in_flight_cells.h"
#include "core/blob/pack_check.h"
#include "core/blob/read_hedges.h"
#include "core/blob/read_room.h"
#include "core/record/record.h"
#include "core/record/shape.h"
#include "core/space/log_blobs.h"
#include "core/space/stripe_map.h"
#include "core/stats/counters.h"
#include "ec/codec.h"
#include "ec/shard_set.h"
#include "ec/stripe_layout.h"
#include "io/bounded_reads.h"
#include "io/device.h"

namespace hexad::core {

using io::kSilence;

struct Fetch;  // core/blob/blob_job.h

class BlobReader {
 public:
  // Is told of a blob of which something cannot be read, though every device has answered, and why,
  // on the thread that reads. Its place is known. Takes no lock but a leaf, and does not wait.
  using OnLost = std::function<void(const Blob&, const Error&)>;

  // All outlive the reader. `in_flight` null: nothing is. `on_lost` empty: nobody wants to know.
  // `hedges` null: a read waits for its own devices alone, for kSilence.
  BlobReader(const StoreShape& shape, const ec::Codec& codec,
             const compression::Compressor& compressor, StripeMap& map, io::IoQueue& queue,
             Counters& counters, const LogBlobs& log_blobs,
             const InFlightCells* in_flight = nullptr, OnLost on_lost = {},
             ReadHedges* hedges = nullptr)
      : shape_(shape),
        codec_(codec),
        compressor_(compressor),
        map_(map),
        queue_(queue),
        counters_(counters),
        log_blobs_(log_blobs),
        packs_(shape, codec, map, queue, counters),
        in_flight_(in_flight),
        on_lost_(std::move(on_lost)),
        hedges_(hedges) {}

  // Fills `out` with the user bytes of `blob` from `offset` on. A healthy read of a range inside
  // one checksum block is one device read. Any thread.
  // Errors: kUnavailable (fewer than k cells are good; says which and why), kCorruption (the
  // record contradicts itself).
  Status read(const Blob& blob, std::uint64_t offset, MutByteView out) const;

  // The same for several ranges at once: all their device reads go out together and are waited for
  // once; what is lost is then rebuilt blob by blob. A device that does not answer within
  // kSilence is gone round, like one that is lost, but nothing is written to it. The caller bounds
  // how many bytes those are. The blobs stay until it returns. Errors: of the first range in order
  // that has one.
  struct Range {
    const Blob* blob;
    std::uint64_t offset;  // in the blob's user bytes
    MutByteView out;
  };
  Status read(std::span<const Range> ranges) const;

  // The parts of the blob that cannot be had, in its user bytes: ascending, apart, as long as what
  // one checksum or one frame covers. Empty: all of it can be read.
  // Errors: kUnavailable (a device does not answer, so that nobody knows), and those that say
  // nothing about cells. Cost: one read of the blob; where that fails, one of each part, none of
  // them rebuilt.
  Result<std::vector<ByteRange>> find_lost(const Blob& blob) const;

  // All k+m cells, each verified against its sum; those in `bad` are not. For deep fsck and
  // recovery.
  struct Cells {
    AlignedBuffer buffer;  // role order, `stride` apart
    std::uint32_t stride = 0;
    std::uint32_t cell_bytes = 0;
    ec::ShardSet good;
    ec::ShardSet silent;                // not read, since their devices do not answer
    std::vector<std::string> problems;  // one per bad cell
    std::vector<CellPlace> places;

    MutByteView cell(std::uint32_t role) {
      return buffer.bytes().subspan(std::size_t{role} * stride, cell_bytes);
    }
  };
  // How long a device may take. Recovery waits: what a device holds that does not answer decides
  // what is kept, and is not to be guessed.
  enum class Wait : std::uint8_t { kBounded, kForAll };
  Result<Cells> read_cells(const alloc::Extent& where, std::uint32_t cell_bytes,
                           const SumList& cell_sums, ec::ShardSet wanted,
                           Wait wait = Wait::kForAll) const;
  // Rebuilds every cell that is not good, checks it against its sum, and offers it to the map for
  // healing. Errors: kUnavailable (fewer than k good).
  Status rebuild(const alloc::Extent& where, const SumList& cell_sums, Cells& cells) const;
  // The same for these cells alone, whether or not the others have been read.
  Status rebuild(const alloc::Extent& where, const SumList& cell_sums, Cells& cells,
                 ec::ShardSet wanted) const;

 private:
  struct Job;
  // As read() of their ranges; nothing is planned yet.
  Status read_jobs(std::span<Job> jobs) const;
  bool run(io::IoBatch& batch) const;
  // The error of a request that was shut out.
  static Status check_not_fenced(const io::IoBatch& batch);
  // --- blob_hedge.cc ---
  struct Hedge;
  struct Others;
  // As run(); what is late is rebuilt from other cells where those answer sooner. Then it may be
  // false although all fetches have their bytes.
  bool run_hedged(std::span<Job> jobs, io::IoBatch& batch) const;
  // Until the others are asked.
  io::Nanos patience(std::span<const Job> jobs, const io::IoBatch& batch) const;
  // False: there are no k other cells for some job that is late, or no more may be read.
  bool plan_hedge(std::span<Job> jobs, const io::IoBatch& batch, Hedge& hedge) const;
  bool plan_others(Job& job, const io::IoBatch& batch, Hedge& hedge) const;
  enum class Hedged : std::uint8_t {
    kDone,    // whatever is late has been rebuilt
    kNotYet,  // it may be, when others have answered
    kNever,   // what they have is not what it should be
  };
  Hedged use_hedge(const io::IoBatch& batch, Hedge& hedge) const;
  Hedged rebuild_late(const io::IoBatch& batch, const Hedge& hedge, Others& others,
                      std::size_t index) const;
  // Adds the device reads of a job to the batch of the room; marks it degraded where one cannot be
  // asked. What the room has no memory for, the job has.
  Status plan(Job& job, ReadRoom& room) const;
  // Of reads that have not been answered: a device may still write there.
  void abandon(std::span<Job> jobs, ReadRoom& room) const;
  bool copy_in_flight(Job& job, std::span<const ec::CellPiece> pieces) const;
  // After those reads: whether they are enough, without anything that is rebuilt.
  bool is_sound(const Job& job, const io::IoBatch& batch) const;
  static void copy_fetched(const Job& job);
  // After those reads: verifies, rebuilds what does not verify, decompresses.
  Status finish(Job& job, const io::IoBatch& batch) const;
  // Without parity, what has been read and is not right is asked for again: the device may have it
  // elsewhere. Not for what has no answer. Errors: kCorruption or what the device says (it is not
  // right, however often), kUnavailable (not answered this time), what it was refused with,
  // kFenced.
  Status ask_again(Fetch& fetch, const io::IoRequest& before, const Blob& blob) const;
  Status ask_again(const io::IoRequest& before, MutByteView cell, std::uint64_t sum,
                   Wait wait) const;
  // Of the former: whether the job goes on with what is there. Errors: those that say nothing of
  // it.
  static Status note_again(Job& job, const Status& again);
  bool is_bad(const io::IoRequest& read, ByteView cell, std::uint64_t sum) const;
  // Why the job has not what it wants, without parity.
  Status not_there(const Job& job, const io::IoBatch& batch) const;
  // Notes that the blob is lost, and returns the error: where all devices have answered. What is
  // said while one is silent says nothing for good.
  Error lost(const Blob& blob, Error error) const;
  Status read_degraded(const Blob& blob, std::uint64_t offset, MutByteView out) const;
  Status read_degraded_packed(const Blob& blob, std::uint64_t offset, MutByteView out) const;
  // Of a packed blob's stripe, with the blob as the expected one: all cells, when they can be
  // known, and the bad ones written back. Nothing otherwise.
  std::optional<CheckedPack> heal_pack(const Blob& blob) const;

  const StoreShape& shape_;
  const ec::Codec& codec_;
  const compression::Compressor& compressor_;
  StripeMap& map_;
  io::IoQueue& queue_;
  Counters& counters_;
  const LogBlobs& log_blobs_;
  PackChecker packs_;
  const InFlightCells* in_flight_;
  const OnLost on_lost_;
  ReadHedges* hedges_;
  mutable ReadRooms rooms_;
};

}  // namespace hexad::core
