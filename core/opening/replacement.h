// A new device in the place of one that is lost, or is to go while it answers: made ready before
// the store is recovered, taken in like one that has come back. doc/invariants.md#coming-back
#pragma once

#include "base/error.h"
#include "core/api/options.h"
#include "core/opening/device_copy.h"
#include "core/opening/device_survey.h"
#include "io/system.h"

namespace hexad::core {

// Lays the device at the path out like the one that it replaces, with an identity of its own, and
// makes it the member, which is returning then. Nothing happens where it is that member already.
// A crash behind it leaves a device that no root names. A file that is not there is made. Returns
// the device that goes, if it is attached and in use: from now on it is no member.
//
// Errors, and no byte has changed: kNotFound (no such device in the store), kInvalidArgument (the
// device of that number comes back by itself, or is behind, or is no data device, or the path's
// device is another member), kAlreadyExists (the path holds something else), kNoSpace (it is too
// small), kBusy. Later those of the device.
Result<ReplacedDevice> prepare_replacement(const Replacement& replacement, io::System& system,
                                           Survey& survey, Assignment& assignment);

}  // namespace hexad::core
