#include "io/os_error.h"

#include <catch2/catch.hpp>
#include <cerrno>
#include <map>

using namespace hexad;
using namespace hexad::io;

TEST_CASE("os_error: what happened decides the code, for every errno there is") {
  const std::map<int, ErrorCode> expected = {
      {ENOENT, ErrorCode::kNotFound},
      {ENOTDIR, ErrorCode::kNotFound},
      {ENODEV, ErrorCode::kNotFound},
      {ENXIO, ErrorCode::kNotFound},
      {ENOSPC, ErrorCode::kNoSpace},
      {EDQUOT, ErrorCode::kNoSpace},
      {EFBIG, ErrorCode::kNoSpace},
      {EROFS, ErrorCode::kReadOnly},
      {EBUSY, ErrorCode::kBusy},
      {ETXTBSY, ErrorCode::kBusy},
      {EOPNOTSUPP, ErrorCode::kUnsupported},
      {ENOSYS, ErrorCode::kUnsupported},
      {EACCES, ErrorCode::kInvalidArgument},
      {EPERM, ErrorCode::kInvalidArgument},
      {ENAMETOOLONG, ErrorCode::kInvalidArgument},
      {EISDIR, ErrorCode::kInvalidArgument},
      {ELOOP, ErrorCode::kInvalidArgument},
      {EBADF, ErrorCode::kInvalidArgument},
      {EFAULT, ErrorCode::kInvalidArgument},
      {EMFILE, ErrorCode::kExhausted},
      {ENFILE, ErrorCode::kExhausted},
      {ENOMEM, ErrorCode::kExhausted},
      {ENOBUFS, ErrorCode::kExhausted},
      {ENOLCK, ErrorCode::kExhausted},
      {EDEADLK, ErrorCode::kExhausted},
      {EAGAIN, ErrorCode::kExhausted},
      {EINTR, ErrorCode::kExhausted},
      {ECANCELED, ErrorCode::kExhausted},
      {EUSERS, ErrorCode::kExhausted},
  };
  for (int number = 1; number < 140; ++number) {
    CAPTURE(number);
    const auto named = expected.find(number);
    REQUIRE(os_error(number, "x").code ==
            (named == expected.end() ? ErrorCode::kIo : named->second));
  }
}

TEST_CASE("os_error: a device is to blame for what it did, and for nothing else") {
  const std::map<int, Blame> others = {
      {EACCES, Blame::kOurs},    {EPERM, Blame::kOurs},      {ENAMETOOLONG, Blame::kOurs},
      {EISDIR, Blame::kOurs},    {ELOOP, Blame::kOurs},      {EBADF, Blame::kOurs},
      {EFAULT, Blame::kOurs},    {EMFILE, Blame::kOurs},     {ENFILE, Blame::kOurs},
      {ENOMEM, Blame::kOurs},    {ENOBUFS, Blame::kOurs},    {ENOLCK, Blame::kOurs},
      {EDEADLK, Blame::kOurs},   {EAGAIN, Blame::kOurs},     {EINTR, Blame::kOurs},
      {ECANCELED, Blame::kOurs}, {EUSERS, Blame::kOurs},     {EBUSY, Blame::kOurs},
      {ETXTBSY, Blame::kOurs},   {EOPNOTSUPP, Blame::kOurs}, {ENOSYS, Blame::kOurs},
      {ENOSPC, Blame::kHost},    {EDQUOT, Blame::kHost},     {EFBIG, Blame::kHost},
      {EROFS, Blame::kHost},
  };
  // What is not known is taken for the device's: an error that is believed to pass never would.
  for (int number = 1; number < 140; ++number) {
    CAPTURE(number);
    const auto other = others.find(number);
    const Blame blame = other == others.end() ? Blame::kMedium : other->second;
    REQUIRE(blame_of(number) == blame);
    REQUIRE(blame_of(os_error(number, "x").code) == blame);
    REQUIRE(is_medium(os_error(number, "x")) == (blame == Blame::kMedium));
  }
}

TEST_CASE("os_error: the text names subject and cause") {
  REQUIRE(os_error(EIO, "/dev/sdb: flush").message == "/dev/sdb: flush: Input/output error");
  REQUIRE(os_error(ENOSPC, "x").message == "x: No space left on device");
  REQUIRE(os_error(99999, "x").message.find("99999") != std::string::npos);
}

TEST_CASE("os_error: whoever can do something about it is told what") {
  for (const int number : {ENOENT, ENOSPC, EDQUOT, EFBIG, EROFS, EBUSY, EACCES, EPERM, EISDIR,
                           EMFILE, ENFILE, ENOMEM, ENOLCK, EAGAIN}) {
    CAPTURE(number);
    REQUIRE_FALSE(os_error(number, "x").hint.empty());
  }
  REQUIRE(os_error(EMFILE, "x").hint.find("ulimit -n") != std::string::npos);
  REQUIRE(os_error(EIO, "x").hint.empty());
}
