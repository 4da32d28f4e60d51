// HEXAD_ASSERT: for what only our own bug can cause. On in every build. Bytes from a device and
// arguments from a caller never reach an assertion: those are Errors (base/error.h).
#pragma once

namespace hexad {

// Prints "file:line: hexad: assertion failed: what" to standard error and aborts. Never returns.
[[noreturn]] void assertion_failed(const char* file, int line, const char* what);

}  // namespace hexad

#define HEXAD_ASSERT(condition)                        \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::hexad::assertion_failed(__FILE__, __LINE__, #condition))
