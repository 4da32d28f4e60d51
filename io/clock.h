// Time, injected: nothing above io asks the operating system what time it is.
#pragma once

#include <cstdint>

namespace hexad::io {

// Nanoseconds.
using Nanos = std::int64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; the origin is arbitrary. Any thread.
  virtual Nanos now() const = 0;
  // Nanoseconds since 1970-01-01 UTC; may jump in either direction. Any thread.
  virtual Nanos wall_time() const = 0;
};

}  // namespace hexad::io
