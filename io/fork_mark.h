// Whether this is still the process that made something, or a child that fork(2) made since.
#pragma once

#include <cstdint>

namespace hexad::io {

// A child made with a bare clone(2) or vfork(2) is not noticed.
class ForkMark {
 public:
  ForkMark();
  // This process has been forked from the one that made the mark. One atomic load; any thread.
  bool in_child() const;

 private:
  std::uint64_t forks_ = 0;  // between the first process and the one that made the mark
};

}  // namespace hexad::io
