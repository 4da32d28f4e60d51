// What can be said of a process, for people.
#pragma once

#include <cstddef>
#include <string>

#include "io/clock.h"

namespace hexad::io {

// There may be megabytes of them, and whoever asks is told them with each answer.
inline constexpr std::size_t kMostOfCommand = 1000;  // bytes

struct ProcessInfo {
  int pid = 0;
  std::string command;  // its words, of the program its name alone, the first kMostOfCommand bytes
                        // of them; empty: not known
  Nanos since = 0;      // when it began, since 1970-01-01 UTC; 0: not known
};
// Any process that this one may look at, by /proc.
ProcessInfo process_info(int pid);
ProcessInfo own_process();

// "2026-11-26 20:16:01 UTC".
std::string format_utc(Nanos time);

}  // namespace hexad::io
