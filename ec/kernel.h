// What turns coefficients into bytes. A kernel is chosen once, when a codec is made; another one
// (for a newer instruction set, say) is another implementation of Program and a factory.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "ec/matrix.h"

namespace hexad::ec {

// A matrix made ready for one kernel. Thread-safe: run() is const and shares nothing that changes.
class Program {
 public:
  virtual ~Program() = default;
  // outputs[r] = sum over c of matrix.at(r, c) * sources[c], for each of `length` bytes. Outputs do
  // not overlap one another or the sources. `length` is a multiple of the code's alignment.
  virtual void run(const std::byte* const* sources, std::byte* const* outputs,
                   std::size_t length) const = 0;
};

// Precondition: at least one row, and no row of zeros. Cheap: it is called for every reconstruct.
using ProgramFactory = std::function<std::unique_ptr<Program>(const Matrix& matrix)>;

}  // namespace hexad::ec
