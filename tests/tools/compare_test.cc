#include "tools/bench/compare.h"

#include <catch2/catch.hpp>

namespace hexad::tools {
namespace {

Series series(std::vector<double> values, Better better = Better::kMore) {
  return {"a", "k/s", better, std::move(values)};
}

Verdict judge(const Series& before, const Series& after) {
  const std::vector<Comparison> figures = compare({before}, {after});
  REQUIRE(figures.size() == 1);
  return figures[0].verdict;
}

TEST_CASE("compare: a change beyond the noise of both sets is told, and in which direction") {
  CHECK(judge(series({100, 101, 102}), series({120, 121, 119})) == Verdict::kBetter);
  CHECK(judge(series({100, 101, 102}), series({80, 81, 79})) == Verdict::kWorse);
  const auto times = [](std::vector<double> values) {
    return series(std::move(values), Better::kLess);
  };
  CHECK(judge(times({100, 101, 102}), times({120, 121, 119})) == Verdict::kWorse);
  CHECK(judge(times({100, 101, 102}), times({80, 81, 79})) == Verdict::kBetter);
}

TEST_CASE("compare: what the runs of one set differ by is no change") {
  CHECK(judge(series({100, 101, 102}), series({100, 101, 102})) == Verdict::kSame);
  // All pairs say less, but each set spreads further than that,
  CHECK(judge(series({100, 140, 120}), series({95, 130, 110})) == Verdict::kSame);
  // or the sets overlap, as three runs by chance in one of four cases.
  CHECK(judge(series({100, 101, 110}), series({90, 91, 100.5})) == Verdict::kSame);
  // The medians are far apart, but one pair says the opposite.
  CHECK(judge(series({100, 100, 100}), series({150, 150, 99})) == Verdict::kSame);
}

TEST_CASE("compare: one run says nothing about its noise") {
  CHECK(judge(series({100}), series({300})) == Verdict::kNotJudged);
  CHECK(judge(series({100}), series({300, 300})) == Verdict::kNotJudged);
}

TEST_CASE("compare: figures are paired run by run") {
  // The machine slowed down in the middle of both.
  const auto figures = compare({series({100, 50, 101})}, {series({110, 55, 111})});
  CHECK(figures[0].ratio == Approx(1.1));
  CHECK(figures[0].before == 100);
  CHECK(figures[0].after == 110);
  CHECK(figures[0].noise == Approx(0.255));
}

TEST_CASE("compare: only what both have is compared") {
  Series other = series({1, 2});
  other.id = "b";
  Series unit = series({1, 2});
  unit.unit = "us";
  CHECK(compare({series({1, 2}), other}, {other}).size() == 1);
  CHECK(compare({series({1, 2})}, {unit}).empty());
}

TEST_CASE("compare: figures are read from rows, with their direction") {
  const auto found = parse_series(R"({"settings": {}, "rows": [
      {"id": "a", "unit": "k/s", "values": [1, 2.5]},
      {"id": "b", "unit": "us, p50", "values": [7]},
      {"id": "c", "unit": "x", "better": "less", "values": [7]},
      {"id": "d", "unit": "B/object", "values": [7]},
      {"id": "nothing", "unit": "k/s", "values": [0, 1]},
      {"id": "none", "unit": "k/s", "values": []}]})");
  REQUIRE(found.ok());
  REQUIRE(found->size() == 4);
  CHECK(found->at(0).values == std::vector<double>{1, 2.5});
  CHECK(found->at(0).better == Better::kMore);
  for (const std::size_t i : {1, 2, 3}) CHECK(found->at(i).better == Better::kLess);
}

TEST_CASE("compare: lines of runs of the same job are runs of one figure") {
  const auto found = parse_series(
      "{\"job\": \"j\", \"rw\": \"put\", \"ops_per_s\": 10}\n"
      "{\"rw\": \"put\", \"bs\": 4096, \"threads\": 1, \"iodepth\": 2, \"ops_per_s\": 5}\n"
      "\n"
      "{\"job\": \"j\", \"rw\": \"put\", \"ops_per_s\": 12}\r\n"
      "{\"rw\": \"put\", \"bs\": 8192, \"threads\": 1, \"iodepth\": 2, \"ops_per_s\": 6}");
  REQUIRE(found.ok());
  REQUIRE(found->size() == 3);
  CHECK(found->at(0).id == "j");
  CHECK(found->at(0).values == std::vector<double>{10, 12});
  CHECK(found->at(1).id != found->at(2).id);
  const auto batches = parse_series(
      "{\"rw\": \"put\", \"ops_per_s\": 1}\n"  // before there were any
      "{\"rw\": \"put\", \"batch\": 1, \"ops_per_s\": 2}\n"
      "{\"rw\": \"put\", \"batch\": 64, \"ops_per_s\": 3}");
  REQUIRE(batches.ok());
  REQUIRE(batches->size() == 2);
  CHECK(batches->at(0).values == std::vector<double>{1, 2});
}

TEST_CASE("compare: what holds no figures is refused, cut anywhere") {
  for (const char* text : {"", "{}", "[]", "7", "{\"rows\": 1}", "{\"rows\": [1]}",
                           "{\"rows\": [{\"id\": 1, \"values\": []}]}", "{\"rw\": 1}", "put 7"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_series(text).ok());
  }
  const std::string whole = R"({"rows": [{"id": "a", "unit": "k/s", "values": [1, 2]}]})";
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    CHECK_FALSE(parse_series(whole.substr(0, cut)).ok());
  }
}

}  // namespace
}  // namespace hexad::tools
