// How a benchmark of one program ends when something fails: a benchmark has no caller to hand an
// error to.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/error.h"

namespace hexad::bench {

// The value; without one the message goes to standard error and the program ends. Any thread.
template <typename T>
T must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::abort();
  }
  return std::move(result).value();
}

}  // namespace hexad::bench
