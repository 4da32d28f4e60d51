#include "base/error.h"

namespace hexad {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return "not found";
    case ErrorCode::kAlreadyExists:
      return "already exists";
    case ErrorCode::kNotEmpty:
      return "not empty";
    case ErrorCode::kInvalidArgument:
      return "invalid argument";
    case ErrorCode::kTooBig:
      return "too big";
    case ErrorCode::kNoSpace:
      return "no space";
    case ErrorCode::kConflict:
      return "conflict";
    case ErrorCode::kIo:
      return "input/output error";
    case ErrorCode::kCorruption:
      return "corruption";
    case ErrorCode::kReadOnly:
      return "read-only";
    case ErrorCode::kBusy:
      return "busy";
    case ErrorCode::kUnavailable:
      return "unavailable";
    case ErrorCode::kUnknown:
      return "unknown outcome";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kForked:
      return "used after fork";
    case ErrorCode::kClosed:
      return "closed";
    case ErrorCode::kExhausted:
      return "out of resources";
    case ErrorCode::kFenced:
      return "shut out";
  }
  return "unnamed error";
}

std::string Error::to_string() const {
  std::string text = message;
  text += " (";
  text += hexad::to_string(code);
  text += ")";
  if (!hint.empty()) {
    text += ". ";
    text += hint;
  }
  return text;
}

Error Error::with_context(std::string_view context) const {
  std::string text(context);
  text += ": ";
  text += message;
  return Error{code, std::move(text), hint};
}

}  // namespace hexad
