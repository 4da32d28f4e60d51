#include "core/clean/slab_mover.h"

#include <algorithm>
#include <utility>

#include "base/refused_memory.h"
#include "base/units.h"
#include "io/bounded_reads.h"
#include "io/os_error.h"

namespace hexad::core {

namespace {

constexpr std::size_t kMostPlanned = 1024;
constexpr std::size_t kMostMoves = 8;              // in one round
constexpr std::uint64_t kMostBytes = 256_MiB;      // copied in one round, but for its last move
constexpr std::uint64_t kPiece = 4_MiB;            // read at once
constexpr io::Nanos kNap = 2'000'000;              // between two looks at what is in flight
constexpr io::Nanos kLongestWait = 2'000'000'000;  // for that

}  // namespace

// What a round has begun, and how far it has come.
struct SlabMover::Batch {
  const std::function<bool(std::uint64_t)>& go_on;
  std::uint64_t bytes = 0;
  bool stopped = false;
  std::string problem = {};
  struct Ready {
    alloc::SlabMove move;
    alloc::UnitSet copied;
  };
  std::vector<Ready> ready = {};
};

SlabMover::SlabMover(Parts parts)
    : parts_(std::move(parts)),
      round_mutex_(parts_.executor),
      doors_mutex_(parts_.executor),
      doors_(parts_.executor) {}

std::uint64_t SlabMover::left() { return parts_.space.plan_moves(0).left; }

bool SlabMover::give_up() {
  io::Lock lock(doors_mutex_);
  if (!closed_) return false;
  given_up_.store(true, std::memory_order_release);
  doors_.wait(lock, [this]() HEXAD_REQUIRES(doors_mutex_) { return !closed_; });
  return true;
}

void SlabMover::open_doors() {
  const io::Lock lock(doors_mutex_);
  closed_ = false;
  doors_.notify_all();
}

Result<SlabMover::Round> SlabMover::round(const std::function<bool(std::uint64_t)>& go_on) {
  const io::Lock one(round_mutex_);
  alloc::SlabPlan plan = parts_.space.plan_moves(kMostPlanned);
  Round nothing;
  nothing.left = plan.left;
  if (plan.left == 0) return nothing;
  if (plan.moves.empty()) {
    nothing.problem =
        plan.stuck > 0
            ? std::to_string(plan.stuck) +
                  " slabs find no place: no other device has a free one, or their zones have one "
                  "on each that has" +
                  (parts_.members.domain_cells() == 0
                       ? ""
                       : ", or as many as they may in its failure domain")
            : "slabs that others have left are not free yet";
    return nothing;
  }
  // What did not move the last time keeps nothing else from moving.
  std::stable_partition(plan.moves.begin(), plan.moves.end(),
                        [this](const alloc::SlabMove& move)
                            HEXAD_REQUIRES(round_mutex_) { return !failed_.contains(move.zone); });
  {
    const io::Lock lock(doors_mutex_);
    closed_ = true;
    given_up_.store(false, std::memory_order_release);
  }
  Batch batch{go_on};
  Result<Round> done = run_round(batch, plan);
  const bool given_up_now = given_up();
  open_doors();
  HEXAD_TRY(done.status());
  done->given_up = given_up_now;
  if (given_up_now && done->problem.empty()) {
    done->problem = "a commit or a checkpoint needs the space of the zones that would move";
  }
  parts_.counters.add(CounterId::kSlabsMoved, done->moved);
  return done;
}

Result<SlabMover::Round> SlabMover::run_round(Batch& batch, const alloc::SlabPlan& plan) {
  begin(batch, plan.moves);
  Round done;
  done.left = plan.left;
  if (!batch.ready.empty()) {
    parts_.hooks.between_checkpoints([&] {
      std::erase_if(batch.ready, [&](const Batch::Ready& ready) {
        const DeviceId to = ready.move.to.device;
        const bool was_behind = parts_.members.is_behind(to);
        const Status switched = parts_.space.finish_move(ready.move, ready.copied);
        if (!was_behind && parts_.members.is_filling(to)) parts_.hooks.begin_filling(to);
        if (switched.ok()) return false;
        batch.problem = switched.error().message;
        parts_.space.cancel_move(ready.move);
        return true;
      });
    });
  }
  Status committed;
  if (!batch.ready.empty()) {
    committed = parts_.hooks.commit();
    done.moved = batch.ready.size();
    // What no root has is undone. Where nobody knows what the last root is the store has stopped,
    // and the zones stay closed.
    parts_.hooks.between_checkpoints([&] {
      if (parts_.hooks.stopped()) return;
      for (const Batch::Ready& ready : batch.ready) {
        if (parts_.space.undo_move(ready.move, parts_.hooks.newest())) --done.moved;
      }
    });
  }
  done.problem = batch.problem;
  done.stopped = batch.stopped;
  HEXAD_TRY(committed);
  return done;
}

// One after the other, so that a zone is not closed for longer than the rest of the round.
void SlabMover::begin(Batch& batch, const std::vector<alloc::SlabMove>& moves) {
  for (const alloc::SlabMove& move : moves) {
    if (batch.stopped || given_up() || batch.bytes > kMostBytes) return;
    if (batch.ready.size() >= kMostMoves) return;
    if (const Status begun = begin_one(move, moves.size()); !begun.ok()) {
      batch.problem = begun.error().message;
      failed_.insert(move.zone);
      continue;
    }
    Batch::Ready ready{move, {}};
    std::vector<alloc::UnitRun> runs;
    bool settled = false;
    const Status copied = without_bad_alloc([&]() -> Status {
      settled = settle(batch, move, runs);
      return settled ? copy(batch, move, runs, ready.copied) : Status();
    });
    if (settled && copied.ok() && !batch.stopped && !given_up()) {
      failed_.erase(move.zone);
      batch.ready.push_back(std::move(ready));
      continue;
    }
    if (!copied.ok()) batch.problem = copied.error().message;
    if (!batch.stopped && !given_up()) failed_.insert(move.zone);
    parts_.space.cancel_move(move);
  }
}

Status SlabMover::begin_one(const alloc::SlabMove& move, std::uint64_t slabs) {
  Status begun = parts_.space.begin_move(move);
  if (begun.ok() || begun.error().code != ErrorCode::kNoSpace) return begun;
  // What is allocated meanwhile needs another place; but the slabs may be needed for the moves.
  if (!parts_.space.may_spare_zone(slabs) || !parts_.space.slabs_left()) return begun;
  if (!parts_.hooks.make_zone().ok()) return begun;
  return parts_.space.begin_move(move);
}

// Streams and merges keep what they have for long; then another zone goes first.
bool SlabMover::settle(Batch& batch, const alloc::SlabMove& move,
                       std::vector<alloc::UnitRun>& runs) {
  const io::Nanos began = parts_.executor.clock().now();
  for (;;) {
    std::optional<std::vector<alloc::UnitRun>> settled = parts_.space.settled_runs(move.zone);
    if (settled.has_value()) {
      runs = std::move(*settled);
      return true;
    }
    if (!batch.go_on(0)) batch.stopped = true;
    if (batch.stopped || given_up()) return false;
    if (parts_.executor.clock().now() - began > kLongestWait) {
      batch.problem = "zone " + std::to_string(move.zone) +
                      " is being written to, by a stream or a merge perhaps, and moves later";
      return false;
    }
    parts_.executor.sleep_for(kNap);
  }
}

Status SlabMover::copy(Batch& batch, const alloc::SlabMove& move,
                       const std::vector<alloc::UnitRun>& runs, alloc::UnitSet& copied) {
  HEXAD_TRY(parts_.space.reserve_moved(move));
  Status written = parts_.space.write_moved_header(move);
  const bool lost = parts_.space.moves_from_lost(move.zone);
  const auto most =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(kPiece / parts_.shape.unit, 1));
  for (auto run = runs.begin(); run != runs.end() && written.ok() && !lost; ++run) {
    for (std::uint32_t done = 0; done < run->units && written.ok();) {
      const alloc::UnitRun piece{run->unit + done, std::min(run->units - done, most)};
      written = copy_piece(move, piece);
      if (!written.ok()) break;
      copied.insert(piece);
      done += piece.units;
      const std::uint64_t bytes = piece.units * parts_.shape.unit;
      batch.bytes += bytes;
      parts_.counters.add(CounterId::kSlabBytesMoved, bytes);
      if (!batch.go_on(bytes)) batch.stopped = true;
      if (batch.stopped || given_up()) return {};
    }
  }
  if (written.ok() || !io::is_medium(written.error())) return written;
  // A device that fails a write has failed, whatever it was that it did not take.
  if (parts_.space.suspects().contains(move.to.device)) {
    HEXAD_TRY(parts_.hooks.lose_devices({move.to.device}));
  }
  return written;
}

// Read again, since nothing else knows what is in there: the sums of a cell stand in the records of
// objects.
Status SlabMover::copy_piece(const alloc::SlabMove& move, const alloc::UnitRun& run) {
  const std::uint64_t offset = run.unit * parts_.shape.unit;
  AlignedBuffer bytes(run.units * parts_.shape.unit);
  const Member& from = *parts_.members.find(move.from.device);
  if (Status read = this->read(move.from, offset, bytes); !read.ok()) {
    if (read.error().code == ErrorCode::kFenced) return read;
    return Error{ErrorCode::kUnavailable,
                 "device " + std::to_string(from.id) + " (" + from.path + ") does not give " +
                     alloc::to_string(alloc::Extent{move.zone, run.unit, run.units}) + ": " +
                     read.error().message,
                 parts_.shape.m() > 0
                     ? "hexad scrub POOL writes again what cannot be read; then it moves."
                     : "The pool has no parity: see to the device, or store again what lies there "
                       "(hexad fsck POOL --deep names it); then it moves."};
  }
  const AlignedBuffer wanted = AlignedBuffer::copy_of(bytes.bytes());
  const Status written = parts_.space.write_moved(move, offset, std::move(bytes));
  HEXAD_TRY(written);
  AlignedBuffer there(wanted.size());
  HEXAD_TRY(read(move.to, offset, there));
  if (std::ranges::equal(there.bytes(), wanted.bytes())) return {};
  return Error{ErrorCode::kUnavailable,
               "device " + std::to_string(move.to.device) +
                   " gives other bytes than were written there a moment ago, in slab " +
                   std::to_string(move.to.slab),
               "Replace it: hexad device replace POOL " + std::to_string(move.to.device) + " NEW."};
}

Status SlabMover::read(const alloc::ZoneSlot& slab, std::uint64_t offset, AlignedBuffer& into) {
  io::Device* const device = parts_.members.device(slab.device);
  if (device == nullptr) {
    return Error{ErrorCode::kUnavailable,
                 "device " + std::to_string(slab.device) + " has left the store", ""};
  }
  const alloc::DeviceLayout& layout = parts_.members.find(slab.device)->layout;
  std::vector<io::IoRequest> reads;
  reads.push_back(
      io::IoRequest::read(*device, layout.slab_offset(slab.slab) + offset, into.bytes()));
  parts_.counters.add(CounterId::kDeviceBytesRead, into.size());
  return io::read_round(device->queue(), std::move(reads), into).front();
}

}  // namespace hexad::core
