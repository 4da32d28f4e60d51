// Errors as values. Everything that the world can do to us (devices, arguments, space, other
// processes) comes back as a Status or a Result<T>; both are [[nodiscard]].
//
// A message names the subject, the numbers and their units; `hint` says what to do next. Codes
// exist only where a caller would act differently on them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace hexad {

enum class ErrorCode : std::uint8_t {
  kNotFound = 1,     // the named thing does not exist
  kAlreadyExists,    // the named thing exists already
  kNotEmpty,         // a collection still holds objects
  kInvalidArgument,  // the request can never succeed as it stands
  kTooBig,           // over a limit that the message names
  kNoSpace,          // no room on the devices, in the fast tier or in a quota
  kConflict,         // a guard did not hold
  kIo,               // a device failed
  kCorruption,       // bytes do not match their checksum or break the format
  kReadOnly,         // opened or turned read-only
  kBusy,             // another process or a live handle is in the way
  kUnavailable,      // too few devices
  kUnknown,          // a device error left the outcome of a commit unprovable
  kUnsupported,      // the machine or this version cannot do it
  kForked,           // the handle was opened before fork() and is used in the child
  kClosed,           // the store or stream has been closed
  kExhausted,        // this process or machine lacks memory, descriptors or the like just now
};

// The enumerator without its k, in the words of the command line: "not found", "no space", ...
std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message = {};  // subject, numbers, units
  std::string hint = {};     // what to do next; may be empty

  // "message (not found). hint"
  std::string to_string() const;
  // The same error with "context: " in front of its message.
  Error with_context(std::string_view context) const;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error)
      : error_(std::move(error)) {}  // NOLINT: implicit, so `return Error{...}` works
  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  // Precondition: !ok().
  const Error& error() const {
    HEXAD_ASSERT(error_.has_value());
    return *error_;
  }
  // Only where failing changes nothing; says so at the call.
  void ignore() const {}

 private:
  std::optional<Error> error_;
};

inline Status ok_status() { return {}; }

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // Preconditions: ok() for value access, !ok() for error().
  T& value() & {
    HEXAD_ASSERT(ok());
    return std::get<0>(state_);
  }
  const T& value() const& {
    HEXAD_ASSERT(ok());
    return std::get<0>(state_);
  }
  T&& value() && {
    HEXAD_ASSERT(ok());
    return std::get<0>(std::move(state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    HEXAD_ASSERT(!ok());
    return std::get<1>(state_);
  }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace hexad

// Returns the error of a Status expression from the enclosing function.
#define HEXAD_TRY(expression)                                     \
  do {                                                            \
    if (auto hexad_status_ = (expression); !hexad_status_.ok()) { \
      return hexad_status_.error();                               \
    }                                                             \
  } while (false)

#define HEXAD_CONCAT_INNER(a, b) a##b
#define HEXAD_CONCAT(a, b) HEXAD_CONCAT_INNER(a, b)

// HEXAD_TRY_ASSIGN(Onode onode, decode_onode(value)); declares or assigns, or returns the error.
#define HEXAD_TRY_ASSIGN(declaration, expression) \
  HEXAD_TRY_ASSIGN_INNER(HEXAD_CONCAT(hexad_result_, __LINE__), declaration, expression)
#define HEXAD_TRY_ASSIGN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                   \
  if (!temporary.ok()) return temporary.error();                   \
  declaration = std::move(temporary).value()
