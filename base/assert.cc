#include "base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace hexad {

void assertion_failed(const char* file, int line, const char* what) {
  std::fprintf(stderr, "%s:%d: hexad: assertion failed: %s\n", file, line, what);
  std::fflush(stderr);
  std::abort();
}

}  // namespace hexad
