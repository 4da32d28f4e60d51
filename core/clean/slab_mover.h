// Moves slabs of zones from one device to another, while the store is open and serves: off devices
// that are drained, and from full ones to empty ones. What goes where: alloc/slab_moves.h.
//
//   close    the zone takes nothing new in, and the move waits until nothing in it is in flight; so
//            what it holds only gets less (SL1)
//   copy     all its cells on the slab, byte by byte, durably and read again; the new slab's header
//   switch   the zone has the new slab, in memory, under the lock of checkpoints (SL2)
//   commit   a checkpoint's images and root say so; then the zone is open again
//   free     the old slab, when nobody reads or repairs there any more (SL4)
//
// Where the old slab's device is lost, and drained all the same, nothing is copied: the zone gets
// the new slab, on which all that it has is noted as missing, and which is filled like that of a
// device that has come back (SL7). So it is built again from the rest of its stripes, while they
// can be written and moved.
//
// A crash before the root finds the old slab, which has all that the zone had: nothing was written
// to the zone meanwhile. One behind it finds the new slab, which has the same. The argument is in
// doc/invariants.md#slabs-that-move.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "alloc/slab_moves.h"
#include "alloc/unit_set.h"
#include "base/aligned_buffer.h"
#include "base/error.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/executor.h"

namespace hexad::core {

class SlabMover {
 public:
  struct Hooks {
    // Makes one more zone. Under no lock.
    std::function<Status()> make_zone;
    // Runs the function while no checkpoint is made.
    std::function<void(const std::function<void()>&)> between_checkpoints;
    // A checkpoint, as of a record that is newer than all there was before it, and a record behind
    // it; it does not ask give_up() for space. Errors: those of commits and checkpoints.
    std::function<Status()> commit;
    // Nothing is committed any more.
    std::function<bool()> stopped;
    std::function<Lsn()> newest;  // LSN that anybody has
    // A device is filling from now on.
    std::function<void(DeviceId)> begin_filling;
    // These devices did not take a write.
    std::function<Status(const std::set<DeviceId>&)> lose_devices;
  };
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    Members& members;
    Space& space;
    Counters& counters;
    Hooks hooks;
  };
  explicit SlabMover(Parts parts);

  // What a round has done.
  struct Round {
    std::uint64_t moved = 0;  // slabs
    std::uint64_t left = 0;   // that were to be moved before it
    std::string problem;      // why not all that were begun, or none
    bool stopped = false;     // by `go_on`
    bool given_up = false;    // for somebody who needed the space
  };
  // Moves some slabs, as many as are worth a checkpoint. `go_on`: asked behind each piece that was
  // copied, with its bytes; false: what is not copied is left as it was. One at a time; waits for
  // another round. Errors: those of hooks.
  Result<Round> round(const std::function<bool(std::uint64_t bytes)>& go_on);
  // Slabs that are to be moved. O(slabs + moves x zones).
  std::uint64_t left();
  // A commit or a checkpoint finds no space: a round that has zones closed ends what it can, and
  // this waits until they are open. False: there is none. Not from within a round.
  bool give_up();
  // A round is to end: who paces it does so no longer. Any thread.
  bool given_up() const { return given_up_.load(std::memory_order_acquire); }

 private:
  struct Batch;

  void begin(Batch& batch, const std::vector<alloc::SlabMove>& moves) HEXAD_REQUIRES(round_mutex_);
  Status begin_one(const alloc::SlabMove& move, std::uint64_t slabs);
  bool settle(Batch& batch, const alloc::SlabMove& move, std::vector<alloc::UnitRun>& runs);
  Status copy(Batch& batch, const alloc::SlabMove& move, const std::vector<alloc::UnitRun>& runs,
              alloc::UnitSet& copied);
  Status copy_piece(const alloc::SlabMove& move, const alloc::UnitRun& run);
  Status read(const alloc::ZoneSlot& slab, std::uint64_t offset, AlignedBuffer& into);
  Result<Round> run_round(Batch& batch, const alloc::SlabPlan& plan) HEXAD_REQUIRES(round_mutex_);
  void open_doors();

  const Parts parts_;
  io::Mutex round_mutex_;  // one round at a time
  io::Mutex doors_mutex_;  // a leaf
  io::CondVar doors_;
  bool closed_ HEXAD_GUARDED_BY(doors_mutex_) = false;  // zones are closed
  std::atomic<bool> given_up_{false};
  // Zones whose slabs could not be moved when it was tried last; by the holder of round_mutex_.
  std::set<alloc::ZoneId> failed_ HEXAD_GUARDED_BY(round_mutex_);
};

}  // namespace hexad::core
