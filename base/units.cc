#include "base/units.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <system_error>

namespace hexad {

namespace {

constexpr std::uint64_t kMaxSize = ~std::uint64_t{0} >> 1;

constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

Error not_a_size(std::string_view text) {
  return Error{ErrorCode::kInvalidArgument, "\"" + std::string(text) + "\" is not a size",
               "Write a number with an optional unit, for example 4KiB, 64 MiB or 1.5GiB."};
}

}  // namespace

std::string format_size(std::uint64_t bytes) {
  std::size_t unit = 0;
  double value = static_cast<double>(bytes);
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  char text[48];
  const bool whole = std::floor(value) == value;
  std::snprintf(text, sizeof text, whole ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Takes the digits that the text begins with off it.
std::string_view take_digits(std::string_view& text) {
  std::size_t count = 0;
  while (count < text.size() && is_digit(text[count])) ++count;
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

// The part of `unit`, at most 2^60, that decimals stand for, rounded down: from the last one on,
// each with a tenth of what those behind it give. 10 * 2^60 is below 2^64.
std::uint64_t part_of(std::uint64_t unit, std::string_view decimals) {
  std::uint64_t part = 0;
  for (std::size_t i = decimals.size(); i > 0; --i) {
    part = (static_cast<std::uint64_t>(decimals[i - 1] - '0') * unit + part) / 10;
  }
  return part;
}

}  // namespace

// Whole numbers, so that no digit of a large size is lost.
Result<std::uint64_t> parse_size(std::string_view text) {
  std::string_view left = text;
  const std::string_view digits = take_digits(left);
  std::string_view decimals;
  if (left.starts_with('.')) {
    left.remove_prefix(1);
    decimals = take_digits(left);
  }
  std::uint64_t whole = 0;
  const auto [end, overflow] = std::from_chars(digits.data(), digits.data() + digits.size(), whole);
  if (digits.empty() || overflow != std::errc()) return not_a_size(text);
  std::string unit;
  for (const char c : left) {
    if (c != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  static constexpr std::string_view kLetters = "bkmgtpe";
  int power = 0;
  if (!unit.empty()) {
    const std::size_t at = kLetters.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    const bool known =
        at != std::string_view::npos && (rest.empty() || (at > 0 && (rest == "b" || rest == "ib")));
    if (!known) return not_a_size(text);
    power = static_cast<int>(at);
  }
  const std::uint64_t bytes_per_unit = std::uint64_t{1} << (10 * power);
  if (whole > kMaxSize / bytes_per_unit) return not_a_size(text);
  const std::uint64_t bytes = whole * bytes_per_unit + part_of(bytes_per_unit, decimals);
  if (bytes > kMaxSize) return not_a_size(text);
  return bytes;
}

}  // namespace hexad
