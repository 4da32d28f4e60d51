// A way out for a thread that waits for devices: whoever needs the thread for something else calls
// it back.
//
//   class Stop : public hexad::io::Recall { bool is_wanted() override { return stop_requested(); }
//   }; Stop stop; const hexad::io::Recall::Scope scope(stop); store.commit(std::move(transaction));
//   // returns soon when is_wanted() says so
//
// What a device has been asked for stays its own until it answers, and a commit that has its place
// in the order goes on: the thread leaves, and takes nothing away (doc/invariants.md#waits).
#pragma once

#include "io/clock.h"

namespace hexad::io {

// Whether a thread is wanted elsewhere. One call of a store at a time.
class Recall {
 public:
  // How often a waiting thread asks.
  static constexpr Nanos kBetweenAsks = 50'000'000;

  virtual ~Recall() = default;

  // Of the calling thread; null: nobody calls it back. Cost: that of a thread-local variable.
  static Recall* here() noexcept;
  // Whether the calling thread is wanted back, by now.
  static bool comes() noexcept;
  // The same for whoever cannot be asked now: as comes() has said.
  static bool has_come() noexcept;
  // The calling thread has waited for so long, in vain. Asks when that is kBetweenAsks with what
  // was noted before: many short waits are no more asks than a long one.
  static void note_wait(Nanos waited) noexcept;
  // For schedulers of fibers, which share a thread and are called back one by one: that of the next
  // one, for that of the last one.
  static Recall* exchange(Recall* next) noexcept;
  // The commit that the calling thread has waited for goes on without it.
  static void note_left_commit() noexcept;

  // A commit was left that goes on: what becomes of it shows later.
  bool has_left_commit() const { return left_commit_; }

  // From here to the end of the scope the thread may be called back. Scopes may lie within one
  // another: the innermost counts.
  class Scope {
   public:
    explicit Scope(Recall& recall) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Recall* const outer_;
  };
  // From here to the end of the scope nobody calls the thread back: for what may not end half-way,
  // or repeats what has failed until devices answer.
  class Stay {
   public:
    Stay() noexcept;
    ~Stay();
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;

   private:
    Recall* const outer_;
  };

 protected:
  // Asked some twenty times a second on the waiting thread until it says yes. Throws nothing. The
  // thread may hold locks of the store's, those that commits go through among them: it calls no
  // store in here, and waits for nobody who may be in such a call.
  virtual bool is_wanted() noexcept = 0;

 private:
  bool come_ = false;
  Nanos waited_ = 0;  // since it was asked last
  bool left_commit_ = false;
};

}  // namespace hexad::io
