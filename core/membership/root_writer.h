// Writes the roots of one store for as long as one process has it open, the opening included:
// nobody else sends one.
//
//   RW1 what is sent has a sequence of its own: no two different roots are sent under one {epoch,
//       sequence} (P6 of alloc/root_choice.h)
//   RW2 current() changes to a root when it is committed (P1), and to the promise of an opening,
//       which stands on other grounds (P8)
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/space/members.h"

namespace hexad::core {

// What became of a root that was sent to all usable devices; where m = 0, to new ones first, and to
// the others only if those have it (P13).
struct RootAttempt {
  bool committed = false;
  std::vector<DeviceId> written = {};  // of those that the root lists
  std::set<DeviceId> failed = {};      // by their own fault
  Status refused = {};  // of one that did not take it, and not by its own fault (R18)
};

// Not thread-safe. Writes to devices and waits for them.
class RootWriter {
 public:
  // `current`: the root that was found, or written last. `nonce`: the number of this writer (P11).
  RootWriter(const Members& members, std::uint32_t parities, alloc::Root current,
             std::uint64_t nonce)
      : members_(members), parities_(parities), nonce_(nonce), current_(std::move(current)) {}

  const alloc::Root& current() const { return current_; }
  std::uint64_t nonce() const { return nonce_; }
  // As a new attempt.
  RootAttempt send(const alloc::Root& next);
  // The promise of an opening, current from then on. Whether the opening may go on with those that
  // have it is for the caller to say.
  RootAttempt send_promise(const alloc::Root& promise);

 private:
  // Adds what has become of it there.
  void send_to(const std::vector<DeviceId>& ids, const alloc::Root& root,
               RootAttempt& attempt) const;

  const Members& members_;
  const std::uint32_t parities_;
  const std::uint64_t nonce_;
  alloc::Root current_;
  std::uint64_t sent_ = 0;  // sequence of the last one that was sent, committed or not
};

}  // namespace hexad::core
