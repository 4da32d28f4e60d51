#include "base/units.h"

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace hexad {

namespace {

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

Result<std::uint64_t> parse_size(std::string_view text) {
  std::string number(text);
  if (number.empty() || std::isdigit(static_cast<unsigned char>(number[0])) == 0) {
    return not_a_size(text);
  }
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  std::string unit;
  for (; *end != '\0'; ++end) {
    if (*end != ' ') unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*end)));
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
  const double bytes = std::ldexp(value, 10 * power);
  if (!(bytes >= 0) || bytes > 9.2e18) return not_a_size(text);
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace hexad
