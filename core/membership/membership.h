// The membership of a store that is open: goes on without devices that fail (R12, R13), and writes
// the roots of checkpoints.
//
// A request that failed pauses the pipeline. Then core/membership/membership_change.h, with this
// around it:
//   * first it waits until nothing is in flight, so that every request has its outcome; what was
//     refused, and not by its device's fault, goes out again until it is taken, or until nobody can
//     wait any longer: then the store gives up, and no device is lost (R18)
//   * steps 3, 4 and 5 wait in the same way for what is refused: a change that gave up at once
//     would stop a store for a full file system that commits alone would have waited for
//   * at the end, what was in flight is durable on everything that counts: acknowledge, go on.
//     A crash before the new root is committed: nothing in flight was acknowledged
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "core/commit/commit_pipeline.h"
#include "core/membership/membership_change.h"
#include "core/membership/root_writer.h"
#include "core/plan/body_ids.h"
#include "core/record/shape.h"
#include "core/space/members.h"
#include "core/space/space.h"
#include "core/stats/counters.h"
#include "io/clock.h"
#include "io/executor.h"

namespace hexad::core {

class Membership : private MembershipSteps {
 public:
  // All outlive it.
  struct Parts {
    io::Executor& executor;
    const StoreShape& shape;
    Members& members;
    Space& space;
    CommitPipeline& pipeline;
    BodyIds& ids;
    Counters& counters;
    // A device is not used any more. Under mutex(); waits for nothing.
    std::function<void()> left = {};
  };
  // What is sent again because it was refused.
  struct Refused {
    Error why;  // of the last try
    io::Nanos since = 0;
  };

  // `root`: of the opening, whose writer this goes on as.
  Membership(const Parts& parts, const alloc::Root& root);

  // These devices failed a request, or none did and suspects have, or a new epoch is wanted: goes
  // on without those that failed. Errors: too many are lost; the store has turned read-only. Waits
  // for devices.
  Status lose_devices(const std::set<DeviceId>& failed);
  // The same for requests of the pipeline that failed, which has paused itself.
  void repair();
  // A change is due although nothing in flight has failed. Any thread.
  bool has_suspects() const;

  // The root of a checkpoint: what `fill` says, in the epoch there is. Devices that do not take it
  // leave, and then it is sent again. `committed` runs before the next change of membership can
  // begin. Errors: nobody knows whether the root counts.
  Status write_checkpoint(const std::function<void(alloc::Root&)>& fill,
                          const std::function<void()>& committed);

  // A root that says what the last one does. Otherwise as write_checkpoint().
  Status write_plain() {
    return write_checkpoint([](alloc::Root&) {}, [] {});
  }

  // As it is now. Waits for devices that owe a root.
  alloc::Root root();
  // Devices that had left are usable from now on, with nothing in flight (BK2): the pipeline is
  // drained, and stays so. The next root of a checkpoint has to be that of write_return(). Errors:
  // the store has turned read-only. `fresh`: of them, new devices in the place of others, which
  // have nothing of what there is (RP2).
  Status take_in(const std::set<DeviceId>& back, const std::set<DeviceId>& fresh = {});
  // The root of a checkpoint that lists those of them that are usable still as live again (BK3): of
  // a new epoch, with a fence. It names those that are in the place of others, and what slabs they
  // have (RP5). Otherwise as write_checkpoint(). Waits for devices.
  Status write_return(const std::set<DeviceId>& back, const std::function<void(alloc::Root&)>& fill,
                      const std::function<void()>& committed);

  // A device that is new is one of the store, and usable, when this returns, with an epoch and a
  // row of its own (P12 of alloc/root_choice.h). `member`: made ready, of the number that the root
  // gives next. `added` runs before another root can be sent. Under zones, so that no zone is made
  // on it before. Waits for devices. Errors: the device has failed meanwhile, and is none of the
  // store; kUnavailable (it is a data device, and as many others are lost as the profile survives);
  // the store has turned read-only. `named`: a root that has its row, and may count one day, may be
  // somewhere.
  Status add_device(Member member, const std::function<void()>& added, bool& named);
  // A device on which no zone has a slot, and none will, is none of the store when this returns: it
  // leaves, if it has not, with one epoch, and has no row in the next; where m = 0, both with one
  // (P13). Nothing that is replayed names it. Waits for devices. `begin`: asked when nothing is in
  // flight any more, and before anything changes; false: nothing does. Errors, and it is what it
  // was: kClosed (`begin`), kUnavailable (too many others are lost; the log is on it alone and
  // cannot be read there). Later: the store has turned read-only.
  Status remove_device(DeviceId id, const std::function<bool()>& begin);

  // Ends the commits. Returns what all are told who wait for one, kUnknown: of whoever was first.
  Error turn_read_only(const Error& why);
  // Held, it keeps roots from being written. Waits for devices that owe one.
  io::Mutex& mutex() HEXAD_RETURN_CAPABILITY(mutex_) { return mutex_; }
  // Of this opening (P11 of alloc/root_choice.h). Any thread, without the lock: it never changes.
  std::uint64_t nonce() const HEXAD_NO_THREAD_SAFETY_ANALYSIS { return roots_.nonce(); }
  // Nothing: no write waits to be sent again. Any thread; takes no lock that is held for long.
  std::optional<Refused> refused() const;
  // Where m = 0, the device that is being added: it goes again when it fails (P13). Likewise.
  std::optional<DeviceId> adding() const;

 private:
  Status stop_using(const std::set<DeviceId>& failed) override HEXAD_REQUIRES(mutex_);
  Status complete_log(const std::vector<kv::LogArea>& areas, const std::vector<DeviceId>& ids,
                      std::set<DeviceId>& failed) override;
  Lsn last_counted() const override;
  Status describe(alloc::Root& next) const override HEXAD_REQUIRES(mutex_);
  Status write(const alloc::Root& next, std::set<DeviceId>& failed) override HEXAD_REQUIRES(mutex_);
  Result<kv::PreparedBlock> begin_epoch(const std::vector<kv::LogArea>& areas, Epoch epoch) override
      HEXAD_REQUIRES(mutex_);
  Status send_again(io::IoBatch& batch) override;

  Status leave_behind(std::set<DeviceId> failed);
  // Nothing is in flight, and what could be lost with it is known. Errors: the store has turned
  // read-only.
  Result<std::set<DeviceId>> settle() HEXAD_REQUIRES(mutex_);
  // Steps 2 to 5, with what `fill` says of each root.
  Status change(std::set<DeviceId> failed, const std::function<void(alloc::Root&)>& fill)
      HEXAD_REQUIRES(mutex_);
  // What else a root says of a device that it lists as live again, and what follows when it counts.
  void describe_back(alloc::Root& next, DeviceId id) const HEXAD_REQUIRES(mutex_);
  void settle_back(DeviceId id) HEXAD_REQUIRES(mutex_);
  // Errors: too many others are lost.
  Status may_remove(DeviceId id, const std::set<DeviceId>& failed) const;
  // P13: what of the log is on the device alone is on another data device as well. `failed` gets
  // devices that did not take it. Errors: nothing else has changed.
  Status save_log_of(DeviceId id, std::set<DeviceId>& failed) HEXAD_REQUIRES(mutex_);
  // The root without the row of a device that has left.
  Status drop(DeviceId id, std::set<DeviceId> failed) HEXAD_REQUIRES(mutex_);
  Status write_once(const alloc::Root& next, std::set<DeviceId>& failed) HEXAD_REQUIRES(mutex_);
  // R18: until all are taken, or nobody can wait any longer.
  Status send_refused_again(const std::vector<io::IoRequest*>& requests);
  // The same for what can be done again as a whole, until `pointless`, which is asked after each
  // refusal. Errors: those of the attempt; a refusal when nobody can wait any longer.
  Status until_taken(const std::function<Status()>& attempt,
                     const std::function<bool()>& pointless);
  void note_refused(std::optional<Error> why);
  void note_adding(std::optional<DeviceId> id);

  const Parts parts_;
  io::Mutex mutex_;  // while the membership changes or a root is written; held across I/O
  RootWriter roots_ HEXAD_GUARDED_BY(mutex_);
  // What else the root says, while the membership changes.
  std::function<void(alloc::Root&)> describe_ HEXAD_GUARDED_BY(mutex_);
  mutable io::Mutex refused_mutex_;  // a leaf
  std::optional<Refused> refused_ HEXAD_GUARDED_BY(refused_mutex_);
  // P13; changes under mutex_ alone.
  std::optional<DeviceId> adding_ HEXAD_GUARDED_BY(refused_mutex_);
};

}  // namespace hexad::core
