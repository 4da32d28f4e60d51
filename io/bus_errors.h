// For a program that asks for it: a bus error in a file that is mapped here says in words what it
// means, before it ends the process as it would have done anyway. Nothing is repaired: who reads a
// map cannot be told of an error, and what would be read in place of the lost page was never
// written. doc/decisions/034-bus-errors.md
#pragma once

#include <string>

#include "base/error.h"

namespace hexad::io {

// As long as one of these is there, the process has a handler for SIGBUS. It looks whether the
// address lies in a map of a watched file, by way of /proc/self/maps, and if so writes a line to
// standard error; then whatever handled the signal before is asked, in any case. It calls only what
// is safe in a signal handler. Any number of them, of any threads; the last one that goes puts the
// handler before back, unless somebody has put one of his own over it, which then may go on asking.
class BusErrorWatch {
 public:
  // Of the file of that name, whichever it is at the time; it need not be there yet. `meaning`: the
  // end of the line, from the subject on. Errors: kUnsupported (no handler may be installed),
  // kExhausted (too many files).
  static Result<BusErrorWatch> start(const std::string& path, const std::string& meaning);
  BusErrorWatch(BusErrorWatch&& other) noexcept;
  BusErrorWatch& operator=(BusErrorWatch&& other) noexcept;
  ~BusErrorWatch();

 private:
  explicit BusErrorWatch(int place) : place_(place) {}
  int place_ = -1;  // in the table of watched files; negative: none
};

}  // namespace hexad::io
