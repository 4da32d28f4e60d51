// Threads that wait until an LSN is durable. Each waits for an event of its own: with one for
// all, every group would wake everybody to look whether it is theirs. Who is woken because its LSN
// has come knows it without the owner's lock.
//
// All under the owner's lock, but for the end of a WakeUp.
//
// Invariants
//   WU1 a sleeper is known until somebody takes it out, under the owner's lock: who wakes it, or
//       itself when its time is over. Who has been taken out by another sleeps until it is told
//       why, whatever the time: what it was woken for nobody else does
//   WU2 they are told behind the hold of the owner's lock that has taken them out, into which they
//       would only run, and before its thread does anything else
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "io/event.h"
#include "io/executor.h"

namespace hexad::core {

class LsnWaiters {
  struct Sleeper;

 public:
  explicit LsnWaiters(io::Executor& executor) : executor_(executor) {}

  // What the thread waits for: an answer, or all copies of what is answered.
  enum class Until : std::uint8_t { kAnswered, kDurable };
  enum class Woken : std::uint8_t {
    kReached,   // its LSN has come
    kLook,      // by one of the others below: it looks again why
    kTimeOver,  // nobody has woken it
  };

  // Those whom one hold of the owner's lock wakes. Declared before it, so that they are told when
  // it is over.
  class WakeUp {
   public:
    WakeUp() = default;
    ~WakeUp();
    WakeUp(const WakeUp&) = delete;
    WakeUp& operator=(const WakeUp&) = delete;

   private:
    friend class LsnWaiters;
    std::vector<std::shared_ptr<Sleeper>> woken_;
  };

  // Sleeps until woken by one of the below. `lock` is the owner's, and is not held afterwards.
  Woken sleep(io::Lock& lock, Lsn lsn, Until until) HEXAD_NO_THREAD_SAFETY_ANALYSIS;
  // The same for `limit` at most.
  Woken sleep_for(io::Lock& lock, Lsn lsn, Until until,
                  io::Nanos limit) HEXAD_NO_THREAD_SAFETY_ANALYSIS;

  // Those whose LSN has come; durable <= answered.
  void wake_reached(Lsn answered, Lsn durable, WakeUp& wake_up);
  // One that waits for `lsn` or a later one, the earliest: there is something for it to do.
  void wake_one(Lsn lsn, WakeUp& wake_up);
  void wake_all(WakeUp& wake_up);

  std::size_t size() const { return sleepers_.size(); }

 private:
  // Lives until both, who sleeps and who tells it, are done with it.
  struct Sleeper {
    Sleeper(io::Executor& executor, Until what) : told(executor), until(what) {}
    io::Event told;
    Woken why = Woken::kLook;  // by who takes it out; the sleeper reads it when it is told
    const Until until;
  };
  using Sleepers = std::multimap<Lsn, std::shared_ptr<Sleeper>>;
  Sleepers::iterator wake(Sleepers::iterator at, Woken why, WakeUp& wake_up);

  io::Executor& executor_;
  Sleepers sleepers_;  // by LSN
};

}  // namespace hexad::core
