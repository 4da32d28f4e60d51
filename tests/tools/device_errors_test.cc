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
    REQUIRE(object.size() == std::size(kinds));
    std::uint64_t sum = 0;
    for (const auto& [key, count] : object.items()) sum += count.get<std::uint64_t>();
    REQUIRE(sum == 1);
  }
}

}  // namespace
}  // namespace hexad::tools
