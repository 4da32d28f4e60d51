// A device that has left an open store and is opened again: whether it is the one that left, and
// has all that counted on it.
#pragma once

#include <string>

#include "alloc/label.h"
#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/space/members.h"
#include "io/system.h"

namespace hexad::core {

// What it has to fit.
struct ReturnedTo {
  Uuid store;
  std::uint32_t parities = 0;
  alloc::Root root;                // of the store, as it is now
  alloc::Label label;              // of a device that is in use
  const Member* member = nullptr;  // that left
};

// Opens it for writing, with its lock, and reads its label and roots; nothing is written. What
// Members::attach() takes. Precondition: its former handle is closed. Errors: those of opening and
// reading it; kBusy (somebody else has it), kInvalidArgument (another device, or a copy that was
// written apart), kCorruption (its label is damaged, or not that of this store), kUnavailable (it
// has lost writes; it has not left yet), kUnsupported.
Result<Member> open_returned(const std::string& path, const ReturnedTo& to, io::System& system);

}  // namespace hexad::core
