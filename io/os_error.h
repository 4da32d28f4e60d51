// From errno to an Error that a caller can act on.
#pragma once

#include <string>

#include "base/error.h"

namespace hexad::io {

// `number` is a positive errno value; `subject` begins the message: "/dev/sdb: write of 4 KiB at
// 0". kNotFound, kNoSpace, kReadOnly, kBusy, kUnsupported and kInvalidArgument (permission, name)
// where that is what happened; all else is kIo.
Error os_error(int number, const std::string& subject);

}  // namespace hexad::io
