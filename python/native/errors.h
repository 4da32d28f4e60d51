// The engine's errors on their way to Python. The engine throws nothing; here a Failure is thrown
// once the engine has returned, with the GIL held, and becomes the exception that hexad._errors
// makes of it.
#pragma once

#include <hexad/hexad.h>
#include <nanobind/nanobind.h>

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace hexad::python {

struct Failure : std::exception {
  Failure(Error what, std::string_view about) : error(std::move(what)), object(about) {}
  const char* what() const noexcept override { return error.message.c_str(); }

  Error error;
  std::string object;  // the name that the call was about; empty: none, or several
};

[[noreturn]] inline void fail(Error error, std::string_view object = {}) {
  throw Failure(std::move(error), object);
}

inline void check(const Status& status, std::string_view object = {}) {
  if (!status.ok()) fail(status.error(), object);
}

template <typename T>
T take(Result<T> result, std::string_view object = {}) {
  if (!result.ok()) fail(result.error(), object);
  return std::move(result).value();
}

// An instance of the exception's class.
nanobind::object make_exception(const Error& error, std::string_view object = {});

// From now on a Failure that leaves a bound function raises.
void translate_failures();

}  // namespace hexad::python
