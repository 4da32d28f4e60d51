// Who has an image's lock, and who watches it.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "io/rbd/rbd_library.h"

namespace hexad::io {

struct RbdLockers {
  std::vector<std::string> owners;    // addresses, as "10.0.0.7:0/123456789"
  std::vector<std::string> watchers;  // those of other clients that have the image open for writing
  bool own = true;                    // the lock is of librbd's own kind, not one made by hand

  // Whether an owner is among the clients that the cluster has heard of lately. `self`: the address
  // of who asks cannot be known; it is told apart by its number.
  bool is_alive(const std::string& owner) const;
  // "10.0.0.7:0/123, watched by 10.0.0.7:0/123 and 10.0.0.8:0/456".
  std::string to_string() const;
};

// Of an image that is open, for writing or reading. `self`: the asking client's number.
// Errors: those of rbd_error().
Result<RbdLockers> find_lockers(const RbdLibrary& library, RbdLibrary::Handle image,
                                std::uint64_t self, const std::string& subject);

}  // namespace hexad::io
