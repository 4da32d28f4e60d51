#include "tools/bench/figures.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace hexad::tools {
namespace {

Measured two_seconds() {
  Measured measured;
  measured.seconds = 2;
  measured.cpu_us = 800;
  for (int i = 0; i < 60; ++i) measured.load.looked.add(1000);
  for (int i = 0; i < 20; ++i) measured.load.changed.add(50'000);
  DeviceStatus device;
  device.id = 3;
  device.role = "data";
  device.path = "device3";
  device.bytes_written = 5000;
  device.written_for = {{"user", 4096}, {"log", 904}};
  device.writes = 7;
  device.writes_for = {{"user", 5}, {"log", 2}};
  measured.traffic.devices = {device};
  measured.traffic.counters = {{"txc_count", 20}, {"reads", 0}};
  return measured;
}

TEST_CASE("figures: the JSON of a mixed run tells its reads from its writes") {
  Job job;
  job.name = "mix";
  job.workload = "randrw";
  job.read_percent = 75;
  const LoadOptions options = *job.load("bench");
  const auto json = figures_json(job, options, {"full", "budgeted", 100}, two_seconds());
  CHECK(json["job"] == "mix");
  CHECK(json["rw"] == "randrw");
  CHECK(json["size"] == 1 << 20);
  CHECK(json["operations"] == 80);
  CHECK(json["ops_per_s"] == 40.0);
  CHECK(json["bytes_per_s"] == 40.0 * 4096);
  CHECK(json["cpu_us_per_op"] == 10.0);
  CHECK(json["rwmixread"] == 75);
  CHECK(json["read"]["operations"] == 60);
  CHECK(json["read"]["latency_us"]["p999"].get<double>() == Approx(1).epsilon(0.02));
  CHECK(json["write"]["ops_per_s"] == 10.0);
  CHECK(json["write"]["latency_us"]["p50"].get<double>() == Approx(50).epsilon(0.02));
  CHECK(json["latency_us"]["p50"].get<double>() == Approx(1).epsilon(0.02));
  CHECK(json["latency_us"]["p99"].get<double>() == Approx(50).epsilon(0.02));
  CHECK(json["hedged_reads"] == "budgeted");
  CHECK(json["cache_size"] == 100);
}

TEST_CASE("figures: the JSON has each device's bytes by cause, its I/Os, and what was counted") {
  Job job;
  const auto json = figures_json(job, *job.load("bench"), {"full", "off", 0}, two_seconds());
  CHECK_FALSE(json.contains("job"));
  CHECK_FALSE(json.contains("read"));
  REQUIRE(json["devices"].size() == 1);
  CHECK(json["devices"][0]["writes"] == 7);
  CHECK(json["devices"][0]["written_for"]["user"] == 4096);
  CHECK(json["devices"][0]["writes_for"]["user"] == 5);
  CHECK(json["counters"]["txc_count"] == 20);
  CHECK_FALSE(json["counters"].contains("reads"));
}

TEST_CASE("figures: what moves no bytes says none, and a listing says its names") {
  Job job;
  job.workload = "list";
  Measured measured = two_seconds();
  measured.load.entries = 4000;
  const LoadOptions options = *job.load("bench");
  const auto json = figures_json(job, options, {"full", "off", 0}, measured);
  CHECK(json["bytes_per_s"] == 0.0);
  CHECK(json["entries_per_s"] == 2000.0);
  CHECK(figures_text(job, options, {"full", "off", 0}, measured).find("2000 names per second") !=
        std::string::npos);
}

TEST_CASE("figures: a run that got nothing done has figures all the same") {
  Job job;
  Measured measured;
  measured.seconds = 1;
  const LoadOptions options = *job.load("bench");
  CHECK(figures_json(job, options, {"full", "off", 0}, measured)["cpu_us_per_op"] == 0.0);
  CHECK(figures_text(job, options, {"full", "off", 0}, measured).find("0 per second") !=
        std::string::npos);
}

TEST_CASE("figures: traffic is what came on top, by device, cause and counter") {
  Traffic before = two_seconds().traffic;
  Traffic after = before;
  after.devices[0].bytes_written += 10;
  after.devices[0].written_for["log"] += 4;
  after.devices[0].written_for["run"] = 6;  // a cause that was not there before
  after.devices[0].writes += 2;
  after.devices[0].writes_for["log"] += 2;
  after.devices[0].reads += 3;
  after.devices[0].flushes += 1;
  after.counters["txc_count"] += 5;
  const Traffic since = after.since(before);
  CHECK(since.devices[0].bytes_written == 10);
  CHECK(since.devices[0].written_for ==
        std::map<std::string, std::uint64_t>{{"user", 0}, {"log", 4}, {"run", 6}});
  CHECK(since.devices[0].writes == 2);
  CHECK(since.devices[0].writes_for ==
        std::map<std::string, std::uint64_t>{{"user", 0}, {"log", 2}});
  CHECK(since.devices[0].reads == 3);
  CHECK(since.devices[0].flushes == 1);
  CHECK(since.counters.at("txc_count") == 5);
}

TEST_CASE("figures: the lines of a table are as wide as its heading") {
  Job job;
  job.name = "a_job";
  const LoadOptions options = *job.load("bench");
  CHECK(table_line(job, options, two_seconds()).size() == table_heading().size());
  CHECK(table_line(job, options, two_seconds()).starts_with("a_job "));
}

}  // namespace
}  // namespace hexad::tools
