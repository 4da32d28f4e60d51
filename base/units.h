// Sizes in bytes: literals, rounding, and the way to and from text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace hexad {

inline namespace literals {
constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }
constexpr std::uint64_t operator""_GiB(unsigned long long n) { return n << 30; }
constexpr std::uint64_t operator""_TiB(unsigned long long n) { return n << 40; }
}  // namespace literals

// `multiple` is positive and not necessarily a power of two. The caller bounds `value` so that the
// sum does not wrap.
constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}
constexpr std::uint64_t round_down(std::uint64_t value, std::uint64_t multiple) {
  return value / multiple * multiple;
}
constexpr std::uint64_t divide_up(std::uint64_t value, std::uint64_t divisor) {
  return (value + divisor - 1) / divisor;
}
constexpr bool is_multiple(std::uint64_t value, std::uint64_t of) { return value % of == 0; }

// a + b or nothing when the sum does not fit: for numbers that come from a device or a caller.
constexpr bool add_overflows(std::uint64_t a, std::uint64_t b) { return a + b < a; }

// "512 B", "18 KiB", "1.5 GiB": the largest unit that keeps at most one decimal.
std::string format_size(std::uint64_t bytes);

// "4096", "4KiB", "4 KiB", "4k", "1.5GiB" (binary units only; KB and K mean KiB).
// Errors: kInvalidArgument (not a size, negative, more than 2^63).
Result<std::uint64_t> parse_size(std::string_view text);

}  // namespace hexad
