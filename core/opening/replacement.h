// A new device in the place of one that is lost, or is to go while it answers: made ready before
// the store is recovered, taken in like one that has come back. doc/invariants.md#coming-back
#pragma once

#include "base/error.h"
#include "core/api/options.h"
#include "core/opening/device_copy.h"
#include "core/opening/device_survey.h"
#include "io/system.h"

namespace hexad::core {

// Makes the device at the path the member of that number, which is returning then, with an identity
// of its own. Nothing happens where it is that member already. A file that is not there is made.
// Returns the device that goes, if it is attached and in use: from now on it is no member.
//
// Errors, and no byte has changed: kNotFound (no such device in the store), kInvalidArgument (the
// device of that number comes back by itself, or is behind, or is no data device, or the path's
// device is another member), kAlreadyExists (the path holds something else), kNoSpace (there is no
// room for a slab), kBusy.
Result<ReplacedDevice> prepare_replacement(const Replacement& replacement, io::System& system,
                                           Survey& survey, Assignment& assignment);

// Lays it out, when it is known what has to be on it; nothing happens where the member is no new
// one. A crash behind it leaves a device that no root names. Errors, and no byte has changed:
// kNoSpace (zones use slabs that it has no room for). Later those of the device.
Status make_replacement_ready(DeviceId id, const Members& members, Space& space);

}  // namespace hexad::core
