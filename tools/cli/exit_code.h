// Exit codes of the command line: few, documented, stable. Scripts branch on them.
#pragma once

#include "base/error.h"

namespace hexad::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitDifference = 1,   // not found, already there, not empty, a condition that did not hold
  kExitUsage = 2,        // the request can never succeed as it stands
  kExitDamaged = 3,      // bytes do not match their checksum, or fsck found something
  kExitUnavailable = 4,  // too few devices
  kExitBusy = 5,         // another process has the pool
  kExitNoSpace = 6,
  kExitIo = 7,            // a device or a local file failed, or some of the files were left out
  kExitInterrupted = 130  // a signal ended the work early; what was acknowledged stays
};

// The exit code of a verb that failed with `code`.
int exit_code(ErrorCode code);

}  // namespace hexad::tools
