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
    case EDQUOT:
    case EFBIG:
      return {ErrorCode::kNoSpace, "Free space on the file system or use another one."};
    case EROFS:
      return {ErrorCode::kReadOnly, "Remount it writable or open the store for reading only."};
    case EBUSY:
    case ETXTBSY:
      return {ErrorCode::kBusy, "Unmount it, or stop the program that uses it."};
    case EOPNOTSUPP:
    case ENOSYS:
      return {ErrorCode::kUnsupported, ""};
    case EACCES:
    case EPERM:
      return {ErrorCode::kInvalidArgument, "Run as a user who may read and write it."};
    case ENAMETOOLONG:
    case EISDIR:
      return {ErrorCode::kInvalidArgument, "Name a regular file or a block device."};
    case EMFILE:
    case ENFILE:
      return {ErrorCode::kIo, "Raise the limit on open files (ulimit -n)."};
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

}  // namespace hexad::io
