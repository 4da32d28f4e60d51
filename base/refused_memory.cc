#include "base/refused_memory.h"

#include <string>

#include "base/units.h"

namespace hexad {

namespace {

// Fits into a string without any memory of its own.
Error shortest() { return Error{ErrorCode::kExhausted, "out of memory", ""}; }

}  // namespace

Error refused_memory() noexcept {
  try {
    return Error{ErrorCode::kExhausted, "the system refuses memory that this call needs",
                 "Free memory, or raise the limit on address space (ulimit -v), and try again."};
  } catch (const std::bad_alloc&) {
    return shortest();
  }
}

Error no_memory_for(std::uint64_t bytes, std::string_view subject) noexcept {
  try {
    return Error{ErrorCode::kExhausted,
                 std::string(subject) + ": the system refuses the memory for " +
                     std::to_string(bytes) + " bytes (" + format_size(bytes) + ")",
                 "Free memory, raise the limit on address space (ulimit -v), or ask for less at "
                 "once."};
  } catch (const std::bad_alloc&) {
    return shortest();
  }
}

Result<Bytes> make_bytes(std::uint64_t size, std::string_view subject) {
  try {
    return Bytes(size);
  } catch (const std::bad_alloc&) {
    return no_memory_for(size, subject);
  }
}

}  // namespace hexad
