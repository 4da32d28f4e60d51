#include "io/os_error.h"

#include <cerrno>
#include <system_error>

namespace hexad::io {

namespace {

struct Meaning {
  ErrorCode code;
  const char* hint;
};

Meaning meaning_of(int number) {
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENODEV:
    case ENXIO:
      return {ErrorCode::kNotFound, "Check the path."};
    case ENOSPC:
      return {ErrorCode::kNoSpace, "Free space on the file system or use another one."};
    case EDQUOT:
      return {ErrorCode::kNoSpace, "Free space of the user's quota, or raise it."};
    case EFBIG:
      return {ErrorCode::kNoSpace, "Raise the limit on the size of files (ulimit -f)."};
    case EROFS:
      return {ErrorCode::kReadOnly, "Remount it writable or open the store for reading only."};
    case EBUSY:
    case ETXTBSY:
      return {ErrorCode::kBusy, "Unmount it, or stop the program that uses it."};
    case EOPNOTSUPP:
    case ENOSYS:
      return {ErrorCode::kUnsupported, ""};
    case EACCES:
      return {ErrorCode::kInvalidArgument, "Run as a user who may read and write it."};
    case EPERM:
      return {ErrorCode::kInvalidArgument,
              "Run as a user who may read and write it; chattr -i if it is immutable."};
    case ENAMETOOLONG:
    case EISDIR:
    case ELOOP:
      return {ErrorCode::kInvalidArgument, "Name a regular file or a block device."};
    // Descriptors that somebody else in the process has closed say nothing about the device.
    case EBADF:
    case EFAULT:
      return {ErrorCode::kInvalidArgument, "Close the store and open it again."};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::kExhausted, "Raise the limit on open files (ulimit -n)."};
    case ENOMEM:
    case ENOBUFS:
      return {ErrorCode::kExhausted, "Free memory, or raise its limit, and try again."};
    case ENOLCK:
    case EDEADLK:
      return {ErrorCode::kExhausted, "The system has no file lock to give: try again."};
    case EAGAIN:
    case EINTR:
    case ECANCELED:
    case EUSERS:
      return {ErrorCode::kExhausted, "Try again."};
    default:
      return {ErrorCode::kIo, ""};
  }
}

}  // namespace

Error os_error(int number, const std::string& subject) {
  const Meaning meaning = meaning_of(number);
  return Error{meaning.code, subject + ": " + std::generic_category().message(number),
               meaning.hint};
}

Error fenced_error(const std::string& name) {
  return Error{
      ErrorCode::kFenced, name + ": another process has taken the device over",
      "Close the store; what it had acknowledged as durable is where the other process opens it."};
}

Blame blame_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIo:
    case ErrorCode::kNotFound:
    case ErrorCode::kCorruption:
      return Blame::kMedium;
    case ErrorCode::kNoSpace:
    case ErrorCode::kReadOnly:
      return Blame::kHost;
    default:
      return Blame::kOurs;
  }
}

Blame blame_of(int number) { return blame_of(meaning_of(number).code); }

}  // namespace hexad::io
