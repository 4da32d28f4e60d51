#include "tools/verbs/device_errors.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace hexad::tools {
namespace {

TEST_CASE("device errors: each kind that there were any of is named with its number") {
  DeviceStatus device;
  REQUIRE(describe_errors(device).empty());
  REQUIRE_FALSE(device.has_had_errors());
  device.read_errors = 3;
  device.checksum_errors = 1;
  REQUIRE(describe_errors(device) == "3 read errors, 1 checksum error");
  device.write_errors = 1;
  device.flush_errors = 2;
  device.timeouts = 12;
  REQUIRE(describe_errors(device) ==
          "3 read errors, 1 write error, 2 flush errors, 1 checksum error, 12 timeouts");
}

TEST_CASE("device errors: one of any kind alone is one, and programs get all five") {
  std::uint64_t DeviceStatus::*const kinds[] = {
      &DeviceStatus::read_errors, &DeviceStatus::write_errors, &DeviceStatus::flush_errors,
      &DeviceStatus::checksum_errors, &DeviceStatus::timeouts};
  for (const auto kind : kinds) {
    DeviceStatus device;
    device.*kind = 1;
    REQUIRE(device.has_had_errors());
    REQUIRE(describe_errors(device).substr(0, 2) == "1 ");
    Json object;
    add_errors(object, device);
    REQUIRE(object.size() == std::size(kinds) + 2);
    std::uint64_t sum = 0;
    for (const auto& [key, count] : object.items()) {
      if (count.is_number()) sum += count.get<std::uint64_t>();
    }
    REQUIRE(sum == 1);
    REQUIRE(object["last_completion"].is_null());
    REQUIRE(object["errors_total"].size() == std::size(kinds) + 1);
  }
}

TEST_CASE("device errors: those before this opening are said with the time from which they count") {
  DeviceStatus device;
  device.read_errors = 2;
  device.errors_total = {1'795'769'050'570'238'400, 2, 0, 0, 0, 0};
  // There were none.
  REQUIRE(describe_all_errors(device).empty());
  device.errors_total.read_errors = 3;
  device.errors_total.timeouts = 1;
  REQUIRE(describe_all_errors(device) == "since 2026-11-27 08:44:10 UTC 3 read errors, 1 timeout");
  Json object;
  add_errors(object, device);
  REQUIRE(object["errors_total"]["read_errors"] == 3);
}

TEST_CASE("device errors: what a device was given is said in one line") {
  DeviceCompletion last;
  REQUIRE(describe_completion(last).empty());
  last = {
      "replace", 3, 990, 1, 4096, 1 << 20, 1'795'769'050'000'000'000, 1'795'769'054'000'000'000};
  REQUIRE(
      describe_completion(last) ==
      "replace complete 2026-11-27 08:44:14 UTC: 1 MiB copied, 1 cell, 4 KiB rebuilt, within 4 s");
  // A clock that was set back.
  last.began = last.ended + 1;
  REQUIRE(describe_completion(last).find("within 0 s") != std::string::npos);
}

}  // namespace
}  // namespace hexad::tools
