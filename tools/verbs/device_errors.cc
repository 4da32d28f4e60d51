#include "tools/verbs/device_errors.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/units.h"

namespace hexad::tools {

namespace {

struct Kind {
  std::uint64_t DeviceStatus::*count;
  std::uint64_t DeviceErrors::*total;
  std::string_view key;
  std::string_view one;  // of them
};

constexpr std::array kKinds = {
    Kind{&DeviceStatus::read_errors, &DeviceErrors::read_errors, "read_errors", "read error"},
    Kind{&DeviceStatus::write_errors, &DeviceErrors::write_errors, "write_errors", "write error"},
    Kind{&DeviceStatus::flush_errors, &DeviceErrors::flush_errors, "flush_errors", "flush error"},
    Kind{&DeviceStatus::checksum_errors, &DeviceErrors::checksum_errors, "checksum_errors",
         "checksum error"},
    Kind{&DeviceStatus::timeouts, &DeviceErrors::timeouts, "timeouts", "timeout"},
};

void append(std::string& text, std::uint64_t count, std::string_view one) {
  if (count == 0) return;
  text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, one, count == 1 ? "" : "s");
}

}  // namespace

std::string format_moment(std::int64_t nanoseconds) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                     fmt::gmtime(static_cast<std::time_t>(nanoseconds / kSecond)));
}

std::string describe_errors(const DeviceStatus& device) {
  std::string text;
  for (const Kind& kind : kKinds) append(text, device.*kind.count, kind.one);
  return text;
}

std::string describe_all_errors(const DeviceStatus& device) {
  std::string text;
  bool earlier = false;
  for (const Kind& kind : kKinds) {
    append(text, device.errors_total.*kind.total, kind.one);
    earlier = earlier || device.errors_total.*kind.total > device.*kind.count;
  }
  if (!earlier) return "";
  return fmt::format("since {} {}", format_moment(device.errors_total.since), text);
}

std::string describe_completion(const DeviceCompletion& completion) {
  if (completion.kind.empty()) return "";
  std::string copied;
  if (completion.bytes_copied > 0) {
    copied = fmt::format("{} copied, ", format_size(completion.bytes_copied));
  }
  constexpr double kSecond = 1e9;
  const double seconds = static_cast<double>(completion.ended - completion.began) / kSecond;
  return fmt::format("{} complete {}: {}{} cell{}, {} rebuilt, within {:.0f} s", completion.kind,
                     format_moment(completion.ended), copied, completion.cells,
                     completion.cells == 1 ? "" : "s", format_size(completion.bytes),
                     std::max(0.0, seconds));
}

void add_errors(Json& object, const DeviceStatus& device) {
  Json total{{"since", device.errors_total.since}};
  for (const Kind& kind : kKinds) {
    object[std::string(kind.key)] = device.*kind.count;
    total[std::string(kind.key)] = device.errors_total.*kind.total;
  }
  object["errors_total"] = std::move(total);
  const DeviceCompletion& last = device.last_completion;
  object["last_completion"] =
      last.kind.empty()
          ? Json(nullptr)
          : Json{{"kind", last.kind},   {"epoch", last.epoch}, {"lsn", last.lsn},
                 {"cells", last.cells}, {"bytes", last.bytes}, {"bytes_copied", last.bytes_copied},
                 {"began", last.began}, {"ended", last.ended}};
}

}  // namespace hexad::tools
