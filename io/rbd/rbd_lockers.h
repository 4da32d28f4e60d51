// Who has an image's lock, and who watches it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "io/rbd/rbd_library.h"

namespace hexad::io {

struct RbdLockers {
  std::vector<std::string> owners;    // addresses, as "10.0.0.7:0/123456789"
  std::vector<std::string> watchers;  // those of other clients that have the image open for writing
  bool own = true;                    // the lock is of librbd's own kind, not one made by hand
  std::string process;  // of the owner, as it has left it in the image; empty: it is not a hexad

  // Whether an owner is among the clients that the cluster has heard of lately. `self`: the address
  // of who asks cannot be known; it is told apart by its number.
  bool is_alive(const std::string& owner) const;
  // "10.0.0.7:0/123 (host box, process 17, hexad put, since ...; watched by 10.0.0.8:0/456)".
  std::string to_string() const;
};

// Of an image that is open, for writing or reading. `self`: the asking client's number.
// Errors: those of rbd_error().
Result<RbdLockers> find_lockers(const RbdLibrary& library, RbdLibrary::Handle image,
                                std::uint64_t self, const std::string& subject);

// Leaves in the image which process has its lock, for find_lockers() elsewhere: the cluster knows
// its address alone. `self`: this client's number. For who has just got the lock. What refuses this
// refuses writes, too, and nobody's data needs it: an error is not told.
void leave_locker(const RbdLibrary& library, RbdLibrary::Handle image, std::uint64_t self);

}  // namespace hexad::io
