#include "tools/bench/scale_figures.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

namespace hexad::tools {
namespace {

DeviceStatus device(std::uint64_t user, std::uint64_t log) {
  DeviceStatus status;
  status.written_for = {{"user", user}, {"log", log}, {"run", 50}, {"merge", 0}};
  return status;
}

ScaleWindow a_window() {
  ScaleWindow window;
  window.objects = 1000;
  window.puts = 100;
  window.put_s = 2;
  window.put_cpu_us = 700;
  for (int i = 0; i < 99; ++i) window.get.add(10'000);
  window.get.add(90'000);
  window.stat.add(3000);
  window.traffic.devices = {device(4000, 600), device(2000, 400)};
  window.traffic.counters = {{"checkpoints", 2}, {"index_bytes", 300}};
  window.memory = 5 << 20;
  window.disk = 7 << 20;
  window.not_stored = 1200;
  return window;
}

Reopening a_reopening() {
  Reopening reopening;
  reopening.after_leaving_s = 1.5;
  reopening.transactions = 77;
  reopening.log_bytes = 4096;
  reopening.close_s = 0.25;
  reopening.after_closing_s = 0.125;
  reopening.space_s = 3;
  reopening.space.used = 6'150'000;
  reopening.space.internal_metadata = 100'000;
  reopening.space.metadata = 80'000;
  return reopening;
}

// The words of each line.
std::vector<std::vector<std::string>> words_of(const std::string& text) {
  std::vector<std::vector<std::string>> lines;
  std::istringstream all(text);
  for (std::string line; std::getline(all, line);) {
    std::istringstream words(line);
    lines.emplace_back();
    for (std::string word; words >> word;) {
      if (word != "|") lines.back().push_back(word);
    }
  }
  return lines;
}

TEST_CASE("scale figures: bytes are those of all devices, for each put of the window") {
  const auto json = scale_json(a_window());
  CHECK(json["objects"] == 1000);
  CHECK(json["puts_per_s"] == 50.0);
  CHECK(json["cpu_us_per_put"] == 7.0);
  CHECK(json["get_us"]["count"] == 100);
  CHECK(json["get_us"]["p50"].get<double>() == Approx(10).epsilon(0.02));
  CHECK(json["get_us"]["p99"].get<double>() == Approx(10).epsilon(0.02));
  CHECK(json["written_per_put"]["user"] == 60.0);
  CHECK(json["written_per_put"]["log"] == 10.0);
  CHECK_FALSE(json["written_per_put"].contains("merge"));
  CHECK(json["checkpoint_bytes"] == 100);
  CHECK(json["merge_bytes"] == 0);
  CHECK(json["checkpoints"] == 2);
  CHECK(json["index_bytes"] == 300);
  CHECK(json["not_stored_per_put"] == 12.0);
  CHECK(json["memory"] == 5 << 20);
  CHECK_FALSE(json.contains("reopening"));
}

TEST_CASE("scale figures: what lies on the data devices is told apart, with its parity") {
  ScaleWindow window = a_window();
  window.reopening = a_reopening();
  const auto json = scale_json(window)["reopening"];
  CHECK(json["transactions"] == 77);
  CHECK(json["close_s"] == 0.25);
  CHECK(json["stored_per_object"]["runs"] == 150.0);
  CHECK(json["stored_per_object"]["data"] == 6000.0);
  CHECK(json["stored_per_object"]["index"] == 80.0);
  CHECK(json["space_s"] == 3.0);
}

TEST_CASE("scale figures: a window in which nothing was put has no rates") {
  ScaleWindow window;
  window.objects = 5;
  const auto json = scale_json(window);
  CHECK(json["puts_per_s"] == 0.0);
  CHECK(json["cpu_us_per_put"] == 0.0);
  CHECK(words_of(scale_line(window)).front().front() == "5");
}

TEST_CASE("scale figures: each column has its heading") {
  const auto heading = words_of(scale_heading());
  REQUIRE(heading.size() == 2);
  ScaleWindow window = a_window();
  CHECK(words_of(scale_line(window)).size() == 1);
  window.reopening = a_reopening();
  const auto lines = words_of(scale_line(window));
  REQUIRE(lines.size() == 3);
  // "per put" and the second of each "p50" are the only headings of two words or two columns.
  CHECK(lines[0].size() == heading[1].size() - 1);
  CHECK(scale_heading().size() / 2 == scale_line(a_window()).size());
  CHECK(lines[0][0] == "1000");
  CHECK(lines[0].back() == "7.0");
  CHECK(lines[1][0] == "left");
  CHECK(lines[2][0] == "per");
}

TEST_CASE("scale figures: this process has memory of its own") {
  CHECK(anonymous_memory().value() > 10'000);
}

}  // namespace
}  // namespace hexad::tools
