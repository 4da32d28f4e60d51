// A device that has left an open store and is opened again: whether it is the one that left, and
// has all that counted on it.
#pragma once

#include <cstdint>
#include <string>

#include "alloc/label.h"
#include "alloc/root.h"
#include "base/error.h"
#include "base/ids.h"
#include "core/opening/device_survey.h"
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

// What a look at the path has found, of a device that nobody has asked for.
struct ReturnLook {
  enum class Found : std::uint8_t {
    kFits,      // open_returned() would take it, as far as that can be seen without its lock
    kNotThere,  // it cannot be opened or read just now, or has not left yet
    kRefused,   // another device, one that was written apart, or one that has lost something
  };
  Found found = Found::kNotThere;
  std::string why = {};  // where it does not fit
};
// Of what survey_device() has read, without a lock (io::OpenMode::kLook). No I/O.
ReturnLook judge_look(const SurveyedDevice& found, const ReturnedTo& to);

}  // namespace hexad::core
