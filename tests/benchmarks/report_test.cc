#include "benchmarks/commit_path/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace hexad::bench;

namespace {

Sample sample(double value, std::optional<double> fio = {}) {
  Sample result;
  result.value = value;
  result.fio = fio;
  return result;
}

Row row(Bar bar, std::vector<Sample> samples, double fio_scale = 1) {
  return {"a_row", "a row", "us", bar, "what fio did", fio_scale, std::move(samples)};
}

}  // namespace

TEST_CASE("report: the median of an even number of values is between the middle two") {
  CHECK(median({3}) == 3);
  CHECK(median({9, 1, 3}) == 3);
  CHECK(median({9, 1, 3, 4}) == 3.5);
}

TEST_CASE("report: a summary has the least and the most beside the median") {
  const Summary summary = summarise({5, 2, 11});
  CHECK(summary.least == 2);
  CHECK(summary.median == 5);
  CHECK(summary.most == 11);
}

TEST_CASE("report: a ratio is taken within a repetition, not between medians") {
  // Both halves slow down together in the second repetition.
  const Row both = row(Bar::none(), {sample(150, 100), sample(1500, 1000), sample(160, 100)});
  CHECK(ratios(both) == std::vector<double>{1.5, 1.5, 1.6});
  CHECK(ratios(row(Bar::none(), {sample(90, 150)}, 1 / 1.5))[0] == Approx(0.9));
  CHECK(ratios(row(Bar::none(), {sample(90)})).empty());
}

TEST_CASE("report: a bar is judged by the median of what it speaks of") {
  CHECK(judge(row(Bar::ratio_at_most(1.5), {sample(150, 100)})) == "met");
  CHECK(judge(row(Bar::ratio_at_most(1.5), {sample(151, 100)})) == "missed");
  CHECK(judge(row(Bar::ratio_at_least(0.9), {sample(89, 100)})) == "missed");
  CHECK(judge(row(Bar::value_at_least(60), {sample(59), sample(61), sample(62)})) == "met");
  CHECK(judge(row(Bar::value_at_most(300), {sample(299), sample(301), sample(302)})) == "missed");
}

TEST_CASE("report: without fio a ratio is not judged and the table says so") {
  const Row alone = row(Bar::ratio_at_most(1.5), {sample(150)});
  CHECK(judge(alone) == "not judged");
  CHECK(to_markdown({}, {alone}).find("| no fio |") != std::string::npos);
  CHECK(judge(row(Bar::none(), {sample(150)})).empty());
}

TEST_CASE("report: the JSON has every value, and the medians of what was counted") {
  Sample first = sample(1, 2);
  first.counted = {{"rounds", 1}};
  first.cpu_us = 4;
  first.p50_us = first.p95_us = first.p99_us = 7;
  Sample second = first;
  second.value = 3;
  second.counted = {{"rounds", 2}};
  const auto json = nlohmann::json::parse(
      to_json({{"kernel", "of a test"}}, {row(Bar::ratio_at_most(1.5), {first, second})}));
  CHECK(json["settings"]["kernel"] == "of a test");
  REQUIRE(json["rows"].size() == 1);
  const auto& out = json["rows"][0];
  CHECK(out["id"] == "a_row");
  CHECK(out["value"] == 2);
  CHECK(out["values"] == std::vector<double>{1, 3});
  CHECK(out["ratio"] == 1);
  CHECK(out["judgement"] == "met");
  CHECK(out["cpu_us"] == 4);
  CHECK(out["p99_us"] == 7);
  CHECK(out["counted"]["rounds"] == 1.5);
}

TEST_CASE("report: the table shows three digits and the spread") {
  const std::string table = to_markdown(
      {{"disk", "one"}}, {row(Bar::ratio_at_most(1.5),
                              {sample(1234.5, 1000.04), sample(1300, 1000), sample(1200, 1000)})});
  CHECK(table.rfind("disk: one.", 0) == 0);
  CHECK(table.find("| a row | 1234 (1200..1300) | us | 1000 (1000..1000): what fio did | 1.23 "
                   "(1.20..1.30) | <= 1.50 x | met |") != std::string::npos);
}

TEST_CASE("report: what only some samples counted is the median of those") {
  Sample first = sample(1);
  first.counted = {{"checkpoints", 4}};
  Sample second = sample(2);
  second.counted = {{"rounds", 3}, {"checkpoints", 6}};
  const auto json = nlohmann::json::parse(to_json({}, {row(Bar::none(), {first, second, second})}));
  CHECK(json["rows"][0]["counted"]["rounds"] == 3);
  CHECK(json["rows"][0]["counted"]["checkpoints"] == 6);
}
