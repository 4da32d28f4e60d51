// From errno to an Error that a caller can act on, and to who is to blame. Every errno is sorted
// here, once, for devices and whatever else io touches (doc/decisions/024-whose-error.md).
#pragma once

#include <string>

#include "base/error.h"

namespace hexad::io {

// Why opening a device, or a request to it, has failed.
enum class Blame : std::uint8_t {
  // This process or this machine: no descriptor, memory or lock left, no permission, a name that
  // cannot be a device's. The device may be as good as ever. An error of the call.
  kOurs,
  // What the device lies on: full, over a quota or a limit on sizes, read-only. The bytes that are
  // there are good. An error of the call as well.
  kHost,
  // The device: it has failed, is away, or has other bytes than it should.
  kMedium,
};

// `number` is a positive errno value; `subject` begins the message: "/dev/sdb: write of 4 KiB at
// 0". kNotFound, kNoSpace, kReadOnly, kBusy, kUnsupported, kExhausted and kInvalidArgument
// (permission, name) where that is what happened; all else, what is not known included, is kIo.
Error os_error(int number, const std::string& subject);

// kFenced: somebody else has taken the device `name` over. No fault of the device, and trying again
// cannot help.
Error fenced_error(const std::string& name);

// The code says it, so that it holds for devices that are no files, too, and for what labels and
// roots say: bytes that are wrong are the medium's.
Blame blame_of(ErrorCode code);
Blame blame_of(int number);

// Without the device nothing would be lost that a later try, or a word of the user, could not give.
inline bool is_medium(const Error& error) { return blame_of(error.code) == Blame::kMedium; }

}  // namespace hexad::io
