// Exceptions and what threads share. Only std::bad_alloc is ever thrown here. It may leave what a
// thread has to itself, which then is destroyed, and becomes an error of the call at the public
// boundary (base/refused_memory.h). It never leaves anything half changed that other threads see:
// there the process ends, before they can see it, as in a crash.
// doc/decisions/033-memory-that-is-refused.md
//
// Invariants
//   NU1 no exception leaves a Lock (io/executor.h) that is held
//   NU2 nor a NoUnwinding: what is changed between two holds of a lock, or by an I/O queue
//   NU3 nor takes a batch away whose requests are in flight
#pragma once

#include <exception>

namespace hexad::io {

// Ends the process with a line on standard error that says what was left half done, unless this
// thread has an UnwindingAllowed. `what`: "the requests of a commit".
void stop_unwinding(const char* what) noexcept;
// The same where only a simulation allows it: the kernel knows of memory that is about to go.
void stop_unwinding_in_flight(const char* what) noexcept;

// From here to the end of the scope something is changed that threads share, and that no lock held
// all the while guards (io::Lock does the same for those): no exception leaves it. What is thrown
// and caught inside, and what was on its way before, does not matter. Cost: some nanoseconds.
class NoUnwinding {
 public:
  explicit NoUnwinding(const char* what) : what_(what), before_(std::uncaught_exceptions()) {}
  ~NoUnwinding() {
    if (std::uncaught_exceptions() > before_) stop_unwinding(what_);
  }
  NoUnwinding(const NoUnwinding&) = delete;
  NoUnwinding& operator=(const NoUnwinding&) = delete;

 private:
  const char* what_;
  int before_;
};

// On this thread, to the end of the scope, exceptions may leave everything.
class UnwindingAllowed {
 public:
  enum class Because : unsigned char {
    kNobodyElse,  // no other thread knows of anything yet, and all of it goes
    kSimulation,  // it ends, and everything that is in it
  };
  explicit UnwindingAllowed(Because why);
  ~UnwindingAllowed();
  UnwindingAllowed(const UnwindingAllowed&) = delete;
  UnwindingAllowed& operator=(const UnwindingAllowed&) = delete;

 private:
  Because why_;
};

}  // namespace hexad::io
