// The smallest fuzz target: shows the shape and keeps the rule working.

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size; ++i) sum += data[i];
  return sum > 255 * static_cast<std::uint64_t>(size) ? -1 : 0;
}
