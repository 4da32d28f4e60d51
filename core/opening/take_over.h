// The durable part of opening for writing (R8, R13), in this order:
//   *  heal the kept tail on all live devices
//   *  promise the epoch, so that no two writers ever own one (alloc/root_choice.h, P2)
//   *  change the membership (core/membership/membership_change.h) to what is there: every copy of
//      the log is brought to the kept chain; root of the new epoch, without the devices that are
//      absent or failed just now; fence of the new epoch behind the chain
// A crash between any two of them leaves a store that the next opening recovers to the same state:
// healing and copies of the log write what is already decided, promise and root say nothing about
// data, the fence repeats what the root says.
//
// Each fence follows the kept chain, and the one of the highest epoch is followed
// (kv/log/log_scan.h).
#pragma once

#include "alloc/root_choice.h"
#include "base/error.h"
#include "core/opening/recovery.h"
#include "core/opening/store_parts.h"

namespace hexad::core {

// Fills in `parts.log` and `parts.root`, adds to its notes and warnings. `ground`: what the opening
// stands on (P8), not kNone. Errors: kUnavailable (too many devices are lost, or fail now); what a
// write was refused with (R18).
Status take_over(StoreParts& parts, Recovery& recovery, const Recovered& recovered,
                 const alloc::RootChoice& choice, alloc::Ground ground);

}  // namespace hexad::core
