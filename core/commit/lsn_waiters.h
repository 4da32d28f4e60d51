// Threads that wait until an LSN is durable. Each sleeps on a condition of its own: with one for
// all, every group would wake everybody to look whether it is theirs.
//
// All under the owner's lock.
#pragma once

#include <cstddef>
#include <map>

#include "base/ids.h"
#include "io/executor.h"

namespace hexad::core {

class LsnWaiters {
 public:
  explicit LsnWaiters(io::Executor& executor) : executor_(executor) {}

  // What the thread waits for: an answer, or all copies of what is answered.
  enum class Until : std::uint8_t { kAnswered, kDurable };
  // Sleeps until woken by one of the below; `lock` is the owner's. The caller looks again why.
  void sleep(io::Lock& lock, Lsn lsn, Until until);
  // The same for `limit` at most; false: nobody has woken it.
  bool sleep_for(io::Lock& lock, Lsn lsn, Until until, io::Nanos limit);

  // Those whose LSN has come; durable <= answered.
  void wake_reached(Lsn answered, Lsn durable);
  // One that waits for `lsn` or a later one, the earliest: there is something for it to do.
  void wake_one(Lsn lsn);
  void wake_all();

  std::size_t size() const { return sleepers_.size(); }

 private:
  struct Sleeper {
    explicit Sleeper(io::Executor& executor) : condition(executor) {}
    io::CondVar condition;
    Until until = Until::kAnswered;
    bool woken = false;
  };
  using Sleepers = std::multimap<Lsn, Sleeper*>;
  Sleepers::iterator wake(Sleepers::iterator at);

  io::Executor& executor_;
  Sleepers sleepers_;  // by LSN; each is on the stack of its thread, and leaves when it is woken
};

}  // namespace hexad::core
