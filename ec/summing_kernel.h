// Coding, copying and summing in one walk: what a payload that is put needs before its cells go to
// their devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ec/matrix.h"

namespace hexad::ec {

// A matrix made ready for it. Thread-safe: run() is const and shares nothing that changes.
class SummingProgram {
 public:
  virtual ~SummingProgram() = default;
  // Copies sources[c] to copies[c], sets outputs[r] to the sum over c of matrix.at(r, c) *
  // copies[c], and continues the crc32c of each copy, and behind those of each output: `sums` has
  // one for each. A source may be its copy; nothing else overlaps. `length`: a multiple of 64.
  //
  // A source is read once: what is summed and coded is what was written, whoever changes the source
  // meanwhile.
  virtual void run(const std::byte* const* sources, std::byte* const* copies,
                   std::byte* const* outputs, std::size_t length, std::uint32_t* sums) const = 0;

  static constexpr std::size_t kAlignment = 64;  // of lengths
};

// Returns the kernel for AVX-512 with GFNI and VPCLMULQDQ; null where this processor does not have
// them, or the matrix has more than 4 rows.
std::unique_ptr<SummingProgram> make_summing_program(const Matrix& matrix);

}  // namespace hexad::ec
