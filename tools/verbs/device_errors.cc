#include "tools/verbs/device_errors.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace hexad::tools {

namespace {

struct Kind {
  std::uint64_t DeviceStatus::*count;
  std::string_view key;
  std::string_view one;  // of them
};

constexpr std::array kKinds = {
    Kind{&DeviceStatus::read_errors, "read_errors", "read error"},
    Kind{&DeviceStatus::write_errors, "write_errors", "write error"},
    Kind{&DeviceStatus::flush_errors, "flush_errors", "flush error"},
    Kind{&DeviceStatus::checksum_errors, "checksum_errors", "checksum error"},
    Kind{&DeviceStatus::timeouts, "timeouts", "timeout"},
};

}  // namespace

std::string describe_errors(const DeviceStatus& device) {
  std::string text;
  for (const Kind& kind : kKinds) {
    const std::uint64_t count = device.*kind.count;
    if (count == 0) continue;
    text +=
        fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, kind.one, count == 1 ? "" : "s");
  }
  return text;
}

void add_errors(Json& object, const DeviceStatus& device) {
  for (const Kind& kind : kKinds) object[std::string(kind.key)] = device.*kind.count;
}

}  // namespace hexad::tools
