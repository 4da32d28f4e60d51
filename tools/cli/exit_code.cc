#include "tools/cli/exit_code.h"

namespace hexad::tools {

int exit_code(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
    case ErrorCode::kAlreadyExists:
    case ErrorCode::kNotEmpty:
    case ErrorCode::kConflict:
      return kExitDifference;
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kTooBig:
    case ErrorCode::kUnsupported:
      return kExitUsage;
    case ErrorCode::kCorruption:
      return kExitDamaged;
    case ErrorCode::kUnavailable:
      return kExitUnavailable;
    case ErrorCode::kBusy:
    case ErrorCode::kFenced:
      return kExitBusy;
    case ErrorCode::kNoSpace:
      return kExitNoSpace;
    // A store turns read-only, and an outcome unknown, only after a device has failed.
    case ErrorCode::kIo:
    case ErrorCode::kReadOnly:
    case ErrorCode::kUnknown:
    case ErrorCode::kForked:
    case ErrorCode::kClosed:
    case ErrorCode::kExhausted:
      return kExitIo;
  }
  return kExitIo;
}

}  // namespace hexad::tools
