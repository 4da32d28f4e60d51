// Processor time.
#pragma once

#include <sys/resource.h>

namespace hexad::tools {

// Of the whole process, user and system, so far: microseconds.
inline double cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace hexad::tools
