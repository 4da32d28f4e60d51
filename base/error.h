// Errors as values: Status and Result, which every call that can fail returns.
//
//   hexad::Result<hexad::Bytes> data = store.get("default", "a");
//   if (!data.ok()) return data.error();  // or: HEXAD_TRY_ASSIGN(Bytes data, store.get(...))
//   use(*data);
//
// Everything that devices, arguments, lack of space and other processes can cause comes back as one
// of them; hexad throws no exceptions of its own. Both are [[nodiscard]].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace hexad {

// What kind of error it is; codes exist only where a caller would act differently on them.
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
  kBusy,             // another process, or a handle that is still open, is in the way
  kUnavailable,      // too few devices, or too few cells of a stripe
  kUnknown,          // a device error left the outcome of a commit unprovable
  kUnsupported,      // the machine or this version cannot do it
  kForked,           // the handle was opened before fork() and is used in the child
  kClosed,           // the store or stream has been closed
  kExhausted,        // this process or machine lacks memory, descriptors or the like just now
  kFenced,           // another process has taken the devices over; this one is shut out
};

// Returns the name of the code as the command line has it: "not found", "no space", ...
std::string_view to_string(ErrorCode code);

// An error: what went wrong, and what to do next.
struct Error {
  ErrorCode code = ErrorCode::kIo;  // what kind of error it is
  std::string message = {};         // what went wrong: the subject, the numbers and their units
  std::string hint = {};            // what to do next; may be empty

  // Returns all of it as one text: "message (not found). hint".
  std::string to_string() const;
  // Returns the same error with "context: " in front of its message.
  Error with_context(std::string_view context) const;
};

// The outcome of a call that returns no value: OK, or an Error.
class [[nodiscard]] Status {
 public:
  // Makes an OK status.
  Status() = default;
  // Makes a status of an error; implicit, so that a function can return an Error.
  Status(Error error)
      : error_(std::move(error)) {}  // NOLINT: implicit, so `return Error{...}` works
  // Returns true if there is no error.
  bool ok() const { return !error_.has_value(); }
  // Returns ok().
  explicit operator bool() const { return ok(); }
  // Returns the error. Precondition: !ok().
  const Error& error() const {
    HEXAD_ASSERT(error_.has_value());
    return *error_;
  }
  // Does nothing: says at the call that a failure would change nothing.
  void ignore() const {}

 private:
  std::optional<Error> error_;
};

// Returns an OK status.
inline Status ok_status() { return {}; }

// The outcome of a call that returns a value: the value, or an Error.
//
// A violated precondition ends the process: it is a bug of the caller.
template <typename T>
class [[nodiscard]] Result {
 public:
  // Makes a result of a value; implicit, so that a function can return the value.
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT
  // Makes a result of an error; implicit, so that a function can return an Error.
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  // Returns true if there is a value.
  bool ok() const { return state_.index() == 0; }
  // Returns ok().
  explicit operator bool() const { return ok(); }
  // Returns the value. Precondition: ok().
  T& value() & {
    HEXAD_ASSERT(ok());
    return std::get<0>(state_);
  }
  // Returns the value. Precondition: ok().
  const T& value() const& {
    HEXAD_ASSERT(ok());
    return std::get<0>(state_);
  }
  // Returns the value, moved out of the result, so that a loop over what a call returns holds it.
  // Precondition: ok().
  T value() && {
    HEXAD_ASSERT(ok());
    return std::get<0>(std::move(state_));
  }
  // Returns the value. Precondition: ok().
  T& operator*() & { return value(); }
  // Returns the value. Precondition: ok().
  const T& operator*() const& { return value(); }
  // Returns the value, moved out of the result. Precondition: ok().
  T operator*() && { return std::move(*this).value(); }
  // Returns a pointer to the value. Precondition: ok().
  T* operator->() { return &value(); }
  // Returns a pointer to the value. Precondition: ok().
  const T* operator->() const { return &value(); }
  // Returns the error. Precondition: !ok().
  const Error& error() const {
    HEXAD_ASSERT(!ok());
    return std::get<1>(state_);
  }
  // Returns the outcome without the value.
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::variant<T, Error> state_;
};

}  // namespace hexad

// Returns from the enclosing function with the error of a Status expression, if it has one.
#define HEXAD_TRY(expression)                                     \
  do {                                                            \
    if (auto hexad_status_ = (expression); !hexad_status_.ok()) { \
      return hexad_status_.error();                               \
    }                                                             \
  } while (false)

#define HEXAD_CONCAT_INNER(a, b) a##b
#define HEXAD_CONCAT(a, b) HEXAD_CONCAT_INNER(a, b)

// Declares or assigns a variable with the value of a Result expression, or returns from the
// enclosing function with its error.
//
//   HEXAD_TRY_ASSIGN(Bytes data, store.get("default", "a"));
#define HEXAD_TRY_ASSIGN(declaration, expression) \
  HEXAD_TRY_ASSIGN_INNER(HEXAD_CONCAT(hexad_result_, __LINE__), declaration, expression)
#define HEXAD_TRY_ASSIGN_INNER(temporary, declaration, expression) \
  auto temporary = (expression);                                   \
  if (!temporary.ok()) return temporary.error();                   \
  declaration = std::move(temporary).value()
